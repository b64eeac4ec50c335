"""Does the cost of an update follow the components that it touches?

`through`: a chain of components, `p1(?x) :- p0(?x)` and so on; one fact passes through all of them.
`beside`: as many components side by side; one fact reaches one of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

from bench.incremental.driver import Kept, as_rows
from tidalog.engine.limits import Limits
from tidalog.maintain.choose import Options
from tidalog.maintain.maintainer import Maintainer

SHAPES = ("through", "beside")
_WITH_LIMITS = Limits(max_facts=10**9, max_memory=10**15)


def program(shape: str, components: int) -> str:
    body = (lambda n: f"p{n - 1}") if shape == "through" else (lambda n: f"e{n}")
    return "\n".join(f"p{n}(?x) :- {body(n)}(?x) ." for n in range(1, components + 1))


def run(sizes: Sequence[int], repeat: int) -> dict[str, object]:
    return {shape: {str(size): _measured(shape, size, repeat) for size in sizes} for shape in SHAPES}


def _measured(shape: str, components: int, repeat: int) -> dict[str, float]:
    """CPU seconds: of a maintainer that is new and its first update, then medians of insertions and deletions
    without limits, and of a pair of both under limits."""
    given = "p0" if shape == "through" else "e1"
    kept = Kept(program(shape, components), {given: as_rows([(0,)])}, Options())
    row = as_rows([(1,)])
    insertion, deletion = kept.update(given, inserted=row), kept.update(given, deleted=row)
    began = time.process_time()
    kept.maintainer = Maintainer(kept.engine, kept.maintainer.program, options=Options())
    construction = time.process_time() - began
    first = kept.timed(insertion)[1] + kept.timed(deletion)[1]
    inserting, deleting, limited = [], [], []
    for _ in range(repeat):
        inserting.append(kept.timed(insertion)[1])
        deleting.append(kept.timed(deletion)[1])
        began = time.process_time()
        kept.maintainer.apply(insertion, limits=_WITH_LIMITS)
        kept.maintainer.apply(deletion, limits=_WITH_LIMITS)
        limited.append(time.process_time() - began)
    return {
        "construction": construction,
        "first_pair": first,
        "insertion": median(inserting),
        "deletion": median(deleting),
        "pair_with_limits": median(limited),
    }
