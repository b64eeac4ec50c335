"""Blocks of dead ids and rows give their memory back, and nothing else changes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

import tidalog
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.engine import dead_blocks, expiries, facts, memory
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.fact_kernels import HEADER

RULES = """
@window edge :- range 40s .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
alone(?x) :- node(?x), ~path(?x, _) .
"""
NODES = 2_000
"""Edges move along them and beyond, so that what came early is gone."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not memory.is_reserved(memory.reserve(np.dtype(np.int32), 1 << 16)):
        pytest.skip("memory cannot be given back here")
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(expiries, "_SMALL", 64)
    monkeypatch.setattr(dead_blocks, "IDS", 1 << 11)
    monkeypatch.setattr(dead_blocks, "ROWS", 1 << 11)
    monkeypatch.setattr(dead_blocks, "PENDING", 50)
    yield


def engine_of(kb: KnowledgeBase) -> EmbeddedEngine:
    return kb._database.engine


def rows_come(second: int) -> list[tuple[int, int]]:
    pick = random.Random(second)
    starts = {90 * second + pick.randrange(150) for _ in range(100)}
    return [(x, x + 1) for x in starts]


def check(kb: KnowledgeBase, edges: set[tuple[int, int]]) -> None:
    following = dict(edges)
    paths = set()
    for x in following:
        y = x
        while y in following:
            y = following[y]
            paths.add((x, y))
    assert set(kb.facts("edge").to_rows()) == edges
    assert set(kb.facts("path").to_rows()) == paths
    assert {x for (x,) in kb.facts("alone").to_rows()} == set(range(NODES)) - {x for x, _ in paths}


def counts_are_right(engine: EmbeddedEngine) -> None:
    store = engine.store
    store.dead_blocks._count(store)
    ids = np.flatnonzero(store.arrays.status[: len(store)]).astype(np.int64)
    offsets = store.arrays.offset[ids].astype(np.int64) - HEADER
    assert (store.arrays.arguments[offsets] == ids).all()
    for blocks, living, size in (
        (store.dead_blocks._ids, ids, dead_blocks.IDS),
        (store.dead_blocks._rows, offsets, dead_blocks.ROWS),
    ):
        assert np.bincount(living // size, minlength=len(blocks.living)).tolist() == blocks.living.tolist()


@pytest.mark.parametrize("strategy", ["auto", "ranked", "dred"])
def test_a_window_gives_its_memory_back(strategy: str) -> None:
    kb = tidalog.open(strategy=strategy)
    kb.load(RULES)
    kb.insert("node", [(n,) for n in range(NODES)])
    came: dict[tuple[int, int], int] = {}
    largest = 0
    for second in range(240):
        rows = rows_come(second)
        with kb.update(time=second) as u:
            u.insert("edge", rows)
            if second % 7 == 3 and came:
                gone = [row for row, time in came.items() if time == second - 5 and row not in rows]
                u.delete("edge", gone)
                for row in gone:
                    del came[row]
        came.update(dict.fromkeys(rows, second))
        came = {row: time for row, time in came.items() if time > second - 40}
        if second % 8 == 0:
            check(kb, set(came))
            counts_are_right(engine_of(kb))
        largest = max(largest, engine_of(kb).store.ids_in_memory)
    store = engine_of(kb).store
    assert store.dead_blocks.ids > 0
    assert store.dead_blocks.rows > 0
    assert largest < len(store)
    # What reads every id passes over what is gone: an index that nothing had asked for, and a scan.
    edges = set(came)
    assert kb.query("?x :- edge(?x, 7)").to_rows() == []
    paths = [row for row in kb.facts("path").to_rows() if row[0] < NODES]
    ends = {y for _, y in edges}
    meets = kb.query("?x, ?y, ?z :- edge(?x, ?y), path(?z, ?y), node(?z)")
    assert len(meets) == sum(y in ends for _, y in paths)
    check(kb, edges)


def test_lists_of_expiries_pass_through_what_was_deleted() -> None:
    kb = tidalog.open(strategy="expire")
    kb.load("@window edge :- tumbling 100s . path(?x, ?y) :- edge(?x, ?y) .")
    size = dead_blocks.IDS
    for second in range(12):
        with kb.update(time=second) as u:
            u.insert("edge", [(second, n) for n in range(size)])
    for second in range(4, 10):
        with kb.update(time=20) as u:
            u.delete("edge", [(second, n) for n in range(size)])
    for second in range(20, 90):  # looks at all blocks
        with kb.update(time=second) as u:
            u.insert("edge", [(second, n) for n in range(50)])
        with kb.update(time=second) as u:
            u.delete("edge", [(second, n) for n in range(50)])
    assert len(kb.facts("path")) == 6 * size
    kb.advance(100)
    assert len(kb.facts("path")) == len(kb.facts("edge")) == 0


@pytest.mark.parametrize("rows", [True, False])
def test_compaction_follows(monkeypatch: pytest.MonkeyPatch, *, rows: bool) -> None:
    kb = tidalog.open()
    kb.load(RULES)
    kb.insert("node", [(n,) for n in range(NODES)])
    lengths = []
    for second in range(150):
        if second == 100:
            monkeypatch.setattr(facts, "UNUSED", 0)
            monkeypatch.setattr(facts, "SPARSE", 1)
            if not rows:
                monkeypatch.setattr(facts.FactStore, "has_sparse_rows", False)
        with kb.update(time=second) as u:
            u.insert("edge", rows_come(second))
        lengths.append(len(engine_of(kb).store))
        edges = {row for s in range(max(0, second - 39), second + 1) for row in rows_come(s)}
        if second % 10 == 0 or 98 < second < 104:
            check(kb, edges)
            counts_are_right(engine_of(kb))
    assert lengths[100] < lengths[99] / 2
    check(kb, edges)


def test_a_store_is_saved_without_what_is_gone(tmp_path: object) -> None:
    kb = tidalog.open(f"{tmp_path}/store")
    kb.load(RULES)
    for second in range(120):
        with kb.update(time=second) as u:
            u.insert("edge", rows_come(second))
    assert engine_of(kb).store.dead_blocks.ids > 0
    kb.snapshot()
    kb.close()
    with tidalog.open(f"{tmp_path}/store") as kb:
        with kb.update(time=120) as u:
            u.insert("edge", rows_come(120))
        kb.insert("node", [(n,) for n in range(NODES)])
        check(kb, {row for s in range(81, 121) for row in rows_come(s)})


def test_memory_is_zero_once_it_was_given_back() -> None:
    area = memory.reserve(np.dtype(np.int32), 1 << 16)
    assert area is not None
    table = area.reshape(-1, 4)
    table[:] = 7
    memory.give_back(table, 1, 3000)
    page = 4096 // 16
    assert (table[:page] == 7).all()
    assert not table[page : 3000 // page * page].any()
    assert (table[3000 // page * page :] == 7).all()
    assert not memory.is_reserved(np.zeros(4, np.int32))


def test_ranges_of_ids_that_have_memory() -> None:
    blocks = dead_blocks.DeadBlocks()
    assert list(blocks.in_memory(3, 9)) == [(3, 9)]
    size = dead_blocks.IDS
    blocks._ids.given = np.array([True, False, True, True, False])
    blocks.ids = 3 * size
    assert list(blocks.in_memory(0, 5 * size)) == [(size, 2 * size), (4 * size, 5 * size)]
    assert list(blocks.in_memory(size + 1, 2 * size + 5)) == [(size + 1, 2 * size)]
    assert list(blocks.in_memory(7, 9)) == []
    assert list(blocks.in_memory(4 * size + 2, 9 * size)) == [(4 * size + 2, 9 * size)]
