"""The answers of a continuous query, as columns of term ids: each row once, in the order that it asks for.

A query that is maintained has its answers as a predicate.  Any other one is evaluated for itself, when it is
looked at: its rules run over what is derived already, and what they derive is gone afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidalog.analysis import Analysis
from tidalog.api.database import Database
from tidalog.api.load import Environment
from tidalog.api.query_text import QueryRules, components_of, own_rules, rules_of
from tidalog.api.results import Result
from tidalog.api.solution_rows import cut, decoded_columns
from tidalog.maintain.answer import CompiledQuery, answer, compile_rules
from tidalog.model.facts import Facts
from tidalog.model.program import Rule
from tidalog.model.registered import RegisteredQuery


@dataclass(frozen=True)
class _Compiled:
    """A query that is evaluated for itself; for which program, and with which functions."""

    analysis: Analysis
    environment: Environment
    query: RegisteredQuery
    plans: CompiledQuery
    rules: tuple[Rule, ...]

    def fits(self, analysis: Analysis, environment: Environment, query: RegisteredQuery) -> bool:
        return self.analysis is analysis and self.environment is environment and self.query == query


class Answers:
    """Of the queries of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._compiled: dict[str, _Compiled] = {}
        """Of queries that are evaluated for themselves."""

    def of(self, query: RegisteredQuery) -> Facts:
        """The present answers."""
        database, meaning = self._database, rules_of(query)
        database.materialise()
        engine = database.engine
        if query.materialised and not query.paused:
            columns = engine.columns(meaning.predicate)
            count = engine.count(meaning.predicate)
        else:
            compiled = self._compiled_query(query, meaning)
            found = answer(
                engine,
                compiled.plans,
                functions=database.environment.functions,
                limits=database.limits,
                given=database.given(compiled.rules),
            )
            columns, count = found.columns, found.rows
        return self._visible(meaning, Facts(query.name, list(columns), count))

    def forget(self, name: str) -> None:
        self._compiled.pop(name, None)

    def _compiled_query(self, query: RegisteredQuery, meaning: QueryRules) -> _Compiled:
        database = self._database
        analysis, environment = database.analysis, database.environment
        known = self._compiled.get(query.name)
        if known is not None and known.fits(analysis, environment, query):
            return known
        components = components_of(query, database.program, analysis, environment)
        plans = compile_rules(components, meaning.predicate)
        known = _Compiled(analysis, environment, query, plans, own_rules(query, database.program))
        self._compiled[query.name] = known
        return known

    def _visible(self, meaning: QueryRules, facts: Facts) -> Facts:
        """The rows of the answer: ordered, without the columns that only order them, and cut."""
        width, dictionary = len(meaning.columns), self._database.dictionary
        if not width and facts.count:
            return Facts(facts.predicate, [], 1)
        return cut(dictionary, facts, width, meaning.order, meaning.limit, meaning.offset, distinct=True)


def query_result(database: Database, query: RegisteredQuery, facts: Facts) -> Result:
    """Rows of term ids as a result; a variable without a value is None."""
    arrays, readings = decoded_columns(database.dictionary, facts.columns)
    return Result(rules_of(query).columns, arrays, facts.count, prefixes_of(database, query), readings)


def prefixes_of(database: Database, query: RegisteredQuery) -> Mapping[str, str]:
    return {**dict(query.prefixes), **database.program.prefixes}
