"""Times of rows on their way to buckets: from a column, from arguments of facts, or that of the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.io.update_checks import INSERT
from tidalog.io.update_diagnostics import NotATimeCell
from tidalog.io.update_times import times_of_values
from tidalog.keyed.batches import Numbers, SubBatches
from tidalog.keyed.packing import BAD, TIME, UNTIL
from tidalog.keyed.row_notes import note_of
from tidalog.model.facts import Ids
from tidalog.model.window_times import START

UpdateTimes = tuple[Numbers, Numbers]


@dataclass(frozen=True)
class RowTimes:
    """Where the times of rows come from.  TIME has the time of the batch if `by_arrival`, else the column of
    the stream with times, if there is one."""

    by_arrival: bool = False
    arguments: Mapping[str, int] = field(default_factory=dict)
    """The arguments, from 0, with the times of facts, by the names of predicates."""

    def of(self, table: pa.Table) -> pa.Table:
        """The rows with their times in microseconds, and the latest of them, or of advances, under UNTIL;
        unreadable times are faults of their rows."""
        if not self.by_arrival:
            table = self._read(table)
        sound = table.filter(pc.is_null(table.column(BAD))) if BAD in table.column_names else table
        latest = [pc.max(sound.column(TIME)).as_py()]
        if UNTIL in table.column_names:
            latest.append(pc.max(table.column(UNTIL)).as_py())
            table = table.drop_columns([UNTIL])
        until = pa.scalar(max((time for time in latest if time is not None), default=None), pa.int64())
        return table.append_column(UNTIL, pa.repeat(until, table.num_rows))

    def _read(self, table: pa.Table) -> pa.Table:
        times = times_of_facts(table, self.arguments)
        if TIME in table.column_names:
            column = table.column(TIME)
            found, known = times_of_values(column)
            times = np.where(known, found, times)
            wrong = np.flatnonzero(~known & column.is_valid().to_numpy())
            table = _with_faults(table, wrong) if len(wrong) else table
            table = table.drop_columns([TIME])
        return table.append_column(TIME, pa.array(times, pa.int64(), mask=times == START))


def times_of_facts(table: pa.Table, arguments: Mapping[str, int]) -> Numbers:
    """The times that rows insert as arguments of predicates; START for other rows."""
    times = np.full(table.num_rows, START, np.int64)
    for name, number in arguments.items():
        if f"arg{number + 1}" in table.column_names:
            is_fact = pc.and_(pc.equal(table.column("predicate"), name), pc.equal(table.column("op"), INSERT))
            rows = np.flatnonzero(pc.fill_null(is_fact, False).to_numpy())
            found, known = times_of_values(table.column(f"arg{number + 1}").take(pa.array(rows)))
            times[rows[known]] = found[known]
    return times


def times_of_rows(table: pa.Table) -> Numbers | None:
    """START for rows without a time; None if none has one."""
    if TIME not in table.column_names:
        return None
    times: Numbers = pc.fill_null(table.column(TIME), START).to_numpy()
    return times


def times_of_updates(table: pa.Table, keys: Ids, order: SubBatches, *, by_facts: bool) -> UpdateTimes:
    """The time by which each update of a batch may come too late, and the latest time of its rows; START if
    it has none.  With times `by_facts` it is as late as the oldest of them."""
    latest, times = np.full(len(order.keys), START, np.int64), times_of_rows(table)
    if times is None:
        return latest, latest
    times, updates = times[order.rows], order.update_of(keys[order.rows], order.sub_batch)
    np.maximum.at(latest, updates, times)
    if not by_facts:
        return latest, latest
    oldest = latest.copy()
    np.minimum.at(oldest, updates, np.where(times == START, latest[updates], times))
    return oldest, latest


def _with_faults(table: pa.Table, wrong: Numbers) -> pa.Table:
    """The rows, of which some have a time that is none."""
    notes = table.column(BAD).to_pylist()
    for number, row in zip(wrong.tolist(), table.take(pa.array(wrong)).to_pylist(), strict=True):
        if notes[number] is None:
            time = str(row[TIME])
            fault = {"number": NotATimeCell.number, "message": NotATimeCell(value=time).message}
            notes[number] = note_of({**fault, "column": TIME}, row, time)
    at = table.column_names.index(BAD)
    return table.set_column(at, BAD, pa.chunked_array([pa.array(notes, pa.string())]))
