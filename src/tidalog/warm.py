"""Compiles everything once, so that no run pays for it: `python -m tidalog.warm`."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from tidalog.analysis import Analysis, analyse
from tidalog.engine.compact import close_up, repack
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.embedded import EmbeddedEngine
from tidalog.engine.grouping import number_by_term
from tidalog.engine.native import cache_folder
from tidalog.lang import parse
from tidalog.maintain.maintainer import Maintainer, UpdateIds
from tidalog.maintain.materialise import materialise
from tidalog.maintain.strategy import MARKINGS, STRATEGIES, Options
from tidalog.maintain.transaction import Batch
from tidalog.terms import IRI


def warm() -> float:
    """Calls every kernel with the types that runs use; the seconds it took."""
    start = time.perf_counter()
    analysis = analyse(parse(_PROGRAM))
    engine = EmbeddedEngine()
    _warm_dictionary(engine.dictionary)
    for fact in analysis.facts:
        ids = engine.dictionary.ids_of(fact.arguments)
        engine.insert(fact.predicate, [ids[i : i + 1] for i in range(len(ids))], 1)
    materialise(engine, analysis)
    engine.columns("path")
    _warm_updates(engine, analysis)
    for more in (10_000, 200_000, 400_000):  # to a larger table, to one in reserved memory, and in place
        engine.store.ensure(more, 2)
    number_by_term(*(np.zeros(1, np.int32) for _ in range(4)))
    engine.back_to(engine.mark())
    return time.perf_counter() - start


def _warm_updates(engine: EmbeddedEngine, analysis: Analysis) -> None:
    """An edge comes and goes under every strategy and kind of marks, with the next update in sight."""
    maintainer = Maintainer(engine, analysis)
    edge = engine.dictionary.ids_of([IRI("b"), IRI("a")])
    batch = Batch("edge", [edge[:1], edge[1:]], 1)
    come, go = UpdateIds(insertions=(batch,)), UpdateIds(deletions=(batch,))
    for strategy in STRATEGIES:
        for marking in MARKINGS:
            maintainer.use(Options(strategy, marking))
            maintainer.apply(come, [go])
            maintainer.apply(go, [come])
    close_up(engine.store, engine.indexes)
    repack(engine.store)


_PROGRAM = """
edge(a, b). edge(b, c). size(a, 1). size(b, 2.5). flag. wide(a, b, c).
path(?x, ?y) :- edge(?x, ?y).
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z), ?x != ?z.
degree(?x, #count(?y)) :- edge(?x, ?y).
total(#sum(?n)) :- size(?x, ?n).
next(?x, ?m) :- size(?x, ?n), ?m = ?n + 1, ~path(?x, c), flag.
"""


def _warm_dictionary(dictionary: Dictionary) -> None:
    texts = pa.array(["a", "<http://a.b/c>", "1", "2.5", "x y", "_:b", '"q"', "true", "é"])
    for reading in ("any", "string", "iri"):
        dictionary.decode(dictionary.encode(texts, reading))
    dictionary.decode(dictionary.encode(pa.array(np.arange(3)), "native"))
    dictionary.decode(dictionary.encode(pa.array(np.arange(3) * 0.5), "native"))
    dictionary.decode(dictionary.encode(pa.array([True, False]), "native"))


if __name__ == "__main__":
    seconds = warm()
    print(f"compiled code is ready ({seconds:.1f} s) in {cache_folder()}")
