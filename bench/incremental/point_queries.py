"""Does a query with a constant cost what its answers cost, however many facts there are?

`edge` has four facts for each node, `linked` is derived from it.  Each query is asked once, which builds its
index and its plan, and then with another constant each time.  Timed is `kb.query`, from the text to the
result with its rows; `with updates`: after each query an update, which is not timed, inserts one fact and
deletes another.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
import pyarrow as pa

import tidalog

PROGRAM = "linked(?x, ?y) :- edge(?x, ?y), ?x != ?y ."
QUERIES = {
    "constant": "linked($a, ?x)",
    "constant in the second column": "linked(?x, $a)",
    "fact": "edge($a, $a)",
    "join": "?y :- linked($a, ?x), linked(?x, ?y)",
    "negation": "?y :- linked($a, ?x), linked(?x, ?y), ~edge(?y, $a)",
    "aggregate": "#count(?x) :- linked($a, ?x)",
    "computation": "?z :- linked($a, ?x), ?z = ?x * 2 + 1",
    "function of text": "?z :- linked($a, ?x), ?z = UCASE(STR(?x))",
}
_ASKED = 101


def run(sizes: Sequence[int]) -> dict[str, dict[str, dict[str, float]]]:
    """Query → facts → seconds, by how it is asked."""
    figures: dict[str, dict[str, dict[str, float]]] = {name: {} for name in QUERIES}
    for size in sizes:
        kb = tidalog.open()
        kb.load(PROGRAM)
        numbers = np.arange(size)
        kb.insert("edge", pa.table({"a": numbers // 4, "b": numbers * 7 % size}))
        kb.apply(tidalog.Update())  # so that everything is derived, and ready for updates
        for name, text in QUERIES.items():
            figures[name][str(size)] = _timed(kb, text, size)
    return figures


def _timed(kb: tidalog.KnowledgeBase, text: str, size: int) -> dict[str, float]:
    nodes = size // 4

    def ask(n: int) -> None:
        kb.query(text, a=n * 7919 % nodes).to_rows()

    def change(n: int) -> None:
        new, old = (n * 7919 % nodes, size + n), (n * 31 % nodes, n * 31 % nodes * 28 % size)
        kb.apply(tidalog.Update(insertions={"edge": [new]}, deletions={"edge": [old]}))

    cold = _seconds(lambda: ask(0))
    gc.collect()
    warm = [_seconds(lambda n=n: ask(n)) for n in range(1, _ASKED)]
    mixed = []
    for n in range(1, _ASKED):
        mixed.append(_seconds(lambda n=n: ask(n)))
        change(n)
    return {"cold": cold, "warm": median(warm), "with updates": median(mixed)}


def _seconds(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
