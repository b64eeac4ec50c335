"""Answers, tables and figures of a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from tidalog.api.database import Database
from tidalog.api.diagnostics import LiteralsAreEqual
from tidalog.api.equal_terms import equal_literals
from tidalog.api.naming import holds_triples, known_predicate, user_predicates
from tidalog.api.relations import count_of, rows_of
from tidalog.api.results import Result, decoded_result
from tidalog.api.stats import Stats
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.limits import RunStats
from tidalog.maintain.equality.relations import distinct, table_of
from tidalog.maintain.equality.relations import facts_of as facts_of_table
from tidalog.maintain.uncomputed import example_of
from tidalog.model.facts import Facts, Ids
from tidalog.model.lifetimes import NEVER_TIME
from tidalog.model.term_text import term_text
from tidalog.model.window_times import LAST
from tidalog.rdf.ntriples import ntriples_text

_NO_RUN: Final = RunStats()
EXPIRY: Final = "expiry"


def facts_of(database: Database, predicate: str, explicit: bool | None) -> Facts:
    """The facts of a predicate: all, only the explicit ones, or only those that are not."""
    name = known_predicate(predicate, database.analysis)
    return rows_of(database.engine, database.analysis, name, explicit)


def representing(database: Database, facts: Facts) -> Facts:
    """Facts with a representative for each class of equal terms."""
    table = distinct(database.engine.equal.of_rows(table_of(facts)))
    return facts_of_table(facts.predicate, table)


def literals_that_are_equal(database: Database) -> Iterator[LiteralsAreEqual]:
    """A warning for each pair of terms that are equal, of which one is a literal."""
    if database.run is None:
        return
    term, analysis = database.dictionary.term, database.analysis
    seen: set[frozenset[int]] = set()
    for name, one, other in equal_literals(database.engine, analysis):
        if frozenset((one, other)) in seen:
            continue
        seen.add(frozenset((one, other)))
        texts = [term_text(term(number)) for number in (one, other)]
        literal = texts[0] if database.dictionary.is_literal(np.array([one], np.int32))[0] else texts[1]
        yield LiteralsAreEqual(one=texts[0], other=texts[1], literal=literal, equality=analysis.label(name))


def result_of(
    database: Database, names: Sequence[str], facts: Facts, expiries: pa.Array | None = None
) -> Result:
    """`expiries`: one more column."""
    found = decoded_result(database.dictionary, names, facts.columns, facts.count, database.program.prefixes)
    return found if expiries is None else found.with_column(EXPIRY, expiries)


def expiries_of(database: Database, facts: Facts, explicit: bool | None) -> pa.Array:
    """When the facts of `facts_of` go, as far as that is known."""
    engine, name = database.engine, facts.predicate
    times = np.full(facts.count, NEVER_TIME, np.int64)
    if engine.has(name) and not holds_triples(database.analysis, name):
        ids, number, kept = engine.ids(name, explicit=explicit), engine.predicate(name), engine.expiries
        if number in kept.timed:
            times = kept.times_of(ids) if _goes_by_expiries(database, name) else times
        elif explicit or not database.analysis.predicates[name].derived:
            for rows, leave in database.windows.expiries_of(name):
                found = engine.find(rows)
                there = np.isin(found, ids)
                times[np.searchsorted(ids, found[there])] = leave[there]
    unknown = (times > LAST) | (not database.windows.started)
    return pa.array(times, pa.timestamp("us", tz="UTC"), mask=unknown)


def _goes_by_expiries(database: Database, name: str) -> bool:
    """Whether a predicate follows only from facts whose expiries are kept, or that time does not concern."""
    rules, engine = database.analysis.rules, database.engine
    below: dict[str, set[str]] = {}
    for rule in rules:
        if rule.head is not None:
            read = {atom.predicate for atom in (*rule.atoms, *rule.negations)}
            below.setdefault(rule.head.predicate, set()).update(read)
    windows = [window for window in database.program.windows if window.kind != "count"]
    moved = {name for window in windows for name in (window.name, window.source)}
    while more := {one for one, read in below.items() if one not in moved and read & moved}:
        moved |= more
    seen, queue = {name}, [name]
    while queue:
        one = queue.pop()
        if one in moved and one in below and engine.predicate(one) not in engine.expiries.timed:
            return False
        new = below.get(one, set()) - seen
        seen |= new
        queue += new
    return True


def argument_names(database: Database, facts: Facts) -> tuple[str, ...]:
    """The names of the columns of a predicate's facts."""
    return database.program.argument_names(facts.predicate, len(facts.columns))


def written_table(database: Database, facts: Facts, as_rdf: bool) -> pa.Table:
    """Facts in the form that files have."""
    names = argument_names(database, facts)
    if as_rdf:
        columns = [ntriples_column(database.dictionary, column) for column in facts.columns]
        return Result(names, columns, facts.count).table
    return result_of(database, names, facts).table


def ntriples_column(dictionary: Dictionary, ids: Ids) -> pa.Array:
    """Terms in N-Triples syntax.  Compiled code writes IRIs."""
    is_iri = dictionary.is_iri(ids)
    if is_iri.all():
        return dictionary.decode_text(ids)
    others = dictionary.decode_text(ids[~is_iri], ntriples_text)
    if not is_iri.any():
        return others
    iris = dictionary.decode_text(ids[is_iri])
    if iris.type != others.type:
        iris, others = iris.cast(pa.large_string()), others.cast(pa.large_string())
    order = np.empty(len(ids), np.int64)
    order[is_iri] = np.arange(len(iris))
    order[~is_iri] = len(iris) + np.arange(len(others))
    return pa.concat_arrays([iris, others]).take(pa.array(order))


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
