"""The definition of a built-in, and the conversion of its arguments.

A built-in is a pure function of terms.  It either returns one term or raises `CannotCompute` with a readable
reason; it never raises anything else, for any terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

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
    integer,
    numeric_value,
)
from tidalog.model.values import DECIMAL, MOST_DIGITS, decimal_text

Number = int | float | Decimal


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


def unary(name: str, function: Callable[[Term], Term], summary: str) -> Builtin:
    return Builtin(name, 1, 1, lambda arguments: function(arguments[0]), summary)


def binary(name: str, function: Callable[[Term, Term], Term], summary: str) -> Builtin:
    return Builtin(name, 2, 2, lambda arguments: function(arguments[0], arguments[1]), summary)


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


def number_of(term: Term) -> Number:
    value = numeric_value(term)
    if value is None:
        raise CannotCompute(f"{shown(term)} is not a number")
    return value


def whole_number_of(term: Term) -> int:
    value = number_of(term)
    if not isinstance(value, int) or not INT64_MIN <= value <= INT64_MAX:
        raise CannotCompute(f"{shown(term)} is not an integer of 64 bits")
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


def decimal_result(value: Decimal) -> Term:
    """A decimal; it has a limit so that a rule that multiplies in a cycle ends."""
    whole, after = max(value.adjusted() + 1, 1), max(-int(value.as_tuple().exponent), 0)
    if whole + after > MOST_DIGITS:
        raise CannotCompute(f"the result has more than {MOST_DIGITS:,} digits")
    return Literal(decimal_text(value), DECIMAL)


def double_result(value: float, *inputs: Number) -> Term:
    """A double; a NaN is a result only if a NaN went in."""
    if value != value and all(x == x for x in inputs):
        raise CannotCompute("the result is not a number")
    return Double(value)


def number_result(value: Number) -> Term:
    """The number itself as a plain term of its type: it came from a term, so it needs no check."""
    if isinstance(value, int):
        return integer(value)
    return Double(value) if isinstance(value, float) else decimal_result(value)
