"""Errors (T001–T009, T150–T151, T220–T224) and warnings (W001–…) about the text of a program or a query."""

from __future__ import annotations

from tidalog.model.errors import Diagnostic, Source, Span


class UnexpectedText(Diagnostic):
    number = "T001"
    title = "unexpected {found}"
    reason = "expected {expected}"
    hint = "{advice}"


class Unterminated(Diagnostic):
    number = "T002"
    title = "this {what} never ends"
    reason = "it starts here and its {closing} is missing"
    hint = "{advice}"


class UnknownPrefix(Diagnostic):
    number = "T003"
    title = "unknown prefix {prefix}:"
    reason = "nothing says what {prefix}: stands for"
    hint = "{advice}"


class BadLiteral(Diagnostic):
    number = "T004"
    title = "{what} cannot be read"
    reason = "{problem}"
    hint = "{advice}"


class TooDeep(Diagnostic):
    number = "T005"
    title = "nested too deeply"
    reason = "more than {limit} levels of brackets and operators"
    hint = "split the expression over several rules or computations"


class UnknownDirective(Diagnostic):
    number = "T006"
    title = "unknown directive @{name}"
    reason = "no directive has this name"
    hint = "{advice}"


class UnknownType(Diagnostic):
    number = "T150"
    title = "there is no type {name}"
    reason = "{suggestion}"
    hint = "types are {known}"


class ColumnTwice(Diagnostic):
    number = "T151"
    title = "two columns are called {name}"
    reason = "column {number} has the name of column {first}"
    hint = "give each column its own name, or write _ for one without"


class MisplacedAggregate(Diagnostic):
    number = "T007"
    title = "{problem}"
    reason = "{why}"
    hint = "{advice}"


class VariableInFact(Diagnostic):
    number = "T008"
    title = "variable {variable} in a fact"
    reason = "a fact has constants only"
    hint = "add a body that gives {variable} a value (… :- body.), or write a constant"


class BadStatement(Diagnostic):
    """Errors that the grammar cannot express: directives, options, names, limits of a dialect."""

    number = "T009"
    title = "{problem}"
    reason = "{why}"
    hint = "{advice}"


class ServiceRefused(Diagnostic):
    number = "T220"
    title = "SERVICE is not supported"
    reason = "a query reads this knowledge base alone, and asks no other server"
    hint = "load what the service has, or ask it first and insert the answers"


class NotContinuous(Diagnostic):
    number = "T221"
    title = "{what} in a continuous query"
    reason = "{why}"
    hint = "{advice}"


class NotAQuery(Diagnostic):
    number = "T222"
    title = "{word} is not a query"
    reason = "{why}"
    hint = "{advice}"


class NotAnUpdate(Diagnostic):
    number = "T223"
    title = "{problem}"
    reason = "{why}"
    hint = "{advice}"


class NotData(Diagnostic):
    number = "T224"
    title = "{problem}"
    reason = "{why}"
    hint = "{advice}"


class NoVariable(Diagnostic):
    number = "W001"
    title = "this rule has no variable{constants}"
    reason = "a name {kind} is a constant"
    hint = "{advice}"


class NameLikeVariable(Diagnostic):
    number = "W006"
    title = "{name} is a constant"
    reason = "a name without ? is a constant, also where several literals have it"
    hint = 'write ?{name} for a variable, or "{name}" for the text'


class SingleVariable(Diagnostic):
    number = "W002"
    title = "variable {variable} occurs only once"
    reason = "nothing else in the rule refers to it"
    hint = "write _ if any value will do"


class BuiltinAsPredicate(Diagnostic):
    number = "W003"
    title = "predicate {name} has the name of a built-in"
    reason = "in a body, {name}(…) is the built-in function {function}"
    hint = "rename the predicate, or write <{name}>(…) in bodies"


class NoCarets(Diagnostic):
    number = "W018"
    title = "{datatype} stands beside a text"
    reason = "it is taken for the datatype"
    hint = "write ^^{datatype}"


class NamesOfTypes(Diagnostic):
    number = "W007"
    title = "the columns are called {names}"
    reason = "a name alone is that of a column, whose values may be any terms"
    hint = 'write _: {first} for a type without a name, or "{first}" for a column of this name'


class IdleAttribute(Diagnostic):
    number = "W004"
    title = "attribute {name} has no effect"
    reason = "only name is known here"
    hint = '#[name("…")] names a rule'


def half_character(source: Source) -> Diagnostic | None:
    """An error for half a surrogate pair, which a Python `str` can hold but no encoded text; else None."""
    try:
        source.text.encode()
    except UnicodeEncodeError as error:
        return BadLiteral(
            Span(source, error.start, error.start + 1),
            what="a character",
            problem="half a surrogate pair is not a character",
            advice="read the text as UTF-8",
        )
    return None
