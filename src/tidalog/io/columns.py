"""Arrow columns to term columns, by the column's type and its format.

A format (`any`, `string`, `int` …, `skip`) says what a column's values mean, and converts them; a declared
type converts untyped text alike, and checks values that have a type.  Both work on whole columns and never
fail on a value (typed_columns.py); `to_terms` removes and reports the rows that do not fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from tidalog.io.diagnostics import (
    ColumnsIgnored,
    DataDiagnostic,
    LiteralCell,
    MissingValue,
    NamesDiffer,
    NotAsDeclared,
    NoTermForType,
    Position,
    WrongArity,
    WrongValue,
)
from tidalog.io.plain_columns import NotTerms, flat, plain
from tidalog.io.result import BadRow, BadRowLog, Reading, TermColumn
from tidalog.io.text_form import column_text, lexical_text
from tidalog.io.triple_cells import misplaced_cells
from tidalog.io.typed_columns import (
    Converted,
    as_iris,
    checked,
    declared_text,
    from_text,
    spelt,
    whole_doubles,
)
from tidalog.lang.names import NO_PREFIXES, has_unknown_prefix, prefix_advice
from tidalog.model.amounts import counted
from tidalog.model.column_types import SKIP, TYPES, is_integer, spelling, term_of_text
from tidalog.model.errors import DataError
from tidalog.model.facts import Mask
from tidalog.model.program import Declaration
from tidalog.model.term_text import from_python, parse_any
from tidalog.model.terms import IRI, String, Term
from tidalog.rdf.shorthand import ROLES, WHY

AS_IT_COMES: Final = ""
"""The format of a column for which none is given: typed values keep their type."""
_OF_TERMS: Final = (AS_IT_COMES, "any", "iri")
"""Formats that are read from terms, and not from what strings and decimals spell."""
_OTHER_HINTS: Final = dict.fromkeys(("int", "double"), "format any accepts every text")
"""Hints for columns of files, for which nothing is declared."""


@dataclass(frozen=True)
class RawTable:
    """A file's columns as they were read, and how to locate a row.

    `locate(row, field)` returns the position of a field (from 0) in the file, and the text of its row.
    `readings` says how text columns become terms; without them, as strings.  Text of an `untyped` table may
    stand for values of any type.  `prefixes` are those of the program, for columns of IRIs.
    """

    path: str
    columns: list[pa.ChunkedArray]
    rows: int
    locate: Callable[[int, int], tuple[Position, str]]
    names: tuple[str, ...] | None = None
    readings: Sequence[Reading] | None = None
    untyped: bool = False
    prefixes: Mapping[str, str] = dataclasses.field(default_factory=lambda: NO_PREFIXES)

    def reading(self, field: int) -> Reading:
        return "string" if self.readings is None else self.readings[field]


def named_fields(
    path: str, names: Sequence[str] | None, formats: Sequence[str] | None, declaration: Declaration | None
) -> list[int] | None:
    """The fields of the columns of a declared predicate, if the data has names for them; None if they are in
    the order of the data.  Capitals do not matter if nothing else differs.  Raises `DataError` (T155) if the
    data has some of the names only."""
    if declaration is None or names is None or not declaration.is_named:
        return None
    known: dict[str, list[int]] = {}
    for field, name in enumerate(names):
        if formats is None or len(formats) != len(names) or formats[field] != SKIP:
            known.setdefault(name, []).append(field)
    for name in list(known):
        known.setdefault(name.casefold(), known[name])
    found = [known.get(name) or known.get(name.casefold()) for name in declaration.names]
    exact = {known[name][0] for name in declaration.names if name in names}
    for number, (name, one) in enumerate(zip(declaration.names, found, strict=True)):
        # a column belongs to the name that it has, and to one name only
        taken = one is not None and (one in found[:number] or (name not in names and one[0] in exact))
        found[number] = None if taken else one
    fields = [one[0] for one in found if one is not None and len(one) == 1]
    if len(fields) == declaration.arity:
        return fields
    if all(one is None for one in found):
        return None
    missing = next(n for n, one in zip(declaration.names, found, strict=True) if one is None or len(one) > 1)
    raise DataError(
        NamesDiffer(
            path=path,
            number="two columns" if known.get(missing) else "no column",
            name=missing,
            predicate=declaration.predicate,
            names=", ".join(names),
        )
    )


def columns_ignored(
    table: RawTable, fields: Sequence[int], declaration: Declaration
) -> tuple[ColumnsIgnored, ...]:
    """A notice if columns of a table with names are not read."""
    others = [name for field, name in enumerate(table.names or ()) if field not in fields]
    if not others:
        return ()
    return (ColumnsIgnored(path=table.path, predicate=declaration.predicate, names=", ".join(others)),)


def to_terms(
    table: RawTable,
    formats: Sequence[str] | None,
    arity: int | None,
    log: BadRowLog,
    declaration: Declaration | None = None,
    fields: Sequence[int] | None = None,
    *,
    triples: bool = False,
) -> tuple[list[TermColumn], int]:
    """The table's columns as terms, without bad rows; and the number of rows left.  The columns are `fields`
    in this order, or all but those that are skipped.  With `triples`, a literal as subject or predicate makes
    a bad row."""
    formats = check_shape(table.path, len(table.columns), formats, None if fields is not None else arity)
    kept = list(fields) if fields is not None else [f for f, name in enumerate(formats) if name != SKIP]
    types = ("any",) * len(kept)
    if declaration is not None and declaration.arity == len(kept):
        types = declaration.types
    converted: list[Converted] = []
    bad: Mask | None = None
    for field, kind in zip(kept, types, strict=True):
        result = _convert(table, field, formats[field], kind)
        if triples and len(kept) == 3:
            misplaced = misplaced_cells(TermColumn(result.array, result.reading), len(converted))
            if misplaced is not None:
                found = misplaced if result.bad is None else misplaced | result.bad
                result = Converted(result.array, result.reading, found, misplaced)
        converted.append(result)
        if result.bad is not None:
            bad = result.bad if bad is None else bad | result.bad
    if bad is None:
        return [TermColumn(c.array, c.reading) for c in converted], table.rows
    sources = [(field, formats[field], kind) for field, kind in zip(kept, types, strict=True)]
    if declaration is not None and table.names is None:
        table = replace(table, names=_names_of_fields(len(table.columns), kept, declaration))
    log.add(_bad_rows(table, sources, converted, bad), int(np.count_nonzero(bad)))
    good = pa.array(~bad)
    return [TermColumn(c.array.filter(good), c.reading) for c in converted], len(good) - int(bad.sum())


def _names_of_fields(width: int, kept: Sequence[int], declaration: Declaration) -> tuple[str, ...]:
    """Names for messages about data without names."""
    names = [f"arg{field + 1}" for field in range(width)]
    for field, name in zip(kept, declaration.names, strict=False):
        names[field] = name
    return tuple(names)


def check_shape(
    path: str, width: int, formats: Sequence[str] | None, arity: int | None, hint: str | None = None
) -> Sequence[str]:
    """One format for each of the file's `width` columns.  The number of columns kept must be the arity of the
    predicate."""
    if formats is None:
        formats = (AS_IT_COMES,) * width
    elif len(formats) != width:
        raise DataError(
            WrongArity(
                path=path,
                found=counted(width, "column"),
                wanted=f"the format lists {len(formats)}",
                why=f"format = ({', '.join(formats)})",
                hint=hint or "the format has one entry for each column of the file; skip leaves a column out",
            )
        )
    kept = sum(name != "skip" for name in formats)
    if arity is not None and kept != arity:
        if hint is None:
            hint = "a format with skip for some columns leaves these out" if kept > arity else ""
        raise DataError(
            WrongArity(
                path=path,
                found=counted(kept, "column"),
                wanted=f"the predicate has {counted(arity, 'argument')}",
                why="every column is one argument"
                + (" (those with format skip are not)" if kept < width else ""),
                hint=hint,
            )
        )
    return formats


def _bad_rows(
    table: RawTable, sources: list[tuple[int, str, str]], converted: list[Converted], bad: Mask
) -> Iterator[BadRow]:
    """The first error of each bad row.  A column has a field, a format and a declared type."""
    for row in np.flatnonzero(bad):
        for number, ((field, format, kind), result) in enumerate(zip(sources, converted, strict=True)):
            if result.bad is not None and result.bad[row]:
                is_misplaced = result.misplaced is not None and result.misplaced[row]
                role = number if is_misplaced else None
                yield bad_value(table, int(row), field, format, kind, role)
                break


def bad_value(
    table: RawTable, row: int, field: int, format: str, kind: str, role: int | None = None
) -> BadRow:
    """The error of a value that is missing, not what a triple has in its `role`, not of its format, or not of
    its declared type."""
    position, text = table.locate(row, field)
    value = table.columns[field][row].as_py()
    name = f"{field + 1} ({table.names[field]})" if table.names is not None else str(field + 1)
    diagnostic: DataDiagnostic
    if value is None:
        diagnostic = MissingValue(position, field=name)
    elif role is not None:
        diagnostic = LiteralCell(position, value=shown(value), role=ROLES[role], why=WHY[ROLES[role]])
    elif kind != "any":
        wanted = TYPES[kind]
        is_term = table.reading(field) == "any" and not table.untyped
        is_text = isinstance(value, str) and not is_term
        text_of = shown(value) if is_text else str(value)
        hint = wanted.hint
        if not table.untyped and format == AS_IT_COMES:
            hint = _typed_hint(_term_of(value, table.reading(field)), kind) or hint
        diagnostic = NotAsDeclared(
            position,
            value=text_of,
            format=wanted.description,
            type=kind,
            field=name,
            hint=_prefix_hint(value, kind, table.prefixes) or hint,
        )
    else:
        diagnostic = WrongValue(
            position,
            value=shown(value),
            format=TYPES[format].description,
            format_name=format,
            field=name,
            hint=_prefix_hint(value, format, table.prefixes) or _OTHER_HINTS.get(format, TYPES[format].hint),
        )
    return BadRow(diagnostic, field + 1, text)


def _term_of(value: object, reading: Reading) -> Term | None:
    if isinstance(value, str) and reading != "string":
        return IRI(value) if reading == "iri" else parse_any(value)
    try:
        return from_python(value)
    except TypeError:
        return None


def _typed_hint(term: Term | None, kind: str) -> str:
    """What to do about a term of typed data that is not of a declared type; empty if it is spelt wrong."""
    if kind == "iri":
        return "give a tidalog.IRI, or the text <…> or ex:… of one" if isinstance(term, String) else ""
    text = None if term is None else spelling(term)
    if kind == "double" and is_integer(term):
        return "no double has exactly this value; the format double for this column rounds it"
    if text is None or term_of_text(text, kind) is None:
        return "only strings are text" if kind == "string" else ""
    values = "strings of typed data" if isinstance(term, String) else "values of another type"
    return f"{values} are not converted; the format {kind} for this column reads them"


def _prefix_hint(value: object, kind: str, prefixes: Mapping[str, str]) -> str:
    """What to do about a name whose prefix is unknown, where an IRI is asked for."""
    if kind != "iri" or not isinstance(value, str) or not has_unknown_prefix(value, prefixes):
        return ""
    prefix = value.partition(":")[0]
    return "a blank node is not an IRI" if prefix == "_" else prefix_advice(prefix, value, prefixes)


def shown(value: object) -> str:
    """A value in a message: short, on one line, in quotes if it is text."""
    text = repr(value) if not isinstance(value, str) else '"' + value.replace("\n", "\\n") + '"'
    return text if len(text) <= 60 else text[:57] + "…"


# --- one column -------------------------------------------------------------------------------------------


def _convert(table: RawTable, field: int, format: str, kind: str) -> Converted:
    column, reading = flat(table.columns[field]), table.reading(field)
    if pa.types.is_decimal(column.type) and reading != "int" and format not in _OF_TERMS:
        column, reading = lexical_text(column)[0], "string"  # digits, from which a format reads its type
    try:
        values, reading = plain(column, reading)
    except NotTerms as error:
        raise _no_term_for(table, field, str(error)) from None
    missing: Mask | None = None
    if values.null_count:
        missing = values.is_null().to_numpy()
        values = _filled(values)
    result = _typed(values, reading, format, kind, table)
    if missing is None:
        return result
    return Converted(result.array, result.reading, missing if result.bad is None else missing | result.bad)


def _no_term_for(table: RawTable, field: int, what: str) -> DataError:
    return DataError(
        NoTermForType(
            path=table.path,
            field=f"{field + 1} ({table.names[field]})" if table.names is not None else field + 1,
            type=what,
            hint="leave the column out with format skip, or convert it first",
        )
    )


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with placeholders for nulls; their rows are removed later."""
    if pa.types.is_string(column.type):
        return column.fill_null("")
    return column.fill_null(pa.scalar(0).cast(column.type))


def _typed(column: pa.ChunkedArray, reading: Reading, format: str, kind: str, table: RawTable) -> Converted:
    """A column in its format and as its declared type."""
    prefixes, is_text = table.prefixes, table.untyped and pa.types.is_string(column.type)
    if reading == "any" and not table.untyped and format not in _OF_TERMS:
        column, reading = spelt(column), "string"
    if format == "iri" and not is_text and pa.types.is_string(column.type):
        first = as_iris(column, reading, prefixes, relative=True)
    else:
        first = _formatted(column, reading, format, prefixes)
    if kind == "any":
        return first
    if format == AS_IT_COMES and is_text:
        return declared_text(column, kind, prefixes)
    second = checked(first.array, first.reading, kind, prefixes)
    if first.bad is None:
        return second
    return Converted(
        second.array, second.reading, first.bad if second.bad is None else first.bad | second.bad
    )


def _formatted(
    column: pa.ChunkedArray, reading: Reading, format: str, prefixes: Mapping[str, str]
) -> Converted:
    """A column in the format that a call or an @import gives it."""
    match format:
        case "":
            return Converted(column, reading)
        case "any":
            return Converted(column, "any" if reading == "string" else reading)
        case "int" if pa.types.is_int64(column.type):
            return Converted(column, "native")
        case "int" if pa.types.is_float64(column.type):
            return whole_doubles(column)
        case "double" if pa.types.is_floating(column.type):
            return Converted(column, "native")
        case "double" if pa.types.is_int64(column.type):
            return Converted(column.cast(pa.float64(), safe=False), "native")
        case "boolean" if pa.types.is_boolean(column.type):
            return Converted(column, "native")
        case "iri" if not pa.types.is_string(column.type):
            return Converted(column_text(column), "iri", np.ones(len(column), dtype=np.bool_))
    return from_text(column_text(column), format, prefixes)
