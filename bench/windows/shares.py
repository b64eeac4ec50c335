"""Time of a step over the share of the window that changes in it, by variant; results are compared."""

from __future__ import annotations

import gc
from collections.abc import Sequence

from bench.windows.streams import SHAPES
from bench.windows.variants import PROGRAMS, BareKernel, Slid, TooSlow, Variant, started

_WARM = 2
"""Steps before the first that is timed."""


def run(
    program: str,
    shape: str,
    window: int,
    steps: Sequence[int],
    variants: Sequence[str],
    blocks: int,
    each: int,
    cap: float,
) -> dict[str, object]:
    """`steps`: rows that come in a step.  Variants take turns, a block of `each` steps at a time; one whose
    steps have taken more than `cap` seconds in all is not stepped again."""
    rules = PROGRAMS[program]
    found: dict[str, object] = {}
    for size in steps:
        stream = SHAPES[shape](window, size)
        first = stream.seconds + _WARM
        last = first + blocks * each
        judge = BareKernel(stream)
        judge.step(first)
        figures: dict[str, dict[str, object]] = {}
        running: dict[str, Variant] = {}
        for name in variants:
            figures[name] = {"seconds": [], "maintaining": [], "status": "", "chosen": {}, "wrong": []}
            try:
                running[name] = started(name, rules, stream, cap, last)
                for number in range(stream.seconds, first):
                    running[name].step(number)
            except TooSlow:
                running.pop(name, None)
                figures[name]["status"] = f"> {cap:g} s"
        spent = dict.fromkeys(variants, 0.0)
        facts = 0
        for block in range(blocks):
            begin = first + block * each
            judge.step(begin + each - 1)
            right = judge.codes()
            facts = len(right)
            for name in list(running):
                try:
                    seconds, maintaining = _block(running[name], begin, each, figures[name])
                except TooSlow:
                    del running[name]
                    figures[name]["status"] = f"> {cap:g} s"
                    continue
                figures[name]["seconds"].append(seconds)  # type: ignore[attr-defined]
                figures[name]["maintaining"].append(maintaining)  # type: ignore[attr-defined]
                codes = running[name].codes()
                if len(codes) != len(right) or (codes != right).any():
                    figures[name]["wrong"].append(begin + each - 1)  # type: ignore[attr-defined]
                spent[name] += seconds * each
                if spent[name] > cap:
                    del running[name]
        found[str(size)] = {"facts": facts, "rows": stream.window, "variants": figures}
    return {"program": program, "shape": shape, "window": window, "steps": found}


def _block(variant: Variant, begin: int, each: int, figures: dict[str, object]) -> tuple[float, float]:
    """CPU seconds of a step in the mean, and those of the maintainer alone."""
    gc.collect()
    seconds = maintaining = 0.0
    for number in range(begin, begin + each):
        seconds += variant.step(number)
        if isinstance(variant, Slid):
            maintaining += variant.maintaining
            chosen = figures["chosen"]
            for name in variant.outcome.chosen.values():
                chosen[name] = chosen.get(name, 0) + 1  # type: ignore[attr-defined,index]
    return seconds / each, maintaining / each
