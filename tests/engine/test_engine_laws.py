"""Laws of the engine: what is written, loaded or asked in another order or twice means the same, and no rule
instance is derived twice."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clingo_judge import JUDGED_AGGREGATES, judge
from engine_harness import Model, evaluate_engine, loaded, model_of
from engine_harness import rows as engine_rows
from generators import EVERYTHING, SHUFFLES, Features, programs, triple_programs
from tidalog.analysis import analyse
from tidalog.engine.engine import EmbeddedEngine
from tidalog.lang import parse
from tidalog.maintain.materialise import materialise
from tidalog.model.program import Fact, Program
from tidalog.reference import evaluate
from tidalog.reference.clauses import clauses_of
from tidalog.reference.matching import matches

FEW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
JUDGED = Features(aggregates=JUDGED_AGGREGATES, functions=False, all_terms=False, choices=False)
NO_HIDDEN_RULES = Features(aggregates=(), functions=False, choices=False)
"""Without aggregates and Python functions every derivation is of a rule of the program."""


def by_reference(program: Program) -> Model:
    return {predicate: rows for predicate, rows in evaluate(program).items() if rows}


def insert(engine: EmbeddedEngine, facts: list[Fact]) -> None:
    """All facts of a predicate as columns, predicates in order of first occurrence."""
    for predicate in dict.fromkeys(fact.predicate for fact in facts):
        rows = [fact.arguments for fact in facts if fact.predicate == predicate]
        columns = [engine.dictionary.ids_of(row[c] for row in rows) for c in range(len(rows[0]))]
        engine.insert(predicate, columns, len(rows))


@pytest.mark.parametrize("change", SHUFFLES)
@FEW
@given(program=programs(EVERYTHING), seed=st.integers(0, 2**16))
def test_order_and_names_change_nothing(change: str, program: Program, seed: int) -> None:
    rearranged = SHUFFLES[change](program, random.Random(seed))
    assert evaluate_engine(rearranged)[0] == evaluate_engine(program)[0]


@FEW
@given(program=programs(EVERYTHING), seed=st.integers(0, 2**16), pieces=st.integers(1, 5))
def test_facts_in_several_insertions_are_facts_in_one(program: Program, seed: int, pieces: int) -> None:
    """In any order, some of them twice."""
    analysis, chance = analyse(program), random.Random(seed)
    facts = [*analysis.facts, *chance.choices(list(analysis.facts), k=5)]
    chance.shuffle(facts)
    engine = EmbeddedEngine()
    for piece in range(pieces):
        insert(engine, facts[piece::pieces])
    materialise(engine, analysis)
    assert model_of(engine, analysis) == by_reference(program)


@FEW
@given(program=st.one_of(programs(EVERYTHING), triple_programs()), seed=st.integers(0, 2**16))
def test_facts_that_come_between_runs_are_facts_from_the_start(program: Program, seed: int) -> None:
    """A run from scratch forgets what the one before derived, negation and aggregates included."""
    analysis, chance = analyse(program), random.Random(seed)
    facts = list(analysis.facts)
    chance.shuffle(facts)
    engine = EmbeddedEngine()
    for begin in range(0, len(facts), 1 + len(facts) // 3):
        insert(engine, facts[begin : begin + 1 + len(facts) // 3])
        materialise(engine, analysis)
    assert model_of(engine, analysis) == by_reference(program)


@settings(FEW, max_examples=100)
@given(program=programs(EVERYTHING))
def test_among_many_other_facts_a_program_means_the_same(program: Program) -> None:
    """Predicates that are small beside the rest of the store are looked up in another way."""
    analysis = analyse(program)
    engine = EmbeddedEngine()
    engine.insert("other", [np.arange(5_000, dtype=np.int32)] * 2, 5_000)
    insert(engine, list(analysis.facts))
    materialise(engine, analysis)
    assert engine.count("other") == 5_000
    model = {p: engine_rows(engine, p) for p in by_reference(program)}
    assert model == by_reference(program)


@FEW
@given(program=programs(EVERYTHING))
def test_evaluating_twice_is_evaluating_once(program: Program) -> None:
    analysis = analyse(program)
    engine = loaded(analysis)
    first = materialise(engine, analysis)
    model = model_of(engine, analysis)
    second = materialise(engine, analysis)
    assert model_of(engine, analysis) == model == by_reference(program)
    assert (first.derived, first.derivations) == (second.derived, second.derivations)


@settings(FEW, max_examples=150)
@given(program=programs(NO_HIDDEN_RULES))
def test_every_rule_instance_is_derived_once(program: Program) -> None:
    model, stats = evaluate_engine(program)
    known = {predicate: set(rows) for predicate, rows in model.items()}
    instances = sum(1 for clause in clauses_of(program, {}) for _ in matches(clause, known, {}))
    assert stats.derivations == instances


@pytest.mark.parametrize(
    ("text", "instances"),
    [
        ("p(?x, ?z) :- e(?x, ?z). p(?x, ?z) :- p(?x, ?y), p(?y, ?z).", 10 + 165),
        ("p(?x, ?z) :- e(?x, ?z). p(?x, ?z) :- e(?x, ?y), p(?y, ?z).", 10 + 45),
        ("p(?x, ?y) :- e(?x, ?y). p(?x, ?y) :- p(?x, ?y), p(?x, ?y).", 10 + 10),
        ("p(?x, ?y) :- e(?x, ?y). q(?x) :- p(?x, ?y), p(?x, ?z), p(?u, ?v).", 10 + 100),
        ("p(?x) :- e(?x, ?y). p(?y) :- p(?x), e(?x, ?y).", 10 + 10),
    ],
)
def test_instances_in_a_chain_of_ten(text: str, instances: int) -> None:
    """Counted by hand; a fact may be the pivot of several atoms of one instance."""
    program = parse(text + "".join(f"e({n}, {n + 1})." for n in range(10)), "chain")
    assert evaluate_engine(program)[1].derivations == instances


@settings(FEW, max_examples=100)
@given(programs(JUDGED))
def test_clingo_agrees_with_the_engine(program: Program) -> None:
    judged = {predicate: frozenset(rows) for predicate, rows in judge(program).items() if rows}
    assert evaluate_engine(program)[0] == judged
