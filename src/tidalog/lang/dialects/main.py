"""The main dialect: statement by statement, facts on the fast path, the rest through the grammar."""

from __future__ import annotations

import re
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from lark import Token, Tree

from tidalog.lang.builder import Builder, main_grammar
from tidalog.lang.collector import collector_paused
from tidalog.lang.diagnostics import (
    BadStatement,
    IdleAttribute,
    MisplacedAggregate,
    UnknownDirective,
    VariableInFact,
)
from tidalog.lang.directives import DIRECTIVES, DirectiveReader
from tidalog.lang.fast_facts import FactReader
from tidalog.lang.grammar import Node
from tidalog.lang.lexer import Statement, StatementReader
from tidalog.lang.lint import predicate_warning, rule_warnings
from tidalog.lang.names import Names
from tidalog.model.errors import Diagnostic, Source, Span
from tidalog.model.program import Aggregate, Atom, Call, Fact, Parameter, Program, Rule, Variable, variables

_DIRECTIVE: Final = re.compile(r"@(\w*)")
_SOUFFLE: Final = re.compile(
    r"(?:^[ \t]*(?=[#.])|(?<=[\s.)])(?=\.(?:decl|input|output)\s+\w))"
    r"(\.(?:decl|input|output|type|comp|init|override|printsize|limitsize|functor|pragma|plan|lattice"
    r"|once|number_type|symbol_type)\b|(?P<preprocessor>#(?:include|define|ifdef|ifndef)\b))",
    re.MULTILINE,
)
_INSTEAD: Final = {
    "source": 'data is read with @import p :- csv{resource = "p.csv"} .',
    "sink": "data is written with @export p :- csv{} .",
    "include": "give several files on the command line instead",
}


def parse_source(source: Source) -> tuple[Program, list[Diagnostic]]:
    """The program of a text, with its errors and warnings."""
    reading = MainReader(source)
    with collector_paused():
        reading.read()
    souffle = _SOUFFLE.search(source.text) if reading.errors else None
    if souffle is not None:
        return reading.program(), [_is_souffle(source, souffle)]
    return reading.program(), reading.diagnostics()


def _is_souffle(source: Source, found: re.Match[str]) -> Diagnostic:
    declarations, preprocessor = "its declarations begin with a full stop", "it needs the C preprocessor"
    return BadStatement(
        Span(source, found.start(1), found.end(1)),
        problem="this is a Soufflé program",
        why=declarations if found["preprocessor"] is None else preprocessor,
        advice="variables are ?x here, .decl is @declare, .input is @import and .output is @output",
    )


class MainReader:
    """Reads one text; its lists collect the contents of the statements."""

    def __init__(self, source: Source, names: Names | None = None) -> None:
        self.source = source
        self.names = names or Names()
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        self.rules: list[Rule] = []
        self.facts: list[Fact] = []
        self.statements = StatementReader(source, self.errors)
        self.fact_reader = FactReader(source, self.names)
        self.directives = DirectiveReader(source, self.names, self.errors)

    def read(self) -> None:
        at, size = 0, len(self.source.text)
        while at < size:
            at = self.fact_reader.read(at, self.facts)
            statement = self.statements.read(at)
            if statement is None:
                break
            at = statement.end
            self.take(statement)

    def program(self) -> Program:
        directives = self.directives
        return Program(
            rules=tuple(self.rules),
            facts=tuple(self.facts),
            prefixes=MappingProxyType(dict(self.names.declared)),
            base=self.names.base,
            imports=tuple(directives.imports),
            exports=tuple(directives.exports),
            outputs=tuple(directives.outputs),
            declarations=tuple(directives.declarations),
            windows=tuple(directives.windows),
            equalities=tuple(directives.equalities),
            parameters=MappingProxyType(dict(directives.parameters)),
            source=self.source,
        )

    def diagnostics(self) -> list[Diagnostic]:
        """Errors, then warnings, each in text order."""
        spans = dict(self.fact_reader.first_spans)
        for rule in self.rules:
            for head in rule.heads:
                if head.span is not None:
                    spans.setdefault(head.predicate, head.span)
        for binding in self.directives.imports:
            if binding.span is not None:
                spans.setdefault(binding.predicate, binding.span)
        warnings = [*self.warnings, *self.directives.warnings]
        for predicate, span in spans.items():
            warnings.extend(predicate_warning(predicate, span))
        return sorted(self.errors, key=_offset) + sorted(warnings, key=_offset)

    def take(self, statement: Statement) -> None:
        """Adds the contents of one statement."""
        if statement.broken or not statement.text:
            return
        directive = _DIRECTIVE.match(statement.text)
        if directive and directive[1] not in DIRECTIVES:
            self._unknown_directive(directive[1], statement.start)
            return
        tree = main_grammar().parse("statement", statement.text, self.source, statement.start, self.errors)
        if tree is None:
            return
        if directive:
            self.directives.take(tree.children[0], statement.start)
            self.fact_reader.names_changed()
        else:
            self._clause(tree, statement)

    def _clause(self, tree: Tree[Token], statement: Statement) -> None:
        errors_before = len(self.errors)
        builder = Builder(self.source, statement.start, self.names, self.errors)
        name = self._name(tree.children[:-1], builder)
        clause = tree.children[-1]
        assert isinstance(clause, Tree)
        span = Span(self.source, statement.start, statement.end)
        parts = [part for part in clause.children if isinstance(part, Tree)]
        rules: list[Rule] = []
        facts: list[Fact] = []
        if clause.data == "constraint":
            rules.append(Rule((), builder.body(parts[0]), name, span))
        elif clause.data == "rule":
            heads = builder.heads(parts[0])
            rules.append(Rule(heads, builder.body(parts[1]) if len(parts) > 1 else (), name, span))
        else:
            rules, facts = self._facts(builder.heads(parts[0]), name, span)
        if len(self.errors) > errors_before:
            return
        for rule in rules:
            self.warnings.extend(rule_warnings(rule))
        self.rules += rules
        self.facts += facts

    def _facts(self, heads: tuple[Atom, ...], name: str | None, span: Span) -> tuple[list[Rule], list[Fact]]:
        """Atoms without a body: facts, or a rule without conditions if they have a name, a parameter or an
        expression."""
        facts = []
        for head in heads:
            terms = []
            for argument in head.arguments:
                if isinstance(argument, Aggregate):
                    self._aggregate_in_fact(argument)
                for variable in variables(argument):
                    text = "_" if variable.anonymous else f"?{variable.name}"
                    self.errors.append(VariableInFact(_variable_span(head, text), variable=text))
                if not isinstance(argument, Aggregate | Variable | Call | Parameter):
                    terms.append(argument)
            facts.append(Fact(head.predicate, tuple(terms), head.span))
        if name is None and all(len(f.arguments) == h.arity for f, h in zip(facts, heads, strict=True)):
            for fact, head in zip(facts, heads, strict=True):
                if head.span is not None:
                    self.fact_reader.first_spans.setdefault(fact.predicate, head.span)
            return [], facts
        return [Rule(heads, (), name, span)], []

    def _name(self, nodes: list[Node], builder: Builder) -> str | None:
        """The rule's name from a label or a name attribute."""
        names: list[tuple[str, Span]] = []
        for node in nodes:
            assert isinstance(node, Tree)
            first, *rest = node.children
            assert isinstance(first, Token)
            if node.data == "label":
                names.append((first[:-1], builder.span(first)))
            elif first == "name" and len(rest) == 1 and isinstance(rest[0], Token):
                names.append((builder.string(rest[0]), builder.span(node)))
            elif first == "name":
                self._bad(builder.span(node), "a rule has one name", 'write #[name("r1")]', "")
            else:
                self.warnings.append(IdleAttribute(builder.span(node), name=str(first)))
        if len(names) > 1:
            self._bad(names[1][1], "a rule has one name", "it was named before", "drop one of them")
        if names and not names[0][0]:
            self._bad(names[0][1], "an empty name", "a rule's name has at least one character", "")
        return names[0][0] if names else None

    def _bad(self, span: Span, problem: str, why: str, advice: str) -> None:
        self.errors.append(BadStatement(span, problem=problem, why=why, advice=advice))

    def _aggregate_in_fact(self, aggregate: Aggregate) -> None:
        self.errors.append(
            MisplacedAggregate(
                aggregate.span,
                problem="an aggregate in a fact",
                why="there is nothing to aggregate over",
                advice="add a body: … :- edge(?x, ?y).",
            )
        )

    def _unknown_directive(self, name: str, start: int) -> None:
        close = get_close_matches(name.lower(), DIRECTIVES, n=1)
        known = "known are " + ", ".join(f"@{directive}" for directive in DIRECTIVES)
        advice = _INSTEAD.get(name.lower()) or (f"did you mean @{close[0]}?" if close else known)
        span = Span(self.source, start, start + len(name) + 1)
        self.errors.append(UnknownDirective(span, name=name, advice=advice))


def _variable_span(head: Atom, text: str) -> Span | None:
    if head.span is None:
        return None
    written = head.span.source.text[head.span.start : head.span.end]
    found = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", written)
    if found is None:
        return head.span
    start = head.span.start + found.start()
    return Span(head.span.source, start, start + len(text))


def _offset(diagnostic: Diagnostic) -> int:
    return diagnostic.span.start if diagnostic.span is not None else 0
