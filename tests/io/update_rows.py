"""Update tables as plain Python, to compare with."""

from __future__ import annotations

from collections.abc import Callable

from tidalog.io.result import TermColumn
from tidalog.io.update_tables import UpdateTable
from tidalog.lang.names import full_name
from tidalog.model.term_text import from_python, parse_any
from tidalog.model.terms import Term

Row = tuple[str, str, tuple[Term, ...]]


def terms_of(column: TermColumn) -> list[Term]:
    read: dict[str, Callable[[object], Term]] = {
        "any": lambda value: parse_any(str(value)),
        "native": from_python,
    }
    assert column.array.null_count == 0
    return [read[column.reading](value) for value in column.array.to_pylist()]


def rows_of(table: UpdateTable) -> list[tuple[int | str, list[Row]]]:
    """Of each update its label and its rows: sign, predicate, arguments."""
    columns = [terms_of(column) for column in table.arguments]
    assert all(len(column) == table.rows for column in columns)
    assert len(table.starts) == len(table.updates) + 1
    assert table.starts[0] == 0
    assert table.starts[-1] == table.rows
    result = []
    for number, label in enumerate(table.updates):
        rows: list[Row] = []
        for row in range(*table.rows_of(number).indices(table.rows)):
            arguments = tuple(columns[place][row] for place in range(table.arity[row]))
            name = full_name(table.predicate.names[table.predicate.codes[row]], {})
            rows.append(("+" if table.op[row] > 0 else "-", name, arguments))
        result.append((label, rows))
    return result
