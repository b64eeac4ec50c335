"""A keyed stream on Spark is one engine for each key run alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from keyed_oracle import changes_in, in_batches, random_rows, row
from keyed_workspace import KEYS, POOL, PROGRAM, SCHEMA, KeyedWorkspace

from tidalog.model.errors import TidalogError
from tidalog.spark.keyed.resharding import reshard
from tidalog.spark.keyed.stream import keyed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def workspace(spark: SparkSession, tmp_path: Path) -> KeyedWorkspace:
    return KeyedWorkspace(spark, tmp_path)


def test_each_key_is_an_engine_of_its_own_also_after_a_restart(workspace: KeyedWorkspace) -> None:
    batches = in_batches(random_rows(POOL, 1, KEYS, 120), 1, 4)
    workspace.write(batches[:2])
    first = workspace.run()
    workspace.check()
    workspace.write([*batches[2:], batches[0]])
    second = workspace.run()
    workspace.check()
    rows = sum(map(len, batches))
    assert first.rows + second.rows == rows + len(batches[0])
    assert second.skipped == len(batches[0])
    assert first.refused + second.refused > 0
    updates = {one[:2] for batch in batches for one in batch}
    assert first.updates + second.updates == len(updates) - len(workspace.alone.refused)
    for totals in (first, second):
        parts = totals.applied + totals.quarantined + totals.skipped + totals.refused
        assert totals.rows == parts


def test_keys_go_on_in_other_buckets(workspace: KeyedWorkspace) -> None:
    batches = in_batches(random_rows(POOL, 2, KEYS, 80), 2, 4)
    workspace.write(batches[:2])
    workspace.run()
    keys = reshard(workspace.spark, workspace.checkpoint, workspace.root / "dealt", 3)
    assert keys == len(workspace.alone.last)
    before = len(workspace.alone.emitted)
    for path in workspace.input.iterdir():
        path.unlink()
    workspace.write([*batches[2:], batches[1]])
    other = KeyedWorkspace(workspace.spark, workspace.root / "other", workspace.alone)
    totals = other.run(frame=workspace.frame(), buckets=3, initial=workspace.root / "dealt")
    assert totals.skipped == len(batches[1])
    assert sorted(other.emitted()) == sorted(workspace.alone.emitted[before:])


FAR = ("+rule", "far", "far(?x, ?y) :- path(?x, ?y), ~edge(?x, ?y)")


def test_rules_change_for_every_key_once_also_after_a_restart_and_in_other_buckets(
    workspace: KeyedWorkspace,
) -> None:
    """Of a key that comes later too; and a rule that is refused is set aside once."""
    keys, later = KEYS[:9], KEYS[9:]
    batches = in_batches(random_rows(POOL, 5, keys, 90), 5, 3)
    top = max(int(one[1]) for batch in batches for one in batch)
    workspace.write(batches[:1], [(3, *FAR)])
    first = workspace.run()
    workspace.write(batches[1:2], [(6, "-rule", "r2", None), (7, "+rule", "bad", "odd(?z) :- path(?x, ?y)")])
    workspace.run()
    workspace.check()
    workspace.write(batches[2:], [(top, "+rule", "two", "path(?x, ?z) :- edge(?x, ?y), edge(?y, ?z)")])
    workspace.write([[row(key, 1, "+", fact) for key in later for fact in POOL[:6]]])
    totals = workspace.run(buckets=3)
    workspace.check()
    assert first.rows == len(batches[0]) + 1
    assert totals.rows == totals.applied + totals.quarantined + totals.skipped + totals.refused
    lines = [
        json.loads(x) for f in (workspace.root / "quarantine").iterdir() for x in f.read_text().splitlines()
    ]
    refused = [line for line in lines if line["number"] == "T126"]
    assert sum(line["values"]["farm"] is None for line in refused) == 1
    assert all("change of rules was refused" in line["message"] for line in refused)


def test_a_rule_with_a_key_is_a_bad_row(workspace: KeyedWorkspace) -> None:
    workspace.write_alone([("a", 1, *FAR[:2], FAR[2:])])
    totals = workspace.run()
    assert (totals.rows, totals.quarantined) == (1, 1)


def test_a_rule_that_a_key_cannot_take_ends_the_stream(workspace: KeyedWorkspace) -> None:
    workspace.write([[row("a", 1, "+", POOL[0]), row("b", 1, "+", POOL[-1])]])
    workspace.write_alone([(None, 2, "+rule", "no", (":- node(?x)",))])
    with pytest.raises(TidalogError, match="a key violate the constraint no") as raised:
        workspace.run()
    assert "T135" in str(raised.value)


def test_facts_may_be_of_predicates_that_rules_have_brought(workspace: KeyedWorkspace) -> None:
    brought = ("+rule", "b", "seen(?x) :- probe(?x), node(?x)")
    workspace.write_alone([(None, 1, *brought[:2], brought[2:]), ("a", 2, "+", "probe", ("n1",))])
    workspace.write_alone([("a", 3, "+", "node", ("n1",)), ("b", 1, "+", "probes", ("n1",))])
    totals = workspace.run()
    assert (totals.rows, totals.applied, totals.quarantined) == (4, 3, 1)
    assert ("a", 3, "+", "seen", ("n1",), "implicit") in workspace.emitted()


def test_changes_are_a_stream_of_spark_with_counts_in_its_progress(workspace: KeyedWorkspace) -> None:
    batches = in_batches(random_rows(POOL, 3, KEYS, 40), 3, 2)
    workspace.write(batches)
    changes = workspace.stream().changes
    assert changes.columns == ["farm", "update", "op", "predicate", "arg1", "arg2", "kind"]
    writer = changes.writeStream.format("memory").queryName("keyed_changes").outputMode("update")
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(240)
    emitted = workspace.spark.table("keyed_changes").withColumnRenamed("farm", "key").toArrow()
    assert sorted(changes_in(emitted, 2)) == sorted(workspace.alone.emitted)
    counted = sum(p["observedMetrics"]["tidalog"]["rows"] for p in query.recentProgress)
    assert counted == sum(map(len, batches))


def test_a_bad_row_is_set_aside_and_its_key_goes_on(workspace: KeyedWorkspace) -> None:
    workspace.write([[row("a", 1, "+", POOL[0])]])
    bad = [
        ("a", 2, "+", "nonsense", ("x",)),
        ("a", 2, "?", "edge", ("x", "y")),
        ("b", 1, "+", "edge", ("x",)),
    ]
    workspace.write_alone([*bad, (None, 1, "+", "edge", ("x", "y"))])
    totals = workspace.run()
    assert (totals.rows, totals.applied, totals.quarantined) == (5, 1, 4)
    (file,) = (workspace.root / "quarantine").iterdir()
    faults = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(fault["number"] for fault in faults) == ["T010", "T036", "T037", "T070"]
    assert all(fault["file"].endswith(".parquet") and fault["row"] > 0 for fault in faults)
    workspace.check()


def test_strict_names_the_file_of_a_bad_row_whose_number_is_not_known(workspace: KeyedWorkspace) -> None:
    """Spark does not number the lines of a text file."""
    workspace.input.mkdir()
    file = workspace.input / "rows.csv"
    file.write_text("farm,update,op,predicate,arg1,arg2\nfarm 1,1,+,edge,a,b\nfarm 1,2,x,edge,b,c\n")
    reader = workspace.spark.readStream.schema(SCHEMA).option("header", True)
    query = workspace.stream(reader.csv(str(workspace.input))).start(strict=True, trigger="available-now")
    with pytest.raises(TidalogError, match="T115") as raised:
        query.awaitTermination(120)
    assert "rows.csv, column op" in str(raised.value)


def test_a_key_expires_with_a_later_batch(workspace: KeyedWorkspace) -> None:
    """Time is that of batches, so a first run has ended long before the second begins."""
    workspace.write([[row("old", 1, "+", POOL[1])]])
    workspace.run(ttl=0.001)
    workspace.write([[row("young", 1, "+", POOL[2])]])
    workspace.alone.forget("old")
    workspace.run(ttl=0.001)
    workspace.check()


@pytest.mark.parametrize(("column", "number"), [("nothing", "T122"), ("arg1", "T122"), ("weight", "T122")])
def test_a_column_that_cannot_be_the_key(workspace: KeyedWorkspace, column: str, number: str) -> None:
    frame = workspace.frame().selectExpr("*", "1.5D as weight")
    with pytest.raises(TidalogError, match=number):
        keyed(frame, column, PROGRAM)


def test_state_of_another_program_is_refused(workspace: KeyedWorkspace) -> None:
    workspace.write([[row("a", 1, "+", POOL[0])]])
    workspace.run()
    other = keyed(workspace.frame(), "farm", "far(?x) :- edge(?x, _) .", buckets=5)
    with pytest.raises(TidalogError, match="T123"):
        other.start(checkpoint=workspace.checkpoint)


def test_state_of_an_earlier_format_is_refused(workspace: KeyedWorkspace) -> None:
    """In which bare names were IRIs."""
    workspace.checkpoint.mkdir(parents=True)
    note = {"program": "0123456789abcdef", "key": "farm", "labels": "integer", "buckets": 5}
    (workspace.checkpoint / "tidalog-keyed.json").write_text(json.dumps(note), encoding="utf-8")
    with pytest.raises(TidalogError, match=r"T123(.|\n)*earlier format(.|\n)*empty checkpoint"):
        workspace.stream(workspace.frame(), buckets=5).start(checkpoint=workspace.checkpoint)
    with pytest.raises(TidalogError, match=r"T123(.|\n)*earlier format"):
        reshard(workspace.spark, workspace.checkpoint, workspace.root / "out", 2)


def test_a_checkpoint_goes_on_with_another_number_of_buckets(workspace: KeyedWorkspace) -> None:
    """Twice, and with a run in between that does not say how many."""
    batches = in_batches(random_rows(POOL, 4, KEYS, 100), 4, 5)
    before = 0
    for buckets, fresh in ((5, batches[:2]), (3, batches[2:3]), (None, batches[3:4]), (7, batches[4:])):
        workspace.write(fresh)
        totals = workspace.run(buckets=buckets)
        assert totals.skipped == (before if buckets in (3, 7) else 0)
        before += sum(map(len, fresh))
        workspace.check()


def test_updates_without_labels_stay_in_their_buckets(workspace: KeyedWorkspace) -> None:
    workspace.write([[row("a", 1, "+", POOL[0])]])
    for buckets in (2, 3):
        stream = workspace.stream(workspace.frame().drop("update"), buckets=buckets)
        if buckets == 2:
            query = stream.start(checkpoint=workspace.checkpoint, trigger="available-now")
            assert query.awaitTermination(240)
        else:
            with pytest.raises(TidalogError, match="T129"):
                stream.start(checkpoint=workspace.checkpoint)


def test_a_checkpoint_without_keys_cannot_be_dealt_out(workspace: KeyedWorkspace) -> None:
    with pytest.raises(TidalogError, match="T124"):
        reshard(workspace.spark, workspace.root / "nowhere", workspace.root / "out", 2)
