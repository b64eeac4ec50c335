"""More than 10,000 generated steps over generated windows; see `generated_windows`."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from generated_windows import run, some_rules, some_windows

import tidalog
from tidalog.analysis import analyse
from tidalog.lang import parse
from tidalog.maintain.choose import STRATEGIES
from tidalog.maintain.strategies.expire import _Buffers
from tidalog.model.program import Window

RUNS, SEEDS, STEPS = 25, 10, 40
EVENTS = (
    "update",
    "expired",
    "out of order",
    "too late",
    "explicit deletions",
    "rule changes",
    "time alone",
    "restarts",
)


@pytest.mark.parametrize("number", range(RUNS))
def test_windows_hold_what_the_oracle_says_after_every_step(number: int, tmp_path: Path) -> None:
    shown: Counter[str] = Counter()
    for seed in range(number * SEEDS, (number + 1) * SEEDS):
        stored = seed % 10 == 3
        shown += run(seed, STEPS, tmp_path / f"{seed}" if stored else None)
    assert all(shown[event] for event in EVENTS), shown


def test_there_are_ten_thousand_steps() -> None:
    assert RUNS * SEEDS * STEPS >= 10_000


def test_generated_programs_have_windows_and_rules_of_all_kinds() -> None:
    found: Counter[str] = Counter()
    for seed in range(RUNS * SEEDS):
        draw = random.Random(seed)
        windows = some_windows(draw)
        program = parse("\n".join([*windows.values(), *some_rules(draw, windows).values()]))
        analysis = analyse(program)
        found.update({window.kind for window in program.windows})
        by_source: dict[str, list[Window]] = {}
        for window in program.windows:
            by_source.setdefault(window.source, []).append(window)
        found["several over one stream"] += any(len(each) > 1 for each in by_source.values())
        found["different steps over one stream"] += any(
            len({window.step for window in each if window.kind == "range"}) > 1 for each in by_source.values()
        )
        found["time and count over one stream"] += any(
            len({window.kind == "count" for window in each}) > 1 for each in by_source.values()
        )
        found["negation"] += any(rule.negations for rule in analysis.rules)
        found["aggregates"] += any(rule.aggregates for rule in analysis.rules)
        found["computations"] += any(rule.computations for rule in analysis.rules)
        found["recursion"] += any(component.recursive for component in analysis.components)
        found["a stream that is derived too"] += any(
            head.predicate == "edge" for rule in program.rules for head in rule.heads
        )
    assert len(found) == 12 and min(found.values()) >= 20, found


def test_every_strategy_is_drawn() -> None:
    shown: Counter[str] = Counter()
    for seed in range(60):
        shown += run(seed, 0)
    assert set(STRATEGIES) <= set(shown), shown


def test_a_window_of_many_times_is_filled_at_once() -> None:
    """All times of a stream that is derived too are queued at once: compiled code must have room for them."""
    seconds = 1500
    kb = tidalog.open(strategy="expire")
    kb.load(f"@window edge :- range {seconds}s step 1s . edge(?x, ?y) :- fixed(?x, ?y) .")
    kb.load("path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .")

    def update(time: int) -> tidalog.Update:
        return tidalog.Update(time=time, insertions={"edge": [(2 * time, 2 * time + 1)]})

    list(kb.stream(map(update, range(seconds)), latest_only=True))
    database = kb._open()
    times = len(database.engine.expiries.arrays.when)
    assert times > seconds
    for component in database.maintained().maintainer.components:
        assert component.strategy is not None and component.strategy.keeps_expiries
        assert len(component.workspace.work(_Buffers).arrays.queue) >= times
    for time in range(seconds, seconds + 5):
        kb.apply(update(time))
        held = {(2 * t, 2 * t + 1) for t in range(time - seconds + 1, time + 1)}
        assert set(kb.facts("path").to_rows()) == held
