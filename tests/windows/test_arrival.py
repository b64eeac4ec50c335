"""Times of arrival: the clock moves windows however time began."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidalog
from tidalog.api import changes

PROGRAM = "@window e :- range 10s . p(?x) :- e(?x) ."
SECOND = 1_000_000


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000 * SECOND

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(changes, "_clock", clock)
    return clock


def test_arrivals_have_times_after_an_advance_to_that_of_the_clock(clock: Clock) -> None:
    kb = tidalog.open()
    kb.load(PROGRAM)
    kb.advance()
    for number in range(3):
        with kb.update() as u:
            u.insert("e", [(number,)])
        clock.now += 6 * SECOND
    kb.advance()
    assert kb.facts("p").to_rows() == [(2,)]


def test_an_advance_to_a_time_of_the_data_makes_later_updates_wait_for_data(clock: Clock) -> None:
    kb = tidalog.open()
    kb.load(PROGRAM)
    kb.advance(100)
    with kb.update() as u:
        u.insert("e", [(1,)])
    assert kb.now is not None and kb.now.timestamp() == 100


def test_what_a_store_takes_before_it_derives_anything_has_arrived_too(tmp_path: Path, clock: Clock) -> None:
    for number in range(3):
        with tidalog.open(tmp_path / "store") as kb:
            kb.load(PROGRAM)
            if not number:
                kb.advance()
            kb.insert("e", [(number,)])
        clock.now += 6 * SECOND
    with tidalog.open(tmp_path / "store") as kb:
        assert kb.facts("p").to_rows() == [(1,), (2,)]
        kb.delete("e", [(1,)])
        assert kb.now is not None and kb.now.timestamp() == clock.now / SECOND
        assert kb.facts("p").to_rows() == [(2,)]
