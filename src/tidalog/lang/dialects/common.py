"""The common base of the readers of other dialects: terms, arithmetic, rules and facts.

Statements are split and parsed one by one, so that an error affects only its own statement.  Parse trees are
walked without recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import ClassVar, Final, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive, v_args

from tidalog.lang import diagnostics as wrong
from tidalog.lang.grammar import grammar
from tidalog.lang.lexer import MAX_DEPTH, Statement, StatementReader
from tidalog.lang.lowering import BodyPart, DialectRule, lower_rules
from tidalog.lang.names import Names
from tidalog.lang.tokens import TokenReader
from tidalog.model.errors import Diagnostic, Source, Span
from tidalog.model.program import Atom, Call, Expression, Fact, Program, Variable, variables
from tidalog.model.term_text import parse_number
from tidalog.model.terms import (
    IRI,
    XSD,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    integer,
    integer_of,
    literal,
    numeric_value,
)

_DIRECTIVE: Final = re.compile(r"@(\w+)")
_DECIMAL: Final = XSD + "decimal"


def rdf_number(text: str) -> Term:
    """A number as RDF writes it: `2.5` is a decimal, `2.5e0` a double."""
    if "." in text and "e" not in text.lower():
        return literal(text, _DECIMAL)
    number = parse_number(text)
    assert number is not None  # every numeral of the grammars is one
    return number


def by_value(expression: Expression) -> Expression:
    """A decimal constant as a double, where only the value of a number matters."""
    if isinstance(expression, Literal) and expression.datatype == _DECIMAL:
        value = numeric_value(expression)
        return expression if value is None else Double(float(value))
    return expression


class Reader(Transformer_NonRecursive[Token, object]):
    """Turns the parse trees of one text into rules and facts.

    A subclass has the class variables and a method for each rule of its grammar.  Errors go to `diagnostics`;
    the result of a method that reported one is never used, since a text with errors is refused.
    """

    dialect: ClassVar[str]
    """The grammar's name."""
    line_comments: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str]
    """A rule, shown as an example in errors."""
    directives: ClassVar[tuple[str, ...]] = ("prefix",)

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.names = Names()
        self.tokens = TokenReader(source, 0, self.names, self.diagnostics)
        self.rules: list[DialectRule] = []
        self.facts: list[Fact] = []
        self.anonymous = 0

    def read(self) -> tuple[Program, list[Diagnostic]]:
        for statement in self.statements():
            self.tokens = TokenReader(self.source, statement.start, self.names, self.diagnostics)
            if not self._unknown_directive(statement):
                self.statement(statement)
        program = Program(
            rules=lower_rules(self.rules, {fact.predicate for fact in self.facts}),
            facts=tuple(self.facts),
            prefixes=MappingProxyType(self.names.declared),
            source=self.source,
        )
        return program, self.diagnostics

    def statements(self) -> Iterator[Statement]:
        """The statements that can be parsed."""
        reader = StatementReader(self.source, self.diagnostics, self.line_comments)
        statement = reader.read(0)
        while statement is not None:
            if statement.text and not statement.broken:
                yield statement
            statement = reader.read(statement.end)

    def statement(self, statement: Statement) -> None:
        problems: list[Diagnostic] = []
        text = self.prepared(statement.text)
        parser = grammar(self.dialect, "start")
        tree = parser.parse("start", text, self.source, statement.start, problems)
        if tree is not None:
            self.transform(tree)
        for problem in problems:  # the grammar's advice is for the main dialect
            advice = f"a rule reads like this: {self.example}"
            self.report(wrong.UnexpectedText(problem.span, **{**problem.values, "advice": advice}))

    def prepared(self, text: str) -> str:
        """The text of a statement to parse; offsets must not change."""
        return text

    def _unknown_directive(self, statement: Statement) -> bool:
        found = _DIRECTIVE.match(statement.text)
        if found is None or found[1].lower() in self.directives:
            return False
        known = " and ".join(f"@{name}" for name in self.directives)
        self.report(
            wrong.UnknownDirective(
                Span(self.source, statement.start, statement.start + found.end()),
                name=found[1],
                advice=f"this dialect has {known}; imports and exports are for the main dialect (.rls)",
            )
        )
        return True

    # --- spans and errors ---------------------------------------------------------------------------

    def report(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    def refuse(self, at: Meta | Token, problem: str, why: str, advice: str) -> None:
        self.report(wrong.BadStatement(self.span(at), problem=problem, why=why, advice=advice))

    def span(self, at: Meta | Token) -> Span:
        start, end = cast(int, at.start_pos), cast(int, at.end_pos)
        return Span(self.source, self.tokens.offset + start, self.tokens.offset + end)

    # --- statements ---------------------------------------------------------------------------------

    def prefix(self, children: list[Token | IRI]) -> None:
        namespace, iri = children
        self.names.declare(str(namespace)[:-1], cast(IRI, iri).value)

    def label(self, children: list[Token]) -> str:
        return str(children[0]).rstrip(":")

    def body(self, children: list[BodyPart | tuple[BodyPart, ...]]) -> tuple[BodyPart, ...]:
        """The parts of a body; one part of the dialect's text may become several, or none."""
        parts: list[BodyPart] = []
        for child in children:
            parts.extend(child if isinstance(child, tuple) else (child,))
        return tuple(parts)

    def add(
        self, meta: Meta, heads: tuple[Atom, ...], body: tuple[BodyPart, ...] | None, name: str | None = None
    ) -> None:
        """Adds a rule, or facts if there is no body."""
        if body is not None:
            self.rules.append(DialectRule(heads, body, name, self.span(meta)))
            return
        for head in heads:
            loose = next(variables(head), None)
            if loose is not None:
                shown = "_" if loose.anonymous else f"?{loose.name}"
                self.report(wrong.VariableInFact(head.span, variable=shown))
            else:
                self.facts.append(Fact(head.predicate, cast("tuple[Term, ...]", head.arguments), head.span))

    # --- terms --------------------------------------------------------------------------------------

    def fresh(self) -> Variable:
        """An anonymous variable."""
        self.anonymous += 1
        return Variable(f"_#{self.anonymous}")

    def VARIABLE(self, token: Token) -> Variable:
        return Variable(token[1:])

    def PREFIXED_NAME(self, token: Token) -> Term:
        return self.tokens.term(token)

    IRI_REFERENCE = BLANK_NODE = INTEGER = DOUBLE = TRUE = FALSE = PREFIXED_NAME

    def string(self, children: list[Token | IRI]) -> Term:
        """A plain string, or one with a language or a datatype."""
        value = self.tokens.string(cast(Token, children[0]))
        mark = children[1] if len(children) > 1 else None
        if isinstance(mark, IRI):
            return literal(value, mark.value)
        return String(value) if mark is None else LangString(value, mark[1:])

    def predicate(self, children: list[Token | IRI]) -> str:
        (name,) = children
        return name.value if isinstance(name, IRI) else str(name)

    # --- expressions --------------------------------------------------------------------------------

    @v_args(meta=True, inline=True)
    def chain(self, meta: Meta, first: Expression, *rest: Token | Expression) -> Expression:
        """`a + b - c`, from the left."""
        span = self.span(meta)
        if len(rest) > 2 * MAX_DEPTH:
            self.report(wrong.TooDeep(span, limit=MAX_DEPTH))
            return first
        result = first
        for operator, operand in zip(rest[::2], rest[1::2], strict=True):
            result = Call(str(operator), (by_value(result), by_value(cast(Expression, operand))), span)
        return result

    @v_args(meta=True, inline=True)
    def minus(self, meta: Meta, sign: Token, operand: Expression) -> Expression:
        """The negated operand; for a number, the negative number itself."""
        if isinstance(operand, Integer):
            return integer(-operand.value)
        if isinstance(operand, Double):
            return Double(-operand.value)
        if isinstance(operand, Literal) and operand.datatype == XSD + "integer":
            return integer_of(f"-{operand.lexical}")
        if isinstance(operand, Literal) and operand.datatype == _DECIMAL:
            return literal(f"-{operand.lexical}", _DECIMAL)
        return Call("neg", (operand,), self.span(meta))

    def compared(self, meta: Meta, left: Expression, comparator: str, right: Expression) -> Call:
        return Call(comparator, (left, right), self.span(meta))

    def aggregate_name(self, word: Token, known: dict[str, str], *, closed: bool = True) -> str:
        """The aggregate that a dialect's word denotes; unless these are all (`closed`), any other is one that
        may be registered."""
        operator = known.get(word.upper())
        if operator is None and not closed:
            return word.lower()
        if operator is None:
            self.report(
                wrong.MisplacedAggregate(
                    self.span(word),
                    problem=f"unknown aggregate {word}",
                    why="no aggregate has this name",
                    advice=f"the aggregates of this dialect are {', '.join(known)}",
                )
            )
            return "count"
        return operator
