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
from tidalog.io.plain_columns import flat
from tidalog.io.result import BadRow, BadRowLog, TermColumn
from tidalog.io.text_form import any_text
from tidalog.io.update_diagnostics import NotATimeCell, UpdateTooLate
from tidalog.io.update_files import INSERT, FilePart, Rows, position_of_row
from tidalog.lang.names import full_name, has_unknown_prefix
from tidalog.model.facts import Mask
from tidalog.model.term_text import parse_any
from tidalog.model.terms import Double, Integer, String, Term
from tidalog.model.values import DATE_TIME
from tidalog.model.window_times import SECOND, START, duration_text, time_in, time_text

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


def on_time(
    parts: Sequence[FilePart],
    ranks: Rows,
    kept: Mask,
    log: BadRowLog,
    clock: Clock,
    prefixes: Mapping[str, str],
) -> Mask:
    """The rows of updates that are not too late, each at the latest time of its rows; the others, and rows
    without a readable time, are logged."""
    times, kept = np.full(len(ranks), START, np.int64), kept.copy()
    of_facts = np.full(len(ranks), START, np.int64)
    start = 0
    for part in parts:
        if part.time is not None:
            own = slice(start, start + part.rows)
            found, known = row_times(part.time)
            wrong = kept[own] & part.timed & ~known
            log.add((_unreadable(part, int(row)) for row in np.flatnonzero(wrong)), int(wrong.sum()))
            kept[own] &= ~wrong
            times[own] = np.where(part.timed & known, found, START)
        of_facts[start : start + part.rows] = _times_of_facts(part, clock.arguments, prefixes)
        start += part.rows
    updates = int(ranks.max(initial=-1)) + 1
    latest, latest_fact = np.full(updates, START, np.int64), np.full(updates, START, np.int64)
    np.maximum.at(latest, ranks[kept], times[kept])
    np.maximum.at(latest_fact, ranks[kept], of_facts[kept])
    latest = np.where(latest == START, latest_fact, latest)
    before = np.maximum.accumulate(np.concatenate([[clock.now], latest]))[:-1]
    late = (latest != START) & (before != START) & (latest < before - clock.late)
    if not late.any():
        return kept
    bad, start = kept & late[ranks], 0
    for part in parts:
        rows = np.flatnonzero(bad[start : start + part.rows])
        found_late = (
            _too_late(part, int(row), latest[ranks[start + row]], before[ranks[start + row]], clock)
            for row in rows
        )
        log.add(found_late, len(rows))
        start += part.rows
    on_time: Mask = kept & ~bad
    return on_time


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
    late = f"older than {duration_text(clock.late)}" if clock.late else "older than that"
    values = {"time": time_text(int(time)), "now": time_text(int(now)), "late": late}
    return BadRow(UpdateTooLate(position_of_row(part, row), **values), 1, part.text_of(row))
