"""DRed with marking: the compiled algorithm counts what the one over plain sets counts, where the order of
work does not matter, and is right where facts are carried over."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maintained import Fact, Maintained, Oracle, Update, updates_of
from streams import HURRIED, TANGLED_POOL, tangled_programs

from tidalog.lang import parse
from tidalog.maintain.choose import Options
from tidalog.maintain.kernels.retraction import LEAST_BLOCK
from tidalog.model.program import Program
from tidalog.model.terms import Integer
from tidalog.reference import DRedMarking

DRED = Options("dred", "paper")
SEQ = "edge1(?x, ?y) :- edge(?x, ?y). " + "".join(
    f"edge{k + 1}(?x, ?y) :- edge{k}(?x, ?y). " for k in range(1, 4)
)
PATHS = "path(?x, ?y) :- edge(?x, ?y). path(?x, ?z) :- path(?x, ?y), edge(?y, ?z)."
NODES = 8


def counted(program: Program, updates: tuple[Update, ...]) -> list[dict[str, int]]:
    """The counters of every update, after a look at the reference, which must have the same."""
    kept = Maintained(program, DRED)
    reference = DRedMarking(program, first_update_alone=False)
    found = []
    for number, update in enumerate(updates):
        counters = kept.apply(update, updates[number + 1 :]).counters
        reference.apply(update, updates[number + 1 : number + 2])
        assert kept.facts == reference.materialisation
        found.append({name: getattr(counters, name) for name in DRedMarking.COUNTERS})
        assert found[-1] == reference.counters, f"update {number + 1}"
    return found


CASES = {
    "marks pass through implicit facts": (SEQ, "+edge(a, b). commit. -edge(a, b)."),
    "what comes back is carried over": (
        SEQ + "edge(a, b).",
        "-edge(a, b). commit. +edge(a, b). commit. -edge(a, b). commit. +edge(c, d).",
    ),
    "the next update finds its consequence in D0": (
        "q(?x) :- p1(?x). p1(c).",
        "+p2(c). commit. -p1(c).",
    ),
    "a rederived fact is marked by what brought it back": (
        "q(?x) :- p1(?x). q(?x) :- p2(?x). p1(c). p2(c).",
        "-p1(c). commit. -p2(c).",
    ),
    "what hangs on an implicit fact is not carried": (
        "r(?x) :- f(?x). s(?x) :- e(?x), r(?x). e(a). f(a).",
        "-e(a). commit. -f(a). +e(a).",
    ),
    "what hangs on a fact about to be deleted is not carried": (
        "s(?x) :- e(?x), f(?x). e(a). f(a).",
        "-e(a). commit. -f(a). +e(a).",
    ),
    "an explicit fact stays when its derivation goes": (
        "p(?x) :- e(?x). q(?x) :- p(?x). e(a). p(a).",
        "-e(a). commit. -p(a).",
    ),
    "a fact that the next update makes explicit passes no mark on": (
        "p(?x) :- e(?x). q(?x) :- p(?x).",
        "+e(a). commit. -e(a). +p(a).",
    ),
    "a circle": (
        "p(?x) :- e(?x). p(?y) :- p(?x), d(?x, ?y). e(a). d(a, b). d(b, c). d(c, a).",
        "-e(a). commit. +e(a). commit. -d(a, b). commit. +d(a, b).",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_counters_are_those_of_the_reference(name: str) -> None:
    program, updates = CASES[name]
    counted(parse(program), updates_of(updates))


@st.composite
def forests(draw: st.DrawFn) -> tuple[Update, ...]:
    """Edges of a forest come or go; an update does one of both, so every path has at most one derivation."""
    edges: list[Fact] = [
        ("edge", (Integer(draw(st.integers(0, node - 1))), Integer(node))) for node in range(1, NODES)
    ]
    there: set[Fact] = set()
    updates: list[Update] = []
    for _ in range(8):
        comes = not there or draw(st.booleans())
        pool = [edge for edge in edges if (edge in there) != comes]
        chosen = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4, unique=True)) if pool else []
        there = there | set(chosen) if comes else there - set(chosen)
        updates.append(((), tuple(chosen)) if comes else (tuple(chosen), ()))
    return tuple(updates)


@settings(HURRIED, max_examples=60)
@given(forests(), st.sampled_from((SEQ, PATHS)))
def test_counters_are_those_of_the_reference_where_no_fact_has_two_derivations(
    updates: tuple[Update, ...], program: str
) -> None:
    counted(parse(program), updates)


def test_forests_give_every_kind_of_mark() -> None:
    """Guards the generator."""
    seen = Counter[str]()

    @settings(HURRIED, max_examples=20, derandomize=True, database=None)
    @given(forests())
    def look(updates: tuple[Update, ...]) -> None:
        for counters in counted(parse(PATHS), updates):
            seen.update(counters)

    look()
    assert min(seen[name] for name in DRedMarking.COUNTERS if name != "rederivations") >= 20, seen


def blinking(seed: int, nodes: int = 80, size: int = 24) -> tuple[Update, ...]:
    """A forest whose edges go, many at once, and most of which come back with the next update."""
    source = random.Random(seed)
    edges: list[Fact] = [
        ("edge", (Integer(source.randrange(max(0, node - 4), node)), Integer(node)))
        for node in range(1, nodes)
    ]
    there, updates = list(edges), [((), tuple(edges))]
    for _ in range(3):
        source.shuffle(there)
        gone, back = tuple(there[:size]), tuple(there[: 3 * size // 4])
        updates += [(gone, ()), ((), back)]
        there = [*there[size:], *back]
    assert size >= LEAST_BLOCK
    return tuple(updates)


@pytest.mark.parametrize("program", [SEQ, PATHS])
@pytest.mark.parametrize("seed", range(4))
def test_many_facts_at_once_are_deleted_and_inserted_as_in_the_reference(seed: int, program: str) -> None:
    """By blocks, other instances may decide about marks where a body has several facts.  But what an update
    deletes, marked or not, is the same, and so is what it inserts, carried over or not."""
    updates = blinking(seed)
    kept = Maintained(parse(program), DRED)
    reference = DRedMarking(parse(program), first_update_alone=False)
    same = ("rederivations", "marks_explicit") if program == PATHS else DRedMarking.COUNTERS
    marks, expected_marks = Counter[str](), Counter[str]()
    for number, update in enumerate(updates):
        found = Counter(kept.apply(update, updates[number + 1 :]).counters.as_dict())
        reference.apply(update, updates[number + 1 : number + 2])
        expected = Counter(reference.counters)
        assert kept.facts == reference.materialisation
        assert [found[name] for name in same] == [expected[name] for name in same]
        for name, kind in (("deletions", "marks_implicit"), ("insertions", "marks_positive")):
            assert found[name] + marks[kind] == expected[name] + expected_marks[kind]
        marks, expected_marks = found, expected


@settings(HURRIED, max_examples=60)
@given(tangled_programs(), st.data())
def test_facts_that_blink_are_right_after_every_update(program: Program, data: st.DataObject) -> None:
    oracle, kept = Oracle(program), Maintained(program, DRED)
    for _ in range(3):
        explicit = sorted(oracle.state.explicit, key=repr)
        gone = (
            tuple(data.draw(st.lists(st.sampled_from(explicit), max_size=3, unique=True))) if explicit else ()
        )
        more = tuple(data.draw(st.lists(st.sampled_from(TANGLED_POOL), max_size=2, unique=True)))
        others = tuple(fact for fact in more if fact not in gone)
        pair: list[Update] = [(gone, ()), (others, gone) if data.draw(st.booleans()) else ((), gone + others)]
        comes = data.draw(st.integers(0, 4)) > 0
        for number, update in enumerate(pair):
            if number == 1 and not comes:
                update = ((), others)
            outcome = kept.apply(update, pair[number + 1 :])
            state = oracle.after(update)
            kept.check_outcome(outcome, oracle.state, state, update)
            oracle.state = state
            kept.check_state(state)
