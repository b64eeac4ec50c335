"""Windows with what is rare, held against the oracle after every step; see `harder_windows`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from harder_windows import run

RUNS, SEEDS, STEPS = 5, 16, 25
EVENTS = (
    "expired",
    "out of order",
    "too late",
    "refreshes",
    "added windows",
    "rule changes",
    "time alone",
    "restarts",
    "expiries",
    "derived expiries",
)


@pytest.mark.parametrize("number", range(RUNS))
def test_rare_windows_hold_what_the_oracle_says(number: int, tmp_path: Path) -> None:
    shown: Counter[str] = Counter()
    for seed in range(number * SEEDS, (number + 1) * SEEDS):
        shown += run(seed, STEPS, tmp_path / f"{seed}" if seed % 5 == 3 else None)
    assert all(shown[event] for event in EVENTS), shown
