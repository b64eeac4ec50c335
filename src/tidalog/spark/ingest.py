"""Reads a micro-batch at the driver: valid rows as Arrow columns, bad ones with their errors.

A batch is read once if all its rows pass the short test of validate.py.  Otherwise it is read again for the
full checks, to find the positions of bad rows, and after rules that add new predicates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.io.declared_rows import as_declared
from tidalog.io.update_checks import ADD_RULE, INSERT
from tidalog.io.update_files import part_of
from tidalog.io.update_times import Times, timed, times_of_values
from tidalog.keyed.row_notes import BLOCK, FILE, OFFSETS, ROW
from tidalog.keyed.row_times import times_of_facts
from tidalog.model.window_times import START
from tidalog.spark.catalog import KnownPredicates
from tidalog.spark.columns import UpdateColumns, quoted
from tidalog.spark.diagnostics import FileInStreamNotReadable, SparkError, UpdateTooLate
from tidalog.spark.internals import no_query_log
from tidalog.spark.named_columns import CONTENT, TIME, content_of, dated_labels, label_of, named
from tidalog.spark.sequencer import raw_batch
from tidalog.spark.validate import FAULT, SURE, Validation

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

    from tidalog.model.update import Label

BadRow = dict[str, object]
"""The position of a row, its error, and its values."""
_NUMBER: Final = "__tidalog_number"
_ORIGINS: Final = {FILE: "file_path", BLOCK: "file_block_start"}
_MOST_ORIGINS: Final = 3
_PLAIN: Final = {"string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"}
_UNREADABLE: Final = re.compile(r"FAILED_READ_FILE|CANNOT_READ_FILE|Encountered error while reading file")
_PATH: Final = re.compile(r"\b(?:file:/|hdfs:/|s3a?:/|gs:/|abfss?:/)[^\s,;'\"]+")


@dataclass(frozen=True)
class Batch:
    """The rows of a micro-batch.  `rows` counts all of them; `table` has the valid ones."""

    rows: int
    table: pa.Table
    bad: list[BadRow]
    faults: tuple[Column, ...] = ()
    """The errors of the bad rows."""


class Ingest:
    """Reads micro-batches of one stream.  `updates` is the stream with the result of the short test.  Labels
    are texts or integers; a text among integers is an error."""

    def __init__(
        self,
        updates: DataFrame,
        columns: UpdateColumns,
        known: KnownPredicates,
        time_arguments: Mapping[str, int] | None = None,
        *,
        text_labels: bool = False,
    ) -> None:
        rows = named(with_origins(updates), columns)
        if columns.dated_labels:
            kind = rows.schema["update"].dataType.simpleString()
            rows = rows.withColumn("update", dated_labels(kind))
        names = ["op", "predicate", *(f"arg{n + 1}" for n in range(len(columns.arguments)))]
        self.has_labels = columns.update is not None
        self.has_times = columns.time is not None
        self._names = ["update", *names, CONTENT] if self.has_labels else names
        if columns.time is not None:
            self._names.append(TIME)
        content = [content_of(columns).alias(CONTENT)] if self.has_labels else []
        self._validation = Validation(columns, known, text_labels)
        sure = self._validation.is_sure().alias(SURE)
        self.updates = rows.select("*", *content, sure)
        own = self.updates.columns
        sources = [FILE] if FILE in own else [name for name in OFFSETS[:2] if name in own]
        self._origins = [*(["update"] if self.has_labels else []), *sources] if sources else []
        self._text_labels = text_labels
        self._label = columns.update or ""
        self._time = columns.time or ""
        self._time_arguments = time_arguments or {}
        self._known = known
        self.declarations = known.declarations
        """Arguments of declared predicates are of their types."""
        self._learnt: set[tuple[str, int]] = set()
        """Predicates of added rules, with their arities."""
        self._fault = self._validation.fault_of()
        self._was_unsure = False
        """Whether rows of the last batch failed the short test, so that it is hardly worthwhile."""

    def learn(self, rules: Iterable[str]) -> bool:
        """Adds the predicates of rules to the known ones; returns whether any is new."""
        new = self._known.of_rules(rules) - self._learnt
        if new:
            self._learnt |= new
            self._fault = self._validation.fault_of(sorted(self._learnt))
        return bool(new)

    def read(self, frame: DataFrame) -> Batch:
        """The rows of a micro-batch of `updates`.  Raises `SparkError` (T116) if a file cannot be read."""
        batch = self._read(frame)
        adds = pc.equal(batch.table.column("op"), ADD_RULE)
        if not pc.any(adds, min_count=0).as_py():
            return batch
        is_new = self.learn(map(str, batch.table.filter(adds).column("arg1").to_pylist()))
        return self._read(frame) if is_new and batch.bad else batch

    def _read(self, frame: DataFrame) -> Batch:
        return self._with_times(frame, self._read_declared(frame))

    def _with_times(self, frame: DataFrame, batch: Batch) -> Batch:
        """The rows with a readable time, in microseconds, or with none."""
        if TIME not in batch.table.column_names:
            return batch
        column = batch.table.column(TIME)
        times, known = times_of_values(column)
        wrong = ~known & column.is_valid().to_numpy()
        table = _with_column(batch.table, times, known)
        if not wrong.any():
            return replace(batch, table=table)
        fault = self._validation.fault_of_time(column, wrong, _first(batch.faults))
        bad = [*batch.bad, *_bad_rows(frame, fault)]
        return Batch(batch.rows, table.filter(pa.array(~wrong)), bad, (*batch.faults, fault))

    def _read_declared(self, frame: DataFrame) -> Batch:
        batch = self._read_valid(frame)
        part = part_of(raw_batch(batch.table, "batch"), None) if self.declarations.declared else None
        bad = as_declared(part, self.declarations)[1] if part is not None else []
        if part is None or not bad:
            return batch
        fitting = np.ones(batch.table.num_rows, np.bool_)
        fitting[[cell.row for cell in bad]] = False
        fault = self._validation.fault_of_types(batch.table, bad, self._fault)
        of_types = [*batch.bad, *_bad_rows(frame, fault)]
        return Batch(batch.rows, batch.table.filter(pa.array(fitting)), of_types, (self._fault, fault))

    def _read_valid(self, frame: DataFrame) -> Batch:
        """The rows that pass the checks of Spark, which knows no declared types."""
        if not self._was_unsure:
            table, sure = self._rows(frame, SURE)
            if _all(sure):
                return Batch(table.num_rows, table, [], (self._fault,))
        table, sure, right = self._rows(frame, SURE, self._fault.isNull().alias(FAULT))
        self._was_unsure = not _all(sure)
        if _all(right):
            return Batch(table.num_rows, table, [], (self._fault,))
        return Batch(table.num_rows, table.filter(right), _bad_rows(frame, self._fault), (self._fault,))

    def _rows(self, frame: DataFrame, *marks: Column | str) -> tuple[pa.Table, *tuple[pa.ChunkedArray, ...]]:
        """All rows, and further columns of marks."""
        with reading():
            whole = frame.select(*self._names, *marks).toArrow()
        return whole.select(self._names), *whole.columns[len(self._names) :]

    def late_rows(
        self, frame: DataFrame, batch: Batch, late: Mapping[Label | None, tuple[str, str]]
    ) -> list[BadRow]:
        """The valid rows of late updates, each with the number and message of its update."""
        texts = {str(one): about for one, about in late.items()}
        return self._late_rows(frame, batch, label_of(self._text_labels).cast("string"), texts)

    def row_times(self, table: pa.Table) -> Times:
        """The time of each row; START if it has none."""
        times = times_of_facts(table, self._time_arguments)
        if TIME not in table.column_names:
            return times
        own = pc.fill_null(table.column(TIME), START).to_numpy()
        return np.where(own == START, times, own)

    def moments(self, batch: Batch) -> Times:
        """The times of valid rows without labels; those without one have the latest."""
        return timed(self.row_times(batch.table), np.zeros(batch.table.num_rows, np.int64))

    def late_times(
        self, frame: DataFrame, batch: Batch, late: Mapping[int | None, tuple[str, str]]
    ) -> list[BadRow]:
        """The valid rows with late times, where each time is an update."""
        from pyspark.sql import functions as F

        texts = [F.col(TIME).cast("string")] if self.has_times else []
        for name, number in self._time_arguments.items():
            is_fact = (F.col("predicate") == name) & (F.col("op") == INSERT)
            texts.append(F.when(is_fact, F.col(f"arg{number + 1}").cast("string")))
        text = F.coalesce(*texts, F.lit(""))
        rows, found = self._rows(frame, text.alias(FAULT))
        if self.has_times:
            rows = _with_column(rows, *times_of_values(rows.column(TIME)))
        times = self.row_times(rows)
        times[times == START] = self.moments(batch).max()
        pairs = zip(found.to_pylist(), times.tolist(), strict=True)
        return self._late_rows(frame, batch, text, {text: late[time] for text, time in pairs if time in late})

    def _late_rows(
        self, frame: DataFrame, batch: Batch, what: Column, late: Mapping[str, tuple[str, str]]
    ) -> list[BadRow]:
        """The valid rows for which something is late."""
        from pyspark.sql import functions as F

        fault = F.struct(F.lit("").alias("number"), what.alias("message"), F.lit("").alias("column"))
        is_late = what.isin(list(late)) & _first(batch.faults).isNull()
        rows = _bad_rows(frame, F.when(is_late, fault))
        for row in rows:
            row["number"], row["message"] = late[str(row["message"])]
            row["column"] = self._label if row["number"] == UpdateTooLate.number else self._time
        return rows

    def origins(self, frame: DataFrame) -> DataFrame | None:
        """The labels and origins of a batch's rows, to be kept while its updates wait; None if the source has
        no origins.  The batch itself is not kept: objects that were used to call the JVM are freed only by
        the cycle collector, and old ones late."""
        return frame.select(*self._origins) if self._origins else None

    def origins_of(self, origins: DataFrame, label: Label | None) -> list[str]:
        """The origins of the rows of an update, or of the whole batch: files, or positions in a queue."""
        rows = origins
        if label is not None:
            rows = rows.filter(label_of(self._text_labels) == label)
        names = [name for name in rows.columns if name != "update"]
        found = rows.select(*names).distinct().limit(_MOST_ORIGINS).toArrow().to_pylist()
        return sorted(
            str(row[FILE]) if FILE in row else ", ".join(f"{name} {value}" for name, value in row.items())
            for row in found
        )


def _with_column(table: pa.Table, times: Times, known: npt.NDArray[np.bool_]) -> pa.Table:
    """Rows with their times in microseconds."""
    read = pa.chunked_array([pa.array(times, pa.int64(), mask=~known)])
    return table.set_column(table.column_names.index(TIME), TIME, read)


def _first(faults: Sequence[Column]) -> Column:
    from pyspark.sql import functions as F

    return F.coalesce(*faults)


def _all(marks: pa.ChunkedArray) -> bool:
    return bool(pc.all(marks, min_count=0).as_py())


def with_origins(frame: DataFrame) -> DataFrame:
    """A stream with the file of each row, if rows come from files."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F

    found: list[Column] = [F.col(f"_metadata.{name}").alias(own) for own, name in _ORIGINS.items()]
    with no_query_log():
        for more in ([F.col("_metadata.row_index").alias(ROW)], []):
            try:
                return frame.select("*", *found, *more)
            except AnalysisException:
                continue
    return frame


def _bad_rows(frame: DataFrame, fault: Column) -> list[BadRow]:
    """The rows with an error.  They are numbered from 1: within the file if it is read in one block or has
    row numbers itself, else from the start of the block."""
    from pyspark.sql import functions as F

    checked = frame.withColumn(FAULT, fault).drop(CONTENT, SURE, TIME)
    numbered = checked.withColumn(_NUMBER, F.monotonically_increasing_id())
    in_files = FILE in checked.columns
    firsts: dict[tuple[str, int], int] = {}
    with reading():
        if in_files and ROW not in checked.columns:
            pieces = numbered.groupBy(FILE, BLOCK).agg(F.min(_NUMBER).alias("first")).toArrow()
            for piece in pieces.to_pylist():
                firsts[piece[FILE], piece[BLOCK]] = piece["first"]
        faulty_rows = numbered.filter(F.col(FAULT).isNotNull())
        bad = faulty_rows.select(*(_shown(field) for field in numbered.schema)).toArrow()
    found: list[BadRow] = []
    for row in bad.to_pylist():
        error, number = row.pop(FAULT), row.pop(_NUMBER)
        if in_files and row.get(ROW) is None:
            row[ROW] = number - firsts[row[FILE], row[BLOCK]]
        found.append(bad_row(error, row))
    return found


def bad_row(fault: Mapping[str, object], row: dict[str, object]) -> BadRow:
    """A bad row in the form of the quarantine: its error, its position and its values."""
    position: BadRow = {name: row.pop(name) for name in OFFSETS if name in row}
    if FILE in row:
        position["file"], position["block"] = row.pop(FILE), row.pop(BLOCK)
        number = row.pop(ROW, None)
        if isinstance(number, int):
            position["row"] = number + 1
    return {**fault, **position, "values": {name: value for name, value in row.items() if value is not None}}


def _shown(field: StructField) -> Column:
    """A column of bad rows with a type that Python can hold; it has no dates outside the calendar, for
    example."""
    from pyspark.sql import functions as F

    column = F.col(quoted(field.name))
    if field.name == FAULT or field.dataType.simpleString().partition("(")[0] in _PLAIN:
        return column
    return column.cast("string").alias(field.name)


@contextmanager
def reading() -> Iterator[None]:
    """Converts Spark's error about a file to one that names the file."""
    try:
        with no_query_log():
            yield
    except SparkError:
        raise
    except Exception as error:
        text = str(error)
        if not _UNREADABLE.search(text):
            raise
        found = _PATH.search(text)
        path = found[0].rstrip(".") if found is not None else "a file"
        raise SparkError(FileInStreamNotReadable(path=path, why=_cause(text))) from error


def _cause(text: str) -> str:
    """The innermost cause that a Java error names, on one line."""
    causes = [line for line in text.splitlines() if line.startswith("Caused by: ")]
    line = causes[-1].removeprefix("Caused by: ") if causes else text.strip().splitlines()[0]
    return re.sub(r"^[\w.$]+(Exception|Error): ", "", line)[:300]
