"""SPARQL queries: read, translated, analysed and compiled once for each text.

A query becomes rules whose answers are facts of a hidden predicate, evaluated over what is derived already;
what they derive is gone afterwards.  A sub-query with LIMIT is a stage of its own: its rows are put in order
and cut before the rules that read them run.

Invariant.  What is kept fits the analysis and the environment of the database; when one of them changes,
compiled queries go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tidalog.analysis import Analysis
from tidalog.analysis.equality import refuse_equality
from tidalog.analysis.query import analyse_rules
from tidalog.api.database import Database
from tidalog.api.diagnostics import StreamInQuery
from tidalog.api.load import Environment
from tidalog.api.recent import Recent
from tidalog.api.solution_rows import cut, cut_by_key, decoded_columns
from tidalog.api.sparql_results import Solutions, Triples, Truth
from tidalog.engine.limits import ProgressCallback
from tidalog.lang.sparql import parse_statement, translate
from tidalog.lang.sparql.algebra import Query, Registration
from tidalog.lang.sparql.answers import Translation
from tidalog.lang.sparql.functions import of_one_query
from tidalog.maintain.answer import Answer, CompiledQuery, answers, compile_rules
from tidalog.model.errors import ProgramError
from tidalog.model.facts import Facts
from tidalog.model.program import Rule
from tidalog.model.terms import TRUE

_NAME: Final = "(query)"


@dataclass(frozen=True, slots=True)
class Asked:
    """The text of a query, translated."""

    query: Query
    translation: Translation
    prefixes: Mapping[str, str]


class SparqlQueries:
    """Of one database."""

    def __init__(self) -> None:
        self._asked: Recent[str, Asked] = Recent()
        self._compiled: Recent[str, tuple[Asked, list[CompiledQuery]]] = Recent()
        self._prefixes: Mapping[str, str] = {}
        self._analysis: Analysis | None = None
        self._environment: Environment | None = None

    def ask(
        self, database: Database, text: str, progress: ProgressCallback | None = None
    ) -> Solutions | Truth | Triples:
        """The result of a query.  Raises `ProgramError` for a text that is not one."""
        self._drop_what_does_not_fit(database)
        asked, stages = self._compiled.get(text, lambda: self._prepared(text, database))
        facts = solutions(database, asked.translation, stages, progress)
        match asked.query.kind:
            case "SELECT":
                arrays, readings = decoded_columns(database.dictionary, facts.columns)
                names = asked.translation.columns
                return Solutions(names, arrays, facts.count, self._prefixes, readings)
            case "ASK":
                (column,) = facts.columns
                return Truth(database.dictionary.term(int(column[0])) == TRUE, self._prefixes)
            case _:
                arrays, readings = decoded_columns(database.dictionary, facts.columns)
                return Triples(asked.translation.columns, arrays, facts.count, self._prefixes, readings)

    def clear(self) -> None:
        """Forgets everything."""
        self._asked.clear()
        self._compiled.clear()
        self._analysis = self._environment = None

    def _drop_what_does_not_fit(self, database: Database) -> None:
        analysis, environment = database.analysis, database.environment
        if analysis is self._analysis and environment is self._environment:
            return
        if analysis.program.prefixes != self._prefixes:
            self._asked.clear()
        self._compiled.clear()
        self._analysis, self._environment = analysis, environment
        self._prefixes = analysis.program.prefixes

    def _prepared(self, text: str, database: Database) -> tuple[Asked, list[CompiledQuery]]:
        asked = self._asked.get(text, lambda: self._read(text))
        return asked, compiled(database, asked.translation)

    def _read(self, text: str) -> Asked:
        query = parse_statement(text, self._prefixes)
        if isinstance(query, Registration):
            why = "what is registered is evaluated as facts come"
            raise ProgramError(StreamInQuery(query.span, what="REGISTER", why=why))
        stream = next((graph.iri for graph in query.dataset if graph.kind == "stream"), None)
        if stream is not None:
            why = f"a window over <{stream}> moves as facts come"
            raise ProgramError(StreamInQuery(query.span, what="FROM STREAM", why=why))
        return Asked(query, translate(query, _NAME, counted=True, once=True), self._prefixes)


def compiled(database: Database, translation: Translation) -> list[CompiledQuery]:
    """The stages of a query over an analysed program.  Raises `ProgramError`."""
    refuse_equality(
        database.program,
        "a SPARQL query",
        "its solutions would have one representative for all terms that are equal",
        "ask kb.query, or say which terms are equal by rules",
    )
    environment = database.environment
    number = 0

    def compiled_rules(rules: Sequence[Rule], head: str) -> CompiledQuery:
        nonlocal number
        named = [replace(rule, name=f"{_NAME} {number + place}") for place, rule in enumerate(rules)]
        number += len(rules)
        components = analyse_rules(database.analysis, named, environment.parameters, environment.arguments)
        return compile_rules(components, head)

    cuts = [compiled_rules(one.rules, one.source) for one in translation.cuts]
    return [*cuts, compiled_rules(translation.rules, translation.predicate)]


def solutions(
    database: Database,
    translation: Translation,
    stages: Sequence[CompiledQuery],
    progress: ProgressCallback | None = None,
) -> Facts:
    """The rows of a query's answer, as term ids, in order and cut."""
    database.materialise(progress=progress)
    dictionary = database.dictionary

    def rows_of(number: int, found: Answer) -> Facts:
        one = translation.cuts[number]
        facts = Facts(one.target, found.columns, found.rows)
        return cut_by_key(dictionary, facts, one.keys, one.order, one.limit, one.offset)

    *_, found = answers(
        database.engine,
        stages,
        between=rows_of,
        functions={**database.environment.functions, **of_one_query()},
        limits=database.limits,
        progress=progress,
    )
    return cut(
        dictionary,
        Facts(translation.predicate, found.columns, found.rows),
        len(translation.columns),
        translation.order,
        translation.limit,
        translation.offset,
        distinct=not translation.counted,
    )
