"""Fragments of programs: a query, one rule, one fact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lark import Token, Tree

from tidalog.builtins import BUILTINS
from tidalog.lang.builder import Builder, main_grammar
from tidalog.lang.diagnostics import BadStatement
from tidalog.lang.dialects.main import MainReader
from tidalog.lang.directives import OF_PROGRAMS
from tidalog.lang.grammar import Node
from tidalog.lang.lexer import Statement, StatementReader
from tidalog.lang.names import Names
from tidalog.model.errors import Diagnostic, ProgramError, Source, Span
from tidalog.model.program import (
    Aggregate,
    Atom,
    BodyLiteral,
    Expression,
    Fact,
    Negation,
    Rule,
    Variable,
    variables,
)

QUERY = "?"
"""The predicate of a query's head, which no program can use."""


def parse_query(text: str, prefixes: Mapping[str, str] | None = None, name: str = "<query>") -> Rule:
    """An ad-hoc query as a rule whose head has the predicate `?`.

    `?x, #count(?y) :- edge(?x, ?y)` names the answers.  If there is only a body, the answers are its named
    variables in order of occurrence, except those that occur only in a negation.
    """
    source = Source(name, text)
    errors: list[Diagnostic] = []
    statement = _only_statement(source, errors, "a query")
    if statement is not None and not errors:
        tree = main_grammar().parse("query", statement.text, source, statement.start, errors)
        if tree is not None:
            builder = Builder(source, statement.start, Names(dict(prefixes or {})), errors)
            rule = _query(tree, builder, Span(source, statement.start, statement.end))
            if not errors:
                return rule
    raise ProgramError(errors)


def parse_rule(text: str, prefixes: Mapping[str, str] | None = None, name: str = "<rule>") -> Rule:
    """One rule; its full stop may be missing."""
    reader = _read(text, prefixes, name, "a rule")
    if len(reader.rules) == 1:
        return reader.rules[0]
    if len(reader.facts) == 1:
        return _without_body(reader.facts)
    raise _not_one(reader.source, "a rule")


def parse_rules(text: str, prefixes: Mapping[str, str] | None = None, name: str = "<rules>") -> list[Rule]:
    """Rules in sequence, with @prefix and @base between them; the last full stop may be missing.
    A fact is a rule without conditions."""
    source = Source(name, text)
    errors: list[Diagnostic] = []
    statements = list(_statements(source, errors))
    if errors:
        raise ProgramError(errors)
    if statements and not statements[-1].text.endswith("."):
        source = Source(name, f"{text[: statements[-1].end]} .")
    reader = MainReader(source, Names(dict(prefixes or {})))
    found: list[Rule] = []
    for statement in _statements(source, []):
        directive = OF_PROGRAMS.match(statement.text)
        if directive is not None:
            span = Span(source, statement.start, statement.start + directive.end())
            why, advice = "expected a rule", "put directives into the program"
            reader.errors.append(
                BadStatement(span, problem="a directive among rules", why=why, advice=advice)
            )
            continue
        rules, facts = len(reader.rules), len(reader.facts)
        reader.take(statement)
        found += reader.rules[rules:]
        if len(reader.facts) > facts:
            found.append(_without_body(reader.facts[facts:]))
    if reader.errors:
        raise ProgramError(reader.errors)
    if not found:
        raise _not_one(source, "a rule")
    return found


def _statements(source: Source, errors: list[Diagnostic]) -> Iterator[Statement]:
    reader = StatementReader(source, errors)
    at = 0
    while not errors and (statement := reader.read(at)) is not None:
        at = statement.end
        if statement.text:
            yield statement


def _without_body(facts: Sequence[Fact]) -> Rule:
    heads = tuple(Atom(fact.predicate, fact.arguments, fact.span) for fact in facts)
    return Rule(heads, (), None, facts[0].span)


def parse_fact(text: str, prefixes: Mapping[str, str] | None = None, name: str = "<fact>") -> Fact:
    """One ground fact; its full stop may be missing."""
    reader = _read(text, prefixes, name, "a fact")
    if len(reader.facts) == 1:
        return reader.facts[0]
    raise _not_one(reader.source, "a fact")


def _read(text: str, prefixes: Mapping[str, str] | None, name: str, what: str) -> MainReader:
    source = Source(name, text)
    errors: list[Diagnostic] = []
    statement = _only_statement(source, errors, what)
    if statement is None or errors:
        raise ProgramError(errors)
    if not statement.text.endswith("."):
        source = Source(name, f"{text[: statement.end]} .")
    reader = MainReader(source, Names(dict(prefixes or {})))
    reader.read()
    if reader.errors:
        raise ProgramError(reader.errors)
    return reader


def _only_statement(source: Source, errors: list[Diagnostic], what: str) -> Statement | None:
    reader = StatementReader(source, errors)
    if errors:
        return None
    statement = reader.read(0)
    if statement is None or not statement.text:
        span = Span(source, 0, 0)
        errors.append(BadStatement(span, problem="there is nothing here", why=f"expected {what}", advice=""))
        return None
    rest = reader.read(statement.end)
    if rest is not None and rest.text:
        span = Span(source, rest.start, rest.end)
        errors.append(
            BadStatement(span, problem="one statement too many", why=f"expected {what} only", advice="")
        )
        return None
    return statement


def _not_one(source: Source, what: str) -> ProgramError:
    span = Span(source, 0, len(source.text))
    return ProgramError(BadStatement(span, problem=f"this is not {what}", why=f"expected {what}", advice=""))


def _query(tree: Tree[Token], builder: Builder, span: Span) -> Rule:
    clause = tree.children[0]
    assert isinstance(clause, Tree)
    parts = [part for part in clause.children if isinstance(part, Tree)]
    if clause.data == "headed_query":
        answers = _answers(parts[0], builder)
        body = builder.body(parts[1])
    else:
        body = builder.body(parts[0])
        answers = _named_variables(body)
    return Rule((Atom(QUERY, answers, span),), body, None, span)


def _answers(literals: Tree[Token], builder: Builder) -> tuple[Expression | Aggregate, ...]:
    """The answers before `:-`: terms, expressions, aggregates; or the arguments of one atom."""
    nodes = builder.conjunction(literals)
    if len(nodes) == 1 and _is_plain_atom(nodes[0]):
        (atom,) = builder.heads(literals)
        return atom.arguments
    return tuple(map(builder.answer, nodes))


def _is_plain_atom(node: Node) -> bool:
    if not (isinstance(node, Tree) and node.data == "call"):
        return False
    predicate = node.children[0]
    assert isinstance(predicate, Tree)
    return str(predicate.children[0]).upper() not in BUILTINS


def _named_variables(body: tuple[BodyLiteral, ...]) -> tuple[Variable, ...]:
    found = (v for literal in body if not isinstance(literal, Negation) for v in variables(literal))
    return tuple(dict.fromkeys(v for v in found if not v.anonymous))
