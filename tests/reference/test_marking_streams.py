"""The evaluation of paper 001 in rule applications: what does not depend on the order of work is the paper's
figure, and what does is pinned and shows the paper's effect.

Figures are averages over the three seeds of an update size, rounded as the paper rounds them.
"""

from functools import cache

import pytest
from paper_programs import MAP, SEQ, TRANS, run, stream_of

from tidalog.reference import BackwardForwardMarking, DRedMarking, Marks

SEEDS = (1, 2, 3)


@cache
def averages(name: str, marks: Marks) -> dict[str, int]:
    rules = {"trans": TRANS, "seq": SEQ}[name]
    runs = [
        run(BackwardForwardMarking(rules, marks=marks), stream_of(f"{name}_seed{seed}_size10")).totals
        for seed in SEEDS
    ]
    return {counter: round(sum(totals[counter] for totals in runs) / len(runs)) for counter in runs[0]}


@pytest.mark.parametrize(
    ("marks", "deletions", "explicit", "implicit"), [("none", 1960, 0, 0), ("linked", 1480, 480, 480)]
)
def test_table_2_at_size_10(marks: Marks, deletions: int, explicit: int, implicit: int) -> None:
    assert averages("seq", marks) == {
        "deletions": deletions,
        "backward": 0,
        "forward": 0,
        "insertions": 2360,
        "marks_explicit": explicit,
        "marks_implicit": implicit,
    }


def test_every_mark_of_table_2_saves_one_deletion() -> None:
    for marks in ("paper", "linked"):
        old, new = averages("seq", "none"), averages("seq", marks)
        assert old["deletions"] - new["deletions"] == pytest.approx(new["marks_implicit"], abs=1)


def test_table_1_at_size_10_where_order_does_not_matter() -> None:
    old, new = averages("trans", "none"), averages("trans", "paper")
    assert old["insertions"] == new["insertions"] == 545
    assert new["marks_explicit"] == 480


def test_table_1_at_size_10_in_the_literal_order() -> None:
    """One head at a time, D first in first out, block d last: marks save deletions and backward steps too."""
    old, new = averages("trans", "none"), averages("trans", "paper")
    assert (old["deletions"], new["deletions"]) == (5874, 4956)
    assert (old["backward"], new["backward"]) == (7917, 7831)
    assert (old["forward"], new["forward"]) == (16108, 16367)


def test_table_3_on_track_2_where_order_does_not_matter() -> None:
    totals = run(BackwardForwardMarking(MAP), stream_of("track_2")).totals
    assert (totals["insertions"], totals["forward"], totals["marks_explicit"]) == (1704, 1206, 1017)


def test_dred_with_marking_saves_a_deletion_for_every_implicit_mark() -> None:
    for seed in SEEDS:
        stream = stream_of(f"seq_seed{seed}_size10")
        old = run(DRedMarking(SEQ), stream, look_ahead=False).totals
        new = run(DRedMarking(SEQ), stream).totals
        assert old["deletions"] == 1960
        assert old["deletions"] - new["deletions"] == new["marks_implicit"] > 480
