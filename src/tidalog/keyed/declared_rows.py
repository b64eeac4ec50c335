"""The rows of a batch and the declarations of their predicates; the key is not an argument."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from tidalog.io.columns import RawTable
from tidalog.io.declared_rows import Declarations, as_declared, bad_row
from tidalog.io.diagnostics import Position
from tidalog.io.update_files import part_of


def facts_in(table: pa.Table) -> RawTable:
    """Operations, predicates and arguments of rows, in their order."""
    names = [name for name in table.column_names if name not in ("key", "update")]
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
        row = table.slice(cell.row, 1).to_pylist()[0]
        values = {name: value if value is None else str(value) for name, value in row.items()}
        notes.append(json.dumps({"fault": fault, "values": values}))
    kept = np.ones(table.num_rows, np.bool_)
    kept[[cell.row for cell in bad]] = False
    return table.filter(pa.array(kept)), notes
