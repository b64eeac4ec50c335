"""Queries that were asked before: parsed, analysed and compiled.

A query is parsed once for each text, and compiled once for each text up to the constants in its atoms: these
and the values of parameters are put in when it runs, so `path(a, ?x)` and `path(b, ?x)` share a plan.  A
value that analysis looks at (in a comparison, a computation, an atom over triples) is part of what is
compiled.  Under `@equality` constants become representatives, and answers have every term that is equal.

Invariant.  What is kept fits the analysis and the environment of the database; when one of them changes,
compiled queries go.  Both caches drop what was used least recently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tidalog.analysis import Analysis, analyse_query
from tidalog.analysis.equality import COMPARING, is_individual
from tidalog.analysis.rewrite import map_atoms, map_calls, nodes
from tidalog.api.database import Database
from tidalog.api.load import Environment
from tidalog.api.naming import check_query, column_names, holds_triples
from tidalog.api.recent import Recent
from tidalog.engine.limits import ProgressCallback
from tidalog.lang import parse_query
from tidalog.maintain.answer import CompiledQuery, answer, compile_query
from tidalog.model.errors import ProgramError
from tidalog.model.facts import Facts
from tidalog.model.program import (
    Aggregate,
    Atom,
    BodyLiteral,
    Call,
    Expression,
    Negation,
    Parameter,
    Rule,
    Variable,
    flat_literals,
)
from tidalog.model.terms import String, Term


class _StandIn(String):
    """Stands for the value of a parameter in what is compiled.  No program can write it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _Written:
    """The text of a query, parsed."""

    rule: Rule
    template: Rule
    """The rule with parameters for the constants in its atoms."""
    constants: Mapping[str, Term]
    names: list[str]
    """Of the columns."""
    variables: tuple[tuple[int, ...], ...]
    """The columns of each variable of the head."""


@dataclass(slots=True)
class _Prepared:
    """A template in the context of a program."""

    free: frozenset[str]
    """Parameters whose values the analysis does not look at."""
    compiled: Recent[tuple[object, ...], CompiledQuery] = field(default_factory=Recent)
    """By the names of parameters that are given, and the values of those that are not free."""


class PreparedQueries:
    """Of one database."""

    def __init__(self) -> None:
        self._written: Recent[str, _Written] = Recent()
        self._prepared: Recent[Rule, _Prepared] = Recent()
        self._of_text: Recent[tuple[str, bool], _Prepared] = Recent()
        """The same by text, and whether unknown predicates are refused: to hash a rule takes longer."""
        self._prefixes: Mapping[str, str] = {}
        self._analysis: Analysis | None = None
        self._environment: Environment | None = None

    def ask(
        self,
        database: Database,
        text: str,
        parameters: Mapping[str, Term],
        progress: ProgressCallback | None = None,
        *,
        known_only: bool = True,
    ) -> tuple[list[str], Facts]:
        """The names of a query's columns, and its answers.  An unknown predicate is an error, or else
        empty."""
        self._drop_what_does_not_fit(database)
        written = self._written.get(text, lambda: self._parsed(text))
        prepared = self._of_text.get((text, known_only), lambda: self._in_context(written, known_only))
        given = {**parameters, **written.constants} if written.constants else parameters
        if database.program.equalities:
            database.materialise(progress=progress)
            given = {name: database.representative(term) for name, term in given.items()}
        query, values = self._compiled(written, prepared, given)
        database.materialise(progress=progress)
        found = answer(
            database.engine,
            query,
            values=values,
            functions=database.environment.functions,
            limits=database.limits,
            progress=progress,
        )
        rows = Facts("", found.columns, found.rows)
        return written.names, database.engine.equal.expanded(rows, written.variables)

    def clear(self) -> None:
        """Forgets everything."""
        self._written.clear()
        self._of_text.clear()
        self._prepared.clear()
        self._analysis = self._environment = None

    def _drop_what_does_not_fit(self, database: Database) -> None:
        analysis, environment = database.analysis, database.environment
        if analysis is self._analysis and environment is self._environment:
            return
        if analysis.program.prefixes != self._prefixes:
            self._written.clear()
        self._of_text.clear()
        self._prepared.clear()
        self._analysis, self._environment = analysis, environment
        self._prefixes = analysis.program.prefixes

    def _parsed(self, text: str) -> _Written:
        rule = parse_query(text, self._prefixes)
        constants: dict[str, Term] = {}

        def with_parameters(atom: Atom) -> Atom:
            arguments = tuple(map(parameter, atom.arguments))
            return atom if arguments == atom.arguments else replace(atom, arguments=arguments)

        def parameter(argument: Expression) -> Expression:
            if isinstance(argument, Variable | Parameter | Call | Aggregate):
                return argument
            name = f"#{len(constants)}"  # which no program can write
            constants[name] = argument
            return Parameter(name)

        def of_call(call: Call) -> Expression:
            if call.function not in COMPARING:
                return call
            individuals = tuple(parameter(one) if is_individual(one) else one for one in call.arguments)
            return replace(call, arguments=individuals)

        body = map_calls(map_atoms(replace(rule, heads=()), with_parameters), of_call)
        template = replace(body, heads=rule.heads)
        return _Written(
            rule, template, constants, column_names(rule.heads[0]), tuple(_columns_of_variables(rule))
        )

    def _in_context(self, written: _Written, known_only: bool) -> _Prepared:
        assert self._analysis is not None
        if known_only:
            check_query(written.rule, self._analysis)
        free = frozenset(_free(written.template, self._analysis))
        return self._prepared.get(written.template, lambda: _Prepared(free))

    def _compiled(
        self, written: _Written, prepared: _Prepared, given: Mapping[str, Term]
    ) -> tuple[CompiledQuery, Mapping[Term, Term]]:
        """The query, and the values of the terms that stand for free parameters."""
        free = prepared.free
        stands: dict[str, Term] = {name: _StandIn(name) for name in given if name in free}
        fixed = ((name, term) for name, term in given.items() if name not in free)
        try:
            query = prepared.compiled.get(
                (*stands, *fixed), lambda: self._analysed(written.template, {**given, **stands})
            )
            return query, {term: given[name] for name, term in stands.items()}
        except ProgramError:
            # It is wrong for all values, or for these; the message shows the query as written.
            whole = tuple(given.items())
            return prepared.compiled.get(whole, lambda: self._analysed(written.rule, given)), {}

    def _analysed(self, rule: Rule, given: Mapping[str, Term]) -> CompiledQuery:
        assert self._analysis is not None and self._environment is not None
        parameters = {**self._environment.parameters, **given}
        rules = analyse_query(self._analysis, rule, parameters, self._environment.arguments)
        # Hidden relations are named after rules: no name may be one of the program's.
        return compile_query([replace(normal, name=f"(query) {normal.name}") for normal in rules])


def _columns_of_variables(rule: Rule) -> Iterator[tuple[int, ...]]:
    found: dict[Variable, list[int]] = {}
    for column, argument in enumerate(rule.heads[0].arguments):
        if isinstance(argument, Variable):
            found.setdefault(argument, []).append(column)
    return map(tuple, found.values())


def _free(template: Rule, analysis: Analysis) -> Iterator[str]:
    """Parameters that are only arguments of atoms, over relations that do not depend on them."""
    looked_at = {name for head in template.heads for name in _parameters(head)}
    for expression in analysis.program.parameters.values():
        if expression is not None:
            looked_at.update(_parameters(expression))
    found: list[str] = []
    for literal in flat_literals(template.body):
        atom = literal.atom if isinstance(literal, Negation) else literal
        if not isinstance(atom, Atom) or holds_triples(analysis, atom.predicate):
            looked_at.update(_parameters(atom))
            continue
        for argument in atom.arguments:
            if isinstance(argument, Parameter):
                found.append(argument.name)
            else:
                looked_at.update(_parameters(argument))
    return (name for name in found if name not in looked_at)


def _parameters(part: Expression | BodyLiteral) -> Iterator[str]:
    return (node.name for node in nodes(part) if isinstance(node, Parameter))
