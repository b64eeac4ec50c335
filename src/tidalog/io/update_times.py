"""Times of update rows: the column `time`, and which updates come too late for the windows of a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io.result import BadRow, BadRowLog, TermColumn
from tidalog.io.text_form import any_text
from tidalog.io.update_diagnostics import NotATimeCell, UpdateTooLate
from tidalog.io.update_files import FilePart, Mask, Rows, position_of_row
from tidalog.model.term_text import parse_any
from tidalog.model.terms import Double, Integer, String, Term
from tidalog.model.window_times import START, duration_text, time_in, time_text

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Clock:
    """The time of windows, and how much older an update may be."""

    now: int
    late: int


def time_of_term(term: Term) -> int | None:
    """The point in time that a term is, in microseconds since 1970: a dateTime, a number of seconds."""
    return time_in(term.value if isinstance(term, Integer | Double | String) else term)


def row_times(column: TermColumn) -> tuple[Times, Mask]:
    """The time of each row, and whether it has one."""
    text = any_text(column.array, column.reading).combine_chunks()
    encoded = pc.dictionary_encode(text if isinstance(text, pa.Array) else text.chunk(0))
    found = [time_of_term(parse_any(one)) for one in encoded.dictionary.to_pylist()]
    times = np.array([START if time is None else time for time in found], np.int64)
    known = np.array([time is not None for time in found], np.bool_)
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return times[codes], known[codes]


def on_time(parts: Sequence[FilePart], ranks: Rows, kept: Mask, log: BadRowLog, clock: Clock) -> Mask:
    """The rows of updates that are not too late, each at the latest time of its rows; the others, and rows
    without a readable time, are logged."""
    times, kept = np.full(len(ranks), START, np.int64), kept.copy()
    start = 0
    for part in parts:
        if part.time is not None:
            own = slice(start, start + part.rows)
            found, known = row_times(part.time)
            wrong = kept[own] & part.timed & ~known
            log.add((_unreadable(part, int(row)) for row in np.flatnonzero(wrong)), int(wrong.sum()))
            kept[own] &= ~wrong
            times[own] = np.where(part.timed & known, found, START)
        start += part.rows
    updates = int(ranks.max(initial=-1)) + 1
    latest = np.full(updates, START, np.int64)
    np.maximum.at(latest, ranks[kept], times[kept])
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


def _unreadable(part: FilePart, row: int) -> BadRow:
    assert part.time is not None
    value = any_text(part.time.array.slice(row, 1), part.time.reading)[0].as_py()
    return BadRow(NotATimeCell(position_of_row(part, row), value=value), 1, part.text_of(row))


def _too_late(part: FilePart, row: int, time: int, now: int, clock: Clock) -> BadRow:
    late = f"older than {duration_text(clock.late)}" if clock.late else "older than that"
    values = {"time": time_text(int(time)), "now": time_text(int(now)), "late": late}
    return BadRow(UpdateTooLate(position_of_row(part, row), **values), 1, part.text_of(row))
