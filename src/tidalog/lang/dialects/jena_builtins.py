"""Jena's built-ins: how each is lowered in a body, and why some are not supported.

`BUILTINS` holds those that only test or compute.  Arithmetic is that of the main language: `quotient` of
two integers that do not divide is a double, where Jena would truncate.  `noValue` always has three nodes: the
reader adds an anonymous variable if the third is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tidalog.lang.dialects.common import by_value
from tidalog.lang.lowering import BodyPart
from tidalog.model.errors import Span
from tidalog.model.program import Atom, Call, Condition, Expression, Negation
from tidalog.model.terms import Integer, String

Arguments = tuple[Expression, ...]
Lowered = tuple[BodyPart, ...]


@dataclass(frozen=True, slots=True)
class JenaBuiltin:
    """Takes `least` to `most` arguments (None: any number) and is lowered to literals of a body."""

    least: int
    most: int | None
    lower: Callable[[Arguments, Span], Lowered]


def _compares(operator: str) -> JenaBuiltin:
    """A comparison of two values."""
    return JenaBuiltin(2, 2, lambda args, at: (Condition(Call(operator, _values(args), at), at),))


def _calculates(function: str) -> JenaBuiltin:
    """The last of three arguments is the function's value over the other two."""
    return JenaBuiltin(3, 3, lambda args, at: _equation(args[2], Call(function, _values(args[:2]), at), at))


def _values(args: Arguments) -> Arguments:
    return tuple(by_value(arg) for arg in args)


def _holds(function: str) -> JenaBuiltin:
    """A function that must be true of the argument."""
    return JenaBuiltin(1, 1, lambda args, at: (Condition(Call(function, args, at), at),))


def _fails(function: str) -> JenaBuiltin:
    """A function that must be false of the argument."""
    return JenaBuiltin(1, 1, lambda args, at: (Condition(Call("NOT", (Call(function, args, at),), at), at),))


def _equation(target: Expression, value: Expression, at: Span) -> Lowered:
    return (Condition(Call("=", (target, value), at), at),)


def _add_one(args: Arguments, at: Span) -> Lowered:
    return _equation(args[1], Call("+", (args[0], Integer(1)), at), at)


def _str_concat(args: Arguments, at: Span) -> Lowered:
    return _equation(args[-1], Call("CONCAT", args[:-1], at), at)


def _uri_concat(args: Arguments, at: Span) -> Lowered:
    return _equation(args[-1], Call("IRI", (Call("CONCAT", args[:-1], at),), at), at)


def _no_value(args: Arguments, at: Span) -> Lowered:
    return (Negation(Atom("triple", args, at), at),)


def _regex(args: Arguments, at: Span) -> Lowered:
    """Jena's pattern must match the whole text."""
    text, pattern = args
    whole: Expression
    if isinstance(pattern, String):
        whole = String(f"^(?:{pattern.value})$")
    else:
        whole = Call("CONCAT", (String("^(?:"), pattern, String(")$")), at)
    return (Condition(Call("REGEX", (Call("STR", (text,), at), whole), at), at),)


def _bound(args: Arguments, at: Span) -> Lowered:
    return tuple(Condition(Call("BOUND", (arg,), at), at) for arg in args)


def _unbound(args: Arguments, at: Span) -> Lowered:
    return tuple(Condition(Call("NOT", (Call("BOUND", (arg,), at),), at), at) for arg in args)


def _is_type(args: Arguments, at: Span) -> Lowered:
    value, datatype = args
    return (Condition(Call("=", (Call("DATATYPE", (value,), at), datatype), at), at),)


def _is_not_type(args: Arguments, at: Span) -> Lowered:
    value, datatype = args
    no_literal = Call("NOT", (Call("ISLITERAL", (value,), at),), at)
    other = Call("!=", (Call("DATATYPE", (value,), at), datatype), at)
    return (Condition(Call("OR", (no_literal, other), at), at),)


def _always(args: Arguments, at: Span) -> Lowered:
    return ()


BUILTINS: Final[Mapping[str, JenaBuiltin]] = MappingProxyType(
    {
        "equal": _compares("="),
        "notEqual": _compares("!="),
        "lessThan": _compares("<"),
        "le": _compares("<="),
        "greaterThan": _compares(">"),
        "ge": _compares(">="),
        "isLiteral": _holds("ISLITERAL"),
        "notLiteral": _fails("ISLITERAL"),
        "isBNode": _holds("ISBLANK"),
        "notBNode": _fails("ISBLANK"),
        "notFunctor": JenaBuiltin(1, 1, _always),  # no node is one
        "isDType": JenaBuiltin(2, 2, _is_type),
        "notDType": JenaBuiltin(2, 2, _is_not_type),
        "bound": JenaBuiltin(1, None, _bound),
        "unbound": JenaBuiltin(1, None, _unbound),
        "noValue": JenaBuiltin(2, 3, _no_value),
        "regex": JenaBuiltin(2, 2, _regex),
        "sum": _calculates("+"),
        "addOne": JenaBuiltin(2, 2, _add_one),
        "difference": _calculates("-"),
        "product": _calculates("*"),
        "quotient": _calculates("/"),
        "min": _calculates("MIN"),
        "max": _calculates("MAX"),
        "strConcat": JenaBuiltin(1, None, _str_concat),
        "uriConcat": JenaBuiltin(1, None, _uri_concat),
    }
)

_TAKEN_BACK = "leave it out: what no longer follows goes by itself, and facts are deleted by an update"
_NEW_NODES = "build the node's IRI from what it depends on: uriConcat('http://…', ?x, ?node)"
_TIME = "let the data bring the time, as a triple that the rule matches"
_LISTS = "walk the list by rules over rdf:first and rdf:rest"
_COUNT = "count in the main dialect: number(?x, #count(?v)) :- …"
_PAIRS = "write a rule whose head is the owl:differentFrom triple"
_ALL_KEPT = "leave it out: everything that follows is materialised"

REFUSED: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        **dict.fromkeys(("remove", "drop"), ("it deletes while rules run", _TAKEN_BACK)),
        **dict.fromkeys(("makeTemp", "makeInstance", "makeSkolem"), ("it makes new nodes", _NEW_NODES)),
        "now": ("its answer changes with the clock", _TIME),
        "countLiteralValues": ("it counts inside a body", _COUNT),
        "assertDisjointPairs": ("it asserts while rules run", _PAIRS),
        **dict.fromkeys(("table", "tableAll", "hide"), ("it steers Jena's own machinery", _ALL_KEPT)),
        **dict.fromkeys(
            (
                "listContains",
                "listNotContains",
                "listEntry",
                "listLength",
                "listEqual",
                "listNotEqual",
                "listMapAsObject",
                "listMapAsSubject",
            ),
            ("it looks into RDF lists", _LISTS),
        ),
        "print": ("it prints while rules run", "leave it out, and look at the results afterwards"),
        "isFunctor": ("functors are not terms here", "leave the rule out: it could never apply"),
    }
)
"""Why a built-in is refused, and what to do instead."""
