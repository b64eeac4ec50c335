"""`PREDICATE|given`: the explicit facts of a predicate as a relation of its own.

Rules of queries read it where what follows from the background alone may not follow from more facts
(`analysis.datasets`).  Invariant.  Once the relation is there, it has exactly the explicit facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tidalog.analysis import Analysis
from tidalog.analysis.datasets import given_predicates
from tidalog.api.maintenance import Job
from tidalog.api.relations import explicit_rows, rows_of, without
from tidalog.engine.engine import EmbeddedEngine
from tidalog.model.facts import Facts
from tidalog.model.program import Program, Rule
from tidalog.model.registered import GIVEN, is_of_query
from tidalog.model.update import EncodedUpdate
from tidalog.rdf.columns import in_full
from tidalog.rdf.layout import TRIPLE, Layout


class Given:
    """Which predicates have such a relation."""

    def __init__(self) -> None:
        self._program: Program | None = None
        self._names: frozenset[str] = frozenset()

    def names(self, program: Program, engine: EmbeddedEngine) -> frozenset[str]:
        if program is not self._program:
            self._program = program
            self._names = given_predicates(rule for rule in program.rules if is_of_query(rule.name))
        if not self._names and not engine.has(TRIPLE + GIVEN):
            return self._names
        return self._names | {n.removesuffix(GIVEN) for n in engine.names if n.endswith(GIVEN)}


def copies(
    facts: Sequence[Facts], names: frozenset[str], layout: Layout, engine: EmbeddedEngine
) -> Iterator[Facts]:
    """The same facts for the relations of explicit facts."""
    for part in facts:
        part = in_full(part, layout, engine.dictionary)
        if part.predicate in names and part.count:
            yield Facts(part.predicate + GIVEN, part.columns, part.count)


def with_copies(job: Job, names: frozenset[str], layout: Layout, engine: EmbeddedEngine) -> Job:
    if not names:
        return job
    return replace(job, updates=[_with_copies(update, names, layout, engine) for update in job.updates])


def _with_copies(
    update: EncodedUpdate, names: frozenset[str], layout: Layout, engine: EmbeddedEngine
) -> EncodedUpdate:
    sides = (update.deletions, update.insertions)
    deletions, insertions = ([*side, *copies(side, names, layout, engine)] for side in sides)
    return replace(update, deletions=deletions, insertions=insertions, routed=None)


def with_newly_given(
    update: EncodedUpdate,
    rules: Iterable[Rule],
    known: frozenset[str],
    engine: EmbeddedEngine,
    analysis: Analysis,
) -> EncodedUpdate:
    """An update with which rules begin to read explicit facts by themselves: these come with it."""
    new = given_predicates(rules) - known
    if not new:
        return update
    update = _with_copies(update, new, analysis.triples, engine)
    facts = list(newly_given(rules, known, engine, analysis, analysis.triples))
    for gone in update.deletions:  # an update that deletes and inserts a fact inserts it
        facts = [without(part, gone) if part.predicate == gone.predicate else part for part in facts]
    return replace(update, insertions=[*update.insertions, *facts])


def newly_given(
    rules: Iterable[Rule], known: frozenset[str], engine: EmbeddedEngine, analysis: Analysis, layout: Layout
) -> Iterator[Facts]:
    """The explicit facts of predicates that rules begin to read by themselves.  `layout` is the one under
    which they do: facts in shorthand form may become triples with them."""
    for name in sorted(given_predicates(rules) - known):
        if name in analysis.predicates or (name == TRIPLE and analysis.triples.active):
            parts = [rows_of(engine, analysis, name, True)]
        elif name == TRIPLE:
            explicit = explicit_rows(engine, analysis.triples)
            parts = [in_full(part, layout, engine.dictionary) for part in explicit]
        else:
            continue
        for facts in parts:
            if facts.predicate == name and facts.count:
                yield Facts(name + GIVEN, facts.columns, facts.count)
