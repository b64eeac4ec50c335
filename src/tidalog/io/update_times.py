"""Times of update rows: the column `time`, and which updates come too late for the windows of a program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io.diagnostics import Position
from tidalog.io.plain_columns import flat
from tidalog.io.result import BadRow, BadRowLog, TermColumn
from tidalog.io.text_form import any_text
from tidalog.io.update_diagnostics import NotATimeCell, UpdateTooLate
from tidalog.io.update_files import INSERT, FilePart, Rows, position_of_row
from tidalog.lang.names import full_name, has_unknown_prefix
from tidalog.model.facts import Mask
from tidalog.model.term_text import parse_any
from tidalog.model.terms import Double, Integer, String, Term
from tidalog.model.update import Label
from tidalog.model.values import DATE_TIME
from tidalog.model.window_times import NEVER, SECOND, START, duration_text, time_in, time_text

Times = npt.NDArray[np.int64]
_TYPED: Final = rf'^"(.*)"\^\^<{re.escape(DATE_TIME)}>$'
_PLAIN: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z?$"
"""Points in time that Arrow reads exactly."""
_MOMENT: Final = r"^(-?[0-9]+(\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z?)(#[0-9]{1,9})?$"
"""A time, and which of several updates at this time is meant."""


@dataclass(frozen=True)
class Clock:
    """The time of windows, and how much older an update may be."""

    now: int
    late: int
    arguments: Mapping[str, int] = field(default_factory=dict)
    """The arguments, from 0, that have the times of the facts of a predicate."""


def time_of_term(term: Term) -> int | None:
    """The point in time that a term is, in microseconds since 1970: a dateTime, a number of seconds."""
    return time_in(term.value if isinstance(term, Integer | Double | String) else term)


def row_times(column: TermColumn) -> tuple[Times, Mask]:
    """The time of each row, and whether it has one."""
    return _times_of_texts(one_array(any_text(column.array, column.reading)))


def moments(labels: pa.Array) -> list[tuple[int, int]] | None:
    """The time that each label is, and its number if there are several at this time; None if some label is
    no time."""
    if not pc.all(pc.match_substring_regex(labels, _MOMENT)).as_py():
        return None
    parts = [label.partition("#") for label in labels.to_pylist()]
    times, known = _times_of_texts(pa.array([time for time, _, _ in parts], pa.string()))
    if not known.all():
        return None
    return [(time, int(number or 1)) for time, (_, _, number) in zip(times.tolist(), parts, strict=True)]


def times_of_values(column: pa.ChunkedArray) -> tuple[Times, Mask]:
    """The time of each value of a column of any type, and whether it is one."""
    values = one_array(flat(column))
    kind, types = values.type, pa.types
    given = _mask(values.is_valid())
    if types.is_timestamp(kind) or types.is_date(kind):
        micros = pc.fill_null(values.cast(pa.timestamp("us", getattr(kind, "tz", None))), 0).cast(pa.int64())
        return _within(micros.to_numpy(zero_copy_only=False), given)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        numbers = pc.fill_null(values.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False) * SECOND
        return _within(np.round(numbers), given)
    return _times_of_texts(values.cast(pa.string()))


def one_array(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else whole.chunk(0)


def _mask(values: pa.Array) -> Mask:
    result: Mask = values.to_numpy(zero_copy_only=False).astype(np.bool_, copy=False)
    return result


def _within(times: npt.NDArray[np.generic], given: Mask) -> tuple[Times, Mask]:
    known = given & (np.abs(times.astype(np.float64)) < -START)
    return np.where(known, times, START).astype(np.int64), known


def _times_of_texts(texts: pa.Array) -> tuple[Times, Mask]:
    encoded = pc.dictionary_encode(texts)
    distinct = encoded.dictionary
    times, known = np.full(len(distinct), START, np.int64), np.zeros(len(distinct), np.bool_)
    bare = pc.replace_substring_regex(distinct, _TYPED, r"\1")
    plain = _mask(pc.match_substring_regex(bare, _PLAIN))
    if plain.any():
        try:
            moments = pc.utf8_rtrim(bare.filter(pa.array(plain)), "Z").cast(pa.timestamp("us"))
            times[plain], known[plain] = moments.cast(pa.int64()).to_numpy(zero_copy_only=False), True
        except pa.ArrowInvalid:  # a day that the calendar does not have, or 24:00:00
            plain[:] = False
    for row in np.flatnonzero(~plain).tolist():
        time = time_of_term(parse_any(distinct[row].as_py()))
        if time is not None:
            times[row], known[row] = time, True
    codes = pc.fill_null(encoded.indices, len(distinct)).to_numpy(zero_copy_only=False)
    return np.append(times, START)[codes], np.append(known, False)[codes]


@dataclass
class FileTimes:
    """The times of the rows of files: of their column, and of the facts that they insert; START for none."""

    of_column: Times
    of_facts: Times

    @property
    def of_rows(self) -> Times:
        return np.where(self.of_column == START, self.of_facts, self.of_column)


def file_times(
    parts: Sequence[FilePart], kept: Mask, log: BadRowLog, clock: Clock, prefixes: Mapping[str, str]
) -> tuple[FileTimes, Mask]:
    """The times of rows, and those of the kept ones whose time can be read; the others are logged."""
    kept = kept.copy()
    found = FileTimes(np.full(len(kept), START, np.int64), np.full(len(kept), START, np.int64))
    start = 0
    for part in parts:
        own = slice(start, start + part.rows)
        if part.time is not None:
            times, known = row_times(part.time)
            wrong = kept[own] & part.timed & ~known
            log.add((_unreadable(part, int(row)) for row in np.flatnonzero(wrong)), int(wrong.sum()))
            kept[own] &= ~wrong
            found.of_column[own] = np.where(part.timed & known, times, START)
        found.of_facts[own] = _times_of_facts(part, clock.arguments, prefixes)
        start += part.rows
    return found, kept


def by_time(labels: Sequence[Label], ranks: Rows, times: Times) -> tuple[list[Label], Rows]:
    """Rows without labels: each time in a file is an update; rows without a time have the latest of the file.
    Returns names and the update of each row."""
    times = timed(times, ranks)
    order = np.lexsort((times, ranks))
    files, moments = ranks[order], times[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (files[1:] != files[:-1]) | (moments[1:] != moments[:-1])
    updates = np.empty(len(order), np.int64)
    updates[order] = np.cumsum(begins) - 1
    firsts = zip(files[begins].tolist(), moments[begins].tolist(), strict=True)
    alone = np.bincount(files[begins], minlength=len(labels)) == 1
    return [
        labels[file] if alone[file] or time == START else f"{labels[file]} at {time_text(time)}"
        for file, time in firsts
    ], updates


def timed(times: Times, groups: npt.NDArray[np.integer]) -> Times:
    """The times of rows, those without one at the latest time of their group."""
    latest = np.full(int(groups.max(initial=-1)) + 1, START, np.int64)
    np.maximum.at(latest, groups, times)
    return np.where(times == START, latest[groups], times)


def on_time(
    parts: Sequence[FilePart], ranks: Rows, kept: Mask, times: FileTimes, log: BadRowLog, clock: Clock
) -> Mask:
    """The kept rows of updates that are not too late; the others are logged.  An update has the latest time
    of its rows; without one, it is as late as the oldest of its facts."""
    updates = int(ranks.max(initial=-1)) + 1
    latest, latest_fact = np.full(updates, START, np.int64), np.full(updates, START, np.int64)
    oldest_fact = np.full(updates, NEVER, np.int64)
    np.maximum.at(latest, ranks[kept], times.of_column[kept])
    np.maximum.at(latest_fact, ranks[kept], times.of_facts[kept])
    dated = kept & (times.of_facts != START)
    np.minimum.at(oldest_fact, ranks[dated], times.of_facts[dated])
    by_facts = (latest == START) & (latest_fact != START)
    oldest = np.where(by_facts, oldest_fact, latest)
    latest = np.where(by_facts, latest_fact, latest)
    before = _times_before(oldest, latest, clock)
    late = (latest != START) & (before != START) & (oldest < before - clock.late)
    if not late.any():
        return kept
    bad, start = kept & late[ranks], 0
    for part in parts:
        rows = np.flatnonzero(bad[start : start + part.rows])
        found_late = (
            _too_late(part, int(row), oldest[ranks[start + row]], before[ranks[start + row]], clock)
            for row in rows
        )
        log.add(found_late, len(rows))
        start += part.rows
    timely: Mask = kept & ~bad
    return timely


def _times_before(oldest: Times, latest: Times, clock: Clock) -> Times:
    """The time before each update; one that comes too late does not move it."""
    if np.array_equal(oldest, latest):  # then none that is late is the latest
        before: Times = np.maximum.accumulate(np.concatenate([[clock.now], latest]))[:-1]
        return before
    now, found = clock.now, list[int]()
    for first, last in zip(oldest.tolist(), latest.tolist(), strict=True):
        found.append(now)
        if now == START or first >= now - clock.late:
            now = max(now, last)
    return np.array(found, np.int64)


def _times_of_facts(part: FilePart, arguments: Mapping[str, int], prefixes: Mapping[str, str]) -> Times:
    """The times that inserted facts have as arguments; START for the others."""
    found = np.full(part.rows, START, np.int64)
    for code, name in enumerate(part.names if arguments else ()):
        if has_unknown_prefix(name, prefixes):
            continue  # a bad row
        number = arguments.get(full_name(name, prefixes))
        column = None if number is None or number >= len(part.arguments) else part.arguments[number]
        if column is not None:
            own = np.flatnonzero((part.codes == code) & (part.op == INSERT) & (part.arity > (number or 0)))
            found[own] = row_times(TermColumn(column.array.take(pa.array(own)), column.reading))[0]
    return found


def _unreadable(part: FilePart, row: int) -> BadRow:
    assert part.time is not None
    value = any_text(part.time.array.slice(row, 1), part.time.reading)[0].as_py()
    return BadRow(NotATimeCell(position_of_row(part, row), value=value), 1, part.text_of(row))


def _too_late(part: FilePart, row: int, time: int, now: int, clock: Clock) -> BadRow:
    return BadRow(late_at(position_of_row(part, row), int(time), int(now), clock.late), 1, part.text_of(row))


def late_at(position: Position, time: int, now: int, late: int) -> UpdateTooLate:
    than = f"older than {duration_text(late)}" if late else "older than that"
    return UpdateTooLate(position, time=time_text(time), now=time_text(now), late=than)
