"""Errors about data: T030–T049, T155–T156, T190, W017.

A diagnostic about a row has a `Position`: the file, the line in that file (from 1; header, blank lines and
line breaks inside quotes all count) and the column.  One about a whole file has no position; if an @import or
@export names the file, `at` shows the message there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from tidalog.analysis.diagnostics import LiteralInTriple
from tidalog.model.errors import Diagnostic, Span

_EXCERPT: Final = 160
"""How many characters of a very long line are shown around the error."""


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a data file.  Text files have lines and columns of characters; binary tables and Python
    data have rows only (`text` is empty then)."""

    file: str
    line: int | None = None
    column: int | None = None
    text: str = ""
    width: int = 1
    unit: str = "line"

    def __str__(self) -> str:
        if self.line is None:
            return self.file
        if self.unit != "line":
            return f"{self.file}, {self.unit} {self.line:,}"
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column is not None else "")


class DataDiagnostic(Diagnostic):
    """A message about data, at a position in a data file or in a program."""

    def __init__(self, where: Position | Span | None = None, /, **values: object) -> None:
        super().__init__(where if isinstance(where, Span) else None, **values)
        self.position = where if isinstance(where, Position) else None

    def at(self, span: Span | None) -> Self:
        """The same message, shown at the binding that named the file, unless it already has a position."""
        if self.position is not None or self.span is not None or span is None:
            return self
        return type(self)(span, **self.values)

    def render(self) -> str:
        if self.position is None:
            return super().render()
        lines = [f"error[{self.number}]: {self.message}", f"  --> {self.position}"]
        lines.extend(_underlined(self.position, self._fill(self.reason)))
        hint = self._fill(self.hint)
        if hint:
            lines.append(f"   hint: {hint}")
        return "\n".join(lines)

    @property
    def key(self) -> tuple[object, ...]:
        return *super().key, self.position

    def to_json(self) -> dict[str, object]:
        result = super().to_json()
        if self.position is not None:
            result["file"] = self.position.file
            for name, value in ((self.position.unit, self.position.line), ("column", self.position.column)):
                if value is not None:
                    result[name] = value
        return result


def _underlined(position: Position, reason: str) -> list[str]:
    """The line of the data with the error underlined, or only the reason if there is nothing to show."""
    if position.line is None or position.unit != "line" or position.column is None:
        return [f"   {reason}"] if reason else []
    text, shift = position.text, 0
    if len(text) > _EXCERPT:
        shift = max(0, position.column - _EXCERPT // 2)
        text = text[shift : shift + _EXCERPT]
    before = position.column - shift - 1
    width = max(1, min(position.width, len(text) - before))
    blank = "".join("\t" if c == "\t" else " " for c in text[:before])
    gutter = str(position.line)
    return [
        f"   {gutter} | {text}",
        f"   {' ' * len(gutter)} | {blank}{'^' * width} {reason}".rstrip(),
    ]


class FileNotFound(DataDiagnostic):
    number = "T030"
    title = "there is no file {path}"
    reason = "{why}"
    hint = "{hint}"


class FileNotReadable(DataDiagnostic):
    number = "T031"
    title = "{path} cannot be read"
    reason = "{why}"
    hint = "{hint}"


class UnknownFormat(DataDiagnostic):
    number = "T032"
    title = "unknown data format {name}"
    reason = "{why}"
    hint = "formats are {known}"


class WrongOption(DataDiagnostic):
    number = "T033"
    title = "{problem}"
    reason = "{why}"
    hint = "{hint}"


class WrongArity(DataDiagnostic):
    number = "T034"
    title = "{path} has {found}, but {wanted}"
    reason = "{why}"
    hint = "{hint}"


class WrongFieldCount(DataDiagnostic):
    number = "T035"
    title = "a row has {found} instead of {wanted}"
    reason = "{why}"
    hint = "{hint}"


class WrongValue(DataDiagnostic):
    number = "T036"
    title = "{value} is not {format}"
    reason = "column {field} is read as {format_name}"
    hint = "{hint}"


class MissingValue(DataDiagnostic):
    number = "T037"
    title = "a value is missing (null)"
    reason = "column {field} has no value here, and every argument of a fact needs one"
    hint = 'fill it in, leave the column out (format skip), or leave such rows out (on_error = "skip")'


class OpenQuote(DataDiagnostic):
    number = "T038"
    title = "a quoted field is not closed"
    reason = "the quote opened here has no end, so the rest of the file would be one field"
    hint = "close the quote; if quotes are ordinary characters in this file, say quoting = false"


class LiteralCell(DataDiagnostic):
    """T165, in a row of data."""

    number = LiteralInTriple.number
    title = "{value} cannot be the {role} of a triple"
    reason = "{why}"
    hint = "an IRI is <…> in text, tidalog.IRI in Python, format iri in a table; a plain text is a literal"


class MoreBadRows(DataDiagnostic):
    number = "T039"
    title = "{rows}"
    reason = "only the first {shown} are shown"
    hint = 'on_error = "skip" reads the good rows and keeps the bad ones in a quarantine file'


class WrongEncoding(DataDiagnostic):
    number = "T040"
    title = "{path} is not UTF-8 text"
    reason = "{why}"
    hint = "save the file as UTF-8"


class BrokenCompression(DataDiagnostic):
    number = "T041"
    title = "{path} cannot be decompressed"
    reason = "{why}"
    hint = "{hint}"


class BrokenFile(DataDiagnostic):
    number = "T042"
    title = "{path} is not a whole {format} file"
    reason = "{why}"
    hint = "it may have been cut off while it was written or copied, or it is of another format"


class RdfSyntax(DataDiagnostic):
    number = "T043"
    title = "this is not {format}"
    reason = "{why}"
    hint = "{hint}"


class JsonSyntax(DataDiagnostic):
    number = "T044"
    title = "this line is not a JSON row"
    reason = "{why}"
    hint = 'every line holds one object or one array, such as {{"from": "a", "to": "b"}} or ["a", "b"]'


class NoTermForType(DataDiagnostic):
    number = "T045"
    title = "column {field} of {path} holds {type}, which are not terms"
    reason = "terms are text, integers, doubles, booleans, dates and times"
    hint = "{hint}"


class NotRdf(DataDiagnostic):
    number = "T046"
    title = "{predicate} cannot be written as RDF"
    reason = "{why}"
    hint = "{hint}"


class NotWritable(DataDiagnostic):
    number = "T047"
    title = "{path} cannot be written"
    reason = "{why}"
    hint = "{hint}"


class NotRows(DataDiagnostic):
    number = "T048"
    title = "{problem}"
    reason = "{why}"
    hint = 'pass rows such as [("a", 1), ("b", 2)], a data frame, or an Arrow table'


class NeedsQuoting(DataDiagnostic):
    number = "T049"
    title = "{path} cannot be written without quoting"
    reason = "{value} has a quote, a delimiter or a line break in it"
    hint = "leave out quoting = false, or choose another delimiter"


class NotInSyntax(DataDiagnostic):
    number = "T190"
    title = "{path} cannot have the statement {statement}"
    reason = "{why}"
    hint = "N-Triples (.nt), Turtle (.ttl), N-Quads (.nq) and TriG (.trig) can have it"


class NamesDiffer(DataDiagnostic):
    number = "T155"
    title = "{path} has {number} {name}, which {predicate} is declared with"
    reason = "its columns are {names}"
    hint = "columns are found by name: rename them as declared, or all of them otherwise to go by their order"


class NotAsDeclared(DataDiagnostic):
    number = "T156"
    title = "{value} is not {format}"
    reason = "column {field} is declared as {type}"
    hint = "{hint}"


class ColumnsIgnored(Diagnostic):
    number = "W017"
    title = "{path} has columns that {predicate} is not declared with"
    reason = "not read: {names}"
    hint = "declare them too, or leave them out of the data"
