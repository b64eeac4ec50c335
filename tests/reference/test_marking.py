"""B/F with marking of paper 001: Examples 1 to 3 set by set, the three programs, and what marks may touch."""

from collections.abc import Mapping

import pytest
from paper_programs import (
    EXAMPLE_1,
    EXAMPLE_2,
    EXAMPLE_3,
    MAP,
    SEQ,
    TRANS,
    fact,
    facts,
    from_scratch,
    program,
    run,
)

from tidalog.model.program import Program
from tidalog.reference import BackwardForwardMarking, Fact, Marks, Trace, Update

ALL_MARKS: tuple[Marks, ...] = ("none", "paper", "linked")
NO_FACTS: set[Fact] = set()


def named(sets: Mapping[str, frozenset[Fact]], symbols: str) -> dict[str, str]:
    """The sets as the names of the predicates in them; every fact of the examples is about c."""
    return {symbol: " ".join(sorted(predicate for predicate, _ in sets[symbol])) for symbol in symbols}


def traced(
    rules: Program, given: str, stream: list[Update], marks: Marks
) -> tuple[BackwardForwardMarking, Trace]:
    trace: Trace = []
    algorithm = BackwardForwardMarking(
        rules, facts(given), marks=marks, first_update_alone=False, trace=trace
    )
    run(algorithm, stream)
    return algorithm, trace


def test_example_1_the_mark_of_a_new_fact_saves_the_rule() -> None:
    stream: list[Update] = [(NO_FACTS, facts("p2(c).")), (facts("p1(c)."), NO_FACTS)]
    algorithm, trace = traced(EXAMPLE_1, "p1(c).", stream, "paper")
    blocks = [block for block, _ in trace]
    assert blocks == ["e", "f", "g", "b", "d", "e", "g"]
    assert named(trace[1][1], "I") == {"I": "p1 p2 q"}
    assert named(trace[2][1], "DW") == {"D": "p1", "W": "q"}
    assert algorithm.totals["deletions"] == 0
    assert algorithm.materialisation == facts("p2(c).")
    assert traced(EXAMPLE_1, "p1(c).", stream, "none")[0].totals["deletions"] == 1


def test_example_2_an_alternative_derivation_stops_the_deletion() -> None:
    algorithm, trace = traced(EXAMPLE_2, "p1(c). p2(c). p3(c).", [(facts("p1(c)."), NO_FACTS)], "none")
    assert [(block, named(sets, "CDVWY")) for block, sets in trace[:-2]] == [
        ("c", {"C": "", "D": "p1", "V": "", "W": "q", "Y": ""}),
        ("b", {"C": "", "D": "p1", "V": "", "W": "p3 q", "Y": ""}),
        ("b", {"C": "p3", "D": "p1", "V": "p3", "W": "q", "Y": ""}),
        ("a", {"C": "p3 q", "D": "p1", "V": "p3 q", "W": "", "Y": ""}),
        ("a", {"C": "p3 q", "D": "p1", "V": "p3 q", "W": "", "Y": "r"}),
    ]
    assert algorithm.materialisation == facts("p2(c). p3(c). q(c). r(c).")


def test_example_3_block_by_block() -> None:
    stream: list[Update] = [(facts("p1(c)."), facts("p4(c).")), (facts("p4(c)."), NO_FACTS)]
    algorithm, trace = traced(EXAMPLE_3, "p1(c). p2(c). p3(c).", stream, "paper")
    assert "".join(block for block, _ in trace) == "cbbaaefg" + "bdeg"
    first, second = dict(trace[:8]), dict(trace[8:])
    assert named(trace[0][1], "DW") == {"D": "p1", "W": "q"}
    assert trace[0][1]["marked"] == facts("p4(c).")
    assert named(first["a"], "CVWY") == {"C": "p3 q", "V": "p3 q", "W": "", "Y": "r"}
    assert named(first["e"], "I") == {"I": "p2 p3 p4 q r"}
    assert first["f"]["marked"] == facts("p4(c). s(c).")
    assert named(first["g"], "IDW") == {"I": "p2 p3 p4 q r s", "D": "p4", "W": "s"}
    assert named(second["b"], "CDVW") == {"C": "s", "D": "p4", "V": "", "W": ""}
    assert named(second["d"], "D") == {"D": "p4 s"}
    assert named(second["e"], "I") == {"I": "p2 p3 q r"}
    assert algorithm.totals == {
        "deletions": 1,
        "backward": 1,
        "forward": 2,
        "insertions": 1,
        "marks_explicit": 1,
        "marks_implicit": 1,
    }


STREAMS: dict[str, tuple[Program, list[Update]]] = {
    "trans": (
        TRANS,
        [
            (NO_FACTS, facts("edge(a, b). edge(b, c). edge(c, a). edge(c, d).")),
            (facts("edge(a, b)."), facts("edge(a, d). edge(d, b).")),
            (facts("edge(a, d). edge(c, d)."), facts("edge(a, a).")),
            (facts("edge(b, c). edge(c, a)."), NO_FACTS),
        ],
    ),
    "seq": (
        SEQ,
        [
            (NO_FACTS, facts("edge(a, b). edge(b, c).")),
            (facts("edge(a, b)."), facts("edge(c, d).")),
            (facts("edge(c, d)."), facts("edge(a, b).")),
        ],
    ),
    "map": (
        MAP,
        [
            (
                NO_FACTS,
                facts("nextInWay(1, 2, v). nextInWay(2, 3, w). nextInWay(3, 4, w). nextInWay(4, 5, u)."),
            ),
            (facts("nextInWay(2, 3, w)."), facts("nextInWay(5, 2, x).")),
            (facts("nextInWay(3, 4, w). nextInWay(1, 2, v)."), facts("nextInWay(2, 3, w).")),
            (facts("nextInWay(5, 2, x)."), NO_FACTS),
        ],
    ),
}


@pytest.mark.parametrize("marks", ALL_MARKS)
@pytest.mark.parametrize("name", STREAMS)
def test_the_programs_of_the_evaluation_on_small_streams(name: str, marks: Marks) -> None:
    rules, stream = STREAMS[name]
    algorithm = BackwardForwardMarking(rules, marks=marks, first_update_alone=False)
    explicit: set[Fact] = set()
    for number, (deletions, insertions) in enumerate(stream):
        algorithm.apply((deletions, insertions), stream[number + 1 :])
        explicit = explicit - set(deletions) | set(insertions)
        assert algorithm.materialisation == from_scratch(rules, explicit)


def test_a_marked_implicit_fact_marks_nothing() -> None:
    algorithm = BackwardForwardMarking(SEQ, first_update_alone=False)
    edge = facts("edge(a, b).")
    algorithm.apply((NO_FACTS, edge), [(edge, NO_FACTS)])
    assert set(algorithm.marked_implicit) == facts("edge1(a, b).")


@pytest.mark.parametrize(("marks", "marked"), [("paper", ""), ("linked", "edge1(a, b).")])
def test_links_outlive_the_update_that_made_them_and_marks_do_not(marks: Marks, marked: str) -> None:
    algorithm = BackwardForwardMarking(SEQ, marks=marks, first_update_alone=False)
    edge = facts("edge(a, b).")
    algorithm.apply((NO_FACTS, edge))
    algorithm.apply((NO_FACTS, facts("edge(c, d).")), [(edge, NO_FACTS)])
    assert set(algorithm.marked_implicit) == facts(marked)


def test_links_are_to_the_derivation_that_last_proved_the_fact() -> None:
    rules = program("q(?x) :- p1(?x). q(?x) :- p2(?x).")
    algorithm = BackwardForwardMarking(rules, facts("p1(c)."), marks="linked", first_update_alone=False)
    algorithm.apply((NO_FACTS, facts("p2(c).")))
    assert algorithm.links[fact("q(c).")] == (fact("p1(c)."),)
    algorithm.apply((facts("p1(c)."), NO_FACTS), [(facts("p2(c)."), NO_FACTS)])
    assert algorithm.links[fact("q(c).")] == (fact("p2(c)."),)
    assert set(algorithm.marked_implicit) == facts("q(c).")


def test_the_first_update_is_finished_before_anything_is_read_unless_told_otherwise() -> None:
    edge = facts("edge(a, b).")
    stream: list[Update] = [(NO_FACTS, edge), (edge, NO_FACTS)]
    assert run(BackwardForwardMarking(SEQ), stream).totals["marks_explicit"] == 0
    assert run(BackwardForwardMarking(SEQ, first_update_alone=False), stream).totals["marks_explicit"] == 1


def test_a_fact_that_stops_being_explicit_and_is_derivable_stays_as_implicit() -> None:
    rules = program("p(?x) :- e(?x). q(?x) :- p(?x).")
    algorithm = BackwardForwardMarking(rules, facts("e(a). p(a)."))
    algorithm.apply((facts("p(a)."), NO_FACTS))
    assert algorithm.materialisation == facts("e(a). p(a). q(a).")
    assert algorithm.explicit == facts("e(a).")
    algorithm.apply((facts("e(a)."), NO_FACTS))
    assert algorithm.materialisation == NO_FACTS


def test_an_explicit_fact_of_a_derived_predicate_outlives_its_derivation() -> None:
    rules = program("p(?x) :- e(?x). q(?x) :- p(?x).")
    algorithm = BackwardForwardMarking(rules, facts("e(a). p(a)."))
    algorithm.apply((facts("e(a)."), NO_FACTS))
    assert algorithm.materialisation == facts("p(a). q(a).")


def test_a_deleted_explicit_fact_that_only_supports_itself_goes() -> None:
    rules = program("p(?x) :- q(?x). q(?x) :- p(?x).")
    algorithm = BackwardForwardMarking(rules, facts("p(a)."))
    algorithm.apply((facts("p(a)."), NO_FACTS))
    assert algorithm.materialisation == NO_FACTS


def test_an_announced_update_that_does_not_come_changes_nothing() -> None:
    for marks in ALL_MARKS:
        algorithm = BackwardForwardMarking(TRANS, marks=marks, first_update_alone=False)
        edges = facts("edge(a, b). edge(b, c).")
        algorithm.apply((NO_FACTS, edges), [(edges, NO_FACTS)])
        algorithm.apply((NO_FACTS, facts("edge(c, d).")))
        assert algorithm.materialisation == from_scratch(TRANS, edges | facts("edge(c, d)."))


def test_a_fact_that_the_next_update_deletes_and_inserts_is_not_marked() -> None:
    algorithm = BackwardForwardMarking(SEQ, first_update_alone=False)
    edge = facts("edge(a, b).")
    algorithm.apply((NO_FACTS, edge), [(edge, edge)])
    assert not algorithm.marked_explicit and not algorithm.marked_implicit
