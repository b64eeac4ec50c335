"""`auto` tries B/F, gives up or not, deletes by DRed, goes on with ranks: right whatever it chooses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maintained import Scenario, check_scenario, scenario
from streams import HURRIED, UNUSED, layered_scenarios, tangled_scenarios

import tidalog
from tidalog.maintain import choose as strategy
from tidalog.maintain.choose import Options
from tidalog.model.errors import RunError

EAGER = [Options("auto", "none"), Options("auto", "complete", look_ahead=2), Options("auto")]


@contextmanager
def trials_of(steps: int, proofs: float = 0.0) -> Iterator[None]:
    """Every deletion is tried for `steps` for each fact that it begins with; components with at most
    `proofs` for each fact are left to DRed."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in (
            ("_MANY_SEEDS", 0),
            ("_MANY_PROOFS", 0.0),
            ("_SINGLE_PROOFS", proofs),
            ("_TRIAL_PER_SEED", steps),
            ("_FIRST_PAUSE", 1),
            ("_LONGEST_PAUSE", 2),
        ):
            patched.setattr(strategy, name, value)
        yield


def check_trials(given_: Scenario, steps: int, unused: int) -> None:
    with trials_of(steps):
        check_scenario(given_, EAGER, unused)


@settings(HURRIED, max_examples=60)
@given(
    st.one_of(tangled_scenarios(8), layered_scenarios(length=6)), st.sampled_from((3, 6, 12, 1000)), UNUSED
)
def test_trials_change_nothing_but_the_way(given_: Scenario, steps: int, unused: int) -> None:
    check_trials(given_, steps, unused)


@settings(HURRIED, max_examples=60)
@given(st.one_of(tangled_scenarios(8), layered_scenarios(length=6)), st.sampled_from((1.0, 2.0, 1e9)), UNUSED)
def test_dred_in_turn_with_the_others_changes_nothing_but_the_way(
    given_: Scenario, proofs: float, unused: int
) -> None:
    with trials_of(12, proofs):
        check_scenario(given_, EAGER, unused)


def test_facts_below_that_b_f_has_looked_at_are_not_its_own() -> None:
    given_ = scenario(
        "p(a, a). p(a, b). z :- p(?x, ?y). z :- z. p(?m, ?m) :- ?m = 0 + 1.",
        "+p(a, 0). commit. -p(a, a). -p(a, b). commit. -p(a, 0). commit.",
    )
    check_trials(given_, 3, 1 << 16)


NEAR = """
near(?x, ?y) :- link(?x, ?y) .
near(?y, ?x) :- near(?x, ?y) .
near(?x, ?z) :- near(?x, ?y), near(?y, ?z) .
"""


def cliques(count: int, size: int) -> list[tuple[int, int]]:
    return [(10 * c + a, 10 * c + b) for c in range(count) for a in range(size) for b in range(a)]


def test_many_deletions_with_proofs_at_hand_are_left_to_b_f_and_the_next_one_to_ranks() -> None:
    links = cliques(600, 6)
    with tidalog.open() as kb, tidalog.open(strategy="recompute") as recomputed:
        for one in (kb, recomputed):
            one.load(NEAR)
            one.insert("link", links)
            one.materialise()
        for gone, expected in ((links[::150], "bf"), (links[1:3], "ranked"), (links[5::140], "bf")):
            update = tidalog.Update(deletions={"link": gone})
            assert kb.apply(update).chosen == {"near": expected}
            recomputed.apply(update)
            assert sorted(kb.query("near(?x, ?y)")) == sorted(recomputed.query("near(?x, ?y)"))


def test_many_deletions_of_single_proofs_are_left_to_dred_and_the_next_one_to_ranks() -> None:
    links = [(20 * c + a, 20 * c + a + 1) for c in range(400) for a in range(12)]
    rules = "above(?x, ?y) :- link(?x, ?y) . above(?x, ?z) :- link(?x, ?y), above(?y, ?z) ."
    with tidalog.open() as kb, tidalog.open(strategy="recompute") as scratch:
        for one in (kb, scratch):
            one.load(rules)
            one.insert("link", links)
            one.materialise()
        for gone, expected in ((links[::70], "dred"), (links[1:3], "ranked"), (links[5::60], "dred")):
            update = tidalog.Update(deletions={"link": gone})
            assert kb.apply(update).chosen == {"above": expected}
            scratch.apply(update)
            assert sorted(kb.query("above(?x, ?y)")) == sorted(scratch.query("above(?x, ?y)"))


def test_b_f_is_given_up_where_proofs_are_far() -> None:
    links = [(a, a + 1) for a in range(120)]
    with tidalog.open() as kb:
        kb.load(NEAR)
        kb.insert("link", links)
        kb.materialise()
        assert kb.apply(tidalog.Update(deletions={"link": links[::2]})).chosen["near"] != "bf"
        assert kb.count("near") == 60 * 4


def test_facts_that_a_given_up_search_left_waiting_are_deleted_by_blocks_above() -> None:
    """Both facts of an instance of `of` are deleted, in different blocks: it is met in one of them."""
    links, degrees = [(a, a + 1) for a in range(220)], [(a, a % 5) for a in range(221)]
    rules = NEAR + "of(?x, ?y, ?d) :- near(?x, ?y), degree(?y, ?d) ."
    with tidalog.open() as kb, tidalog.open(strategy="recompute") as scratch:
        for one in (kb, scratch):
            one.load(rules)
            one.insert("link", links)
            one.insert("degree", degrees)
            one.materialise()
            gone = tidalog.Update(deletions={"link": links[200:], "degree": degrees[201:]})
            chosen = one.apply(gone).chosen
            assert chosen["near"] == "recompute"
        assert kb.count("near") == scratch.count("near")
        assert sorted(kb.query("of(?x, ?y, ?d)")) == sorted(scratch.query("of(?x, ?y, ?d)"))


def test_a_failed_update_leaves_the_order_of_ranks_as_it_was() -> None:
    with tidalog.open(strategy="ranked") as kb:
        kb.load(NEAR + ":- near(?x, ?y), link(?y, bad) .")
        kb.insert("link", [(1, 2), (2, 3)])
        kb.materialise()
        kb.apply(tidalog.Update(deletions={"link": [(2, 3)]}))
        assert kb._open().maintenance is not None
        nodes = kb._open().maintenance.maintainer.components
        nodes[0].in_rank_order = False
        with pytest.raises(RunError):
            kb.apply(tidalog.Update(deletions={"link": [(1, 2)]}, insertions={"link": [(5, 2), (2, "bad")]}))
        assert not nodes[0].in_rank_order
        kb.apply(tidalog.Update(deletions={"link": [(1, 2)]}))
        assert nodes[0].in_rank_order
        assert kb.count("near") == 0


def test_what_is_unranked_stays_in_few_parts() -> None:
    with tidalog.open(strategy="bf") as kb:
        kb.load(NEAR)
        kb.insert("link", cliques(1, 8))
        kb.materialise()
        for _ in range(100):
            kb.apply(tidalog.Update(deletions={"link": [(3, 1)]}))
            kb.apply(tidalog.Update(insertions={"link": [(3, 1)]}))
        assert kb._open().maintenance is not None
        (node,) = kb._open().maintenance.maintainer.components
        assert 0 < len(node.unranked) <= 64
