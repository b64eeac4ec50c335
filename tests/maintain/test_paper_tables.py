"""The paper's streams on the engine: what any right implementation gives, and what the kinds of marks save.

Figures are averages over the three seeds, as in the tables of paper 001.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.papers.programs import P_MAP, P_SEQ, P_TRANS

import tidalog

DATA = Path(__file__).parents[1] / "data" / "marking"
SEEDS = (1, 2, 3)


def totals(program: str, table: str, **options: str) -> dict[str, float]:
    with tidalog.open(**options) as kb:
        kb.load(program)
        counters: dict[str, float] = {}
        updates = kb.read_updates(DATA / table)
        for number, update in enumerate(updates):
            # The first update runs before anything else is read.
            following = updates[number + 1 : number + 2] if number else ()
            delta = kb.apply(update, following)
            for name, count in delta.counters.as_dict().items():
                counters[name] = counters.get(name, 0) + count
        return counters


def averages(family: str, size: int, program: str, **options: str) -> dict[str, int]:
    runs = [totals(program, f"{family}_seed{seed}_size{size}.csv.gz", **options) for seed in SEEDS]
    return {name: round(sum(run[name] for run in runs) / len(SEEDS)) for name in runs[0] if name != "seconds"}


@pytest.mark.parametrize(("marking", "deletions", "marks"), [("none", 1960, 0), ("linked", 1480, 480)])
def test_sequences_give_table_2(marking: str, deletions: int, marks: int) -> None:
    found = averages("seq", 10, P_SEQ, strategy="bf", marking=marking, order="paper")
    expected = {
        "deletions": deletions,
        "backward": 0,
        "forward": 0,
        "insertions": 2360,
        "marks_explicit": 480 if marks else 0,
        "marks_implicit": marks,
    }
    assert {name: found[name] for name in expected} == expected


def test_complete_marks_save_more_than_links_and_never_change_the_rest() -> None:
    linked = averages("seq", 10, P_SEQ, strategy="bf", marking="linked")
    complete = averages("seq", 10, P_SEQ, strategy="bf", marking="complete")
    assert complete["deletions"] < linked["deletions"]
    assert complete["deletions"] + complete["recorded"] == 1960
    assert complete["insertions"] == linked["insertions"] == 2360


@pytest.mark.parametrize("order", ["paper", "ours"])
@pytest.mark.parametrize("marking", ["none", "paper", "linked", "complete"])
def test_insertions_and_explicit_marks_are_those_of_table_1(marking: str, order: str) -> None:
    found = averages("trans", 10, P_TRANS, strategy="bf", marking=marking, order=order)
    assert found["insertions"] == 545
    assert found["marks_explicit"] == (0 if marking == "none" else 480)


def test_our_order_needs_no_more_backward_and_forward_steps_with_marks() -> None:
    without = averages("trans", 10, P_TRANS, strategy="bf", marking="none", order="paper")
    ours = averages("trans", 10, P_TRANS, strategy="bf", marking="complete", order="ours")
    assert ours["backward"] <= without["backward"]
    assert ours["forward"] <= without["forward"]
    assert ours["deletions"] < without["deletions"]


@pytest.mark.parametrize("strategy", ["bf", "fbf"])
def test_a_track_gives_the_figures_of_table_3(strategy: str) -> None:
    found = totals(P_MAP, "track_2.csv.gz", strategy=strategy, marking="paper", order="paper")
    assert (found["insertions"], found["marks_explicit"]) == (1704, 1017)
    if strategy == "bf":
        assert found["forward"] == 1206
