"""Windows that a later text declares: over what is there already, in memory as in a store."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tidalog
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.model.errors import ProgramError, StoreError

RULES = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
TEXTS = (
    "@window edge :- range 4s .",
    "@window long :- edge, range 9s step 2s .",
    "@window last :- edge, count 3 .",
    "@window road :- tumbling 5s . @declare road(from: int, to: int) .",
)
NAMES = ("edge", "road", "long", "last", "path")

State = dict[str, set[tuple[object, ...]]]


def state(kb: KnowledgeBase) -> State:
    return {name: set(kb.facts(name).to_rows()) for name in NAMES if name in kb.predicates}


def update(kb: KnowledgeBase, time: int | None, edges: list[tuple[int, int]]) -> None:
    with kb.update(time=time) as u:
        u.insert("edge", edges[:2]).insert("road", edges[1:]).delete("edge", edges[2:])


@pytest.mark.parametrize("seed", range(12))
def test_a_store_with_content_takes_windows_as_memory_does(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    memory, store = tidalog.open(), tidalog.open(tmp_path / "s.tidalog", fsync="off")
    texts, now = draw.sample(TEXTS, len(TEXTS)), 0
    for kb in (memory, store):
        kb.load(RULES)
        kb.insert("edge", [(1, 2), (2, 3)])
    for _ in range(24):
        if texts and draw.random() < 0.3:
            text = texts.pop()
            memory.load(text)
            store.load(text)
        else:
            has_time = bool(memory.program.windows)
            now += draw.choice((0, 1, 1, 3))
            edges = [(draw.randrange(4), draw.randrange(4)) for _ in range(3)]
            for kb in (memory, store):
                update(kb, now if has_time else None, edges)
        if draw.random() < 0.3:
            if draw.random() < 0.5:
                store.snapshot()
            store.close()
            store = tidalog.open(tmp_path / "s.tidalog", fsync="off")
        assert state(store) == state(memory)
        assert (store.now, store.program.windows) == (memory.now, memory.program.windows)
    store.close()


def test_the_text_of_a_window_is_loaded_once(tmp_path: Path) -> None:
    with tidalog.open(tmp_path / "s.tidalog", fsync="off") as kb:
        kb.load(RULES)
        kb.insert("edge", [(1, 2)])
        for text in TEXTS:
            kb.load(text)
    with tidalog.open(tmp_path / "s.tidalog", fsync="off") as kb:
        program, number = kb.program, kb.applied_number
        for text in TEXTS:
            kb.load(text)
        assert (kb.program, kb.applied_number) == (program, number)


@pytest.mark.parametrize(
    "more", ["edge(1, 3) .", "far(?x) :- long(?x, _) .", '@export path :- csv{resource="p"} .']
)
def test_what_brings_more_than_windows_is_another_program(tmp_path: Path, more: str) -> None:
    with tidalog.open(tmp_path / "s.tidalog", fsync="off") as kb:
        kb.load(RULES)
        kb.insert("edge", [(1, 2)])
        with pytest.raises(StoreError, match=r"T096.*(\n.*)*@window and @declare alone"):
            kb.load(TEXTS[1] + more)
        assert not kb.program.windows


def test_a_window_that_does_not_fit_is_refused_and_forgotten(tmp_path: Path) -> None:
    with tidalog.open(tmp_path / "s.tidalog", fsync="off") as kb:
        kb.load(RULES)
        kb.insert("edge", [(1, 2)])
        kb.insert("last", [(7, 8)])
        with pytest.raises(ProgramError, match="T173"):
            kb.load("@window last :- edge, count 3 .")
        before = state(kb)
    with tidalog.open(tmp_path / "s.tidalog", fsync="off") as kb:
        assert (state(kb), kb.program.windows) == (before, ())


def test_before_there_is_time_no_expiry_is_known() -> None:
    kb = tidalog.open()
    kb.load("path(?x, ?y) :- edge(?x, ?y) .")
    kb.insert("edge", [("a", "b")])
    kb.materialise()
    kb.load("@window edge :- range 10s .")
    assert kb.now is None
    assert [row[-1] for row in kb.facts("edge", expiry=True).to_rows()] == [None]
    with kb.update(time=5) as u:
        u.insert("edge", [("b", "c")])
    assert [row[-1].second for row in kb.facts("edge", expiry=True).to_rows()] == [15, 15]
