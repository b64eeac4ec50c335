"""Rows of update tables and the declarations of their predicates.

The arguments of all predicates share columns, so a column is checked predicate by predicate.  Its text is
untyped: a cell is converted as one of a file of this predicate alone, and the column keeps terms in the form
`any`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io.columns import RawTable, bad_value
from tidalog.io.result import BadRow, BadRowLog, TermColumn
from tidalog.io.text_form import any_text
from tidalog.io.typed_columns import Converted, checked, declared_text
from tidalog.io.update_checks import CODES, INSERT
from tidalog.io.update_files import FilePart
from tidalog.lang.names import full_name, has_unknown_prefix
from tidalog.model.facts import Mask
from tidalog.model.program import Declaration


@dataclass(frozen=True)
class Declarations:
    """The declarations of a program, which names of predicates may be shortened by its prefixes."""

    declared: Mapping[str, Declaration]
    prefixes: Mapping[str, str]

    def typed(self, name: str) -> Declaration | None:
        """The declaration of a predicate with types.  A name with an unknown prefix has none: its rows are
        bad."""
        if not self.declared or has_unknown_prefix(name, self.prefixes):
            return None
        found = self.declared.get(full_name(name, self.prefixes))
        return found if found is not None and found.is_typed else None


@dataclass(frozen=True)
class BadCell:
    """The first argument of a row that does not fit: its number, from 0, and its type."""

    row: int
    argument: int
    type: str


def as_declared(part: FilePart, declarations: Declarations | None) -> tuple[FilePart, list[BadCell]]:
    """The rows with arguments of the declared types, and those that do not fit, which are still there."""
    arguments = list(part.arguments)
    bad: dict[int, BadCell] = {}
    for code, name in enumerate(part.names if declarations is not None and declarations.declared else ()):
        assert declarations is not None
        declaration = declarations.typed(name)
        if declaration is None:
            continue
        own = (part.codes == code) & (np.abs(part.op) == CODES[INSERT]) & (part.arity == declaration.arity)
        if not own.any():
            continue
        for number, kind in enumerate(declaration.types):
            column = arguments[number]
            if kind == "any" or column is None:
                continue
            found = _fitted(column, own, kind, declarations.prefixes)
            arguments[number] = _replaced(column, own, found)
            for row in np.flatnonzero(own)[found.bad] if found.bad is not None else ():
                bad.setdefault(int(row), BadCell(int(row), number, kind))
    if all(new is old for new, old in zip(arguments, part.arguments, strict=True)) and not bad:
        return part, []
    assert declarations is not None
    raw = replace(part.raw, prefixes=declarations.prefixes)
    return replace(part, arguments=arguments, raw=raw), [bad[row] for row in sorted(bad)]


def _fitted(column: TermColumn, own: Mask, kind: str, prefixes: Mapping[str, str]) -> Converted:
    array = column.array if own.all() else column.array.filter(pa.array(own))
    if column.reading == "any" and pa.types.is_string(array.type):
        return declared_text(array, kind, prefixes)
    return checked(array, column.reading, kind, prefixes)


def _replaced(column: TermColumn, own: Mask, found: Converted) -> TermColumn:
    """The column with the values that were found for some of its rows."""
    if own.all():
        return TermColumn(found.array, found.reading)
    if found.reading == column.reading and found.array.type == column.array.type and found.reading != "any":
        return column  # checked, and nothing to convert
    text, mask = any_text(column.array, column.reading), pa.array(own)
    new = any_text(found.array, found.reading)
    whole = pc.replace_with_mask(text.combine_chunks(), mask, new.combine_chunks())
    return TermColumn(pa.chunked_array([whole]), "any")


def without_bad_rows(part: FilePart, declarations: Declarations | None, log: BadRowLog) -> FilePart:
    """The rows that fit, converted; the others go to the log."""
    part, bad = as_declared(part, declarations)
    if not bad:
        return part
    log.add((bad_row(part, cell) for cell in bad), len(bad))
    kept = np.ones(part.rows, np.bool_)
    kept[[cell.row for cell in bad]] = False
    rows = np.flatnonzero(kept)
    taken = pa.array(rows)
    position = np.cumsum(kept) - 1
    return replace(
        part,
        labels=None if part.labels is None else part.labels.take(taken),
        op=part.op[rows],
        codes=part.codes[rows],
        arguments=[None if c is None else TermColumn(c.array.take(taken), c.reading) for c in part.arguments],
        arity=part.arity[rows],
        time=None if part.time is None else TermColumn(part.time.array.take(taken), part.time.reading),
        timed=part.timed[rows],
        rules={int(position[row]): rule for row, rule in part.rules.items()},
        numbers=part.numbers[rows],
    )


def bad_row(part: FilePart, cell: BadCell) -> BadRow:
    raw: RawTable = part.raw
    return bad_value(raw, int(part.numbers[cell.row]), part.fields[cell.argument], "any", cell.type)
