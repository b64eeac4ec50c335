"""One join over two windows, for systems with windows of their own.

Rows (x, y) of `left` and (y, z) of `right` come once a second, `rows` of each.  Two rows match if they have
y in common and are in windows of `seconds` at the same time: if less than that lies between them.  Every x
and every z comes once, so a match is found once.  What a system says after each step is how many matches
there have been and the sum of their codes, x times 2²⁰ plus z.

Numpy and the standard library alone: a peer has an environment of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
HALF = 20
"""Bits of z in a code: few enough that 64 bits hold the sum of all codes."""
_KEYS = 10
"""Values of y for each row of a step: a row matches about one of each ten steps."""


@dataclass(frozen=True)
class JoinTask:
    rows: int
    seconds: int
    steps: int

    def entering(self, number: int) -> tuple[Integers, Integers]:
        """The rows of both sides in a step."""
        draw = np.random.default_rng(number)
        own = np.arange(number * self.rows, (number + 1) * self.rows, dtype=np.int64)
        left, right = draw.integers(0, _KEYS * self.rows, (2, self.rows), dtype=np.int64)
        return np.stack([own, left], axis=1), np.stack([right, own], axis=1)

    def write(self, folder: Path) -> None:
        (folder / "task.json").write_text(json.dumps(asdict(self)))


def read_task(folder: Path) -> JoinTask:
    return JoinTask(**json.loads((folder / "task.json").read_text()))


def matches(left: Integers, right: Integers) -> Integers:
    """The codes of all pairs with y in common."""
    order = np.argsort(right[:, 0], kind="stable")
    keys = right[order, 0]
    first, last = (np.searchsorted(keys, left[:, 1], side) for side in ("left", "right"))
    counts = last - first
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    found = order[np.repeat(first, counts) + offsets]
    codes: Integers = (np.repeat(left[:, 0], counts) << HALF) + right[found, 1]
    return codes


def expected(task: JoinTask) -> list[list[int]]:
    """Matches up to each step and the sum of their codes, by another way than any window."""
    found, count, total = [], 0, 0
    sides = [task.entering(number) for number in range(task.steps)]
    for number, (left, right) in enumerate(sides):
        earlier = sides[max(0, number - task.seconds + 1) : number]
        new = [matches(left, right)]
        new += [matches(left, other) for _, other in earlier] + [
            matches(other, right) for other, _ in earlier
        ]
        count += sum(map(len, new))
        total += sum(int(codes.sum()) for codes in new)
        found.append([count, total])
    return found


def main(run: Callable[[JoinTask, Path], dict[str, object]]) -> None:
    """The command line of a runner: FOLDER OUTPUT."""
    folder, output = map(Path, sys.argv[1:])
    output.write_text(json.dumps(run(read_task(folder), folder)))
