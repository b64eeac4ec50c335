"""The measured process: one job, its request as JSON, its figures written as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from bench.incremental import (
    blinking,
    closure,
    components,
    considered,
    counting,
    equilibrium,
    locality,
    marking,
    point_queries,
    rule_edits,
    rules,
    sustained,
    warm,
)
from bench.lubm import figures as lubm
from bench.sparql import timed as sparql
from bench.windows import memory, queries, shares, slides
from bench.windows import warm as warm_windows

JOBS: dict[str, Callable[..., object]] = {
    "warm": warm.run,
    "tables": marking.tables,
    "short-lived": marking.short_lived,
    "warm-rules": rules.warm,
    "rule-edits": rule_edits.run,
    "point-queries": point_queries.run,
    "sparql": sparql.run,
    "chains": rules.chains,
    "symmetric-transitive": rules.symmetric_transitive,
    "turbines": rules.more_turbines,
    "pairs": closure.pairs,
    "endurance": closure.endurance,
    "locality": locality.run,
    "sustained": sustained.run,
    "equilibrium": equilibrium.run,
    "considered": considered.run,
    "components": components.run,
    "counting": counting.run,
    "blinking": blinking.run,
    "lubm": lubm.run,
    "warm-windows": warm_windows.run,
    "window-shares": shares.run,
    "window-slides": slides.run,
    "window-memory": memory.run,
    "window-queries": queries.run,
}


def main(job: str, request: str, output: str) -> None:
    Path(output).write_text(json.dumps(JOBS[job](**json.loads(request))))


if __name__ == "__main__":
    main(*sys.argv[1:])
