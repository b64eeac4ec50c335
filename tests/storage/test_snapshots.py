"""Snapshots: a store that begins at one is the store that read its whole log."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maintained import Scenario
from stored import CLOSURE, NO_CIRCLE, changes, check_consistent, edges, reopened, state, update_of
from streams import HURRIED, layered_scenarios, tangled_scenarios

import tidalog
from golden_data import FOLDERS
from tidalog.api import state_snapshot
from tidalog.api.database import Database
from tidalog.api.load import Load
from tidalog.api.stored import StoredKnowledgeBase
from tidalog.maintain.choose import STRATEGIES
from tidalog.model.errors import TidalogError

STEPS = st.lists(st.sampled_from(("go on", "snapshot", "open again", "both")), min_size=6, max_size=6)


def check_with_snapshots(scenario: Scenario, steps: list[str], strategies: list[str], after: int) -> None:
    memory = tidalog.open()
    memory.load(scenario.program)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept.tidalog"
        kept = tidalog.open(path, fsync="off", snapshot_after=after)
        try:
            kept.load(scenario.program)
            for update, step, strategy in zip(scenario.updates, steps, strategies, strict=False):
                ((expected,), (found,)) = (
                    list(kb.stream([update_of(update)], strategy=strategy)) for kb in (memory, kept)
                )
                assert changes(found) == changes(expected)
                if step in ("snapshot", "both"):
                    kept.snapshot()
                if step in ("open again", "both"):
                    kept = reopened(kept, fsync="off", snapshot_after=after)
                    if step == "both":
                        assert kept.recovery.replayed == 0
                    check_consistent(kept)
                    assert state(kept) == state(memory)
            assert state(kept) == state(memory)
        finally:
            kept.close()


@settings(HURRIED, max_examples=40)
@given(
    tangled_scenarios(),
    STEPS,
    st.lists(st.sampled_from(STRATEGIES), min_size=6, max_size=6),
    st.sampled_from((1, 1 << 20)),
)
def test_a_snapshot_is_what_was_applied_for_tangled_programs(
    scenario: Scenario, steps: list[str], strategies: list[str], after: int
) -> None:
    check_with_snapshots(scenario, steps, strategies, after)


@settings(HURRIED, max_examples=20)
@given(layered_scenarios(), STEPS, st.sampled_from((1, 1 << 20)))
def test_a_snapshot_is_what_was_applied_with_negation_aggregates_and_functions(
    scenario: Scenario, steps: list[str], after: int
) -> None:
    check_with_snapshots(scenario, steps, ["auto"] * len(steps), after)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_golden_programs_come_back_from_the_log_and_from_a_snapshot(folder: Path, tmp_path: Path) -> None:
    program = folder / "program.rls"
    memory, kb = tidalog.open(), tidalog.open(tmp_path / "s.tidalog", fsync="off")
    try:
        memory.load(program)
        memory.materialise()
    except TidalogError as error:
        memory = tidalog.open()
        with pytest.raises(type(error)):
            kb.load(program)
            kb.materialise()
        kb.close()
        return
    kb.load(program)
    kb = reopened(kb, fsync="off")
    assert state(kb) == state(memory)
    kb.snapshot()
    kb = reopened(kb, fsync="off")
    assert (kb.recovery.replayed, state(kb)) == (0, state(memory))
    assert kb.program == memory.program
    script = folder / "updates.upd"
    if script.exists():
        for number, (own, other) in enumerate(
            zip(memory.read_updates(script), kb.read_updates(script), strict=True)
        ):
            results = []
            for each, update in ((memory, own), (kb, other)):
                try:
                    results.append(changes(each.apply(update)))
                except TidalogError as error:
                    results.append(error.diagnostics[0].number)  # type: ignore[arg-type]
            assert results[0] == results[1], f"update {number + 1}"
        assert state(kb) == state(memory)
    kb.close()


def filled(path: Path, program: str = NO_CIRCLE, **options: object) -> StoredKnowledgeBase:
    kb = tidalog.open(path, **options)  # type: ignore[call-overload]
    kb.load(program)
    kb.apply(edges("ab", "bc", "cd"))
    assert isinstance(kb, StoredKnowledgeBase)
    return kb


def test_nothing_is_derived_and_nothing_replayed_after_a_snapshot(tmp_path: Path) -> None:
    kb = filled(tmp_path / "s.tidalog")
    number, stats = kb.snapshot(), kb.stats()
    kb = reopened(kb)
    assert (kb.recovery.snapshot, kb.recovery.replayed) == (number, 0)
    assert kb.stats().derivations == stats.derivations
    kb.apply(edges("de"))
    kb = reopened(kb)
    assert (kb.recovery.snapshot, kb.recovery.replayed, kb.count("path")) == (number, 1, 10)
    kb.close()


def test_the_order_of_ids_that_b_f_has_given_up_stays_given_up(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog", strategy="bf")
    kb.load(CLOSURE)
    kb.apply(edges("ab", "bc", "ca", "ad", "da"))
    kb.apply(edges("bc", delete=True))
    assert kb._open().maintenance is not None
    before = [node.is_ranked for node in kb._open().maintenance.maintainer.components]
    assert before == [False]
    kb.snapshot()
    kb = reopened(kb, strategy="ranked")
    check_consistent(kb)
    assert kb._open().maintenance is not None
    assert [node.is_ranked for node in kb._open().maintenance.maintainer.components] == before
    assert kb.apply(edges("ca", delete=True)).chosen == {"path": "recompute"}
    kb.close()


def test_what_was_deleted_before_a_fact_is_looked_up_is_derived_again(tmp_path: Path) -> None:
    """Found by the laws above: a snapshot, all that is derived of a predicate goes and some explicit fact
    stays, and what was deleted is derived again."""
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load("p(a, a). e(0). e(a). p(a, ?x) :- e(?x), ~off(on) .")
    kb.snapshot()
    kb = reopened(kb)
    for update in ("insertions", "deletions"):
        kb.apply(tidalog.Update(**{update: {"off": [("on",)]}}))  # type: ignore[arg-type]
    assert kb.facts("p").to_rows() == [("a", "a"), ("a", 0)]
    kb.close()


def test_a_snapshot_never_passes_what_is_acknowledged(tmp_path: Path) -> None:
    kb = filled(tmp_path / "s.tidalog", snapshot_after=1)
    kb.log_updates([edges("de"), edges("ef"), edges("fg")], source="q", batch=0)
    handed = list(kb.apply_pending(keep=1, acknowledge=False))
    with pytest.raises(tidalog.StoreError, match="T098"):
        kb.snapshot()
    kb = reopened(kb, snapshot_after=1)
    assert [p.index for p in kb.pending] == [0, 1, 2]
    handed = list(kb.apply_pending(keep=1, acknowledge=False))
    kb.acknowledge()
    assert kb.snapshot() == handed[-1][0].number
    kb = reopened(kb)
    assert [p.index for p in kb.pending] == [2], "what waits is in the log behind the snapshot"
    assert (kb.last_batch("q"), kb.last_applied("q")) == (0, None)
    assert kb.log_updates([edges("xy")], source="q", batch=0) is None
    list(kb.apply_pending())
    assert (kb.last_applied("q"), kb.count("edge")) == (0, 6)
    kb.snapshot()
    kb = reopened(kb)
    assert (kb.last_batch("q"), kb.last_applied("q"), kb.pending[:]) == (0, 0, [])
    kb.close()


def test_snapshots_are_taken_in_the_background_and_old_files_go(tmp_path: Path) -> None:
    path = tmp_path / "s.tidalog"
    kb = filled(path, CLOSURE, snapshot_after=1)
    for number in range(30):
        kb.apply(edges((number, number + 1)))
        kb._snapshotter.wait()
    assert kb._snapshotter.failure is None
    names = sorted(entry.name for entry in path.iterdir())
    assert len([name for name in names if name.startswith("snapshot-")]) == 2
    assert len([name for name in names if name.startswith("log-")]) <= 3
    kb = reopened(kb)
    assert (kb.recovery.replayed, kb.count("edge")) == (0, 33)
    kb.close()


def test_what_another_version_derived_is_derived_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = filled(tmp_path / "s.tidalog")
    kb.snapshot()
    before = state(kb)
    monkeypatch.setattr(state_snapshot, "version", lambda name: "99.0")
    kb = reopened(kb)
    assert kb._open().run is None
    assert state(kb) == before
    kb.close()


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_store_with_facts_that_violate_a_constraint_opens_and_can_be_repaired(
    tmp_path: Path, snapshot: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier versions let such facts in."""
    with monkeypatch.context() as earlier:
        earlier.setattr(Database, "is_checked", False)
        earlier.setattr(Load, "is_checked", False)
        kb = tidalog.open(tmp_path / "s.tidalog")
        kb.load(NO_CIRCLE)
        kb.insert("edge", [("a", "a")])
        if snapshot:
            kb.snapshot()
    kb = reopened(kb)
    with pytest.raises(tidalog.RunError, match="T055"):
        kb.count("path")
    assert kb.delete("edge", [("a", "a")]) == 1
    assert kb.count("path") == 0
    kb.close()


def test_a_snapshot_after_a_load_has_its_exports(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog", snapshot_after=1)
    kb.load("q(?x) :- p(?x). p(1).")
    kb.materialise()
    kb.load('@export q :- csv{resource="q.csv"} .', base_dir=tmp_path)
    kb.close()
    with tidalog.open(tmp_path / "s.tidalog", read_only=True) as kb:
        assert kb.recovery.snapshot == 2
        assert [path.name for path in kb.write_exports()] == ["q.csv"]


def test_a_snapshot_has_exports_whose_options_are_computed(tmp_path: Path) -> None:
    program = '@parameter $n = 1 . @export q :- csv{resource = f"{?x}-{$n}.csv"}, ?x = "q" . q(1).'
    with tidalog.open(tmp_path / "s.tidalog") as kb:
        kb.load(program, parameters={"n": 2}, base_dir=tmp_path)
        kb.snapshot()
    with tidalog.open(tmp_path / "s.tidalog") as kb:
        assert [path.name for path in kb.write_exports()] == ["q-2.csv"]
