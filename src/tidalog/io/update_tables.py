"""Update tables: facts to insert and delete, as columns, from files of any table format.

    update,op,predicate,arg1,arg2
    1,+,edge,a,b
    1,-,edge,b,c
    2,+,node,a,

`update` labels the update that a row belongs to; updates come in the order of their labels, and rows of one
keep the order of the files.  Labels are compared as integers if all of them are, as times if all are, as text
otherwise.  A file without this column is one update, or where times matter one for each of its times.

Everything is arrays: a consumer converts each argument column to ids once and takes slices of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io.columns import RawTable, shown
from tidalog.io.declared_rows import Declarations, as_declared, without_bad_rows
from tidalog.io.delimited import Layout
from tidalog.io.diagnostics import NotWritable, Position, UnknownFormat
from tidalog.io.files import find_files, open_buffer
from tidalog.io.formats import FORMATS, Format, check_option, format_named
from tidalog.io.read import Resource
from tidalog.io.read_progress import ReadProgress
from tidalog.io.result import BadRow, BadRowLog, BadRows, OnError, Progress, TermColumn
from tidalog.io.text_form import any_text
from tidalog.io.update_diagnostics import ComesTooLate, NotAnUpdateTable
from tidalog.io.update_files import (
    ADD_RULE,
    INSERT,
    FilePart,
    Int8s,
    Int32s,
    Rows,
    part_of,
    position_of_label,
    position_of_row,
    read_part,
)
from tidalog.io.update_times import Clock, by_time, file_times, moments, on_time, row_times
from tidalog.model.errors import DataError
from tidalog.model.facts import Mask
from tidalog.model.program import NOTHING_DECLARED, Declaration
from tidalog.model.term_text import STANDARD_PREFIXES
from tidalog.model.update import Label
from tidalog.model.window_times import START

L = TypeVar("L", int, str)
T = TypeVar("T", bound=np.generic)
_INTEGER: Final = "^-?[0-9]{1,1000}$"
_TABLES: Final = tuple(kind for kind in FORMATS if not kind.rdf)


@dataclass(frozen=True)
class PredicateColumn:
    """The predicate of row r is `names[codes[r]]`; names are distinct."""

    codes: Int32s
    names: tuple[str, ...]


@dataclass(frozen=True)
class RuleRow:
    """A row with the operation `+rule` or `-rule`.  `update` is an index of `UpdateTable.updates`; a rule to
    add has a text (from `arg1`) and perhaps a name (from `predicate`), one to remove has a name."""

    update: int
    added: bool
    name: str | None
    text: str | None
    position: Position


@dataclass(frozen=True)
class UpdateTable:
    """Rows sorted by update.  Those of `updates[u]` are `starts[u]` to `starts[u + 1]`.

    `op` is +1 or -1.  The arguments of row r are the first `arity[r]` of `arguments`.  Each column has a
    value in every row: beyond the arity of a row it repeats the value of another row, so that no column has
    nulls or needs terms that the file does not have.  The same holds for `time` where `timed` is false.
    """

    updates: list[Label]
    starts: Rows
    op: Int8s
    predicate: PredicateColumn
    arguments: list[TermColumn]
    arity: Int32s
    time: TermColumn | None = None
    timed: Mask | None = None
    rules: tuple[RuleRow, ...] = ()
    bad: BadRows = field(default_factory=BadRows)

    @property
    def rows(self) -> int:
        return len(self.op)

    @property
    def times(self) -> list[int | None]:
        """The time of each update: the latest of its rows, in microseconds since 1970."""
        if self.time is None or self.timed is None:
            return [None] * len(self.updates)
        times, known = row_times(self.time)
        times = np.where(self.timed & known, times, START)
        latest = [int(times[self.rows_of(u)].max(initial=START)) for u in range(len(self.updates))]
        return [None if time == START else time for time in latest]

    def rows_of(self, update: int) -> slice:
        """The rows of the update with an index."""
        return slice(int(self.starts[update]), int(self.starts[update + 1]))


def read_update_table(
    path: Resource | Sequence[Resource],
    format: str | None = None,
    *,
    delimiter: str | None = None,
    quoting: bool | None = None,
    compression: str | None = None,
    sort_files: bool = False,
    on_error: OnError = "error",
    quarantine: Path | None = None,
    progress: Progress | None = None,
    base_dir: Path | None = None,
    prefixes: Mapping[str, str] = STANDARD_PREFIXES,
    declared: Mapping[str, Declaration] = NOTHING_DECLARED,
    clock: Clock | None = None,
    log: BadRowLog | None = None,
) -> UpdateTable:
    """The updates of a file, a pattern, a folder, or several of these.

    Files are read in the given order, those of a folder or pattern by name.  An update may continue from one
    file to the next, but a row whose label is smaller than one of an earlier file is bad, as it would be in a
    stream of these files.  With `sort_files` rows are sorted across all files instead, for files that were
    written in parallel.

    Predicates may have `prefixes`; arguments of `declared` ones are of their types.  With a `clock` each
    time in a file without labels is an update, and the rows of updates that come too late are bad.  Bad rows
    are an error, or with `on_error="skip"` are counted and written to `quarantine`; those of several tables
    may go to one `log`, which is not finished then.
    """
    folder = base_dir if base_dir is not None else Path()
    resources = [path] if isinstance(path, str) or not isinstance(path, Sequence) else list(path)
    kinds = _TABLES if format is None else (_table_format(format, Path()),)
    endings = [ending for kind in kinds for ending in kind.endings]
    files = [file for resource in resources for file in find_files(resource, folder, endings)]
    formats = [_table_format(format, file) for file in files]
    options = {"delimiter": delimiter, "quoting": quoting, "compression": compression}
    for kind in formats:
        for name, value in options.items():
            if value is not None:
                check_option(kind, kind.read_options, name, value)
    if quarantine is not None and quarantine.exists() and any(quarantine.samefile(file) for file in files):
        why = "this is the file that is read"
        raise DataError(NotWritable(path=quarantine, why=why, hint="quarantine elsewhere"))
    own_log = log is None
    log = BadRowLog(on_error, quarantine) if log is None else log
    parts: list[FilePart] = []
    rows, news = 0, ReadProgress(progress, files)
    try:
        for file, kind in zip(files, formats, strict=True):
            news.begin(file)
            layout = Layout(delimiter or kind.delimiter or ",", quoting is not False, header=True)
            part = read_part(file, open_buffer(file, compression), kind, layout, log, prefixes)
            if part is not None:
                part = without_bad_rows(part, Declarations(declared, prefixes), log)
            if part is not None and part.rows:
                parts.append(part)
                rows += part.rows
            news.end(rows - news.rows)
        labels, ranks = _ranked(parts)
        kept = np.ones(rows, np.bool_) if sort_files else _in_order(parts, labels, ranks, log)
        if clock is not None:
            times, kept = file_times(parts, kept, log, clock, prefixes)
            if parts and parts[0].labels is None:
                labels, ranks = by_time(labels, ranks, times.of_rows)
            kept = on_time(parts, ranks, kept, times, log, clock)
        bad = log.finish() if own_log else BadRows()
    except BaseException:
        if own_log:
            log.abandon()
        raise
    return _table(parts, labels, ranks, kept, bad)


def update_table_of(raw: RawTable, declarations: Declarations | None = None) -> UpdateTable:
    """The updates of columns in memory without bad rows.  Without labels they are one update, with the name
    of the table."""
    part, _ = as_declared(part_of(raw, None), declarations)
    labels, ranks = _ranked([part])
    return _table([part], labels, ranks, np.ones(part.rows, np.bool_), BadRows())


def _table_format(format: str | None, path: Path) -> Format:
    kind = format_named(format, path)
    if kind.rdf:
        known = ", ".join(known.name for known in _TABLES)
        raise DataError(UnknownFormat(name=kind.name, why="RDF files have no column op", known=known))
    return kind


# --- labels -------------------------------------------------------------------------------------------------


def _ranked(parts: list[FilePart]) -> tuple[list[Label], Rows]:
    """The distinct labels in order, and the index of each row's label."""
    labelled = next((part for part in parts if part.labels is not None), None)
    if labelled is None:
        files: list[Label] = [str(part.path) for part in parts]
        return files, np.repeat(np.arange(len(parts)), [part.rows for part in parts])
    columns: list[pa.ChunkedArray] = []
    for part in parts:
        if part.labels is None:
            problem = f"it has no column update, and {labelled.path} has one"
            found = ", ".join(part.raw.names or ())
            hint = "either all files have labels, or each of them is one update"
            raise DataError(NotAnUpdateTable(path=part.path, problem=problem, found=found, hint=hint))
        columns.append(part.labels)
    if all(pa.types.is_int64(column.type) for column in columns):
        every: Rows = np.concatenate([column.to_numpy() for column in columns])
        numbers, ranks = np.unique(every, return_inverse=True)
        return list(numbers.tolist()), ranks.astype(np.int64)
    texts = pa.chunked_array([chunk for c in columns for chunk in c.cast(pa.string()).chunks], pa.string())
    distinct = pc.unique(texts)
    codes = pc.index_in(texts, value_set=distinct).to_numpy()
    names: list[str] = distinct.to_pylist()
    if pc.all(pc.match_substring_regex(distinct, _INTEGER)).as_py():
        return _positions([int(name) for name in names], codes)
    return _positions(names, codes, moments(distinct))


def _positions(
    found: list[L], codes: Rows, keys: Sequence[tuple[int, int]] | None = None
) -> tuple[list[Label], Rows]:
    """The distinct labels in order, that of their keys if they have some, and the index of each row's label,
    which is `found[codes[row]]`."""
    ordered: list[L] = sorted(set(found))
    if keys is not None:
        ordered.sort(key=dict(zip(found, keys, strict=True)).__getitem__)
    position = {label: rank for rank, label in enumerate(ordered)}
    return [*ordered], np.array([position[label] for label in found], dtype=np.int64)[codes]


def _in_order(parts: list[FilePart], labels: list[Label], ranks: Rows, log: BadRowLog) -> Mask:
    """The rows whose label is not smaller than one of an earlier file; the others are logged."""
    kept = np.ones(len(ranks), np.bool_)
    last, start = -1, 0
    for part in parts:
        own = slice(start, start + part.rows)
        late = ranks[own] < last
        if late.any():
            kept[own] = ~late
            found = ((int(row), int(ranks[start + row])) for row in np.flatnonzero(late))
            rows = (_late(part, row, labels[rank], labels[last]) for row, rank in found)
            log.add(rows, int(np.count_nonzero(late)))
        last = max(last, int(ranks[own].max()))
        start = own.stop
    return kept


def _late(part: FilePart, row: int, label: Label, last: Label) -> BadRow:
    position, text = position_of_label(part, row)
    return BadRow(
        ComesTooLate(position, value=shown(label), last=shown(last)), (part.label_field or 0) + 1, text
    )


# --- one table of all files ---------------------------------------------------------------------------------


def _table(parts: list[FilePart], labels: list[Label], ranks: Rows, kept: Mask, bad: BadRows) -> UpdateTable:
    op = _concatenated([part.op for part in parts], np.int8)
    used, ranks_used = np.unique(ranks[kept], return_inverse=True)
    ranks = np.zeros(len(ranks), dtype=np.int64)
    ranks[kept] = ranks_used
    facts = np.flatnonzero(kept & (np.abs(op) == INSERT))
    order = facts[np.argsort(ranks[facts], kind="stable")]
    arity = _concatenated([part.arity for part in parts], np.int32)
    width = int(arity[facts].max()) if len(facts) else 0
    lengths = [part.rows for part in parts]
    timed = _concatenated([part.timed for part in parts], np.bool_)[order]
    time = _joined([part.time for part in parts], lengths)
    return UpdateTable(
        [labels[rank] for rank in used],
        np.searchsorted(ranks[order], np.arange(len(used) + 1)).astype(np.int64),
        op[order],
        _predicates(parts, order),
        [
            _sorted(column, order, len(ranks))
            for number in range(width)
            if (column := _joined([_argument(part, number) for part in parts], lengths)) is not None
        ],
        arity[order],
        None if time is None or not timed.any() else _sorted(time, order, len(ranks)),
        timed if timed.any() else None,
        _rules(parts, ranks, kept),
        bad,
    )


def _concatenated(arrays: list[npt.NDArray[T]], dtype: type[T]) -> npt.NDArray[T]:
    return np.concatenate([np.zeros(0, dtype), *arrays])


def _predicates(parts: list[FilePart], order: Rows) -> PredicateColumn:
    """The predicates of the rows in order; the names are in the order of the files."""
    numbers: dict[str, int] = {}
    codes = [np.zeros(0, np.int32)]
    for part in parts:
        own = [numbers.setdefault(name, len(numbers)) for name in part.names]
        codes.append(np.array([*own, -1], dtype=np.int32)[part.codes])
    names = list(numbers)
    used, own_codes = np.unique(np.concatenate(codes)[order], return_inverse=True)
    return PredicateColumn(own_codes.astype(np.int32), tuple(names[code] for code in used))


def _argument(part: FilePart, number: int) -> TermColumn | None:
    return part.arguments[number] if number < len(part.arguments) else None


def _joined(pieces: list[TermColumn | None], lengths: list[int]) -> TermColumn | None:
    """The columns of all files as one; if their types differ, all become text in `any` form."""
    there = [piece for piece in pieces if piece is not None]
    if not there:
        return None
    same = len({(piece.array.type, piece.reading) for piece in there}) == 1
    reading = there[0].reading if same else "any"
    arrays = [piece.array if same else any_text(piece.array, piece.reading) for piece in there]
    stand_in = arrays[0][0]
    filled = iter(arrays)
    chunks: list[pa.Array] = []
    for piece, length in zip(pieces, lengths, strict=True):
        chunks += next(filled).chunks if piece is not None else [pa.repeat(stand_in, length)]
    return TermColumn(pa.chunked_array(chunks, arrays[0].type), reading)


def _sorted(column: TermColumn, order: Rows, rows: int) -> TermColumn:
    if len(order) == rows and (order[1:] > order[:-1]).all():
        return column
    return TermColumn(column.array.take(pa.array(order)), column.reading)


def _rules(parts: list[FilePart], ranks: Rows, kept: Mask) -> tuple[RuleRow, ...]:
    found: list[RuleRow] = []
    start = 0
    for part in parts:
        for row, (name, text) in part.rules.items():
            if kept[start + row]:
                added = bool(part.op[row] == ADD_RULE)
                found.append(RuleRow(int(ranks[start + row]), added, name, text, position_of_row(part, row)))
        start += part.rows
    return tuple(sorted(found, key=lambda rule: rule.update))
