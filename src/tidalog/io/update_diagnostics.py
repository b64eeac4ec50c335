"""Errors about update tables.

Each has the number of the corresponding message about tables of facts (diagnostics.py).
"""

from __future__ import annotations

from tidalog.io.diagnostics import (
    DataDiagnostic,
    JsonSyntax,
    MissingValue,
    NoTermForType,
    WrongArity,
    WrongFieldCount,
    WrongValue,
)
from tidalog.lang.diagnostics import UnknownPrefix
from tidalog.model.errors import Diagnostic


class NotAnUpdateTable(DataDiagnostic):
    number = WrongArity.number
    title = "{path} is not an update table: {problem}"
    reason = "its columns are {found}"
    hint = "{hint}"


class WrongColumnType(DataDiagnostic):
    number = NoTermForType.number
    title = "column {field} of {path} holds values of type {type}"
    reason = "{why}"
    hint = "convert the column first"


class MissingPart(DataDiagnostic):
    """A row without its operation, its predicate or the label of its update."""

    number = MissingValue.number
    title = "the {what} is missing"
    reason = "column {field} has no value here"
    hint = 'fill it in, or leave such rows out (on_error = "skip")'


class MissingArgument(DataDiagnostic):
    number = MissingValue.number
    title = "a gap in the arguments"
    reason = "column {field} has no value here, and a later argument has one"
    hint = "the arguments of a fact fill arg1, arg2, … without a gap; after the last there are only nulls"


class ComesTooLate(DataDiagnostic):
    number = WrongValue.number
    title = "update {value} comes too late"
    reason = "an earlier file ends with update {last}"
    hint = (
        "files are read in the order of their names; sort_files sorts updates that are spread over all files"
    )


class NotATimeCell(DataDiagnostic):
    number = WrongValue.number
    title = "{value} is not a time"
    reason = "column time has a dateTime or a number of seconds since 1970"
    hint = "write 2026-05-31T18:30:00Z or 12.5"


class UpdateTooLate(DataDiagnostic):
    number = "T174"
    title = "the update at {time} comes too late"
    reason = "time is at {now}, and updates that are {late} are not applied"
    hint = "allow late updates with --late 5s, or tidalog.open(late='5s') in Python"


class NotAnObject(DataDiagnostic):
    number = JsonSyntax.number
    title = JsonSyntax.title
    reason = JsonSyntax.reason
    hint = 'every line holds one object, such as {{"op": "+", "predicate": "edge", "arg1": "a"}}'


class UnreadableRow(DataDiagnostic):
    number = WrongFieldCount.number
    title = "this line cannot be read as a row of the table"
    reason = ""
    hint = ""


class OutsideCalendar(DataDiagnostic):
    number = NoTermForType.number
    title = "a date outside the years 1 to 9999"
    reason = "column {field} has it"
    hint = "such dates are not terms"


class UnknownPrefixOfRow(DataDiagnostic):
    """T003, in a row of a table."""

    number = UnknownPrefix.number
    title = "unknown prefix in the predicate {value}"
    reason = "nothing says what stands before the colon"
    hint = "known prefixes are {known}; <…> is an IRI"


class RuleOfOneKey(Diagnostic):
    number = "T132"
    title = "a rule is that of every key"
    reason = "this row has a key and is about a rule"
    hint = "leave the key of such rows empty"


class UnknownPredicate(Diagnostic):
    number = "T070"
    title = "there is no predicate {name}"
    reason = "no rule, fact, import or insertion mentions it"
    hint = "{hint}"


class PatchSyntax(DataDiagnostic):
    number = "T191"
    title = "this is not a row of RDF Patch"
    reason = "{why}"
    hint = "{hint}"


class PatchTransaction(DataDiagnostic):
    number = "T192"
    title = "this row does not fit the transactions of its patch"
    reason = "{why}"
    hint = "{hint}"
