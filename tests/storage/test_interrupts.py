"""Ctrl-C, limits and power cuts: what is in memory and what is on disk agree at every point."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from stored import CLOSURE, NO_CIRCLE, check_consistent, edges, reopened, state

import tidalog
from tidalog.api.stored import StoredKnowledgeBase
from tidalog.storage import faults
from tidalog.storage.faults import POINTS


@pytest.fixture(autouse=True)
def no_faults() -> Iterator[None]:
    yield
    faults.at = faults._pass


class Stop:
    """Ctrl-C at a point, once."""

    def __init__(self, point: str, time: int) -> None:
        self.point, self.left = point, time

    def __call__(self, name: str) -> None:
        if name == self.point:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def changed(kb: StoredKnowledgeBase, number: int) -> None:
    match number % 5:
        case 0:
            kb.apply(edges((number, number + 1)))
        case 1:
            kb.insert("edge", [(number, number + 1)])
        case 2:
            kb.log_updates([edges((number, n)) for n in (-1, -2)], source="q", batch=number)
            list(kb.apply_pending())
        case 3:
            list(kb.stream([edges((number, 0)), edges((number, 0), delete=True)], latest_only=True))
        case _:
            kb.snapshot()


@pytest.mark.parametrize("time", [1, 2, 5])
@pytest.mark.parametrize("point", POINTS)
def test_after_ctrl_c_memory_and_disk_agree(point: str, time: int, tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load(CLOSURE)
    faults.at = Stop(point, time)
    with pytest.raises((KeyboardInterrupt, tidalog.RunError)):
        for number in range(30):
            changed(kb, number)
    list(kb.apply_pending())
    kb.apply(edges("xy"))
    held = state(kb)
    check_consistent(kb)
    kb = reopened(kb)
    assert state(kb) == held
    check_consistent(kb)
    kb.close()


@pytest.mark.parametrize("fsync", ["always", "batch"])
def test_what_is_acknowledged_is_there_after_a_power_cut(fsync: str, tmp_path: Path) -> None:
    """What is on disk is taken to be what was there at the last sync."""
    path, disk = tmp_path / "s.tidalog", tmp_path / "disk.tidalog"

    def keep(name: str) -> None:
        if name in ("log synced", "manifest replaced"):
            shutil.rmtree(disk, ignore_errors=True)
            shutil.copytree(path, disk)

    faults.at = keep
    kb = tidalog.open(path, fsync=fsync)  # type: ignore[call-overload]
    kb.load(NO_CIRCLE)
    kb.materialise()

    def check() -> None:
        copied = shutil.copytree(disk, tmp_path / "copy.tidalog")
        with tidalog.open(copied, read_only=True) as cut:
            assert state(cut) == held
            assert len(cut.pending) == len(kb.pending)
        shutil.rmtree(copied)

    for number in range(12):
        kb.apply(edges((number, number + 1)))
        with pytest.raises(tidalog.RunError):
            kb.apply(edges((number + 1, 0)))
        held = state(kb)
        check()
        if number % 4 == 3:
            kb.snapshot()
            check()
    for _ in kb.stream([edges((number, number + 1)) for number in range(20, 30)]):
        held = state(kb)
        if fsync == "always":
            check()
    check()
    kb.log_updates([edges("ab"), edges("bc")], source="q", batch=0)
    check()
    kb.close()


def test_a_stream_that_is_left_keeps_what_was_handed_out_and_nothing_else(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load(CLOSURE)
    for number, _ in enumerate(kb.stream([edges((n, n + 1)) for n in range(10)], look_ahead=3)):
        if number == 3:
            break
    kb = reopened(kb)
    assert kb.count("edge") == 4
    kb.close()


COUNTING = "n(?m) :- n(?k), ?m = ?k + 1, ?k < 100000 ."


def test_an_update_beyond_a_limit_is_refused_for_good(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog", max_facts=100)
    kb.load(COUNTING)
    kb.materialise()
    with pytest.raises(tidalog.RunError, match="T050"):
        kb.insert("n", [(0,)])
    kb.insert("n", [(100000,)])
    kb = reopened(kb)
    assert kb.count("n") == 1
    kb.close()


def test_an_update_that_ended_its_writer_can_be_dropped(tmp_path: Path) -> None:
    """As if the machine's memory had been used up: logged, and neither done nor refused."""
    path = tmp_path / "s.tidalog"
    kb = tidalog.open(path)
    kb.load(COUNTING)
    kb.materialise()
    kb.insert("n", [(100000,)])
    copied = tmp_path / "copy.tidalog"

    def keep(name: str) -> None:
        if name == "applied":
            shutil.copytree(path, copied)

    faults.at = keep
    kb.insert("n", [(0,)])
    kb.close()
    faults.at = faults._pass
    for _ in range(2):
        with pytest.raises(tidalog.StoreError, match="T099") as error:
            tidalog.open(copied, max_facts=100)
        assert "unfinished" in str(error.value)
    with tidalog.open(copied, max_facts=100, unfinished="reject") as kb:
        assert kb.count("n") == 1
    with tidalog.open(copied) as kb:
        assert kb.count("n") == 1


def test_lower_limits_than_the_store_needs_are_named_and_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.tidalog"
    with tidalog.open(path) as kb:
        kb.load(CLOSURE)
        kb.apply(edges("ab", "bc", "cd"))
    with pytest.raises(tidalog.StoreError, match="T099"):
        tidalog.open(path, max_facts=3)
    with tidalog.open(path) as kb:
        assert kb.count("path") == 6


def test_subscribers_may_change_a_store_and_are_told_of_waiting_updates(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load(CLOSURE + "edge(a, b). seen(nothing).")
    kb.materialise()
    received: list[int] = []
    kb.subscribe("path", lambda change: received.append(change.inserted_count))
    kb.subscribe("edge", lambda change: kb.insert("seen", change.inserted.to_terms()[0][:1]))
    kb.apply(edges("bc"))
    kb.log_updates([edges("cd")], source="q", batch=0)
    list(kb.apply_pending())
    assert received == [2, 3]
    held = state(kb)
    assert len(held["seen"][0]) == 3
    kb = reopened(kb)
    assert state(kb) == held
    kb.close()
