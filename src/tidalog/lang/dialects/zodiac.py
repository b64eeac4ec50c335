"""ZodiacEdge rules (`.rules`): upper-case and `?` variables, COMP, BIND, AGGREGATE.

    r3: number(X, Z) :- AGGREGATE(near(X, Y) ∧ temp(Y, T)) ON X WITH COUNT(T) AS Z .

An upper-case name is a variable in the position of a term, and a name in the position of a predicate; `X` and
`?X` are the same variable.  A relative IRI as predicate is a property or a class of RDF: `<partOf>(X, Y)` is
a triple.  `func:score(X)` calls a function that is registered, or built in.  AGGREGATE is over the matches of
its body (lowering.py).
"""

from __future__ import annotations

import re
from typing import Final

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from tidalog.lang.dialects.common import Reader
from tidalog.lang.lint import no_variable
from tidalog.lang.lowering import AggregatedBody, BodyPart, Measure
from tidalog.model.errors import Diagnostic, Source
from tidalog.model.program import Atom, Call, Condition, Expression, Negation, Program, Rule, Variable
from tidalog.model.term_text import is_absolute
from tidalog.model.terms import IRI, RDF_TYPE, String, Term

_AGGREGATES: Final = {
    "COUNT": "count",
    "SUM": "sum",
    "MIN": "min",
    "MAX": "max",
    "AVG": "avg",
    "MED": "median",
}
_TIGHT_LABEL: Final = re.compile(r"([^\W\d]\w*):(?=\w)")


def parse_source(source: Source) -> tuple[Program, list[Diagnostic]]:
    return _ZodiacReader(source).read()


class _ZodiacReader(Reader):
    dialect = "zodiac"
    line_comments = ("%", "//", "#")
    example = "r1: far(X, Y) :- near(X, Z) and near(Z, Y) and not near(X, Y) ."

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.tight_label: str | None = None

    def prepared(self, text: str) -> str:
        """In `r1:p(X) :- …` the label looks like a prefix; it is one only if it was declared."""
        found = _TIGHT_LABEL.match(text)
        self.tight_label = None
        if found is None or self.names.namespace(found[1]) is not None:
            return text
        self.tight_label = found[1]
        return " " * found.end() + text[found.end() :]

    def add(
        self, meta: Meta, heads: tuple[Atom, ...], body: tuple[BodyPart, ...] | None, name: str | None = None
    ) -> None:
        super().add(meta, heads, body, name)
        literals = tuple(part for part in body or () if isinstance(part, Atom | Negation | Condition))
        if len(literals) == len(body or ()):
            rule = Rule(heads, literals, name, self.span(meta))
            self.diagnostics += no_variable(rule, "X", "in lower case")

    @v_args(meta=True, inline=True)
    def rule(self, meta: Meta, *parts: str | Atom | tuple[BodyPart, ...]) -> None:
        name = next((part for part in parts if isinstance(part, str)), self.tight_label)
        head = next(part for part in parts if isinstance(part, Atom))
        body = next((part for part in parts if isinstance(part, tuple)), None)
        self.add(meta, (head,), body, name)

    @v_args(meta=True, inline=True)
    def atom(self, meta: Meta, predicate: str | IRI, *arguments: Expression) -> Atom:
        span = self.span(meta)
        if isinstance(predicate, str):
            return Atom(predicate, arguments, span)
        if len(arguments) == 1:
            return Atom("triple", (arguments[0], IRI(RDF_TYPE), predicate), span)
        if len(arguments) == 2:
            return Atom("triple", (arguments[0], predicate, arguments[1]), span)
        return Atom(predicate.value, arguments, span)

    def PREFIXED_NAME(self, token: Token) -> Term:
        if not token.lower().startswith("func:") or self.names.namespace(token[:4]) is not None:
            return super().PREFIXED_NAME(token)
        advice = f"write COMP({token}(X), =, true)"
        self.refuse(token, f"{token} is a function", "COMP, BIND and WITH call functions", advice)
        return IRI(str(token))

    def predicate(self, children: list[Token | IRI]) -> str | IRI:  # type: ignore[override]
        """A relative IRI stays one: no other sign tells that it names a property."""
        (name,) = children
        return name if isinstance(name, IRI) and not is_absolute(name.value) else super().predicate(children)

    @v_args(meta=True, inline=True)
    def negation(self, meta: Meta, atom: Atom) -> Negation:
        return Negation(atom, self.span(meta))

    @v_args(meta=True, inline=True)
    def comparison(self, meta: Meta, left: Expression, comparator: Token, right: Expression) -> Condition:
        return Condition(self.compared(meta, left, str(comparator), right), self.span(meta))

    @v_args(meta=True, inline=True)
    def binding(self, meta: Meta, value: Expression, target: Variable | String) -> Condition:
        variable = self.as_variable(meta, target)
        return Condition(self.compared(meta, variable, "=", value), self.span(meta))

    @v_args(meta=True, inline=True)
    def aggregation(
        self,
        meta: Meta,
        body: tuple[BodyPart, ...],
        groups: tuple[Variable, ...],
        operator: Token,
        value: Expression,
        result: Variable | String,
    ) -> AggregatedBody:
        name = self.aggregate_name(operator, _AGGREGATES, closed=False)
        span = self.span(meta)
        measure = Measure(name, value, self.as_variable(meta, result), span=span)
        return AggregatedBody(body, groups, (measure,), span)

    @v_args(meta=True, inline=True)
    def groups(self, meta: Meta, *names: Variable | String) -> tuple[Variable, ...]:
        return tuple(self.as_variable(meta, name) for name in names)

    @v_args(meta=True, inline=True)
    def call(self, meta: Meta, name: Token, *arguments: Expression) -> Call:
        return Call(name.upper(), arguments, self.span(meta))

    def variable(self, children: list[Variable | Token]) -> Variable | String:
        (name,) = children
        if isinstance(name, Variable):
            return name
        if name == "_":
            return self.fresh()
        return Variable(str(name)) if name[0].isupper() else String(str(name))

    def as_variable(self, meta: Meta, name: Variable | String) -> Variable:
        """A variable in a position where the grammar accepts any name."""
        if isinstance(name, Variable):
            return name
        self.refuse(
            meta,
            f"{name.value} is not a variable",
            "a name in lower case is a constant",
            f"write {name.value[:1].upper()}{name.value[1:]} or ?{name.value}",
        )
        return Variable(name.value)
