"""The engine derives exactly what the reference derives, for generated programs of every shape."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine_harness import Model, evaluate_engine
from generators import EVERYTHING, PLAIN, Features, programs, triple_programs
from tidalog.model.program import Program
from tidalog.reference import evaluate

ROUNDS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def by_reference(program: Program) -> Model:
    return {predicate: rows for predicate, rows in evaluate(program).items() if rows}


@ROUNDS
@given(programs(PLAIN))
def test_recursion_of_any_shape(program: Program) -> None:
    assert evaluate_engine(program)[0] == by_reference(program)


@ROUNDS
@given(programs(Features(True, (), False, False, False, True, True)))
def test_stratified_negation(program: Program) -> None:
    assert evaluate_engine(program)[0] == by_reference(program)


@pytest.mark.parametrize("operator", ["count", "sum", "min", "max", "avg", "median"])
@settings(ROUNDS, max_examples=40)
@given(data=st.data())
def test_aggregates(operator: str, data: st.DataObject) -> None:
    program = data.draw(programs(Features(True, (operator,), True, False, True, True, True)))
    assert evaluate_engine(program)[0] == by_reference(program)


@settings(ROUNDS, max_examples=300)
@given(programs(EVERYTHING))
def test_the_whole_language(program: Program) -> None:
    assert evaluate_engine(program)[0] == by_reference(program)


@ROUNDS
@given(triple_programs())
def test_triples_with_constant_and_variable_predicates(program: Program) -> None:
    assert evaluate_engine(program)[0] == by_reference(program)
