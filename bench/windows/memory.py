"""Bytes of a fact in a window, beside the same facts without one; a job of its own for each."""

from __future__ import annotations

import gc

from bench.measure import resident_bytes
from bench.windows.streams import trees_beside
from bench.windows.variants import PROGRAMS, Slid


def run(window: int, step: int, windowed: bool) -> dict[str, object]:
    """The content of a window after some slides, or the same facts inserted and deleted by plain updates."""
    stream = trees_beside(window, step, 0)
    gc.collect()
    before = resident_bytes()
    slid = Slid(PROGRAMS["closure"], stream, "auto", windowed=windowed)
    number = slid.fill()
    for _ in range(3):
        slid.step(number)
        number += 1
    gc.collect()
    database = slid.database
    return {
        "facts": int(database.engine.store.live),
        "engine_bytes": int(database.engine.nbytes),
        "resident_bytes": resident_bytes() - before,
    }
