"""What marks save that know what windows lose next, without look-ahead: derivations, and CPU time per step.

Also for strategies that leave it out because it saves them nothing.

python -m bench.windows.foresight [--steps 150]
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import tidalog
from tidalog.maintain.strategies import STRATEGIES

PROGRAMS: Final = {
    "closure": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .",
    "joins": "two(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) . three(?x, ?z) :- two(?x, ?y), edge(?y, ?z) .",
    "background": "near(?x, ?z) :- edge(?x, ?y), road(?y, ?z) . far(?x, ?z) :- near(?x, ?y), road(?y, ?z) .",
}
KINDS: Final = (
    *(("ranked", "complete"), ("bf", "complete"), ("dred", "complete"), ("counting", "complete")),
    *(("recompute", "complete"), ("fbf", "paper"), ("fbf", "linked")),
)
"""Strategies and marks."""
_NODES: Final = 400
_ARRIVALS: Final = 300
_ROADS: Final = 3000
_WARM: Final = 30


@dataclass(frozen=True)
class Found:
    derivations: int
    unnamed: int
    """Facts that deletions affected and that no mark had named."""
    milliseconds: float
    """Of a step, the median."""


def run(program: str, strategy: str, marking: str, steps_of_life: int, steps: int, foresees: bool) -> Found:
    """A fact lives for some steps; as many facts come in each that the window has the same size."""
    draw = random.Random(1)
    kb = tidalog.open(strategy=strategy, marking=marking)
    kb.load(f"@window edge :- range {steps_of_life}s . {PROGRAMS[program]}")
    kb.insert("road", [(draw.randrange(_NODES), draw.randrange(_NODES)) for _ in range(_ROADS)])
    derivations = unnamed = 0
    times: list[float] = []
    with _foreseeing(foresees):
        for second in range(1, steps + 1):
            rows = [
                (draw.randrange(_NODES), draw.randrange(_NODES)) for _ in range(_ARRIVALS // steps_of_life)
            ]
            update = tidalog.Update(time=second, insertions={"edge": rows})
            begin = time.process_time()
            counters = kb.apply(update).counters
            if second > _WARM:
                times.append(time.process_time() - begin)
                derivations += counters.derivations
                unnamed += counters.deletions
    kb.close()
    return Found(derivations, unnamed, 1000 * statistics.median(times))


@contextmanager
def _foreseeing(foresees: bool) -> Iterator[None]:
    kinds = {type(strategy): strategy.foresees for strategy in STRATEGIES.values()}
    try:
        for kind in kinds:
            kind.foresees = foresees
        yield
    finally:
        for kind, own in kinds.items():
            kind.foresees = own


def rows(steps: int, lives: Sequence[int] = (1, 3)) -> Iterator[tuple[str, ...]]:
    for program in PROGRAMS:
        for strategy, marking in KINDS:
            for life in lives:
                without, with_marks = (
                    run(program, strategy, marking, life, steps, foresees) for foresees in (False, True)
                )
                yield (
                    *(program, strategy, marking, str(life)),
                    *(f"{without.derivations:,}", f"{with_marks.derivations:,}"),
                    *(f"{without.unnamed:,}", f"{with_marks.unnamed:,}"),
                    *(f"{without.milliseconds:.2f}", f"{with_marks.milliseconds:.2f}"),
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=150)
    steps = max(_WARM + 1, parser.parse_args().steps)
    header = ("program", "strategy", "marks", "steps of life", "derivations", "foreseen", "unnamed deletions")
    print("|", " | ".join((*header, "foreseen", "ms", "foreseen")), "|")
    print("|" + "---|" * 4 + "---:|" * 6)
    for row in rows(steps):
        print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
