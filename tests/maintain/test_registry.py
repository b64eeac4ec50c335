"""Strategies and marks are found by their registries: what drives maintenance names none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from maintained import Maintained, Options, check_scenario, scenario, updates_of

import tidalog.maintain
from tidalog.engine.bits import EXPLICIT
from tidalog.lang import parse
from tidalog.maintain import choose, registry
from tidalog.maintain import default_strategy as by_rules
from tidalog.maintain.marks import MARKS
from tidalog.maintain.seminaive import SemiNaive
from tidalog.maintain.strategies import STRATEGIES, ComponentUpdate, Strategy

DRIVERS = ("maintainer.py", "transaction.py", "component.py", "worklist.py", "insertion.py")
STATE_OF_ONE = ("expires_with", "expiries", "ExpiryStore", "lifetimes")
"""What strategies keep in the engine and in components."""


@pytest.mark.parametrize("file", DRIVERS)
def test_the_driver_names_no_strategy_and_no_kind_of_marks(file: str) -> None:
    text = Path(tidalog.maintain.__file__).with_name(file).read_text()
    classes = [type(one).__name__ for one in STRATEGIES.values()]
    classes += [one.__name__ for one in MARKS.values() if one.name != "none"]
    quoted = [f'"{name}"' for name in (*STRATEGIES, *MARKS)]
    found = [name for name in (*classes, *quoted) if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    assert not found


@pytest.mark.parametrize("file", [file for file in DRIVERS if file != "component.py"])
def test_the_driver_does_not_look_at_what_one_strategy_keeps(file: str) -> None:
    text = Path(tidalog.maintain.__file__).with_name(file).read_text()
    assert not [name for name in STATE_OF_ONE if re.search(rf"\b{name}\b", text)]


def test_the_registry_has_the_names_of_the_classes() -> None:
    assert [one.name for one in STRATEGIES.values()] == [entry.name for entry in registry.STRATEGIES]
    assert [one.name for one in MARKS.values()] == [entry.name for entry in registry.MARKS]
    named = {one.substitute for one in STRATEGIES.values()}
    named |= {by_rules.DEFAULT, by_rules.BY_TIME, by_rules.AGGREGATE, by_rules.START_OVER}
    assert named <= STRATEGIES.keys()
    assert {
        mark for one in STRATEGIES.values() for pair in one.own_marks.items() for mark in pair
    } <= MARKS.keys()


def test_options_are_what_is_registered() -> None:
    assert choose.STRATEGIES == ("auto", "ranked", "expire", "counting", "bf", "fbf", "dred", "recompute")
    assert choose.MARKINGS == ("auto", "none", "paper", "linked", "complete")


class Naive(Strategy):
    """Deletes every implicit fact of a component that has lost a proof, and derives it from scratch."""

    name: ClassVar[str] = "naive"

    def delete(self, work: ComponentUpdate) -> None:
        store = work.txn.engine.store
        for number in work.component.numbers:
            work.txn.delete(number, np.ascontiguousarray(store.ids(number, 0, int(EXPLICIT), 0)))

    def insert(self, work: ComponentUpdate) -> None:
        work.insert_explicit()
        work.marks.recomputed()
        SemiNaive(work.txn.engine, work.runner, work.functions, in_update=True).run_stage(
            work.component.stage
        )
        work.marks.derived_unseen(work.begin)


@pytest.fixture
def naive() -> Iterator[None]:
    STRATEGIES[Naive.name] = Naive()
    yield
    del STRATEGIES[Naive.name]


@pytest.mark.usefixtures("naive")
@pytest.mark.parametrize("marking", choose.MARKINGS)
def test_a_strategy_is_one_class_and_one_line(marking: str) -> None:
    given = scenario(
        """
        edge(1, 2). edge(2, 3). edge(3, 1). edge(3, 4).
        path(?x, ?y) :- edge(?x, ?y).
        path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).
        loose(?x) :- edge(?x, ?y), ~path(?x, ?x).
        degree(?x, #count(?y)) :- path(?x, ?y).
        """,
        """
        - edge(3, 1).
        commit.
        + edge(4, 1). - edge(1, 2).
        commit.
        + edge(1, 2). + path(9, 9).
        commit.
        - path(9, 9). - edge(2, 3).
        """,
    )
    check_scenario(given, [Options(Naive.name, marking)])


CHAIN = "p0(1). " + " ".join(f"p{n + 1}(?x) :- p{n}(?x)." for n in range(20))


def test_an_update_visits_the_components_that_it_reaches() -> None:
    kept = Maintained(parse(CHAIN + " q(?x) :- e(?x). r(?x) :- q(?x), p3(?x)."))
    insert, delete = updates_of("+ e(2). commit. - p0(1).")
    assert list(kept.apply(insert).chosen) == ["q", "r"]
    assert [one.name for one in kept.apply(delete).touched][:4] == ["p1", "p2", "p3", "p4"]
    (again,) = updates_of("+ p7(1).")
    assert [one.name for one in kept.apply(again).touched] == [f"p{n}" for n in range(7, 21)]
