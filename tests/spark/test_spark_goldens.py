"""Golden folders with updates, through the pipeline: the same facts and, update by update, changes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidalog
from tidalog.lang import print_rule
from tidalog.lang.updates import parse_updates_file
from tidalog.model.errors import ProgramError, RunError
from tidalog.model.term_text import format_any
from tidalog.spark.feed import feed_files
from tidalog.spark.sources import read_stream
from tidalog.spark.stream import maintain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


KINDS = (
    "rules_aggregates_over_recursion",
    "rules_reachable",
    "rules_refused_for_a_negative_cycle",
    "update_aggregates",
    "update_brings_a_new_predicate",
    "update_negation",
    "update_refused_by_a_constraint",
    "update_triples",
)
"""One folder of each kind of update.  The others differ in what the engine does with an update, which the
conformance suite checks, and are slow."""
FOLDERS = [
    pytest.param(folder, id=folder.name, marks=() if folder.name in KINDS else pytest.mark.slow)
    for folder in sorted(path.parent for path in GOLDEN.glob("*/updates.upd"))
]
WIDEST = 4
REFUSED = (RunError, ProgramError)
Changes = dict[int, set[tuple[str, ...]]]


def write_table(script: Path, path: Path) -> None:
    """The updates of a script as a table."""
    rows: list[dict[str, object]] = []
    for label, update in enumerate(parse_updates_file(script), 1):
        for op, facts in (("-", update.deletions), ("+", update.insertions)):
            for fact in facts:
                texts = {f"arg{n}": format_any(term) for n, term in enumerate(fact.arguments, 1)}
                rows.append({"update": label, "op": op, "predicate": fact.predicate, **texts})
        rows += [{"update": label, "op": "-rule", "predicate": name} for name in update.rules_removed]
        for rule in update.rules_added:
            text = print_rule(replace(rule, name=None))
            rows.append({"update": label, "op": "+rule", "predicate": rule.name, "arg1": text})
    names = ["op", "predicate", *(f"arg{n}" for n in range(1, WIDEST + 1))]
    schema = pa.schema([("update", pa.int64()), *((name, pa.string()) for name in names)])
    path.parent.mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema), path)


def locally(folder: Path) -> tuple[dict[str, set[object]], Changes]:
    """The same without Spark; an update that is refused is passed over."""
    changes: Changes = defaultdict(set)
    with tidalog.open() as kb:
        kb.load(folder / "program.rls")
        for label, update in enumerate(kb.read_updates(folder / "updates.upd"), 1):
            try:
                delta = kb.apply(update)
            except REFUSED:
                continue
            for batch in delta.batches():
                columns = [column.to_pylist() for column in map(text, batch.columns)]
                facts = zip(*columns, strict=True) if columns else [()] * batch.rows
                changes[label] |= {(batch.sign, batch.predicate, *fact) for fact in facts}
        return {name: set(kb.facts(name).to_terms()) for name in kb.predicates}, changes


def text(column: pa.Array) -> pa.ChunkedArray:
    from tidalog.io.text_form import column_text

    return column_text(pa.chunked_array([column]))


def fed(folder: Path) -> Changes:
    """What a feed says, without its beginning."""
    found: Changes = defaultdict(set)
    for file in feed_files(folder)[1:]:
        for row in pq.read_table(file.path).to_pylist():
            arguments = [value for name, value in row.items() if name.startswith("arg") and value is not None]
            found[row["update"]].add((row["op"], row["predicate"], *arguments))
    return found


def test_every_kind_is_a_golden_folder() -> None:
    assert {*KINDS} <= {parameter.id for parameter in FOLDERS}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_golden_stream_does_the_same_through_spark(
    spark: SparkSession, tmp_path: Path, folder: Path
) -> None:
    write_table(folder / "updates.upd", tmp_path / "in" / "updates.parquet")
    frame = read_stream(spark, str(tmp_path / "in"))
    store = tmp_path / "store.tidalog"
    while True:
        program = folder / "program.rls"
        try:
            query = maintain(frame, program, store, fsync="off").start(
                tmp_path / "feed", trigger="available-now"
            )
            assert query.awaitTermination(120)
            break
        except REFUSED:  # an update is refused; the next run goes on behind it
            continue
    facts, changes = locally(folder)
    with tidalog.open(store, read_only=True) as kb:
        assert {name: set(kb.facts(name).to_terms()) for name in kb.predicates} == facts
    assert fed(tmp_path / "feed") == changes
