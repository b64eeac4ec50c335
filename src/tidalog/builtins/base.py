"""The definition of a built-in, and the conversion of its arguments.

A built-in is a pure function of terms.  It either returns one term or raises `CannotCompute` with a readable
reason; it never raises anything else, for any terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidalog.model.terms import (
    INT64_MAX,
    INT64_MIN,
    IRI,
    BlankNode,
    Boolean,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    numeric_value,
)


class CannotCompute(Exception):
    """There is no value: a division by zero, a string plus a number, an overflow.  `str()` says why."""


Outcome = Term | CannotCompute
"""An argument's value or failure: special forms such as COALESCE see failures too."""


@dataclass(frozen=True)
class Builtin:
    """A built-in function or operator.

    `evaluate` takes computed arguments.  A special form also has `decide`, which is used instead when
    arguments may have failed; `evaluate` and `decide` agree if no argument failed.
    """

    name: str
    min_arity: int
    max_arity: int | None
    """None: any number of arguments."""
    evaluate: Callable[[Sequence[Term]], Term]
    summary: str
    decide: Callable[[Sequence[Outcome]], Term] | None = None

    def accepts(self, count: int) -> bool:
        return count >= self.min_arity and (self.max_arity is None or count <= self.max_arity)


def special_form(
    name: str,
    min_arity: int,
    max_arity: int | None,
    decide: Callable[[Sequence[Outcome]], Term],
    summary: str,
) -> Builtin:
    """A built-in that sees which of its arguments failed."""
    return Builtin(name, min_arity, max_arity, decide, summary, decide)


def shown(term: Term) -> str:
    """A term in a reason: short, and distinguishing 1 from "1"."""
    match term:
        case IRI(value):
            text = f"<{value}>"
        case String(value) | LangString(value):
            text = f'"{value}"'
        case BlankNode(label):
            text = f"_:{label}"
        case Literal(lexical):
            text = f'"{lexical}" of its type'
        case Integer() | Double() | Boolean():
            text = canonical_text(term)
    return text if len(text) <= 60 else text[:57] + "…"


def canonical_text(term: Term) -> str:
    """The text of a term as STR gives it.

    The text of an IRI or a literal is unchanged; a number is written so that it reads back as the same
    number (doubles as short as possible: `2.5`, `3.0`, `1e+16`, `INF`, `-INF`, `NaN`).
    """
    match term:
        case IRI(value) | String(value) | LangString(value):
            return value
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical):
            return lexical
        case Boolean(flag):
            return "true" if flag else "false"
        case Integer(whole):
            return str(whole)
        case Double(real):
            if real != real:
                return "NaN"
            if real in (float("inf"), float("-inf")):
                return "INF" if real > 0 else "-INF"
            return repr(real)


def number_of(term: Term) -> int | float:
    value = numeric_value(term)
    if value is None:
        raise CannotCompute(f"{shown(term)} is not a number")
    return value


def whole_number_of(term: Term) -> int:
    value = number_of(term)
    if not isinstance(value, int):
        raise CannotCompute(f"{shown(term)} is not an integer")
    return value


def text_of(term: Term) -> str:
    """The text of a string with or without a language; nothing else is a text without STR."""
    if isinstance(term, String | LangString):
        return term.value
    raise CannotCompute(f"{shown(term)} is not a string")


def truth_of(term: Term) -> bool:
    if isinstance(term, Boolean):
        return term.value
    raise CannotCompute(f"{shown(term)} is neither true nor false")


def integer_result(value: int) -> Term:
    if INT64_MIN <= value <= INT64_MAX:
        return Integer(value)
    raise CannotCompute("the result does not fit 64 bits")


def double_result(value: float, *inputs: int | float) -> Term:
    """A double; NaN is a result only if an input is NaN."""
    if value != value and all(x == x for x in inputs):
        raise CannotCompute("the result is not a number")
    return Double(value)


def number_result(value: int | float) -> Term:
    """The number itself as a term: it came from a term, so it needs no check."""
    return Integer(value) if isinstance(value, int) else Double(value)
