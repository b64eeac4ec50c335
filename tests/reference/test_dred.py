"""DRed of paper 003: its running example, overdeletion that goes too far, and repeated derivations."""

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

from tidalog.reference import DRed, Trace

CLOSURE = program("t(?x, ?z) :- t(?x, ?y), t(?y, ?z).")


def repeated(algorithm: DRed, step: str) -> int:
    """Derivations of a step beyond the first of each instance."""
    return algorithm.derived[step].total() - len(algorithm.derived[step])


def test_the_running_example_step_by_step() -> None:
    trace: Trace = []
    algorithm = DRed(TUTORS, [E1, E2, E3], trace=trace)
    algorithm.apply(({E1}, ()))
    rounds = [sets["N"] for step, sets in trace if step == "DR2"]
    assert rounds == [{E1}, {I3, I4, I5}, {I2}, {I1}]
    steps = dict(trace)
    assert steps["DR3"]["I"] == {E2, E3, I6}
    assert steps["DR4"]["A"] == {I1, I3, I4}
    assert algorithm.materialisation == {E2, E3, I1, I2, I3, I4, I5, I6}
    assert algorithm.counters == {"overdeleted": 6, "DR2": 7, "DR4": 3, "DR5": 4}


@pytest.mark.parametrize("length", [1, 2, 20])
def test_the_whole_chain_is_overdeleted_and_rederived(length: int) -> None:
    algorithm = DRed(chain(length), facts("a(x). b(x)."))
    algorithm.apply((facts("a(x)."), ()))
    assert algorithm.counters["overdeleted"] == length + 1
    assert algorithm.counters["DR4"] + algorithm.counters["DR5"] == length
    assert algorithm.materialisation == from_scratch(chain(length), facts("b(x)."))


def test_insertion_derives_an_instance_with_two_new_facts_twice_unless_filtered() -> None:
    """Both body atoms match facts of the same N."""
    update = ((), facts("t(a, b). t(b, c)."))
    plain, filtered = DRed(CLOSURE, filtered=False), DRed(CLOSURE)
    plain.apply(update)
    filtered.apply(update)
    assert (plain.counters["DR5"], repeated(plain, "DR5")) == (2, 1)
    assert (filtered.counters["DR5"], repeated(filtered, "DR5")) == (1, 0)


def test_overdeletion_derives_an_instance_with_facts_of_two_rounds_twice_unless_filtered() -> None:
    """`q(a)` is in the first N, `p(a)` that follows from it in the second, and both are in one body."""
    rules = program("p(?x) :- q(?x). r(?x) :- q(?x), p(?x).")
    plain, filtered = DRed(rules, facts("q(a)."), filtered=False), DRed(rules, facts("q(a)."))
    for algorithm in (plain, filtered):
        algorithm.apply((facts("q(a)."), ()))
        assert algorithm.materialisation == set()
    assert (plain.counters["DR2"], repeated(plain, "DR2")) == (3, 1)
    assert (filtered.counters["DR2"], repeated(filtered, "DR2")) == (2, 0)


def test_in_a_clique_plain_dred_derives_nearly_everything_twice() -> None:
    nodes = "abcde"
    clique = facts("".join(f"t({x}, {y})." for x in nodes for y in nodes))
    plain, filtered = DRed(CLOSURE, clique, filtered=False), DRed(CLOSURE, clique)
    for algorithm in (plain, filtered):
        algorithm.apply((clique, ()))
    assert filtered.counters["DR2"] == len(nodes) ** 3
    assert plain.counters["DR2"] == 2 * len(nodes) ** 3


def test_an_overdeleted_explicit_fact_comes_back() -> None:
    rules = program("p(?x) :- e(?x). q(?x) :- p(?x).")
    algorithm = DRed(rules, facts("e(a). p(a)."))
    algorithm.apply((facts("e(a)."), ()))
    assert algorithm.materialisation == facts("p(a). q(a).")
    assert fact("p(a).") in algorithm.explicit


def test_what_only_supports_itself_goes() -> None:
    rules = program("p(?x) :- e(?x). p(?x) :- q(?x). q(?x) :- p(?x).")
    algorithm = DRed(rules, facts("e(a)."))
    algorithm.apply((facts("e(a)."), ()))
    assert algorithm.materialisation == set()
