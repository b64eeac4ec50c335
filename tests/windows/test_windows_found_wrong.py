"""What generated windows (`harder_windows`) have shown to be wrong, shrunk."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import tidalog
from tidalog.analysis import analyse
from tidalog.analysis.edited_program import EditedProgram
from tidalog.lang import parse
from tidalog.maintain.windows.stream_rows import expiries_of
from tidalog.model.errors import UsageError
from tidalog.model.window_times import expiry_of

AT_13 = datetime(1970, 1, 1, 0, 0, 13, tzinfo=UTC)


def test_a_window_that_came_later_stays_when_rules_go() -> None:
    """It was unknown after a rule edit, and its facts were gone."""
    kb = tidalog.open()
    kb.load("@window edge :- range 1s . r: path(?x, ?y) :- edge(?x, ?y) .")
    kb.apply(tidalog.Update(time=5, insertions={"edge": [(6, 3)]}))
    kb.load("@window long :- edge, range 8s .")
    update = tidalog.Update(time=9)
    update.remove_rule("r")
    assert set(kb.apply(update)) == {"edge", "path"}
    assert kb.facts("long", expiry=True).to_rows() == [(6, 3, AT_13)]


@pytest.mark.parametrize("leaving", [("r",), ("s",), ("r", "s")])
def test_an_edited_program_knows_the_predicates_of_windows(leaving: tuple[str, ...]) -> None:
    """The analysis of an edited program is that of the program, also if only a rule has the arity."""
    text = "@window short :- edge, range 1s . @window few :- road, count 2 ."
    program = parse(f"{text} r: path(?x, ?y) :- edge(?x, ?y) . s: path(?x, ?y) :- few(?x, ?y) . edge(1, 2) .")
    edited = EditedProgram(analyse(program))
    edited.change([], leaving)
    assert edited.analysis.predicates == analyse(edited.program).predicates


@pytest.mark.parametrize("windows", ["count 2", "landmark"])
def test_the_expiry_of_a_stream_with_windows_of_other_kinds(windows: str) -> None:
    """It was unknown for all facts as soon as one window goes by count."""
    kb = tidalog.open()
    kb.load(f"@window short :- edge, range 8s . @window other :- edge, {windows} .")
    for number in range(3):
        kb.apply(tidalog.Update(time=5, insertions={"edge": [(number, 0)]}))
    found = {x: at for x, _, at in kb.facts("edge", expiry=True).to_rows()}
    assert found == ({0: AT_13, 1: None, 2: None} if windows == "count 2" else dict.fromkeys(range(3)))


def test_the_expiry_of_a_fact_that_rules_derive_too() -> None:
    """It was that of the window alone, and the fact stayed."""
    kb = tidalog.open(strategy="ranked")
    kb.load("@window edge :- range 8s . edge(?x, ?y) :- fixed(?x, ?y) . fixed(1, 2) .")
    kb.apply(tidalog.Update(time=5, insertions={"edge": [(1, 2), (3, 4)]}))
    assert dict.fromkeys([(1, 2), (3, 4)]) == {
        (x, y): at for x, y, at in kb.facts("edge", expiry=True).to_rows()
    }
    assert kb.facts("edge", True, expiry=True).to_rows() == [(1, 2, AT_13), (3, 4, AT_13)]
    kb.advance(14)
    assert kb.facts("edge").to_rows() == [(1, 2)]


@pytest.mark.parametrize("rule", ["", "path(?x, ?y) :- long(?x, ?y) ."])
def test_a_store_knows_windows_that_no_rule_reads(tmp_path: Path, rule: str) -> None:
    """They were unknown when it was opened again, or whenever facts came after the program."""
    windows = (
        "@window edge :- tumbling 3s . @window short :- edge, range 2s . @window long :- edge, count 2 ."
    )
    with tidalog.open(tmp_path / "store") as kb:
        kb.load(f"{windows} edge(1, 2) . {rule}")
        known = set(kb.predicates)
        assert known >= {"edge", "short", "long"}
    with tidalog.open(tmp_path / "store") as kb:
        assert set(kb.predicates) == known
        assert kb.facts("short").to_rows() == kb.facts("long").to_rows() == [(1, 2)]
    kb = tidalog.open()
    kb.load(f"{windows} {rule}")
    kb.apply(tidalog.Update(time=5, insertions={"edge": [(1, 2)]}))
    assert set(kb.predicates) == known


def test_the_expiry_of_a_fact_that_follows_from_an_aggregate() -> None:
    """It was that of its other facts alone."""
    kb = tidalog.open(strategy="expire")
    kb.load(
        "@window edge :- range 8s . @window old :- edge, range 4s . degree(?x, #count(?y)) :- old(?x, ?y) ."
        "few(?x, ?y) :- edge(?x, ?y), degree(?x, ?n), ?n < 2 . far(?x) :- edge(?x, ?y), edge(?y, _) ."
    )
    kb.apply(tidalog.Update(time=5, insertions={"edge": [(1, 2), (2, 3)]}))
    assert {at for _, _, at in kb.facts("few", expiry=True).to_rows()} == {None}
    assert kb.facts("far", expiry=True).to_rows() == [(1, AT_13)]
    kb.advance(9)
    assert kb.facts("few").to_rows() == []


def test_a_time_beyond_the_calendar_has_a_text() -> None:
    """The message about an update that came after it was a traceback."""
    kb = tidalog.open()
    kb.load("@window edge :- range 10s .")
    kb.advance(1e12)
    with pytest.raises(UsageError, match="time is at 1000000000000"):
        kb.apply(tidalog.Update(time=5, insertions={"edge": [(1, 2)]}))
    kb.apply(tidalog.Update(time=1e12, insertions={"edge": [(1, 2)]}))
    assert kb.facts("edge", expiry=True).to_rows() == [(1, 2, None)]


def test_an_expiry_beyond_all_times_is_never() -> None:
    window = "@window edge :- range 50000000d step 50000000d ."
    kb = tidalog.open()
    kb.load(window)
    kb.apply(tidalog.Update(time=4.6e12, insertions={"edge": [(1, 2)]}))
    assert kb.facts("edge", expiry=True).to_rows() == [(1, 2, None)]
    extremes = [0, 1, -1, 2**62 - 1, -(2**62) + 1, 10**15, -(10**15)]
    for text in (window, "@window edge :- range 7s step 3s .", "@window edge :- tumbling 53375995d ."):
        (one,) = parse(text).windows
        assert expiries_of(one, np.array(extremes)).tolist() == [expiry_of(one, time) for time in extremes]
