"""The answers of a continuous query, as columns of term ids: each row once, in the order that it asks for.

A query that is maintained has its answers as a predicate.  Any other one is evaluated for itself, when it is
looked at: its rules run over what is derived already, and what they derive is gone afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa

from tidalog.analysis import Analysis
from tidalog.api.database import Database
from tidalog.api.load import Environment
from tidalog.api.query_text import QueryRules, components_of, rules_of
from tidalog.api.results import Result
from tidalog.engine.dictionary import Dictionary
from tidalog.io.term_columns import decoded
from tidalog.lang.sparql.answers import order_key
from tidalog.lang.sparql.solutions import UNBOUND
from tidalog.maintain.answer import CompiledQuery, answer, compile_rules
from tidalog.model.facts import Facts, Ids
from tidalog.model.registered import RegisteredQuery


class Answers:
    """Of the queries of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._compiled: dict[str, tuple[Analysis, Environment, RegisteredQuery, CompiledQuery]] = {}
        """Of queries that are evaluated for themselves; for which program, and with which functions."""

    def of(self, query: RegisteredQuery) -> Facts:
        """The present answers."""
        database, meaning = self._database, rules_of(query)
        database.materialise()
        engine = database.engine
        if query.materialised and not query.paused:
            columns = engine.columns(meaning.predicate)
            count = engine.count(meaning.predicate)
        else:
            found = answer(
                engine,
                self._compiled_query(query, meaning),
                functions=database.environment.functions,
                limits=database.limits,
            )
            columns, count = found.columns, found.rows
        return self._visible(meaning, Facts(query.name, list(columns), count))

    def forget(self, name: str) -> None:
        self._compiled.pop(name, None)

    def _compiled_query(self, query: RegisteredQuery, meaning: QueryRules) -> CompiledQuery:
        database = self._database
        analysis, environment = database.analysis, database.environment
        known = self._compiled.get(query.name)
        if known is not None and known[0] is analysis and known[1] is environment and known[2] == query:
            return known[3]
        components = components_of(query, database.program, analysis, environment)
        compiled = compile_rules(components, meaning.predicate)
        self._compiled[query.name] = analysis, environment, query, compiled
        return compiled

    def _visible(self, meaning: QueryRules, facts: Facts) -> Facts:
        """The rows of the answer: ordered, without the columns that only order them, and cut."""
        width = len(meaning.columns)
        if not facts.count:
            return Facts(facts.predicate, [np.empty(0, np.int32)] * width, 0)
        if not width:
            return Facts(facts.predicate, [], 1)
        table = np.stack(facts.columns, axis=1)
        if meaning.order:
            term = lru_cache(None)(lambda number: order_key(self._database.dictionary.term(number)))
            rows = table.tolist()
            for column, descending in reversed(meaning.order):
                rows.sort(key=lambda row, column=column: term(row[column]), reverse=descending)
            table = np.array(rows, np.int32)
        table = table[:, :width]
        if len(facts.columns) > width:
            _, first = np.unique(table, axis=0, return_index=True)
            table = table[np.sort(first)]
        end = None if meaning.limit is None else meaning.offset + meaning.limit
        table = table[meaning.offset : end]
        return Facts(facts.predicate, [np.ascontiguousarray(table[:, c]) for c in range(width)], len(table))


def query_result(database: Database, query: RegisteredQuery, facts: Facts) -> Result:
    """Rows of term ids as a result; a variable without a value is None."""
    names, dictionary = rules_of(query).columns, database.dictionary
    unbound = dictionary.id_of(UNBOUND)
    arrays: list[pa.Array] = []
    readings: list[str] = []
    for column in facts.columns:
        array, reading = _decoded(dictionary, column, unbound)
        arrays.append(array)
        readings.append(reading)
    return Result(names, arrays, facts.count, prefixes_of(database, query), readings)


def _decoded(dictionary: Dictionary, column: Ids, unbound: int) -> tuple[pa.Array, str]:
    missing = column == unbound
    if not missing.any():
        return decoded(dictionary, column)
    array, reading = decoded(dictionary, column[~missing])
    positions = np.cumsum(~missing) - 1
    return array.take(pa.array(positions, pa.int64(), mask=missing)), reading


def prefixes_of(database: Database, query: RegisteredQuery) -> Mapping[str, str]:
    return {**dict(query.prefixes), **database.program.prefixes}
