"""The two executions of the checks of update rows find the same first fault, with the same words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tidalog.api.naming import checked_name
from tidalog.io.columns import RawTable
from tidalog.io.diagnostics import Position
from tidalog.io.result import BadRow, BadRowLog
from tidalog.io.update_checks import (
    FACTS,
    OPERATIONS,
    RowFormat,
    checks_of,
    is_about_catalog,
    sure_checks,
)
from tidalog.io.update_files import part_of
from tidalog.model.errors import UsageError
from tidalog.model.term_text import STANDARD_PREFIXES
from tidalog.spark.catalog import KnownPredicates
from tidalog.spark.columns import update_columns
from tidalog.spark.validate import SURE, Validation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("update", "op", "predicate", "arg1", "arg2", "arg3")
LONG = 'a "long"\nword ' * 9
ROWS = list(
    product(
        (1, None),
        (*OPERATIONS, "x", "", LONG, None),
        ("edge", "zz:edge", "triple", "", None),
        ("a", "<a>", "", None),
        ("b", None),
        ("c", None),
    )
)
CATALOG = KnownPredicates({"edge": 2, "triple": 3, "": 0})


class Faults(BadRowLog):
    """The first fault of each bad row."""

    def __init__(self) -> None:
        super().__init__("skip", None)
        self.found: dict[int, tuple[str, str]] = {}

    def add(self, rows: Iterable[BadRow], count: int) -> None:
        for row in rows:
            assert row.diagnostic.position is not None and row.diagnostic.position.line is not None
            self.found[row.diagnostic.position.line] = row.diagnostic.number, row.diagnostic.message
        assert len(self.found) == count


def of_arrow(names: tuple[str, ...]) -> dict[int, tuple[str, str]]:
    kinds = [pa.int64() if name == "update" else pa.string() for name in names]
    columns = [
        pa.chunked_array([pa.array([row[NAMES.index(name)] for row in ROWS], kind)])
        for name, kind in zip(names, kinds, strict=True)
    ]
    log = Faults()
    part = part_of(
        RawTable("rows", columns, len(ROWS), lambda row, _: (Position("rows", row, unit="row"), ""), names),
        log,
    )
    assert part.rows == len(ROWS) - len(log.found)
    return log.found


@pytest.mark.parametrize("names", [NAMES, NAMES[1:], NAMES[:3], NAMES[:4]], ids=lambda names: "-".join(names))
def test_files_and_streams_find_the_same_faults_in_every_combination(
    spark: SparkSession, names: tuple[str, ...]
) -> None:
    """Streams check predicates too, after everything else."""
    kinds = ", ".join(f"{name} {'bigint' if name == 'update' else 'string'}" for name in names)
    rows = [(number, *(row[NAMES.index(name)] for name in names)) for number, row in enumerate(ROWS)]
    frame = spark.createDataFrame(rows, f"number int, {kinds}")
    validation = Validation(update_columns(frame.schema), CATALOG, text_labels=False)
    fault, sure = validation.fault_of().alias("fault"), validation.is_sure().alias(SURE)
    checked = frame.select("number", "op", fault, sure)
    shown = checked.select("number", "op", SURE, "fault.message", checked["fault.number"].alias("fault"))
    rows_checked = shown.toArrow().to_pylist()
    of_catalog = {check.number for check in validation.checks if is_about_catalog(check)}
    found = {
        row["number"]: (row["fault"], row["message"])
        for row in rows_checked
        if row["fault"] is not None and row["fault"] not in of_catalog
    }
    assert found == of_arrow(names)
    assert len({message for _, message in found.values()}) >= 6
    for row in rows_checked:
        assert row[SURE] == (row["fault"] is None and row["op"] in FACTS)


@pytest.mark.parametrize("open_iris", [False, True])
def test_a_stream_takes_the_names_that_the_engine_takes(spark: SparkSession, open_iris: bool) -> None:
    """An unknown prefix, or text that names nothing, is the fault of its row."""
    prefixes = {**STANDARD_PREFIXES, "ex": "http://e/"}
    known = KnownPredicates({"edge": 1, "ex:p": 1, "<foo:p>": 1}, open_iris, prefixes)
    texts = ["edge", "ex:p", "ex:q", "exx:p", "<foo:p>", "foo:p", "<exx:p>", "http://e/p", "urn:a", "<a b:c>"]
    texts += ["http://e/ p", "<#a:b>", "<a>", ":p", "a:b:c", "no", "rdf:x"]
    frame = spark.createDataFrame(
        [("+", text, "a") for text in texts], "op string, predicate string, arg1 string"
    )
    validation = Validation(update_columns(frame.schema), known, text_labels=False)
    fault, sure = validation.fault_of().alias("fault"), validation.is_sure().alias(SURE)
    checked = frame.select("predicate", fault, sure).select("predicate", "fault.number", SURE)
    for row in checked.toArrow().to_pylist():
        try:
            checked_name(row["predicate"], prefixes)
            expected = {None, "T070"} if not open_iris or ":" not in row["predicate"] else {None}
        except UsageError as error:
            expected = {"T003" if error.diagnostics[0].number == "T003" else "T070"}
        assert row["number"] in expected, row
        assert row[SURE] == (row["number"] is None)


def test_the_short_test_leaves_out_only_what_an_operation_and_the_catalog_imply() -> None:
    """A fact that passes it passes every check: those left out are about operations, shapes or rules."""
    checks = checks_of(
        RowFormat(True, True, True, (1, 2), records=True, keyed=True, catalog=True, open_iris=True)
    )
    left_out = [check for check in checks if check not in sure_checks(checks)]
    for check in left_out:
        about_rules = check.operations is not None and not set(check.operations) & set(FACTS)
        assert about_rules or check.implied
    assert [(check.part, check.test) for check in sure_checks(checks)] == [
        ("record", "given"),
        ("update", "missing"),
        ("update", "outside calendar"),
        ("arg1", "misplaced in a triple"),
        ("arg2", "misplaced in a triple"),
        ("arg1", "outside calendar"),
        ("arg2", "outside calendar"),
        ("key", "missing"),
        ("update", "not an integer"),
    ]
