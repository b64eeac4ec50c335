"""The checks of update rows (update_checks.py) on Arrow columns: bad rows, and the first error of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.io.columns import RawTable, shown
from tidalog.io.diagnostics import DataDiagnostic, Position
from tidalog.io.result import BadRow
from tidalog.io.triple_cells import misplaced_texts
from tidalog.io.update_checks import CODES, Check, RowFormat, checks_of
from tidalog.model.facts import Mask


@dataclass(frozen=True)
class CheckedColumns:
    """The columns of an update table that are checked.  `fields` are the positions of `update`, `op`,
    `predicate` and `arg1` … in the file."""

    raw: RawTable
    fields: dict[str, int]
    labels: pa.ChunkedArray | None
    operations: pa.ChunkedArray
    op: npt.NDArray[np.int8]
    """The code of each operation; 0 for an unknown one."""
    predicates: pa.ChunkedArray
    unknown_prefix: Mask
    """The rows whose predicate has a prefix that stands for nothing."""
    triples: Mask
    """The rows of `triple` with three arguments."""
    present: list[Mask]
    """For each argument, the rows that have it."""
    arity: npt.NDArray[np.int32]
    empty_arguments: bool
    """Whether an empty field before the last argument is the empty text (delimited text), not a gap."""
    prefixes: Mapping[str, str]
    """The prefixes that predicates may have."""


class RowFaults:
    def __init__(self, columns: CheckedColumns) -> None:
        self._columns = columns
        self._failed: list[tuple[Check, Mask]] = []
        self.bad: Mask = np.zeros(columns.raw.rows, np.bool_)
        """The rows that fail a check."""
        for check in checks_of(RowFormat(labels=columns.labels is not None, prefixes=columns.prefixes)):
            failed = self._fails(check)
            if failed is not None and failed.any() and check.operations is not None:
                failed = failed & np.isin(columns.op, [CODES[operation] for operation in check.operations])
            if failed is not None and failed.any():
                self._failed.append((check, failed))
                self.bad |= failed

    def _fails(self, check: Check) -> Mask | None:
        """The rows with its operations that fail a check; None if there are none."""
        columns = self._columns
        match check.test, check.part:
            case "missing", "arg1":
                none_given: Mask = columns.arity == 0
                return none_given if columns.empty_arguments or not columns.present else ~columns.present[0]
            case "missing", part:
                column = {"op": columns.operations, "predicate": columns.predicates}.get(part, columns.labels)
                if column is None or not column.null_count:
                    return None
                missing: Mask = column.is_null().to_numpy().astype(np.bool_)
                return missing
            case "no operation", _:
                unknown: Mask = columns.op == 0
                return unknown
            case "unknown prefix", _:
                return columns.unknown_prefix
            case "misplaced in a triple", part:
                if not columns.triples.any():
                    return None
                position = int(part.removeprefix("arg")) - 1
                texts = misplaced_texts(columns.raw.columns[columns.fields[part]], position)
                return None if texts is None else texts & columns.triples
            case "gap", _:
                gaps: Mask = columns.arity != sum(columns.present)
                return None if columns.empty_arguments else gaps
        raise NotImplementedError(f"{check.test} is not checked in files")

    def rows(self) -> Iterator[BadRow]:
        for row in np.flatnonzero(self.bad).tolist():
            check = next(check for check, failed in self._failed if failed[row])
            field = self._field(check, row)
            position, text = self._columns.raw.locate(row, field)
            yield BadRow(self._diagnostic(check, row, field, position), field + 1, text)

    def _field(self, check: Check, row: int) -> int:
        columns = self._columns
        if check.test == "gap":
            first = next(number for number, there in enumerate(columns.present, 1) if not there[row])
            return columns.fields[f"arg{first}"]
        return columns.fields.get(check.part, columns.fields["predicate"])

    def _diagnostic(self, check: Check, row: int, field: int, position: Position) -> DataDiagnostic:
        raw = self._columns.raw
        name = f"{field + 1} ({raw.names[field]})" if raw.names is not None else str(field + 1)
        values = {key: shown(raw.columns[field][row].as_py()) for key in check.row_values}
        assert issubclass(check.diagnostic, DataDiagnostic)
        return check.diagnostic(position, **check.values, field=name, **values)
