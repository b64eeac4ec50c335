"""The middle part of the reader: expressions of a query's parse tree."""

from __future__ import annotations

from typing import Final, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from tidalog.lang import diagnostics as wrong
from tidalog.lang.sparql.algebra import Aggregation, Exists, Expression, Function, Group
from tidalog.lang.sparql.terms import MAX_DEPTH, TermReader, negated
from tidalog.model.amounts import counted
from tidalog.model.program import Variable
from tidalog.model.terms import IRI, XSD

CASTS: Final = frozenset(
    XSD + name
    for name in (
        *("integer", "decimal", "double", "float", "string", "boolean", "dateTime", "date", "time"),
        *("int", "long", "short", "byte"),
    )
)
"""Types that are functions."""


class ExpressionReader(TermReader):
    @v_args(meta=True)
    def disjunction(self, meta: Meta, sides: list[Expression]) -> Function:
        return Function("OR", tuple(sides), self.span(meta))

    @v_args(meta=True)
    def conjunction(self, meta: Meta, sides: list[Expression]) -> Function:
        return Function("AND", tuple(sides), self.span(meta))

    @v_args(meta=True, inline=True)
    def compare(self, meta: Meta, left: Expression, comparator: Token, right: Expression) -> Function:
        return Function(str(comparator), (left, right), self.span(meta))

    @v_args(meta=True, inline=True)
    def among(self, meta: Meta, value: Expression, choices: tuple[Expression, ...]) -> Function:
        return Function("IN", (value, *choices), self.span(meta))

    @v_args(meta=True, inline=True)
    def not_among(
        self, meta: Meta, value: Expression, word: Token, choices: tuple[Expression, ...]
    ) -> Function:
        span = self.span(meta)
        return Function("NOT", (Function("IN", (value, *choices), span),), span)

    def expressions(self, children: list[Expression]) -> tuple[Expression, ...]:
        return tuple(children)

    @v_args(meta=True, inline=True)
    def chain(self, meta: Meta, first: Expression, *rest: Token | Expression) -> Expression:
        result = first
        if len(rest) > 2 * MAX_DEPTH:
            self.errors.append(wrong.TooDeep(self.span(meta), limit=MAX_DEPTH))
            return first
        following = iter(rest)
        for item in following:
            if isinstance(item, Token):
                result = Function(str(item), (result, cast(Expression, next(following))), self.span(meta))
            else:  # a number with its sign, as in ?n-1
                result = Function("+", (result, item), self.span(meta))
        return result

    @v_args(meta=True, inline=True)
    def minus_sign(self, meta: Meta, sign: Token, operand: Expression) -> Expression:
        if isinstance(operand, Variable | Function | Aggregation | Exists):
            return Function("neg", (operand,), self.span(meta))
        return negated(operand)

    def plus_sign(self, children: list[Expression]) -> Expression:
        return children[1]

    @v_args(meta=True, inline=True)
    def invert(self, meta: Meta, operand: Expression) -> Function:
        return Function("NOT", (operand,), self.span(meta))

    @v_args(meta=True)
    def exists(self, meta: Meta, children: list[Token | Group]) -> Expression:
        span = self.span(meta)
        found = Exists(cast(Group, children[-1]), span)
        return found if len(children) == 1 else Function("NOT", (found,), span)

    @v_args(meta=True, inline=True)
    def call(self, meta: Meta, function: Token | IRI, *arguments: Token | Expression) -> Function:
        """A function by its name; what no table knows may be registered, and analysis decides."""
        span = self.span(meta)
        given = tuple(a for a in arguments if not isinstance(a, Token))
        if isinstance(function, IRI):
            if function.value not in CASTS:
                self.refuse(
                    meta,
                    f"unknown function <{function.value}>",
                    "only xsd types are functions here",
                    "use a SPARQL function by its name, or a type such as xsd:integer",
                )
            elif len(given) != 1:
                problem = f"a type with {counted(len(given), 'argument')}"
                self.refuse(meta, problem, "as a function it converts one value", "write xsd:integer(?x)")
            return Function(function.value, given, span)
        name = function.upper()
        if name == "BOUND" and not (len(given) == 1 and isinstance(given[0], Variable)):
            self.refuse(meta, "BOUND takes a variable", "only a variable can be unbound", "write BOUND(?x)")
        return Function(name, given, span)

    @v_args(meta=True, inline=True)
    def aggregate(self, meta: Meta, operator: Token, *parts: Token | Expression | str) -> Aggregation:
        name = operator.upper()
        rest = [part for part in parts if not (isinstance(part, Token) and part.type == "COMPARISON")]
        separator = (
            cast(str, rest.pop()) if isinstance(rest[-1], str) and not isinstance(rest[-1], Token) else " "
        )
        value = rest[-1]
        distinct = len(rest) > 1
        if isinstance(value, Token):
            if name != "COUNT":
                self.refuse(meta, f"{name}(*) says nothing", "* stands for no value", "name the variable")
            return Aggregation(name, None, distinct, separator, self.span(meta))
        return Aggregation(name, cast(Expression, value), distinct, separator, self.span(meta))
