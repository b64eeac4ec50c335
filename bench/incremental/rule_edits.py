"""Does the cost of a rule edit follow the edit, and that of analysis the number of rules?

Programs of one shape and growing size, with a fact or two, so that what is timed is not the facts; a fact in
the cycle would be one in each of its predicates.  Timed are
`kb.load`, `analyse`, `kb.rules.add` and `kb.rules.remove` of one rule, each from the text to the delta, and
updates that insert the first and the second fact of a predicate.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import tidalog
from tidalog.analysis import analyse
from tidalog.lang import parse

_PREFIX = "@prefix ex: <http://example.org/> .\n"


@dataclass(frozen=True)
class Shape:
    """`rule(n)` is the n-th rule of the program, `added(n)` the rule that is added to n of them."""

    rule: Callable[[int, int], str]
    added: Callable[[int], str]
    facts: str
    head: str = ""


SHAPES = {
    "chain": Shape(
        lambda i, n: f"p{i + 1}(?x) :- p{i}(?x) .",
        lambda n: f"new: z(?x) :- p{n - 1}(?x) .",
        "p0(a) .",
    ),
    "star": Shape(
        lambda i, n: f"q{i}(?x) :- hub(?x), e{i}(?x) .",
        lambda n: f"new: z(?x) :- hub(?x), e{n - 1}(?x) .",
        "hub(a) . e5(a) .",
    ),
    "independent": Shape(
        lambda i, n: f"h{i}(?x, ?z) :- a{i}(?x, ?y), b{i}(?y, ?z) .",
        lambda n: f"new: z(?x, ?z) :- a{n - 1}(?x, ?y), b{n - 1}(?y, ?z) .",
        "a1(a, b) . b1(b, c) .",
    ),
    "triples": Shape(
        lambda i, n: f"ex:q{i}(?x, ?y) :- ex:p{i}(?x, ?y), ex:r(?y, ?x) .",
        lambda n: f"new: ex:q{n - 1}(?x, ?x) :- ex:p{n - 1}(?x, ?y) .",
        "ex:p1(ex:a, ex:b) . triple(ex:b, ex:r, ex:a) .",
        _PREFIX,
    ),
    "one head": Shape(
        lambda i, n: f"hub(?x) :- e{i}(?x) .",
        lambda n: "new: hub(?x) :- z(?x) .",
        "e1(a) .",
    ),
    "one loop": Shape(
        lambda i, n: f"hub(?x) :- hub(?y), e{i}(?y, ?x) ." if i else "hub(?x) :- start(?x) .",
        lambda n: "new: hub(?x) :- hub(?y), z(?y, ?x) .",
        "start(a) . e1(a, b) .",
    ),
    "one cycle": Shape(
        lambda i, n: f"p{(i + 1) % n}(?x) :- p{i}(?x) .",
        lambda n: f"new: p0(?x) :- p{n // 2}(?x) .",
        "start(a) .",
    ),
}


def program(shape: Shape, size: int) -> str:
    rules = (shape.rule(number, size) for number in range(size))
    return f"{shape.head}{shape.facts}\n" + "\n".join(rules)


def run(shapes: Sequence[str], sizes: Sequence[int], repeat: int) -> dict[str, object]:
    """CPU seconds by shape and size: of analysis, of the first two edits, and the least of later ones."""
    _measured(SHAPES["chain"], 8, 1)  # compiled code is loaded before anything is timed
    return {name: {str(size): _measured(SHAPES[name], size, repeat) for size in sizes} for name in shapes}


def _measured(shape: Shape, size: int, repeat: int) -> dict[str, float]:
    text = program(shape, size)
    parsed = parse(text)
    analysis = min(_seconds(lambda: analyse(parsed)) for _ in range(repeat))
    kb = tidalog.open()
    load = _seconds(lambda: kb.load(text))
    kb.materialise()
    kb.apply(tidalog.Update(insertions={"warm": [("a",)]}))
    facts = [_seconds(partial(kb.apply, tidalog.Update(insertions={"fresh": [(row,)]}))) for row in "ab"]
    added = shape.added(size)
    first = _seconds(lambda: kb.rules.add(added)) + _seconds(lambda: kb.rules.remove("new"))
    adding, removing = [], []
    for _ in range(max(3, repeat)):
        adding.append(_seconds(lambda: kb.rules.add(added)))
        removing.append(_seconds(lambda: kb.rules.remove("new")))
    return {
        "load": load,
        "first fact": facts[0],
        "second fact": facts[1],
        "analysis": analysis,
        "first": first,
        "add": min(adding),
        "remove": min(removing),
    }


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    import sys

    wanted = [int(size) for size in sys.argv[1].split(",")] if len(sys.argv) > 1 else [500, 1000, 2000]
    for shape_name, by_size in run(sys.argv[2:] or list(SHAPES), wanted, 3).items():
        for number, found in by_size.items():  # type: ignore[attr-defined]
            figures = "  ".join(f"{key} {1e3 * value:9.1f} ms" for key, value in found.items())
            print(f"{shape_name:12} {number:>6}  {figures}", flush=True)
