"""Batches: logged once, applied in order, handed out until they are acknowledged."""

from __future__ import annotations

from pathlib import Path

import pytest
from stored import NO_CIRCLE, edges, reopened

import tidalog
from tidalog.api.stored import StoredKnowledgeBase


@pytest.fixture
def kb(tmp_path: Path) -> StoredKnowledgeBase:
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load(NO_CIRCLE)
    return kb


def numbers(kb: StoredKnowledgeBase) -> list[tuple[int, int]]:
    return [(position.batch, position.index) for position in kb.pending]


def test_a_batch_is_logged_once(kb: StoredKnowledgeBase) -> None:
    assert kb.log_updates([edges("ab"), edges("bc")], source="q", batch=0) == 2
    assert kb.log_updates([edges("xy")], source="q", batch=0) is None
    assert kb.log_updates([edges("xy")], source="other", batch=0) == 1
    assert kb.log_updates([], source="q", batch=7) == 0
    kb = reopened(kb)
    assert kb.log_updates([edges("xy")], source="q", batch=3) is None
    assert (kb.last_batch("q"), kb.last_batch("other"), kb.last_batch("nobody")) == (7, 0, None)
    assert numbers(kb) == [(0, 0), (0, 1), (0, 0)]
    kb.close()


def test_what_waits_is_applied_in_order_also_after_a_restart(kb: StoredKnowledgeBase) -> None:
    kb.log_updates([edges("ab", label=1), edges("bc", label=2)], source="q", batch=0)
    kb.log_updates([edges("cd", label=3)], source="q", batch=1)
    kb = reopened(kb)
    assert kb.count("edge") == 0
    done = list(kb.apply_pending(keep=1))
    assert [(p.batch, p.index, p.label, d.inserted_count) for p, d in done] == [(0, 0, 1, 2), (0, 1, 2, 3)]
    assert (kb.last_applied("q"), kb.last_batch("q"), kb.last_label("q")) == (0, 1, 3)
    kb = reopened(kb)
    assert numbers(kb) == [(1, 0)]
    assert kb.count("path") == 3
    assert [position.number for position, _ in kb.apply_pending()] == [done[-1][0].number + 1]
    assert kb.last_applied("q") == 1
    kb.close()


def test_what_is_not_acknowledged_is_handed_out_again(kb: StoredKnowledgeBase) -> None:
    kb.log_updates([edges("ab"), edges("bc"), edges("cd")], source="q", batch=0)
    handed = list(kb.apply_pending(acknowledge=False))
    kb.acknowledge(handed[0][0])
    kb = reopened(kb)
    assert kb.count("path") == 1
    again = list(kb.apply_pending(acknowledge=False))
    assert [position for position, _ in again] == [position for position, _ in handed[1:]]
    kb.acknowledge()
    kb = reopened(kb)
    assert not kb.pending
    assert kb.count("path") == 6
    kb.close()


def test_a_refused_update_of_a_batch_is_passed_over_and_the_rest_goes_on(kb: StoredKnowledgeBase) -> None:
    kb.log_updates([edges("ab"), edges("ba"), edges("bc")], source="q", batch=0)
    pending = kb.apply_pending(acknowledge=False)
    first, _ = next(pending)
    with pytest.raises(tidalog.RunError, match="T055"):
        next(pending)
    rest = [position.index for position, _ in kb.apply_pending(acknowledge=False)]
    assert (first.index, rest) == (0, [2])
    kb = reopened(kb)
    assert numbers(kb) == [(0, 0), (0, 2)], "the refused one does not come back"
    assert [position.index for position, _ in kb.apply_pending()] == [0, 2]
    assert kb.count("path") == 3
    kb.close()


def test_updates_that_began_as_one_stay_one(kb: StoredKnowledgeBase) -> None:
    kb.log_updates([edges("ab"), edges("ba"), edges("ab", delete=True)], source="q", batch=0)
    ((position, delta),) = kb.apply_pending(latest_only=True, acknowledge=False)
    assert (position.index, delta.updates) == (2, 3)
    kb.acknowledge(position)
    kb = reopened(kb)
    assert kb.count("path") == 1
    kb.log_updates([edges("bc"), edges("cb"), edges("bc", delete=True)], source="q", batch=1)
    list(kb.apply_pending(latest_only=True, acknowledge=False))
    kb = reopened(kb)
    kb.log_updates([edges("yz")], source="q", batch=2)
    handed = [(p.batch, p.index, d.updates) for p, d in kb.apply_pending()]
    assert handed == [(1, 2, 3), (2, 0, 1)]
    kb.close()


def test_other_changes_wait_their_turn(kb: StoredKnowledgeBase) -> None:
    kb.log_updates([edges("ab")], source="q", batch=0)
    for change in (lambda: kb.insert("edge", [("x", "y")]), lambda: kb.apply(edges("xy"))):
        with pytest.raises(tidalog.StoreError, match="T098"):
            change()
    ((position, _),) = kb.apply_pending(acknowledge=False)
    with pytest.raises(tidalog.StoreError, match="T098"):
        kb.delete("edge", [("a", "b")])
    kb.acknowledge(position)
    assert kb.delete("edge", [("a", "b")]) == 1
    kb.close()


def test_an_interrupted_update_waits_still(kb: StoredKnowledgeBase) -> None:
    kb.log_updates([edges("ab"), edges("bc")], source="q", batch=0)

    def interrupt(news: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(tidalog.RunError, match="T053"):
        list(kb.apply_pending(progress=interrupt))
    assert numbers(kb) == [(0, 0), (0, 1)]
    assert len(list(kb.apply_pending())) == 2
    kb.close()


@pytest.mark.parametrize(
    "mistake",
    [
        lambda kb: kb.log_updates([], source="", batch=0),
        lambda kb: kb.log_updates([], source="q", batch=-1),
        lambda kb: kb.log_updates([17], source="q", batch=0),
        lambda kb: kb.apply_pending(keep=-1),
        lambda kb: kb.acknowledge(tidalog.Position(99, "q", 0, 0, None)),
    ],
)
def test_mistakes_have_a_number_and_change_nothing(kb: StoredKnowledgeBase, mistake: object) -> None:
    with pytest.raises(tidalog.UsageError, match="T076"):
        mistake(kb)  # type: ignore[operator]
    assert kb.last_batch("q") is None
    kb.close()
