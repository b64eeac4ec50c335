"""The shape of an expression within its rule, independent of variable names and the order of literals.

A variable is described by where it occurs (predicate, argument, head, body or negation), refined a few rounds
by the descriptions of the variables it occurs with.  Two variables with the same description are
interchangeable in all but contrived rules.
"""

from __future__ import annotations

from hashlib import blake2b

from tidalog.analysis.rewrite import nodes
from tidalog.model.program import (
    Aggregate,
    Call,
    Condition,
    Expression,
    FlatLiteral,
    Negation,
    Rule,
    Variable,
    flat_literals,
)

ROUNDS = 3

ShapeKey = tuple[int, str]


class Shapes:
    """Descriptions are computed when a choice first needs them, which is rare."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._colours: dict[Variable, str] | None = None
        self._defined: dict[Variable, Expression] = {}

    def define(self, variable: Variable, expression: Expression) -> None:
        """Adds its expression to the description of a computed variable."""
        self._defined[variable] = expression
        if self._colours is not None:
            self._colours[variable] = _digest(self._colours.get(variable, ""), *self._text(expression))

    def key(self, expression: Expression) -> ShapeKey:
        """Sorts expressions: the simplest first, then by shape."""
        if self._colours is None:
            self._colours = _describe(self._rule)
            for variable, source in self._defined.items():
                self._colours[variable] = _digest(self._colours.get(variable, ""), *self._text(source))
        return sum(1 for _ in nodes(expression)), _digest(*self._text(expression))

    def _text(self, expression: Expression) -> list[str]:
        colours = self._colours or {}
        return [_leaf_text(node, colours) for node in nodes(expression)]


def _describe(rule: Rule) -> dict[Variable, str]:
    literals: list[tuple[str, FlatLiteral]] = [("head", head) for head in rule.heads]
    literals += [(type(literal).__name__, literal) for literal in flat_literals(rule.body)]
    colours: dict[Variable, str] = {}
    for _ in range(ROUNDS):
        seen: dict[Variable, list[str]] = {}
        for kind, literal in literals:
            texts = _literal_texts(kind, literal, colours)
            for number, node in enumerate(nodes(literal)):
                if isinstance(node, Variable):
                    seen.setdefault(node, []).append(_digest(str(number), *texts))
        colours = {
            variable: _digest(colours.get(variable, ""), *sorted(marks)) for variable, marks in seen.items()
        }
    return colours


def _literal_texts(kind: str, literal: FlatLiteral, colours: dict[Variable, str]) -> list[str]:
    if isinstance(literal, Condition):
        predicate = ""
    else:
        predicate = literal.atom.predicate if isinstance(literal, Negation) else literal.predicate
    return [kind, predicate, *(_leaf_text(node, colours) for node in nodes(literal))]


def _leaf_text(node: Expression | Aggregate, colours: dict[Variable, str]) -> str:
    if isinstance(node, Variable):
        return "?" + colours.get(node, "")
    if isinstance(node, Call):
        return f"{node.function}/{len(node.arguments)}"
    if isinstance(node, Aggregate):
        return f"#{node.operator}/{len(node.arguments)}"
    return repr(node)


def _digest(*texts: str) -> str:
    """A fixed-length digest of a sequence of texts; the same on every run and machine."""
    state = blake2b(digest_size=12)
    for text in texts:
        state.update(text.encode("utf-8", "surrogatepass"))
        state.update(b"\x00")
    return state.hexdigest()
