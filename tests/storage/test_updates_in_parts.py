"""An update whose rows come in several batches is one update; repeated labels are distinguished."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import CLOSURE, NO_CIRCLE, changes, edges, reopened, state
from streams import HURRIED

import tidalog
from tidalog.api.update import Update
from tidalog.storage.dedup import KnownLabels

Pair = tuple[str, str]


def update_of(label: int, deleted: list[Pair], inserted: list[Pair]) -> Update:
    update = Update(label=label)
    update.delete("edge", deleted)
    update.insert("edge", inserted)
    return update


@settings(HURRIED, max_examples=40)
@given(st.integers(0, 10_000))
def test_parts_of_an_update_are_that_update_whatever_happens_between_them(seed: int) -> None:
    chance = random.Random(seed)
    pairs = [(x, y) for x in "abcd" for y in "abcd"]
    memory = tidalog.open()
    memory.load(CLOSURE)
    with tempfile.TemporaryDirectory() as folder:
        kept = tidalog.open(Path(folder) / "kept.tidalog", fsync="off")
        try:
            kept.load(CLOSURE)
            kept.materialise()
            batch = 0
            for label in range(1, 5):
                whole = [chance.choices(pairs, k=chance.randrange(5)) for _ in range(2)]
                wanted = memory.apply(update_of(label, *whole))
                cuts = [sorted(chance.choices(range(len(rows) + 1), k=2)) for rows in whole]
                for part in range(3):
                    facts = [
                        rows[low:high]
                        for rows, cut in zip(whole, cuts, strict=True)
                        for low, high in [[(0, cut[0]), (cut[0], cut[1]), (cut[1], len(rows))][part]]
                    ]
                    logged = [update_of(label, *facts)]
                    kept.log_updates(logged, source="q", batch=batch, goes_on=part > 0)
                    batch += 1
                    if chance.random() < 0.3:
                        kept = reopened(kept, fsync="off")
                    if chance.random() < 0.2:
                        kept.snapshot()
                acknowledged = chance.random() < 0.5
                ((position, delta),) = kept.apply_pending(acknowledge=acknowledged)
                assert (position.label, position.batch, delta.updates) == (label, batch - 1, 1)
                assert changes(delta) == changes(wanted)
                if not acknowledged and chance.random() < 0.5:
                    kept = reopened(kept, fsync="off")
                    ((again, delta),) = kept.apply_pending()
                    assert again == position
                    assert changes(delta) == changes(wanted)
                kept.acknowledge()
                assert kept.last_applied("q") == batch - 1
                if chance.random() < 0.3:
                    kept = reopened(kept, fsync="off")
                assert state(kept) == state(memory)
        finally:
            kept.close()


def test_a_refused_update_is_refused_with_all_its_parts(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load(NO_CIRCLE)
    kb.log_updates([edges("xy", label=1), edges("ab", label=2)], source="q", batch=0)
    kb.log_updates([edges("ba", label=2), edges("bc", label=3)], source="q", batch=1, goes_on=True)
    pending = kb.apply_pending(acknowledge=False)
    next(pending)
    with pytest.raises(tidalog.RunError, match="T055"):
        next(pending)
    kb = reopened(kb)
    assert [position.label for position in kb.pending] == [1, 3]
    list(kb.apply_pending())
    assert {tuple(map(str, row)) for row in kb.facts("edge").to_rows()} == {("x", "y"), ("b", "c")}
    kb.close()


def test_parts_are_one_among_updates_that_are_applied_as_one(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load(NO_CIRCLE)
    kb.log_updates([edges("bc", label=1), edges("ab", label=2)], source="q", batch=0)
    more = edges("ab", label=2, delete=True)
    kb.log_updates([more, edges("bc", label=3, delete=True)], source="q", batch=1, goes_on=True)
    for acknowledge in (False, True):
        ((position, delta),) = kb.apply_pending(latest_only=True, acknowledge=acknowledge)
        assert (position.label, delta.updates) == (3, 3)
        if not acknowledge:
            kb = reopened(kb)
    kb = reopened(kb)
    found = [tuple(map(str, row)) for row in kb.facts("edge").to_rows()]
    assert found == [("a", "b")], "an update deletes before it inserts"
    kb.close()


def test_nothing_goes_on_where_nothing_waits(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load(NO_CIRCLE)
    with pytest.raises(tidalog.UsageError, match="T076"):
        kb.log_updates([edges("ab")], source="q", batch=0, goes_on=True)
    assert kb.last_batch("q") is None
    kb.close()


class TestLabelsThatComeAgain:
    def test_what_an_update_had_is_known_after_a_restart_and_a_snapshot(self, tmp_path: Path) -> None:
        kb = tidalog.open(tmp_path / "s.tidalog")
        kb.load(NO_CIRCLE)
        kb.log_updates([edges("ab", label=1)], source="q", batch=0, contents=[(1, 40)])
        kb.log_updates([edges("bc", label=1)], source="q", batch=1, contents=[(2, 2)], goes_on=True)
        for restart in range(3):
            assert kb.seen(1, (3, 42)) == "same"
            assert kb.seen(1, (1, 40)) == "other"
            assert kb.seen(0, (3, 42)) == "never", "every label that there has been is known"
            if restart == 1:
                list(kb.apply_pending())
                kb.snapshot()
            kb = reopened(kb)
        kb.close()

    def test_of_labels_without_content_nobody_knows(self, tmp_path: Path) -> None:
        kb = tidalog.open(tmp_path / "s.tidalog")
        kb.load(NO_CIRCLE)
        kb.log_updates([edges("ab", label=1)], source="q", batch=0)
        kb.log_updates([edges("bc", label=5)], source="q", batch=1, contents=[(1, 1)])
        assert kb.seen(1, (1, 1)) is None
        assert kb.seen(6, (1, 1)) == "never"
        assert kb.seen("x", (1, 1)) is None
        kb.close()

    def test_so_many_labels_are_remembered_and_no_more(self) -> None:
        known = KnownLabels()
        for label in range(10_001):
            known.note(label, (1, label))
        assert known.seen(0, (1, 0)) is None
        assert known.seen(1, (1, 1)) == "same"
        assert known.seen(10_000, (1, 7)) == "other"
        content = known.to_json()
        again = KnownLabels(content["known"], complete=bool(content["complete"]))  # type: ignore[arg-type]
        assert again.seen(0, (1, 0)) is None
        assert again.seen(1, (1, 1)) == "same"
