"""The task as files, and what must come out of it.

edges.tsv     source and target of every edge
changes.tsv   the edges that are deleted and inserted again, in this order
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

Edge = tuple[int, int]


def chosen(edges: Sequence[Edge], count: int) -> list[Edge]:
    """The edges to change: the first `count` of a sample of 100, so that fewer are a part of more."""
    sample = random.Random(3).sample(list(edges), min(100, len(edges)))
    return sample[:count]


def write_task(folder: Path, edges: Sequence[Edge], changes: Sequence[Edge]) -> None:
    for name, rows in (("edges", edges), ("changes", changes)):
        (folder / f"{name}.tsv").write_text("".join(f"{x}\t{y}\n" for x, y in rows))


def main(run: Callable[[Path, float], dict[str, object]]) -> None:
    """The command line of a runner: FOLDER SECONDS [OUTPUT]."""
    folder, seconds, *output = sys.argv[1:]
    text = json.dumps(run(Path(folder), float(seconds)))
    if output:
        Path(output[0]).write_text(text)
    else:
        print(text)


def read_edges(path: Path) -> list[Edge]:
    return [(int(x), int(y)) for x, y in (line.split("\t") for line in path.read_text().splitlines())]


def closure_sizes(edges: Sequence[Edge], changes: Sequence[Edge]) -> Iterator[int]:
    """The size of the closure without each of the changed edges: from nothing each time, plainly right."""
    for gone in changes:
        yield closure_size(edge for edge in edges if edge != gone)


def closure_size(edges: Iterable[Edge]) -> int:
    """Pairs (x, y) with a path from x to y: what a node reaches is a set of bits that grows to its end."""
    steps = list(edges)
    reached = dict.fromkeys((node for edge in steps for node in edge), 0)
    growing = True
    while growing:
        growing = False
        for source, target in steps:
            more = reached[source] | 1 << target | reached[target]
            if more != reached[source]:
                reached[source] = more
                growing = True
    return sum(bits.bit_count() for bits in reached.values())
