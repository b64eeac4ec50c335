"""Peers that delete incrementally: the counts that judge them, and what becomes of a run."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import pytest
from bench.compare import NOT_INSTALLED
from bench.peers_incremental import contest as module
from bench.peers_incremental.contest import PEERS, WRONG, Figures, Peer, contest
from bench.peers_incremental.task import (
    Edge,
    chosen,
    closure_size,
    closure_sizes,
    read_edges,
    write_task,
)
from bench.process import ERROR, OK, Limits

LIMITS = Limits(60.0)
EDGES = sorted({(random.Random(n).randrange(12), random.Random(-n).randrange(12)) for n in range(30)})


def paths(edges: list[Edge]) -> set[Edge]:
    found = set(edges)
    while more := {(x, z) for x, y in found for w, z in edges if w == y} - found:
        found |= more
    return found


def test_the_size_of_a_closure_is_that_of_joining_until_nothing_is_new() -> None:
    assert closure_size(EDGES) == len(paths(EDGES))
    without = [len(paths([edge for edge in EDGES if edge != gone])) for gone in EDGES]
    assert list(closure_sizes(EDGES, EDGES)) == without
    assert closure_size([]) == 0


def test_fewer_changes_are_the_first_of_more() -> None:
    edges = [(n, n + 1) for n in range(500)]
    assert chosen(edges, 100) == random.Random(3).sample(edges, 100)
    assert chosen(edges, 7) == chosen(edges, 100)[:7]


def test_a_task_survives_being_written(tmp_path: Path) -> None:
    write_task(tmp_path, EDGES, EDGES[:2])
    assert read_edges(tmp_path / "edges.tsv") == EDGES
    assert read_edges(tmp_path / "changes.tsv") == EDGES[:2]


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.key)
def test_a_peer_counts_right_after_every_change(peer: Peer) -> None:
    if peer.interpreter() is None:
        pytest.skip(f"{peer.label} is not installed")
    (figures,) = contest([peer], EDGES, EDGES[:3], 30.0, LIMITS)
    assert (figures.status, figures.detail) == (OK, "")
    assert len(figures.delete_seconds) == len(figures.insert_seconds) == 3
    assert figures.facts == len(paths(EDGES))


def test_a_peer_that_is_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    (figures,) = contest([PEERS[1]], EDGES, EDGES[:1], 1.0, LIMITS)
    assert figures == Figures("SWI-Prolog", NOT_INSTALLED)


def test_a_run_that_fails_is_a_result() -> None:
    broken = Peer("broken", "Broken", "bench.peers_incremental.no_such_module", lambda: sys.executable)
    (figures,) = contest([broken], EDGES, EDGES[:1], 1.0, LIMITS)
    assert figures.status == ERROR
    assert "no_such_module" in figures.detail


@pytest.mark.parametrize("wrong", ["facts", "facts_after_delete", "facts_after_insert"])
def test_a_wrong_count_is_seen(wrong: str) -> None:
    right = {"facts": 9, "facts_after_delete": (8, 7), "facts_after_insert": (9, 9)}
    assert module._checked(Figures("X", OK, **right), 9, [8, 7, 6]).status == OK  # type: ignore[arg-type]
    other = {**right, wrong: 5 if wrong == "facts" else (8, 5)}
    assert module._checked(Figures("X", OK, **other), 9, [8, 7, 6]).status == WRONG  # type: ignore[arg-type]
