"""Answers, tables and figures of a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from tidalog.api.database import Database
from tidalog.api.naming import known_predicate, user_predicates
from tidalog.api.relations import count_of, rows_of
from tidalog.api.results import Result, decoded_result
from tidalog.api.stats import Stats
from tidalog.engine.limits import RunStats
from tidalog.maintain.uncomputed import example_of
from tidalog.model.facts import Facts
from tidalog.rdf.ntriples import ntriples_text

_NO_RUN: Final = RunStats()


def facts_of(database: Database, predicate: str, explicit: bool | None) -> Facts:
    """The facts of a predicate: all, only the explicit ones, or only those that are not."""
    name = known_predicate(predicate, database.analysis)
    return rows_of(database.engine, database.analysis, name, explicit)


def result_of(database: Database, names: Sequence[str], facts: Facts) -> Result:
    return decoded_result(database.dictionary, names, facts.columns, facts.count, database.program.prefixes)


def argument_names(database: Database, facts: Facts) -> tuple[str, ...]:
    """The names of the columns of a predicate's facts."""
    return database.program.argument_names(facts.predicate, len(facts.columns))


def written_table(database: Database, facts: Facts, as_rdf: bool) -> pa.Table:
    """Facts in the form that files have."""
    names = argument_names(database, facts)
    if as_rdf:
        columns = [database.dictionary.decode_text(column, ntriples_text) for column in facts.columns]
        return Result(names, columns, facts.count).table
    return result_of(database, names, facts).table


def stats_of(database: Database, skipped: Mapping[str, int]) -> Stats:
    """Figures of a materialised database."""
    engine, analysis, run = database.engine, database.analysis, database.run or _NO_RUN
    counts = {name: count_of(engine, analysis, name, None) for name in user_predicates(analysis)}
    explicit = sum(count_of(engine, analysis, name, True) for name in counts)
    facts = sum(counts.values())
    return Stats(
        predicates=counts,
        facts=facts,
        explicit=explicit,
        implicit=facts - explicit,
        terms=len(engine.dictionary),
        bytes=engine.nbytes,
        peak_bytes=run.peak_memory,
        derivations=run.derivations,
        rounds=run.rounds,
        seconds=run.seconds,
        cpu_seconds=run.cpu_seconds,
        uncomputed=dict(run.uncomputed),
        uncomputed_examples={
            rule: found
            for rule in run.uncomputed
            if (found := example_of(engine, analysis.rules, rule, database.environment.functions))
        },
        skipped=dict(skipped),
    )
