"""The lower half of the reader: terms, paths, triple patterns and expressions of a query's parse tree.

Trees are walked from the leaves without recursion.  Errors go to a list; the result of a method that reported
one is never used, since a text with errors is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive, v_args

from tidalog.builtins import CannotCompute, apply
from tidalog.lang import diagnostics as wrong
from tidalog.lang.dialects.common import rdf_number
from tidalog.lang.names import IRI_CHARACTER, Names
from tidalog.lang.sparql.algebra import (
    Aggregation,
    Alternative,
    Exists,
    Expression,
    Function,
    Group,
    Inverse,
    Negated,
    Node,
    Path,
    Repeated,
    Sequence,
    TriplePattern,
)
from tidalog.lang.tokens import TokenReader
from tidalog.model.amounts import counted
from tidalog.model.errors import Diagnostic, Source, Span
from tidalog.model.program import Variable
from tidalog.model.terms import (
    FALSE,
    IRI,
    RDF,
    RDF_TYPE,
    TRUE,
    XSD,
    BlankNode,
    LangString,
    String,
    Term,
    literal,
)

_TYPE: Final = IRI(RDF_TYPE)
_FIRST, _REST, _NIL = (IRI(RDF + name) for name in ("first", "rest", "nil"))
CASTS: Final = frozenset(
    XSD + name
    for name in (
        *("integer", "decimal", "double", "float", "string", "boolean", "dateTime", "date", "time"),
        *("int", "long", "short", "byte"),
    )
)
"""Types that are functions."""
MAX_DEPTH: Final = 100
"""Levels of the parse tree, about as many as brackets and operators inside each other."""
_ESCAPED_LOCAL: Final = re.compile(r"\\(.)")
_WHOLE_IRI: Final = re.compile(f"{IRI_CHARACTER}*")
_LONG_QUOTES: Final = ('"""', "'''")


@dataclass(frozen=True, slots=True)
class Described:
    """A node with the triples that describe it: `[ ex:p ?x ]`, `(1 2)`."""

    node: Node
    triples: tuple[TriplePattern, ...]


_Object = Node | Described
_Property = tuple[Node | Path, tuple[_Object, ...], Span]


class TermReader(Transformer_NonRecursive[Token, object]):
    def __init__(self, source: Source, names: Names, errors: list[Diagnostic]) -> None:
        super().__init__()
        self.source = source
        self.names = names
        self.errors = errors
        self.tokens = TokenReader(source, 0, names, errors)
        self.blanks = 0
        self.labels: set[str] = set()
        """Of the blank nodes in the patterns of the query that are read already."""
        self.prologues: list[str] = []
        """What each registration can read: prefixes and base, as text."""

    # --- spans and errors ---------------------------------------------------------------------------

    def span(self, at: Meta | Token) -> Span:
        if isinstance(at, Meta) and at.empty:
            return Span(self.source, 0, 0)
        return Span(self.source, cast(int, at.start_pos), cast(int, at.end_pos))

    def refuse(self, at: Meta | Token | Span, problem: str, why: str, advice: str) -> None:
        span = at if isinstance(at, Span) else self.span(at)
        self.errors.append(wrong.BadStatement(span, problem=problem, why=why, advice=advice))

    # --- names --------------------------------------------------------------------------------------

    def prefix(self, children: list[Token]) -> None:
        namespace, iri = children
        before = len(self.errors)
        value = self._name(iri)
        if len(self.errors) == before:
            self.names.declare(str(namespace)[:-1], value)

    def base(self, children: list[Token]) -> None:
        self.names.base = self._name(children[0])

    def prologue(self, children: list[None]) -> None:
        """Prefixes and the base are known from here on."""

    def iri(self, children: list[Token]) -> IRI:
        return IRI(self._name(children[0]))

    def _name(self, token: Token) -> str:
        if token.type != "PREFIXED_NAME":
            iri = self.tokens.iri(token)
            if not _WHOLE_IRI.fullmatch(
                iri
            ):  # written with an escape; some such names have a meaning of ours
                problem, advice = "it has a character that no IRI has", "write it as %20 and the like"
                self.errors.append(
                    wrong.BadLiteral(self.span(token), what="an IRI", problem=problem, advice=advice)
                )
            return iri
        prefix, _, local = token.partition(":")
        namespace = self.names.namespace(prefix)
        if namespace is None:
            start = cast(int, token.start_pos)
            near = self.names.similar(prefix)
            advice = (
                f"did you mean {near}: ?" if near is not None else f"declare it: PREFIX {prefix}: <http://…>"
            )
            span = Span(self.source, start, start + len(prefix) + 1)
            self.errors.append(wrong.UnknownPrefix(span, prefix=prefix, advice=advice))
            return str(token)
        return namespace + _ESCAPED_LOCAL.sub(r"\1", local)

    def VARIABLE(self, token: Token) -> Variable:
        return Variable(token[1:])

    def A(self, token: Token) -> IRI:
        return _TYPE

    def BLANK_NODE(self, token: Token) -> BlankNode:
        return cast(BlankNode, self.tokens.term(token))

    def blank(self, children: list[object]) -> BlankNode:
        """A node without a name; no text can spell its label."""
        self.blanks += 1
        return BlankNode(f"[{self.blanks}]")

    # --- literals -----------------------------------------------------------------------------------

    def NUMBER(self, token: Token) -> Term:
        text = str(token)
        if text.startswith("."):
            text = "0" + text
        return rdf_number(re.sub(r"\.(?=[eE])", ".0", text))

    def SIGNED_NUMBER(self, token: Token) -> Term:
        positive = self.NUMBER(Token("NUMBER", token[1:]))
        return positive if token[0] == "+" else cast(Term, negated(positive))

    def TRUE(self, token: Token) -> Term:
        return TRUE

    def FALSE(self, token: Token) -> Term:
        return FALSE

    def string(self, children: list[Token]) -> str:
        (token,) = children
        width = 3 if token.startswith(_LONG_QUOTES) and len(token) >= 6 else 1
        return self.tokens.unescape_at(token[width : len(token) - width], (token.start_pos or 0) + width)

    def string_literal(self, children: list[str | Token | IRI]) -> Term:
        value, *mark = children
        if not mark:
            return String(cast(str, value))
        if isinstance(mark[0], IRI):
            return literal(cast(str, value), mark[0].value)
        return LangString(cast(str, value), str(mark[0])[1:])

    @v_args(meta=True)
    def typed_without_carets(self, meta: Meta, children: list[str | Token]) -> Term:
        """`"PT30M"xsd:duration`, as C-SPARQL's papers print typed literals."""
        value, datatype = children
        self.errors.append(wrong.NoCarets(self.span(meta), datatype=str(datatype)))
        return literal(str(value), self._name(cast(Token, datatype)))

    # --- triples ------------------------------------------------------------------------------------

    def triples(self, children: list[tuple[TriplePattern, ...]]) -> tuple[TriplePattern, ...]:
        return tuple(triple for child in children for triple in child)

    def same_subject(self, children: list[_Object | tuple[_Property, ...]]) -> tuple[TriplePattern, ...]:
        subject, *rest = children
        properties = cast("tuple[_Property, ...]", rest[0]) if rest else ()
        return self._about(cast(_Object, subject), properties)

    def _about(self, subject: _Object, properties: Iterable[_Property]) -> tuple[TriplePattern, ...]:
        node = subject.node if isinstance(subject, Described) else subject
        triples = list(subject.triples) if isinstance(subject, Described) else []
        for verb, objects, span in properties:
            for value in objects:
                end = value.node if isinstance(value, Described) else value
                triples.append(TriplePattern(node, verb, end, span))
                triples += value.triples if isinstance(value, Described) else ()
        return tuple(triples)

    @v_args(meta=True)
    def properties(
        self, meta: Meta, children: list[Node | Path | tuple[_Object, ...]]
    ) -> tuple[_Property, ...]:
        span = self.span(meta)
        pairs = zip(children[::2], children[1::2], strict=True)
        return tuple((cast(Node, verb), cast("tuple[_Object, ...]", ends), span) for verb, ends in pairs)

    def objects(self, children: list[_Object]) -> tuple[_Object, ...]:
        return tuple(children)

    def blank_with_properties(self, children: list[tuple[_Property, ...]]) -> Described:
        node = self.blank([])
        return Described(node, self._about(node, children[0]))

    def collection(self, children: list[_Object]) -> Described:
        cells = [self.blank([]) for _ in children]
        rests: list[Node] = [*cells[1:], _NIL]
        triples: list[TriplePattern] = []
        for cell, value, rest in zip(cells, children, rests, strict=True):
            triples += self._about(cell, [(_FIRST, (value,), Span(self.source, 0, 0))])
            triples.append(TriplePattern(cell, _REST, rest))
        return Described(cells[0], tuple(triples))

    def empty_list(self, children: list[object]) -> IRI:
        return _NIL

    # --- paths --------------------------------------------------------------------------------------

    def path_sequence(self, children: list[Path]) -> Sequence:
        return Sequence(tuple(children))

    def path_alternatives(self, children: list[Path]) -> Alternative:
        return Alternative(tuple(children))

    def path_inverse(self, children: list[Token | Path]) -> Inverse:
        return Inverse(cast(Path, children[1]))

    def path_repeated(self, children: list[Path | Token]) -> Repeated:
        path, sign = children
        return Repeated(cast(Path, path), may_be_empty=sign != "+", is_unlimited=sign != "?")

    def one_negated(self, children: list[Token | IRI]) -> tuple[bool, IRI]:
        """Whether the property is inverse, and the property."""
        return len(children) == 2, cast(IRI, children[-1])

    def path_negated(self, children: list[tuple[bool, IRI]]) -> Negated:
        forwards, backwards = (
            tuple(iri for inverse, iri in children if inverse == wanted) for wanted in (False, True)
        )
        return Negated(forwards if forwards or not backwards else None, backwards or None)

    # --- expressions --------------------------------------------------------------------------------

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


def negated(operand: Term) -> Expression:
    """A constant with a minus before it: the negative number, or a negation that fails."""
    value = apply("neg", [operand])
    return Function("neg", (operand,)) if isinstance(value, CannotCompute) else value
