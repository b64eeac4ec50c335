"""Answering a query on an embedded engine.

The relations of a query are hidden, and gone when it is answered.  The indexes that it read stay, and so do
its plans if the caller keeps the `CompiledQuery`: asked again, it costs what its answers cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tidalog.analysis.components import Component
from tidalog.analysis.normal import NormalAtom, NormalRule
from tidalog.builtins import NO_FUNCTIONS, PythonFunction
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.functions import is_native
from tidalog.engine.limits import Limits, ProgressCallback
from tidalog.engine.query_statistics import QueryStatistics
from tidalog.maintain.materialise import NO_LIMITS
from tidalog.maintain.runner import Interrupted, Runner
from tidalog.maintain.seminaive import SemiNaive
from tidalog.model.errors import RunError
from tidalog.model.facts import Facts
from tidalog.model.terms import Term
from tidalog.plan.compile import CompiledComponent, compile_component

NO_VALUES: Mapping[Term, Term] = {}


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query, as term ids, column by column."""

    columns: list[npt.NDArray[np.int32]]
    rows: int


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """The rules of a query, in the order of evaluation."""

    components: tuple[CompiledComponent, ...]
    head: str
    """The relation of the answers."""


def compile_query(rules: Sequence[NormalRule]) -> CompiledQuery:
    """Compiles the rules of a query, of which the last one's head is the answer."""
    query = rules[-1].head
    assert query is not None
    hidden = [_hide(rule, query.predicate) for rule in rules]
    components = tuple(compile_component([rule], (), False, is_native) for rule in hidden)
    return CompiledQuery(components, _hidden(query.predicate))


def compile_rules(components: Sequence[Component], head: str) -> CompiledQuery:
    """Compiles rules that are evaluated for themselves; `head` is the relation of the answers."""
    compiled = (compile_component(c.rules, c.predicates, c.recursive, is_native) for c in components)
    return CompiledQuery(tuple(compiled), head)


def answer(
    engine: EmbeddedEngine,
    query: Sequence[NormalRule] | CompiledQuery,
    *,
    values: Mapping[Term, Term] = NO_VALUES,
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
    limits: Limits = NO_LIMITS,
    progress: ProgressCallback | None = None,
    given: Sequence[Facts] = (),
) -> Answer:
    """The answers to a query, in which some terms stand for other `values`; facts of hidden relations may be
    `given` for it.  Facts leave no trace; terms that were computed stay in the dictionary, for the answer
    names them."""
    if not isinstance(query, CompiledQuery):
        query = compile_query(query)
    (found,) = answers(engine, [query], values, functions, limits, progress, given)
    return found


def answers(
    engine: EmbeddedEngine,
    queries: Sequence[CompiledQuery],
    values: Mapping[Term, Term] = NO_VALUES,
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
    limits: Limits = NO_LIMITS,
    progress: ProgressCallback | None = None,
    given: Sequence[Facts] = (),
    between: Callable[[int, Answer], Facts] | None = None,
) -> list[Answer]:
    """The answers to several queries, whose relations have different names.  `between` makes facts of the
    answers to each query but the last, which those after it read."""
    engine.spare_memory(limits.max_memory)
    runner = Runner(engine, limits, progress, counting=False)
    runner.components = 1
    id_of = engine.dictionary.id_of
    catalogue = replace(
        engine.catalogue,
        index=engine.temporary_index,
        term=(lambda term: id_of(values.get(term, term))) if values else id_of,
        terms_in=lambda predicate, column: None,  # an index serves the next query too
    )
    statistics = QueryStatistics(engine, catalogue.term)
    evaluation = SemiNaive(engine, runner, functions, catalogue=catalogue, statistics=statistics)
    savepoint = engine.savepoint()
    try:
        for facts in given:
            engine.insert(facts.predicate, facts.columns, facts.count)
        found: list[Answer] = []
        for query in queries:
            if found and between is not None:
                facts = between(len(found) - 1, found[-1])
                engine.insert(facts.predicate, facts.columns, facts.count)
            for component in query.components:
                evaluation.run_component(component)
            found.append(Answer(engine.columns(query.head), engine.count(query.head)))
        return found
    except KeyboardInterrupt:
        raise RunError(Interrupted(where=" in the query")) from None
    finally:
        savepoint.roll_back(of_query=True)


def _hidden(predicate: str) -> str:
    return f"#query:{predicate}"


def _hide(rule: NormalRule, predicate: str) -> NormalRule:
    """The rule under a name that no rule of the program has, for hidden relations are named by rules."""
    head = rule.head
    if head is not None and head.predicate == predicate:
        head = NormalAtom(_hidden(predicate), head.arguments)
    return replace(rule, name=f"?{rule.name}", head=head)
