"""A change that violates a constraint or a limit is refused whole, whatever its kind and its size."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ruled import digest, state

import tidalog
from tidalog.api.database import Database
from tidalog.api.load import Load

PROGRAM = """
once: :- owner(?x, ?a), owner(?x, ?b), ?a != ?b .
owned(?x) :- owner(?x, ?a) .
owner(car, ann) . old(boat) .
"""
MANY = [(f"thing {n}", "ann") for n in range(1_000)]
Change = Callable[[tidalog.KnowledgeBase], object]
REFUSED: dict[str, Change] = {
    "a few facts": lambda kb: kb.insert("owner", [("bike", "ann"), ("car", "bob")]),
    "many facts": lambda kb: kb.insert("owner", [*MANY, ("car", "bob")]),
    "facts of a text": lambda kb: kb.load("owner(bike, ann) . owner(car, bob) ."),
    "many facts of a text": lambda kb: kb.load(
        "".join(f'owner("{x}", {a}) .\n' for x, a in [*MANY, ("car", "bob")])
    ),
    "rules of a text": lambda kb: kb.load("owner(?x, bob) :- owned(?x) . owner(bike, ann) ."),
    "a constraint of a text": lambda kb: kb.load("none: :- owned(?x) . owner(bike, ann) ."),
    "a rule": lambda kb: kb.rules.add("owner(?x, bob) :- owned(?x)"),
    "a constraint": lambda kb: kb.rules.add(":- owned(?x)"),
    "an update": lambda kb: kb.apply(tidalog.Update(insertions={"owner": [("car", "bob")]})),
}


def opened(where: Path | None) -> tidalog.KnowledgeBase:
    return tidalog.open() if where is None else tidalog.open(where)


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "stored"])
@pytest.mark.parametrize("change", REFUSED)
def test_nothing_of_a_refused_change_stays(change: str, stored: bool, tmp_path: Path) -> None:
    where = tmp_path / "s.tidalog" if stored else None
    kb = opened(where)
    kb.load(PROGRAM)
    kb._open().maintained()
    before, facts = digest(kb), state(kb)
    with pytest.raises(tidalog.RunError, match="T055"):
        REFUSED[change](kb)
    assert digest(kb) == before
    if stored:
        kb.close()
        kb = opened(where)
        assert state(kb) == facts
    assert kb.insert("owner", [("bike", "ann")]) == 1
    assert kb.count("owned") == 2


def test_what_was_derived_stays_when_many_facts_are_refused() -> None:
    kb = tidalog.open()
    kb.load(PROGRAM)
    run = kb.materialise()
    with pytest.raises(tidalog.RunError, match="T055"):
        kb.insert("owner", [*MANY, ("car", "bob")])
    assert kb.materialise() is run


@pytest.mark.parametrize("change", ["insert", "load"])
def test_facts_beyond_a_limit_are_refused(change: str) -> None:
    kb = tidalog.open(max_facts=500)
    kb.load("n(0) . seen(?x) :- n(?x) .")
    with pytest.raises(tidalog.RunError, match="T050"):
        if change == "insert":
            kb.insert("n", [(n,) for n in range(300)])
        else:
            kb.load("".join(f"n({n}) ." for n in range(300)))
    assert kb.facts("n").to_rows() == [(0,)]
    assert kb.insert("n", [(n,) for n in range(200)]) == 199


def test_what_strict_refuses_does_not_come_in() -> None:
    kb = tidalog.open(strict=True)
    kb.load("half(?h) :- n(?n), ?h = 1 / ?n . n(2) .")
    with pytest.raises(tidalog.RunError, match="T054"):
        kb.insert("n", [(0,)])
    assert kb.facts("half").to_rows() == [(0.5,)]


def test_a_deletion_may_violate_a_constraint() -> None:
    kb = tidalog.open()
    kb.load("all: :- part(?x), ~whole(?x) . part(a) . whole(a) .")
    kb._open()._outdate()  # as after opening a store
    with pytest.raises(tidalog.RunError, match="T055"):
        kb.delete("whole", [("a",)])
    assert kb.count("whole") == 1


def test_loads_in_a_row_are_maintained() -> None:
    kb = tidalog.open()
    kb.load(PROGRAM)
    run = kb.materialise()
    kb.load("owner(bike, bob) .")
    kb.load("by(?a, ?x) :- owner(?x, ?a) .")
    assert kb.materialise() is run
    assert sorted(kb.facts("by").to_rows()) == [("ann", "car"), ("bob", "bike")]


def test_without_constraints_and_limits_nothing_is_derived_by_a_load() -> None:
    kb = tidalog.open()
    kb.load("owned(?x) :- owner(?x, ?a) . owner(car, ann) .")
    kb.insert("owner", MANY)
    assert kb._open().run is None


class TestAsOne:
    def test_constraints_are_checked_at_the_end(self) -> None:
        kb = tidalog.open()
        kb.load("all: :- part(?x), ~whole(?x) .")
        with kb.as_one():
            assert kb.insert("part", [("a",)]) == 1
            kb.insert("whole", [("a",)])
        assert kb.count("part") == 1

    @pytest.mark.parametrize("stored", [False, True], ids=["in memory", "stored"])
    def test_a_block_that_is_refused_leaves_nothing(self, stored: bool, tmp_path: Path) -> None:
        where = tmp_path / "s.tidalog" if stored else None
        kb = opened(where)
        kb.load(PROGRAM)
        before, facts, rules = digest(kb), state(kb), dict(kb.rules)
        with pytest.raises(tidalog.RunError, match="T055"), kb.as_one():
            kb.insert("owner", [("bike", "ann")])
            kb.rules.add("by: by(?a, ?x) :- owner(?x, ?a)")
            kb.rules.remove("once")
            kb.delete("old", [("boat",)])
            kb.load("never: :- by(?x, ?y) .") if not stored else kb.rules.add("never: :- by(?x, ?y)")
        assert digest(kb) == before
        if stored:
            kb.close()
            kb = opened(where)
        assert (state(kb), dict(kb.rules)) == (facts, rules)
        kb.rules.remove("once")
        assert "once" not in kb.rules

    @pytest.mark.parametrize("read_only", [False, True])
    def test_a_block_that_had_not_ended_when_the_writer_ended_is_dropped(
        self, read_only: bool, tmp_path: Path
    ) -> None:
        kb = tidalog.open(tmp_path / "s")
        kb.load(PROGRAM)
        before = state(kb)
        with kb.as_one():
            kb.insert("owner", [("bike", "ann")])
            kb.rules.remove("once")
            shutil.copytree(tmp_path / "s", tmp_path / "during")  # what a crash would leave
        after = state(kb)
        shutil.copytree(tmp_path / "s", tmp_path / "after")
        kb.close()
        for name, expected, rules in (("during", before, 2), ("after", after, 1)):
            for _ in range(2):
                with tidalog.open(tmp_path / name, read_only=read_only) as found:
                    assert state(found) == expected
                    assert len(found.rules) == rules

    def test_an_exception_ends_the_block_without_a_change(self) -> None:
        kb = tidalog.open()
        kb.load(PROGRAM)
        before = digest(kb)
        with pytest.raises(ZeroDivisionError), kb.as_one():
            kb.insert("owner", [("bike", "ann")])
            raise ZeroDivisionError
        assert digest(kb) == before

    def test_a_block_without_changes_derives_nothing_again(self) -> None:
        kb = tidalog.open()
        kb.load(PROGRAM)
        run = kb.materialise()
        with kb.as_one():
            assert kb.count("owned") == 1
        assert kb.materialise() is run

    def test_subscribers_hear_of_the_whole_block(self) -> None:
        kb = tidalog.open()
        kb.load(PROGRAM)
        heard: list[tuple[set[object], set[object]]] = []
        kb.subscribe("owned", lambda change: heard.append((set(change.inserted), set(change.deleted))))
        with kb.as_one():
            kb.insert("owner", [("bike", "ann"), ("boat", "ann")])
            kb.delete("owner", [("boat", "ann"), ("car", "ann")])
        assert heard == [({("bike",)}, {("car",)})]

    def test_a_refused_edit_and_an_exception_leave_the_rules_as_they_were(self) -> None:
        kb = tidalog.open()
        kb.load(PROGRAM)
        before = digest(kb)
        with pytest.raises(ZeroDivisionError), kb.as_one():
            kb.rules.add("by(?a, ?x) :- owner(?x, ?a)")
            with pytest.raises(tidalog.ProgramError, match="T020"):
                kb.rules.add("own(?x) :- owned(?x), ~own(?x)")
            raise ZeroDivisionError
        assert digest(kb) == before
        kb.rules.add("by(?a) :- owner(?x, ?a)")
        assert kb.facts("by").to_rows() == [("ann",)]

    @pytest.mark.parametrize("stored", [False, True], ids=["in memory", "stored"])
    def test_a_block_within_a_block_fails_by_itself(self, stored: bool, tmp_path: Path) -> None:
        where = tmp_path / "s.tidalog" if stored else None
        kb = opened(where)
        kb.load("whole: :- part(?x), ~whole(?x) . part(a) . whole(a) .")
        with kb.as_one():
            kb.insert("part", [("b",)])
            with pytest.raises(ZeroDivisionError), kb.as_one():
                kb.insert("part", [("c",)])
                kb.rules.remove("whole")
                kb.rules.add("whole(?x) :- part(?x)")
                raise ZeroDivisionError
            with kb.as_one():
                kb.insert("part", [("d",)])  # it is checked with the block around it
            assert list(kb.rules) == ["whole"]
            kb.insert("whole", [("b",), ("d",)])
        if stored:
            kb.close()
            kb = opened(where)
        assert list(kb.rules) == ["whole"]
        assert sorted(kb.facts("part").to_rows()) == [("a",), ("b",), ("d",)]

    @pytest.mark.parametrize("what", ["snapshot", "batch", "pending", "close"])
    def test_what_cannot_be_undone_is_refused_within_a_block(self, what: str, tmp_path: Path) -> None:
        update = tidalog.Update(insertions={"old": [("raft",)]})
        calls: dict[str, Callable[[tidalog.StoredKnowledgeBase], object]] = {
            "snapshot": lambda kb: kb.snapshot(),
            "batch": lambda kb: kb.log_updates([update], source="s", batch=1),
            "pending": lambda kb: list(kb.apply_pending()),
            "close": lambda kb: kb.close(),
        }
        with tidalog.open(tmp_path / "s") as kb:
            kb.load(PROGRAM)
            before = state(kb)
            with pytest.raises(tidalog.UsageError, match="T076"), kb.as_one():
                kb.insert("owner", [("bike", "ann")])
                calls[what](kb)
            assert state(kb) == before
        with tidalog.open(tmp_path / "s") as kb:
            assert state(kb) == before


def test_a_store_of_an_earlier_version_that_violates_a_constraint_can_lose_the_constraint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier, tidalog.open(tmp_path / "s.tidalog") as kb:
        kb.load(PROGRAM)
        earlier.setattr(Database, "is_checked", False)
        earlier.setattr(Load, "is_checked", False)
        kb._open()._outdate()
        kb.insert("owner", [("car", "bob")])
    with tidalog.open(tmp_path / "s.tidalog") as kb:
        with pytest.raises(tidalog.RunError, match="T055"):
            kb.count("owned")
        with pytest.raises(tidalog.RunError, match="T055"):
            kb.insert("owner", [("bike", "ann")])
        kb.rules.remove("once")
        assert kb.count("owner") == 2
