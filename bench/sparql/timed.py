"""Queries over the same triples here and in pyoxigraph's store in memory, which has what follows as well.

Timed is the whole call: here from the text to the columns of the result, there until the last row is taken
out.  Each figure is the least of a few.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox

import tidalog
from bench.sparql.campus import RULES, given, write
from bench.sparql.queries import PROLOGUE, QUERIES
from tidalog.lang.sparql import parse_statement

_TIMES = 5
_LONG = 1.0  # seconds after which a query is not asked again


def run(universities: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as scratch:
        folder = Path(scratch)
        files = given(universities)
        kb, store = tidalog.open(), ox.Store()
        kb.load(RULES)
        for file in files or [write(universities, folder / "campus.nt")]:
            kb.insert("triple", file)
        kb.apply(tidalog.Update())  # so that everything is derived, and ready for updates
        store.bulk_load(path=str(kb.export("triple", folder / "all.nt")), format=ox.RdfFormat.N_TRIPLES)
    gc.collect()
    gc.disable()
    found = {name: _figures(kb, store, PROLOGUE + text) for name, text in QUERIES.items()}
    return {"triples": len(store), "is LUBM": files is not None, "queries": found}


def _figures(kb: tidalog.KnowledgeBase, store: ox.Store, text: str) -> dict[str, float]:
    first = _least(lambda: kb.sparql(text).to_arrow(), 1)
    answers = len(kb.sparql(text))
    assert answers == sum(1 for _ in store.query(text)), text
    return {
        "answers": answers,
        "read": _least(lambda: parse_statement(text), _TIMES),
        "first": first,
        "again": _least(lambda: kb.sparql(text).to_arrow(), _TIMES),
        "rows": _least(lambda: kb.sparql(text).to_rows(), _TIMES),
        "theirs": _least(lambda: sum(1 for _ in store.query(text)), _TIMES),
    }


def _least(call: Callable[[], object], times: int) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
        if found[-1] > _LONG:
            break
    return min(found)
