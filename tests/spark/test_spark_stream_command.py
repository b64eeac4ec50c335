"""`tidalog stream` as a person runs it: one command, a clean end, figures that add up."""

from __future__ import annotations

import csv
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from update_streams import PROGRAM, consequences, fed, random_stream, write_files

import tidalog
from tidalog.spark.feed import feed_files, read_feed

COMMAND = [sys.executable, "-m", "tidalog", "stream", "rules.rls", "in", "--master", "local[2]"]


def prepared(folder: Path, seed: int) -> set[tuple[str, ...]]:
    stream = random_stream(seed)
    write_files(folder / "in", stream.parts(3), "csv")
    (folder / "rules.rls").write_text(PROGRAM)
    return stream.explicit


def held(store: Path) -> dict[str, set[Any]]:
    with tidalog.open(store, read_only=True) as kb:
        return {name: set(kb.facts(name).to_rows()) for name in kb.predicates}


def test_a_folder_becomes_a_store_a_feed_and_files(tmp_path: Path) -> None:
    explicit = prepared(tmp_path, 41)
    (tmp_path / "in" / "part-9.csv").write_text("update,op,predicate,arg1,arg2\n99,!,edge,a,b\n")
    more = "--store s.tidalog --changes feed --materialised all --trigger available-now --stats stats --json"
    ended = subprocess.run(
        [*COMMAND, *more.split(), "--quarantine", "bad"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    said = json.loads(ended.stdout)
    totals = said["totals"]
    assert totals["rows"] == totals["applied"] + totals["quarantined"]
    assert totals["quarantined"] == 1
    assert len(list((tmp_path / "bad").iterdir())) == 1
    wanted = consequences(explicit)
    assert held(tmp_path / "s.tidalog") == fed(tmp_path / "feed") == wanted
    assert totals["predicates"]["path"]["now"] == len(wanted["path"])
    assert len(list((tmp_path / "all" / "current").iterdir())) == len(wanted)
    *batches, last = [json.loads(line) for line in (tmp_path / "stats").read_text().splitlines()]
    assert sum(batch["rows"] for batch in batches) == last["totals"]["rows"]
    assert min(last["totals"]["memory"].values()) > 0


def test_ctrl_c_ends_it_behind_the_batch_at_work(tmp_path: Path) -> None:
    explicit = prepared(tmp_path, 42)
    more = ["--store", "s.tidalog", "--changes", "feed", "--stats", "stats", "--look-ahead-wait", "600"]
    os.mkfifo(tmp_path / "stats")
    stats = os.open(tmp_path / "stats", os.O_RDONLY | os.O_NONBLOCK)
    running = subprocess.Popen(
        [*COMMAND, *more], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    first_batch, _, _ = select.select([stats], [], [], 150)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    os.close(stats)
    assert first_batch, err
    assert (running.returncode, err) == (0, "")
    assert "rows: " in out
    assert held(tmp_path / "s.tidalog") == fed(tmp_path / "feed") == consequences(explicit)


MOBILITY = Path(__file__).parents[2] / "examples" / "mobility"


def test_queries_emit_what_apply_emits_for_the_same_rows(tmp_path: Path) -> None:
    files = [str(MOBILITY / name) for name in ("mobility.rls", "positions.csv")]
    queries = ["--queries", str(MOBILITY / "queries.csparql")]
    command = [*COMMAND[:3], "apply", *files, *queries, "--out", "applied"]
    applied = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert applied.returncode == 0, applied.stderr
    more = ["--store", "s.tidalog", "--trigger", "available-now", "--master", "local[2]", "--json"]
    command = [*COMMAND[:4], *files, *queries, *more]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["answers"] == "s.tidalog/spark/answers"
    for name in ("TotalAmountPerBroker", "cities", "places"):
        with (tmp_path / "applied" / f"{name}.csv").open(newline="") as file:
            expected = [tuple(row.values()) for row in csv.DictReader(file)]
        tables = read_feed(feed_files(tmp_path / "s.tidalog" / "spark" / "answers" / name))
        found = [tuple(v or "" for v in row.values()) for table in tables for row in table.to_pylist()]
        assert sorted(found) == sorted(expected), name
        assert expected


def test_queries_need_one_knowledge_base_and_a_place(tmp_path: Path) -> None:
    (tmp_path / "rules.rls").write_text(PROGRAM)
    (tmp_path / "bad.csparql").write_text("REGISTER QUERY q AS SELECT ?x WHERE {")
    for options, said in (
        ("--queries bad.csparql --key k", "--queries with --key"),
        ("--queries bad.csparql", "add --answers FOLDER or --store FOLDER"),
        ("--answers out", "add --queries"),
        ("--queries bad.csparql --store s", "error[T001]"),
        ("--queries none.csparql --store s", "none.csparql"),
    ):
        ended = subprocess.run(
            [*COMMAND, *options.split()], cwd=tmp_path, capture_output=True, text=True, timeout=100
        )
        assert ended.returncode == 2 or "error[" in ended.stderr, ended
        assert said in ended.stderr
        assert "Traceback" not in ended.stderr
        assert not (tmp_path / "s").exists()
