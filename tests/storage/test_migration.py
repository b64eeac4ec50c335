"""A store of format 1, in which bare names were IRIs, holds strings when it is opened today, and what follows
from them is what a run from scratch gives."""

from __future__ import annotations

import shutil
from pathlib import Path

import earlier_content as content
import pytest
from consistency import check_store
from stored import State, state

import tidalog
from tidalog.model.terms import IRI, String
from tidalog.storage import faults
from tidalog.storage.manifest import FORMAT, read_manifest

EARLIER = Path(__file__).parent / "earlier"
LIKES = (content.LIKES[0], String("likes"), String("tea"))


def expected(tmp_path: Path, *, log: bool = False, updates: int = 0) -> State:
    kb = tidalog.open()
    content.begin(kb, String, tmp_path)
    if log:
        content.go_on(kb, String)
    for update in content.batch(String)[:updates]:
        kb.apply(update)
    return state(kb)


def found(kb: tidalog.KnowledgeBase) -> State:
    """The state without `LIKES` and what follows from it, which must be there."""
    all_facts = state(kb)
    assert all_facts["fan"][1] == {(LIKES[0], LIKES[2])}
    assert LIKES in all_facts["triple"][0]
    all_facts["fan"] = (frozenset(), frozenset())
    explicit, derived = all_facts["triple"]
    all_facts["triple"] = (explicit - {LIKES}, derived)
    return all_facts


@pytest.fixture(params=["log", "snapshot"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return shutil.copytree(EARLIER / f"{request.param}.tidalog", tmp_path / f"{request.param}.tidalog")


@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "without a snapshot"])
def test_names_are_strings_and_what_they_follow_from_is_derived_again(
    store: Path, damaged: bool, tmp_path: Path
) -> None:
    if damaged:
        shutil.rmtree(store / read_manifest(store).snapshots[0].folder)
    has_log = store.name.startswith("log")
    now = expected(tmp_path, log=has_log)
    with tidalog.open(store, read_only=True) as kb:
        assert found(kb) == now
        assert kb.recovery.migrated == 1
    assert read_manifest(store).format == 1
    with tidalog.open(store) as kb:
        assert kb.recovery.migrated == 1
        assert read_manifest(store).format == FORMAT
        assert found(kb) == now
        assert kb.query("?n :- count(?n)").to_rows() == [(len(kb.facts("person")),)]
        check_store(kb._open().engine)
    with tidalog.open(store, read_only=True) as kb:
        assert found(kb) == now
        assert kb.recovery.migrated is None
    with tidalog.open(store) as kb:
        assert (kb.recovery.migrated, kb.recovery.damaged) == (None, ())
        if has_log:
            assert [position.label for position in kb.pending] == ["1", "2"]
            list(kb.apply_pending())
        assert found(kb) == expected(tmp_path, log=has_log, updates=2 if has_log else 0)
        kb.insert("person", [("later",), (IRI("later"),)])
    with tidalog.open(store) as kb:
        assert {String("later"), IRI("later")} <= {term for (term,) in kb.facts("person").to_terms()}


def test_the_program_is_known_and_another_one_is_not(store: Path) -> None:
    with tidalog.open(store) as kb:
        before = state(kb)
        if kb.pending:
            list(kb.apply_pending())
            before = state(kb)
        kb.load(content.PROGRAM)
        assert state(kb) == before
        with pytest.raises(tidalog.StoreError, match="T096"):
            kb.load(content.PROGRAM + "tall(?x) :- person(?x) .")
    with tidalog.open(store) as kb:
        kb.load(content.PROGRAM)
        assert state(kb) == before


def test_a_store_without_anything_goes_on_in_the_format_of_today(tmp_path: Path) -> None:
    store = shutil.copytree(EARLIER / "empty.tidalog", tmp_path / "empty.tidalog")
    with tidalog.open(store) as kb:
        assert read_manifest(store).format == FORMAT
        kb.insert("p", [("a",), (IRI("a"),)])
    with tidalog.open(store) as kb:
        assert set(kb.facts("p").to_terms()) == {(String("a"),), (IRI("a"),)}


@pytest.mark.parametrize("point", ["snapshot begun", "snapshot written", "manifest replaced"])
def test_a_migration_that_is_cut_short_is_done_again(
    store: Path, point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(at: str) -> None:
        if at == point:
            raise RuntimeError(point)

    with monkeypatch.context() as patch:
        patch.setattr(faults, "at", stop)
        with pytest.raises(RuntimeError, match=point):
            tidalog.open(store)
    now = expected(tmp_path, log=store.name.startswith("log"))
    for read_only in (True, False, False):
        with tidalog.open(store, read_only=read_only) as kb:
            assert found(kb) == now
    assert read_manifest(store).snapshots[0].format == FORMAT


def test_an_earlier_version_refuses_the_store_of_today(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tidalog.open(store).close()
    monkeypatch.setattr("tidalog.storage.manifest.FORMAT", FORMAT - 1)
    for read_only in (True, False):
        with pytest.raises(tidalog.StoreError, match=r"T092(.|\n)*format is 2"):
            tidalog.open(store, read_only=read_only)
