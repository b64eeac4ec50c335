"""DRed with marking: each shortcut on the smallest stream that shows it."""

import pytest
from paper_programs import EXAMPLE_1, SEQ, fact, facts, from_scratch, program, run

from tidalog.reference import DRedMarking, Fact, Trace, Update

NO_FACTS: set[Fact] = set()
EDGE = facts("edge(a, b).")
COPIES = facts("edge1(a, b). edge2(a, b). edge3(a, b). edge4(a, b).")


def test_example_1_the_next_update_finds_its_consequence_in_d0() -> None:
    stream: list[Update] = [(NO_FACTS, facts("p2(c).")), (facts("p1(c)."), NO_FACTS)]
    algorithm = DRedMarking(EXAMPLE_1, facts("p1(c)."), first_update_alone=False)
    algorithm.apply(stream[0], stream[1:])
    assert set(algorithm.D0) == facts("p1(c). q(c).")
    algorithm.apply(stream[1])
    assert algorithm.counters["deletions"] == 0
    assert algorithm.materialisation == facts("p2(c).")


def test_negative_marks_pass_through_implicit_facts() -> None:
    algorithm = DRedMarking(SEQ, first_update_alone=False)
    algorithm.apply((NO_FACTS, EDGE), [(EDGE, NO_FACTS)])
    assert set(algorithm.D0) == EDGE | COPIES
    assert (algorithm.counters["marks_explicit"], algorithm.counters["marks_implicit"]) == (1, 4)
    algorithm.apply((EDGE, NO_FACTS))
    assert algorithm.counters["deletions"] == 0
    assert algorithm.materialisation == NO_FACTS


def test_what_comes_back_with_the_next_update_is_carried_over() -> None:
    trace: Trace = []
    algorithm = DRedMarking(SEQ, EDGE, first_update_alone=False, trace=trace)
    algorithm.apply((EDGE, NO_FACTS), [(NO_FACTS, EDGE)])
    assert algorithm.materialisation == NO_FACTS
    assert set(algorithm.carry) == COPIES
    assert dict(trace)["overdelete"]["POS"] == EDGE | COPIES
    algorithm.apply((NO_FACTS, EDGE))
    assert algorithm.counters["insertions"] == 0
    assert algorithm.materialisation == EDGE | COPIES


@pytest.mark.parametrize("other", [(NO_FACTS, facts("edge(c, d).")), (NO_FACTS, NO_FACTS)])
def test_if_another_update_comes_than_announced_nothing_is_carried(other: Update) -> None:
    algorithm = DRedMarking(SEQ, EDGE, first_update_alone=False)
    algorithm.apply((EDGE, NO_FACTS), [(NO_FACTS, EDGE)])
    algorithm.apply(other)
    assert algorithm.materialisation == from_scratch(SEQ, other[1])


def test_what_hangs_on_an_implicit_fact_is_not_carried() -> None:
    """`s` needs `r`, which the next update may take away however present it is now."""
    rules = program("r(?x) :- f(?x). s(?x) :- e(?x), r(?x).")
    stream: list[Update] = [(facts("e(a)."), NO_FACTS), (facts("f(a)."), facts("e(a)."))]
    algorithm = DRedMarking(rules, facts("e(a). f(a)."), first_update_alone=False)
    algorithm.apply(stream[0], stream[1:])
    assert algorithm.carry == ()
    algorithm.apply(stream[1])
    assert algorithm.materialisation == facts("e(a).")


def test_what_hangs_on_a_fact_about_to_be_deleted_is_not_carried() -> None:
    rules = program("s(?x) :- e(?x), f(?x).")
    stream: list[Update] = [(facts("e(a)."), NO_FACTS), (facts("f(a)."), facts("e(a)."))]
    algorithm = run(DRedMarking(rules, facts("e(a). f(a)."), first_update_alone=False), stream)
    assert algorithm.materialisation == facts("e(a).")


def test_a_rederived_fact_is_marked_by_the_derivation_that_brought_it_back() -> None:
    rules = program("q(?x) :- p1(?x). q(?x) :- p2(?x).")
    algorithm = DRedMarking(rules, facts("p1(c). p2(c)."), first_update_alone=False)
    algorithm.apply((facts("p1(c)."), NO_FACTS), [(facts("p2(c)."), NO_FACTS)])
    assert algorithm.counters["rederivations"] == 1
    assert set(algorithm.D0) == facts("p2(c). q(c).")


def test_an_explicit_fact_stays_when_its_derivation_goes() -> None:
    """Moved to D as the head of a lost instance, nothing would bring it back."""
    rules = program("p(?x) :- e(?x). q(?x) :- p(?x).")
    algorithm = DRedMarking(rules, facts("e(a). p(a)."))
    algorithm.apply((facts("e(a)."), NO_FACTS))
    assert algorithm.materialisation == facts("p(a). q(a).")


def test_a_fact_that_the_next_update_makes_explicit_passes_no_mark_on() -> None:
    rules = program("p(?x) :- e(?x). q(?x) :- p(?x).")
    stream: list[Update] = [(NO_FACTS, facts("e(a).")), (facts("e(a)."), facts("p(a)."))]
    algorithm = DRedMarking(rules, first_update_alone=False)
    algorithm.apply(stream[0], stream[1:])
    assert set(algorithm.D0) == {fact("e(a).")}
    algorithm.apply(stream[1])
    assert algorithm.counters["deletions"] == algorithm.counters["rederivations"] == 0
    assert algorithm.materialisation == facts("p(a). q(a).")
