"""Every variant once on little data, so that compiled code is made before a process is timed or limited."""

from __future__ import annotations

from bench.windows import memory, shares, slides
from bench.windows.variants import NAMES, PROGRAMS


def run() -> dict[str, object]:
    for program in PROGRAMS:
        shares.run(program, "trees", 100, [10], NAMES, 1, 1, 600.0)
    for strategy in ("auto", slides.USERS):
        slides.run(strategy, 100, 10, 10, 1, 1)
    memory.run(100, 10, False)
    return {}
