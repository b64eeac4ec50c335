"""The rows of a batch and the declarations of their predicates; the key is not an argument."""

from __future__ import annotations

import json
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
from tidalog.model.window_times import time_text


def facts_in(table: pa.Table) -> RawTable:
    """Operations, predicates and arguments of rows, in their order."""
    names = [name for name in table.column_names if name not in ("key", "update", TIME)]
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
        notes.append(_note(fault, table.slice(cell.row, 1).to_pylist()[0]))
    kept = np.ones(table.num_rows, np.bool_)
    kept[[cell.row for cell in bad]] = False
    return table.filter(pa.array(kept)), notes


def late_notes(table: pa.Table, rows: npt.NDArray[np.int64], now: Sequence[int]) -> list[str]:
    """The faults of rows that come too late, as under BAD; `now` are the times of their keys."""
    notes: list[str] = []
    for row, time in zip(table.take(pa.array(rows)).to_pylist(), now, strict=True):
        own = row.get(TIME)
        shown = "" if own is None else time_text(own)
        message = f"{UpdateTooLate(time=shown, now='', late='').message}: time is at {time_text(time)}"
        notes.append(_note({"number": UpdateTooLate.number, "message": message, "column": "time"}, row))
    return notes


def _note(fault: Mapping[str, str], row: Mapping[str, object]) -> str:
    """A fault and the values of its row, in JSON."""
    values = {name: value if value is None else str(value) for name, value in row.items() if name != TIME}
    time = row.get(TIME)
    if isinstance(time, int):
        values["time"] = time_text(time)
    return json.dumps({"fault": fault, "values": values})
