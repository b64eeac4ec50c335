"""The reference agrees with clingo, which shares no code with it, wherever both can speak."""

import pytest
from hypothesis import HealthCheck, given, settings

from clingo_judge import JUDGED_AGGREGATES, Model, judge
from generators import Features, programs
from tidalog.model.program import Aggregate, Atom, Call, Condition, Fact, Negation, Program, Rule, Variable
from tidalog.model.terms import IRI, Integer
from tidalog.reference import evaluate

JUDGED = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
RULES_AND_NEGATION = Features(
    aggregates=(), functions=False, arithmetic=False, all_terms=False, choices=False
)
ARITHMETIC = Features(aggregates=(), functions=False, all_terms=False, choices=False)
AGGREGATION = Features(aggregates=JUDGED_AGGREGATES, functions=False, all_terms=False, choices=False)


def reference(program: Program) -> Model:
    return {predicate: set(rows) for predicate, rows in evaluate(program).items()}


@JUDGED
@given(programs(RULES_AND_NEGATION))
def test_recursion_and_negation(program: Program) -> None:
    assert reference(program) == judge(program)


@JUDGED
@given(programs(ARITHMETIC))
def test_arithmetic(program: Program) -> None:
    assert reference(program) == judge(program)


@JUDGED
@given(programs(AGGREGATION))
def test_aggregates(program: Program) -> None:
    assert reference(program) == judge(program)


def test_the_judge_can_disagree() -> None:
    """A judge that agrees with everything would pass: this one finds a planted difference."""
    x = Variable("x")
    facts = (Fact("e", (IRI("a"),)), Fact("e", (Integer(1),)), Fact("f", (Integer(1),)))
    kept = Program((Rule((Atom("p", (x,)),), (Atom("e", (x,)), Negation(Atom("f", (x,))))),), facts)
    dropped = Program((Rule((Atom("p", (x,)),), (Atom("e", (x,)),)),), facts)
    assert judge(kept)["p"] == {(IRI("a"),)}
    assert reference(dropped)["p"] != judge(kept)["p"]


@pytest.mark.parametrize("operator", JUDGED_AGGREGATES)
def test_aggregates_over_constants_and_numbers_together(operator: str) -> None:
    x, y = Variable("x"), Variable("y")
    facts = tuple(
        Fact("e", (group, value))
        for group in (IRI("g"), IRI("h"))
        for value in (IRI("b"), IRI("a"), Integer(3), Integer(-1))
    )
    facts = (*facts, Fact("e", (IRI("only names"), IRI("a"))))
    rule = Rule((Atom("p", (x, Aggregate(operator, (y,)))),), (Atom("e", (x, y)),))
    program = Program((rule,), facts)
    assert reference(program) == judge(program)


def test_comparison_of_numbers_only() -> None:
    x, y = Variable("x"), Variable("y")
    facts = tuple(Fact("e", (term,)) for term in (IRI("a"), Integer(3), Integer(-1)))
    less = Condition(Call("<", (x, y)))
    program = Program((Rule((Atom("p", (x, y)),), (Atom("e", (x,)), Atom("e", (y,)), less)),), facts)
    assert reference(program) == judge(program)
    assert reference(program)["p"] == {(Integer(-1), Integer(3))}
