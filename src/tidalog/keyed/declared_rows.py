"""The rows of a batch and the declarations of their predicates; the key is not an argument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.io.columns import RawTable
from tidalog.io.declared_rows import Declarations, as_declared, bad_row
from tidalog.io.diagnostics import Position
from tidalog.io.update_diagnostics import UpdateTooLate
from tidalog.io.update_files import part_of
from tidalog.keyed.packing import TIME
from tidalog.keyed.row_notes import ORIGINS, note_of
from tidalog.model.window_times import time_text


def facts_in(table: pa.Table) -> RawTable:
    """Operations, predicates and arguments of rows, in their order."""
    names = [name for name in table.column_names if name not in ("key", "update", TIME, *ORIGINS)]
    columns = [table.column(name) for name in names]

    def position(row: int, field: int) -> tuple[Position, str]:
        return Position("the batch", row + 1, unit="row"), ""

    return RawTable("the batch", columns, table.num_rows, position, tuple(names))


def fitting_rows(table: pa.Table, declarations: Declarations) -> tuple[pa.Table, list[str]]:
    """The rows whose arguments fit the declared types; and the faults of the others, as under BAD."""
    if not declarations.declared or not table.num_rows:
        return table, []
    part = part_of(facts_in(table), None)
    bad = as_declared(part, declarations)[1]
    if not bad:
        return table, []
    notes: list[str] = []
    for cell in bad:
        found = bad_row(part, cell).diagnostic
        fault = {"number": found.number, "message": found.message, "column": f"arg{cell.argument + 1}"}
        (row,) = table.slice(cell.row, 1).to_pylist()
        notes.append(note_of(fault, row, _time_of(row)))
    kept = np.ones(table.num_rows, np.bool_)
    kept[[cell.row for cell in bad]] = False
    return table.filter(pa.array(kept)), notes


def late_notes(
    table: pa.Table, rows: npt.NDArray[np.int64], times: Sequence[int], now: Sequence[int]
) -> list[str]:
    """The faults of rows whose updates come too late, as under BAD: the times of these, and of their keys."""
    notes: list[str] = []
    for row, time, latest in zip(table.take(pa.array(rows)).to_pylist(), times, now, strict=True):
        message = (
            f"{UpdateTooLate(time=time_text(time), now='', late='').message}: time is at {time_text(latest)}"
        )
        fault = {"number": UpdateTooLate.number, "message": message, "column": TIME}
        notes.append(note_of(fault, row, _time_of(row)))
    return notes


def _time_of(row: Mapping[str, object]) -> str | None:
    time = row.get(TIME)
    return time_text(time) if isinstance(time, int) else None
