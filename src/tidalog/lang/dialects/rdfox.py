"""RDFox rules (`.dlog`): everything over triples is `triple(s, p, o)`.

    [?x, rdf:type, :C] :- :p[?x, ?y], NOT EXISTS ?z IN ([?y, :q, ?z], :D[?z]), FILTER(?y > 3) .

`:C[?x]` is a triple with rdf:type, `:p[?x, ?y]` one with :p; `p(?x, ?y, ?z)` is a predicate of its own.
Negated conjunctions and aggregates inside a body become auxiliary predicates (lowering.py).  COUNT, SUM and
AVG are over matches, with DISTINCT over values.
"""

from __future__ import annotations

from typing import Final, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from tidalog.lang.dialects.common import Reader, by_value, rdf_number
from tidalog.lang.lowering import AggregatedBody, BodyPart, Measure, NegatedBody
from tidalog.model.errors import Diagnostic, Source
from tidalog.model.program import Atom, Call, Condition, Expression, Negation, Program, Variable
from tidalog.model.terms import IRI, RDF_TYPE, XSD, Term

TRIPLE: Final = "triple"
_TYPE: Final = IRI(RDF_TYPE)
_AGGREGATES: Final = {
    "COUNT": "count",
    "SUM": "sum",
    "MIN": "min",
    "MAX": "max",
    "AVG": "avg",
    "MEDIAN": "median",
}
_CASTS: Final = {
    **{XSD + name: "INT" for name in ("integer", "int", "long", "short", "byte")},
    **{XSD + name: "DOUBLE" for name in ("double", "float", "decimal")},
    XSD + "string": "STR",
}
_TYPED: Final = frozenset(XSD + name for name in ("dateTime", "date"))


def parse_source(source: Source) -> tuple[Program, list[Diagnostic]]:
    return _RdfoxReader(source).read()


class _RdfoxReader(Reader):
    dialect = "rdfox"
    line_comments = ("#",)
    directives = ("prefix", "base")
    example = "[?x, :far, ?y] :- [?x, :near, ?z], [?z, :near, ?y], NOT [?x, :near, ?y] ."

    def base(self, children: list[IRI]) -> None:
        self.names.base = children[0].value

    @v_args(meta=True, inline=True)
    def rule(self, meta: Meta, heads: tuple[Atom, ...], body: tuple[BodyPart, ...] | None = None) -> None:
        self.add(meta, heads, body)

    def heads(self, children: list[Atom]) -> tuple[Atom, ...]:
        return tuple(children)

    def DOUBLE(self, token: Token) -> Term:
        return rdf_number(str(token))

    # --- literals -----------------------------------------------------------------------------------

    def A(self, token: Token) -> IRI:
        return _TYPE

    @v_args(meta=True, inline=True)
    def triple(self, meta: Meta, *nodes: Expression) -> Atom:
        return Atom(TRIPLE, nodes, self.span(meta))

    @v_args(meta=True, inline=True)
    def property_atom(
        self, meta: Meta, name: IRI, subject: Expression, value: Expression | None = None
    ) -> Atom:
        arguments = (subject, _TYPE, name) if value is None else (subject, name, value)
        return Atom(TRIPLE, arguments, self.span(meta))

    @v_args(meta=True, inline=True)
    def general_atom(self, meta: Meta, predicate: str, *arguments: Expression) -> Atom:
        if predicate.upper() == "SKOLEM":
            self.refuse(
                meta,
                "SKOLEM is not supported",
                "it makes new nodes",
                'build its IRI from what it depends on: BIND(IRI(CONCAT("http://…", STR(?x))) AS ?node)',
            )
        return Atom(predicate, arguments, self.span(meta))

    @v_args(meta=True, inline=True)
    def negation(
        self, meta: Meta, *parts: _Variables | Atom | tuple[BodyPart, ...]
    ) -> Negation | NegatedBody:
        span, negated = self.span(meta), parts[-1]
        if isinstance(negated, Atom) and len(parts) == 1:
            return Negation(negated, span)
        local = parts[0] if isinstance(parts[0], _Variables) else _Variables()
        body = (negated,) if isinstance(negated, Atom) else cast("tuple[BodyPart, ...]", negated)
        return NegatedBody(body, tuple(local), span)

    def variables(self, children: list[Variable]) -> _Variables:
        return _Variables(children)

    @v_args(meta=True, inline=True)
    def filter(self, meta: Meta, expression: Expression) -> tuple[Condition, ...]:
        """One condition for each side of a top-level `&&`: all must be true either way."""
        span = self.span(meta)
        if isinstance(expression, Call) and expression.function == "AND":
            return tuple(Condition(part, span) for part in expression.arguments)
        return (Condition(expression, span),)

    @v_args(meta=True, inline=True)
    def binding(self, meta: Meta, value: Expression, target: Variable) -> Condition:
        return Condition(self.compared(meta, target, "=", value), self.span(meta))

    @v_args(meta=True, inline=True)
    def aggregation(
        self, meta: Meta, body: tuple[BodyPart, ...], *rest: _Variables | Measure
    ) -> AggregatedBody:
        groups = rest[0] if isinstance(rest[0], _Variables) else _Variables()
        measures = tuple(part for part in rest if isinstance(part, Measure))
        return AggregatedBody(body, tuple(groups), measures, self.span(meta))

    @v_args(meta=True, inline=True)
    def measure(self, meta: Meta, operator: Token, *parts: Token | Expression) -> Measure:
        """`COUNT(DISTINCT ?y) AS ?n`, `COUNT(*) AS ?n`."""
        name = self.aggregate_name(operator, _AGGREGATES)
        *_, value, result = parts
        if isinstance(value, Token) and name != "count":
            self.refuse(meta, f"{operator}(*) says nothing", "* stands for no value", "name the variable")
        return Measure(
            name,
            None if isinstance(value, Token) else value,
            cast(Variable, result),
            distinct=len(parts) == 3,
            span=self.span(meta),
        )

    # --- expressions --------------------------------------------------------------------------------

    @v_args(meta=True, inline=True)
    def disjunction(self, meta: Meta, *sides: Expression) -> Call:
        return Call("OR", sides, self.span(meta))

    @v_args(meta=True, inline=True)
    def conjunction(self, meta: Meta, *sides: Expression) -> Call:
        return Call("AND", sides, self.span(meta))

    @v_args(meta=True, inline=True)
    def compare(self, meta: Meta, left: Expression, comparator: Token, right: Expression) -> Call:
        return self.compared(meta, by_value(left), str(comparator), by_value(right))

    @v_args(meta=True, inline=True)
    def among(self, meta: Meta, value: Expression, choices: tuple[Expression, ...]) -> Call:
        return self._each(meta, value, choices, "=", "OR")

    @v_args(meta=True, inline=True)
    def not_among(self, meta: Meta, value: Expression, choices: tuple[Expression, ...]) -> Call:
        return self._each(meta, value, choices, "!=", "AND")

    def _each(
        self, meta: Meta, value: Expression, choices: tuple[Expression, ...], comparator: str, link: str
    ) -> Call:
        tests = tuple(self.compared(meta, value, comparator, by_value(choice)) for choice in choices)
        return tests[0] if len(tests) == 1 else Call(link, tests, self.span(meta))

    def expressions(self, children: list[Expression]) -> tuple[Expression, ...]:
        return tuple(children)

    @v_args(meta=True, inline=True)
    def invert(self, meta: Meta, operand: Expression) -> Call:
        return Call("NOT", (operand,), self.span(meta))

    @v_args(meta=True, inline=True)
    def call(self, meta: Meta, function: Token | IRI, *arguments: Expression) -> Call:
        """A function of SPARQL, or a type as a function: `xsd:integer(?x)`."""
        span = self.span(meta)
        if isinstance(function, Token):
            return Call(function.upper(), arguments, span)
        if function.value in _TYPED:
            return Call("STRDT", (Call("STR", arguments, span), function), span)
        if function.value not in _CASTS:
            self.refuse(
                meta,
                f"unknown function <{function.value}>",
                "only xsd types are functions here",
                "use a SPARQL function by its name, or a type such as xsd:integer",
            )
        return Call(_CASTS.get(function.value, "STR"), arguments, span)

    def function(self, children: list[Token | IRI]) -> Token | IRI:
        return children[0]


class _Variables(tuple[Variable, ...]):
    """Variables of EXISTS or ON; the class distinguishes them from a body."""

    __slots__ = ()
