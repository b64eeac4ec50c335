"""Builds atoms, literals and expressions from parse trees of the main grammar.

One builder serves one statement: it numbers the anonymous variables in order of occurrence, and reports
errors that the grammar cannot express.  Recursion follows the nesting of the text, which the statement reader
limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from lark import Token, Tree

from tidalog.builtins import BUILTINS
from tidalog.lang.conditions import is_condition
from tidalog.lang.diagnostics import BadLiteral, BadStatement, MisplacedAggregate, TooDeep, UnexpectedText
from tidalog.lang.grammar import Grammar, Node, grammar
from tidalog.lang.lexer import MAX_DEPTH, nesting
from tidalog.lang.tokens import TokenReader
from tidalog.model.errors import Span
from tidalog.model.program import (
    Aggregate,
    Atom,
    BodyLiteral,
    Call,
    Condition,
    Disjunction,
    Expression,
    Negation,
    Parameter,
    Variable,
)
from tidalog.model.terms import IRI, RDF_TYPE, String

TRIPLE: Final = "triple"
HEAD, BODY = "head", "body"

_OPERATORS: Final = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "remainder": "%",
    "power": "**",
}
_NUMBERS: Final = ("INTEGER", "RADIX_INTEGER", "DOUBLE")
_PREDICATES: Final = ("NAME", "PREFIXED_NAME", "IRI_REFERENCE")
_OTHER_NAMES_OF_AGGREGATES: Final = {"mean": "avg", "average": "avg", "total": "sum", "size": "count"}
_FORMAT_PART: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|(?:[^{}\\]|\\.)+", re.DOTALL)


class Builder(TokenReader):
    """Builds the syntax tree of one statement."""

    _anonymous = 0
    _may_aggregate = False

    # --- literals -----------------------------------------------------------------------------------

    def heads(self, disjunction: Tree[Token]) -> tuple[Atom, ...]:
        """The literals before `:-`, each of which must be an atom."""
        atoms = []
        for node in self.conjunction(disjunction):
            atom = self._atom(node, HEAD)
            if atom is None:
                advice = "a rule is written head :- body"
                if not _is_arrow(node):
                    advice = "move it into the body, after :-"
                self._not_an_atom(node, "a head has atoms only", advice)
            else:
                atoms.append(atom)
        return tuple(atoms)

    def conjunction(self, disjunction: Tree[Token]) -> list[Node]:
        """The literals of a head, where nothing is an alternative."""
        first, *others = disjunction.children
        if others:
            self._not_an_atom(others[0], "a head has no alternatives", "write a rule for each of them")
        assert isinstance(first, Tree)
        return first.children

    def body(self, disjunction: Tree[Token]) -> tuple[BodyLiteral, ...]:
        parts = tuple(map(self._conjunction, disjunction.children))
        return parts[0] if len(parts) == 1 else (Disjunction(parts, self.span(disjunction)),)

    def _conjunction(self, node: Node) -> tuple[BodyLiteral, ...]:
        assert isinstance(node, Tree)
        return tuple(literal for child in node.children for literal in self._body_literals(child))

    def _body_literals(self, node: Node) -> tuple[BodyLiteral, ...]:
        """A literal, or those in parentheses."""
        if isinstance(node, Tree) and node.data == "parenthesis" and not _is_value(node):
            (inner,) = node.children
            assert isinstance(inner, Tree)
            return self.body(inner)
        if isinstance(node, Tree) and node.data == "negation":
            return tuple(self._negations(node))
        literal = self._body_literal(node)
        return () if literal is None else (literal,)

    def _negations(self, node: Tree[Token]) -> Iterator[BodyLiteral]:
        """`~p(?x)`, and `~(p(?x) ; q(?x))` as `~p(?x), ~q(?x)`."""
        (operand,) = node.children
        parts = _alternatives(operand)
        for inner in parts:
            if self._is_condition(inner):
                yield Condition(Call("NOT", (self.expression(inner),)), self.span(node))
                continue
            is_call = inner is not operand and self._is_in_capitals(inner)
            atom = None if is_call else self._atom(inner, BODY)
            if atom is not None:
                yield Negation(atom, self.span(node))
                continue
            advice = "turn the comparison around, or write NOT(…) for a condition"
            if isinstance(inner, Tree) and inner.data in ("parenthesis", "negation"):
                advice = "write ~ before each atom, or derive them in a rule of its own and negate its head"
            self._not_an_atom(operand if len(parts) == 1 else inner, "~ negates an atom", advice)

    def _is_in_capitals(self, node: Node) -> bool:
        return isinstance(node, Tree) and node.data == "call" and self._predicate_token(node).isupper()

    def _body_literal(self, node: Node) -> BodyLiteral | None:
        if isinstance(node, Tree) and node.data == "parenthesis":
            return self._in_parentheses(node)
        if not self._is_condition(node):
            atom = self._atom(node, BODY)
            if atom is not None:
                return atom
        return Condition(self.expression(node), self.span(node))

    def _in_parentheses(self, node: Tree[Token]) -> BodyLiteral:
        """`(?x + 1 > 3)` is a condition.  In `(f(?x))` the name is kept as it is written: analysis reads an
        atom where f is not a function."""
        span, inner = self.span(node), _without_parentheses(node)
        expression = self.expression(inner)
        if isinstance(inner, Tree) and inner.data == "call" and isinstance(expression, Call):
            if expression.function == TRIPLE.upper():
                return Atom(TRIPLE, expression.arguments, span)
            if expression.function not in BUILTINS:
                expression = replace(expression, function=self.iri(self._predicate_token(inner)))
        return Condition(expression, span)

    def _is_condition(self, node: Node) -> bool:
        if isinstance(node, Tree) and node.data == "call":
            name = self._predicate_token(node)
            return name.type == "NAME" and is_condition(name)
        return False

    def _atom(self, node: Node, clause_part: str) -> Atom | None:
        """An atom, or None if the node is not one: a comparison, a number, a negation."""
        if isinstance(node, Token):
            if node.type not in _PREDICATES:
                return None
            return Atom(self.iri(node), (), self.span(node))
        span = self.span(node)
        if node.data == "call":
            arguments = tuple(self._argument(child, clause_part) for child in _arguments(node))
            return Atom(self.iri(self._predicate_token(node)), arguments, span)
        if node.data == "triple":
            subject, verb, value = node.children
            assert isinstance(subject, Tree)
            first = self.expression(subject.children[0])
            second = self._verb(_only(verb))
            return Atom(TRIPLE, (first, second, self._argument(value, clause_part)), span)
        return None

    def _verb(self, token: Token) -> Expression:
        if token == "<>":  # reads as an IRI
            expected, advice = "a comparison or a property", "inequality is !="
            self.errors.append(
                UnexpectedText(self.span(token), found="`<>`", expected=expected, advice=advice)
            )
        return IRI(RDF_TYPE) if token.type == "A" else self.expression(token)

    def _argument(self, node: Node, clause_part: str) -> Expression:
        return self.answer(node) if clause_part == HEAD else self.expression(node)

    def answer(self, node: Node) -> Expression:
        """An argument of a head: an expression that may have aggregates in it."""
        self._may_aggregate = True
        try:
            return self.expression(node)
        finally:
            self._may_aggregate = False

    def _not_an_atom(self, node: Node, why: str, advice: str) -> None:
        self.errors.append(
            BadStatement(self.span(node), problem="this is not an atom", why=why, advice=advice)
        )

    def _predicate_token(self, call: Tree[Token]) -> Token:
        return _only(call.children[0])

    # --- expressions --------------------------------------------------------------------------------

    def aggregate(self, node: Tree[Token]) -> Aggregate:
        """An aggregate in a position where one is allowed."""
        token = node.children[0]
        assert isinstance(token, Token)
        operator = token[1:].lower()
        arguments = tuple(self.expression(child) for child in _arguments(node))
        if not arguments:
            self.errors.append(
                MisplacedAggregate(
                    self.span(node),
                    problem=f"#{operator} of nothing",
                    why="an aggregate needs an argument",
                    advice=f"name what it runs over: #{operator}(?x)",
                )
            )
        return Aggregate(operator, arguments, self.span(node))

    def expression(self, node: Node) -> Expression:
        if isinstance(node, Token):
            return self._leaf(node)
        children = node.children
        match node.data:
            case "call":
                name = self._predicate_token(node)
                function = name.upper() if name.type == "NAME" else self.iri(name)
                arguments = tuple(self.expression(child) for child in _arguments(node))
                return Call(function, arguments, self.span(node))
            case "parenthesis":
                (inner,) = children
                assert isinstance(inner, Tree)
                if not _is_one(inner):
                    why = "alternatives and lists of literals are not a value"
                    self._not_an_atom(node, why, "put them into the body as literals of their own")
                    return String("")
                return self.expression(_inside(inner))
            case "membership":
                member, _, *listed = children
                values = listed[0].children if listed and isinstance(listed[0], Tree) else []
                return Call("IN", tuple(map(self.expression, [member, *values])), self.span(node))
            case "comparison":
                left, operator, right = children
                return Call(str(operator), (self.expression(left), self.expression(right)), self.span(node))
            case "negate":
                (value,) = children
                if isinstance(value, Token) and value.type in _NUMBERS:
                    return self.number(value, "-")
                return Call("neg", (self.expression(value),), self.span(node))
            case "language_string":
                return self.language_string(_token(children[0]), _token(children[1]))
            case "typed_literal":
                return self.typed_literal(_token(children[0]), _token(children[1]))
            case "aggregate" if self._may_aggregate:
                self._may_aggregate = False  # not inside another one
                found = self.aggregate(node)
                self._may_aggregate = True
                return found
            case "aggregate":
                self.errors.append(
                    MisplacedAggregate(
                        self.span(node),
                        problem="an aggregate is not allowed here",
                        why="aggregates stand in the arguments of a head, and not inside one another",
                        advice="compute it in a rule of its own, n(#count(?x)) :- …, and use n here",
                    )
                )
                return String("")
            case "negation" | "triple":
                why = "a literal is not a value"
                self._not_an_atom(node, why, "put it into the body as a literal of its own")
                return String("")
            case operation:
                left, right = children
                return Call(
                    _OPERATORS[operation], (self.expression(left), self.expression(right)), self.span(node)
                )

    def _leaf(self, token: Token) -> Expression:
        match token.type:
            case "VARIABLE":
                return Variable(token[1:])
            case "ANONYMOUS":
                self._anonymous += 1
                return Variable(f"_#{self._anonymous}")
            case "PARAMETER":
                return Parameter(token[1:])
            case "FORMAT_STRING":
                return self._format_string(token)
            case _:
                return self.term(token)

    # --- f-strings ----------------------------------------------------------------------------------

    def _format_string(self, token: Token) -> Expression:
        """`f"{?x} km"` is CONCAT(STR(?x), " km"); `{{` and `}}` are braces."""
        parts: list[Expression] = []
        text = ""
        width = 3 if token.startswith('f"""') and len(token) >= 7 else 1
        inside = (token.start_pos or 0) + 1 + width
        for found in _FORMAT_PART.finditer(token[1 + width : -width]):
            if found[1] is not None:
                value = self._format_value(found[1], inside + found.start(1))
                if value is not None:
                    parts += [String(text)] if text else []
                    parts.append(Call("STR", (value,)))
                    text = ""
            elif found[0] in ("{{", "}}"):
                text += found[0][0]
            elif found[0] in "{}":
                self._bad_brace(inside + found.start(), found[0])
            else:
                text += self.unescape_at(found[0], inside + found.start())
        if not parts:
            return String(text)
        parts += [String(text)] if text else []
        return Call("CONCAT", tuple(parts), self.span(token), is_format_string=True)

    def _format_value(self, text: str, at: int) -> Expression | None:
        if nesting(text) > MAX_DEPTH:
            start = self.offset + at
            self.errors.append(TooDeep(Span(self.source, start, start + 1), limit=MAX_DEPTH))
            return None
        tree = main_grammar().parse("lone_expression", text, self.source, self.offset + at, self.errors)
        if tree is None:
            return None
        inner = Builder(self.source, self.offset + at, self.names, self.errors)
        inner._anonymous, inner._may_aggregate = self._anonymous, self._may_aggregate
        value = inner.expression(tree.children[0])
        self._anonymous = inner._anonymous
        return value

    def _bad_brace(self, at: int, brace: str) -> None:
        start = self.offset + at
        self.errors.append(
            BadLiteral(
                Span(self.source, start, start + 1),
                what="f-string",
                problem=f"a {brace} without its partner",
                advice=f"a brace as such is {brace}{brace}",
            )
        )


def main_grammar() -> Grammar:
    return grammar("main", "statement", "query", "lone_expression")


def _is_arrow(node: Node) -> bool:
    """`head <- body` reads as a comparison with a negative number."""
    if not (isinstance(node, Tree) and node.data == "comparison" and node.children[1] == "<"):
        return False
    right = node.children[2]
    return isinstance(right, Tree) and right.data == "negate"


def _is_one(disjunction: Tree[Token]) -> bool:
    """Whether there is one literal in parentheses."""
    (first, *others) = disjunction.children
    return not others and isinstance(first, Tree) and len(first.children) == 1


def _inside(disjunction: Tree[Token]) -> Node:
    (conjunction,) = disjunction.children
    assert isinstance(conjunction, Tree)
    return conjunction.children[0]


def _is_value(parenthesis: Tree[Token]) -> bool:
    """Whether parentheses of a body enclose an expression and not literals: `(?x + 1 > 3)`, `(F(?x))`."""
    (inner,) = parenthesis.children
    assert isinstance(inner, Tree)
    if not _is_one(inner):
        return False
    node = _inside(inner)
    if isinstance(node, Token):
        return node.type != "NAME"
    return _is_value(node) if node.data == "parenthesis" else node.data not in ("negation", "triple")


def _without_parentheses(node: Node) -> Node:
    """What one pair of parentheses or several enclose, if it is one literal."""
    while isinstance(node, Tree) and node.data == "parenthesis":
        (inner,) = node.children
        assert isinstance(inner, Tree)
        if not _is_one(inner):
            break
        node = _inside(inner)
    return node


def _alternatives(node: Node) -> list[Node]:
    """The alternatives in parentheses, those in parentheses of their own included; the node itself if it is
    not such a group of single literals."""
    inner = _without_parentheses(node)
    if not (isinstance(inner, Tree) and inner.data == "parenthesis"):
        return [inner]
    (disjunction,) = inner.children
    assert isinstance(disjunction, Tree)
    parts = []
    for part in disjunction.children:
        assert isinstance(part, Tree)
        if len(part.children) > 1:
            return [inner]
        parts += _alternatives(part.children[0])
    return parts


def _arguments(node: Tree[Token]) -> list[Node]:
    """The arguments of a call or an aggregate."""
    if len(node.children) < 2:
        return []
    arguments = node.children[1]
    assert isinstance(arguments, Tree)
    return arguments.children


def _only(node: Node) -> Token:
    """The one token of a predicate, subject or verb."""
    assert isinstance(node, Tree)
    return _token(node.children[0])


def _token(node: Node) -> Token:
    assert isinstance(node, Token)
    return node
