"""Backward/Forward of paper 003: its examples, and where it does less or more than DRed."""

import pytest
from paper_programs import (
    E1,
    E2,
    E3,
    I1,
    I2,
    I3,
    I4,
    I5,
    I6,
    TUTORS,
    chain,
    fact,
    facts,
    from_scratch,
    program,
)

from tidalog.reference import BackwardForward, DRed, Trace


def test_the_running_example_examines_three_consequences_and_keeps_them() -> None:
    """Deleting E1 touches I3 to I5; I1 and I2 behind them are never looked at."""
    trace: Trace = []
    algorithm = BackwardForward(TUTORS, [E1, E2, E3], trace=trace)
    algorithm.apply(({E1}, ()))
    assert set(algorithm.D) == {E1, I3, I4, I5}
    assert {I1, I2}.isdisjoint(algorithm.C)
    assert {I3, I4, I5} <= set(algorithm.P)
    assert set(algorithm.S) == set(algorithm.O) == {E1}
    assert algorithm.materialisation == {E2, E3, I1, I2, I3, I4, I5, I6}
    assert trace[0][1]["D"] == {E1, I3, I4, I5}
    assert algorithm.counters["propagation"] == 3


def test_a_cycle_between_two_checked_facts_ends() -> None:
    """Person(john) and TA(john) support each other; E3 proves both, and without it neither stays."""
    algorithm = BackwardForward(TUTORS, [E1, E2, E3])
    algorithm.apply(({E1, E3}, ()))
    assert algorithm.materialisation == {E2, I1, I2, I3}
    assert {I4, I5} <= set(algorithm.S)


@pytest.mark.parametrize("length", [1, 2, 20])
def test_of_the_chain_only_the_first_link_is_checked(length: int) -> None:
    algorithm = BackwardForward(chain(length), facts("a(x). b(x)."))
    algorithm.apply((facts("a(x)."), ()))
    assert set(algorithm.C) == facts("a(x). b(x). c1(x).")
    assert set(algorithm.D) == facts("a(x). c1(x).")
    assert algorithm.materialisation == from_scratch(chain(length), facts("b(x)."))


def test_behind_a_deep_proof_it_checks_everything_and_dred_checks_one_step() -> None:
    """The affected fact hangs on the far end of a chain: B/F walks down to its explicit foot, DRed
    overdeletes one fact and rederives it from the link before."""
    depth = 30
    links = "".join(f"c{n}(?x) :- c{n - 1}(?x). " for n in range(1, depth + 1))
    rules = program(f"top(?x) :- a(?x). top(?x) :- c{depth}(?x). {links}")
    explicit, update = facts("a(x). c0(x)."), (facts("a(x)."), ())
    backward_forward, dred = BackwardForward(rules, explicit), DRed(rules, explicit)
    backward_forward.apply(update)
    dred.apply(update)
    assert backward_forward.materialisation == dred.materialisation == from_scratch(rules, facts("c0(x)."))
    assert backward_forward.counters["checked"] == depth + 3
    assert dred.counters == {"overdeleted": 2, "DR2": 1, "DR4": 1, "DR5": 0}


CLIQUE_RULES = program("t(?x, ?y) :- e(?x, ?y). t(?y, ?x) :- t(?x, ?y). t(?x, ?z) :- t(?x, ?y), t(?y, ?z).")


def ring(size: int) -> str:
    return "".join(f"e(n{n}, n{(n + 1) % size})." for n in range(size))


def test_in_a_clique_that_loses_a_vertex_all_of_the_materialisation_is_derived_again() -> None:
    """The discussion of Table 2: a clique that survives a deletion is proved in a few steps, one that shrinks
    is checked and proved as a whole."""
    size = 5
    survives = facts(ring(size))
    shrinks = survives | facts("e(out, n0).")
    for explicit, deleted, all_of_it in (
        (survives, fact("e(n0, n1)."), False),
        (shrinks, fact("e(out, n0)."), True),
    ):
        algorithm = BackwardForward(CLIQUE_RULES, explicit)
        instances = len(list(algorithm.program.rho(algorithm.facts)))
        algorithm.apply(({deleted}, ()))
        assert algorithm.materialisation == from_scratch(CLIQUE_RULES, explicit - {deleted})
        work = algorithm.counters["saturation"] + algorithm.counters["propagation"]
        assert (work > 0.9 * instances) == all_of_it, (work, instances)
        assert (len(algorithm.C) > size * size) == all_of_it


def test_no_instance_is_met_twice_by_saturation_and_propagation_together() -> None:
    explicit = facts(ring(4) + "e(out, n0).")
    algorithm = BackwardForward(CLIQUE_RULES, explicit)
    algorithm.apply((facts("e(out, n0). e(n1, n2)."), ()))
    assert len(set(algorithm.derived)) == len(algorithm.derived) > 0


def test_a_deep_chain_needs_no_deep_recursion() -> None:
    depth = 1200  # more than Python's stack holds
    rules = program("n(?y) :- next(?x, ?y), n(?x). top(z) :- n(?x), last(?x). top(z) :- a(z).")
    steps = "".join(f"next({n}, {n + 1})." for n in range(depth))
    explicit = facts(f"{steps} n(0). last({depth}). a(z).")
    algorithm = BackwardForward(rules, explicit)
    algorithm.apply((facts("a(z)."), ()))
    assert fact("top(z).") in algorithm.materialisation
    assert algorithm.counters["checked"] > 2 * depth
