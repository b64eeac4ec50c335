"""Compiles everything once, so that no run pays for it: `python -m tidalog.warm`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidalog.analysis import Analysis, analyse
from tidalog.builtins import NO_FUNCTIONS
from tidalog.engine.compaction import close_up, repack
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.group_aggregates import number_by_term
from tidalog.engine.jit import cache_folder
from tidalog.engine.limits import Limits
from tidalog.lang import parse
from tidalog.maintain import choose
from tidalog.maintain.counters import Counters
from tidalog.maintain.maintainer import Maintainer
from tidalog.maintain.materialise import materialise
from tidalog.maintain.runner import Runner
from tidalog.maintain.strategies import STRATEGIES, ComponentUpdate
from tidalog.maintain.transaction import Transaction
from tidalog.model.facts import Facts
from tidalog.model.terms import IRI
from tidalog.model.update import EncodedUpdate
from tidalog.storage.records import changes_of, changes_packed, unpacked
from tidalog.storage.snapshot import Snapshot, fill_table_of, image_of, write_snapshot

_DELETIONS = "deletions"
_NONE = np.empty(0, np.int32)


def warm() -> float:
    """Calls every kernel with the types that runs use; the seconds it took."""
    start = time.perf_counter()
    beside = subprocess.Popen([sys.executable, "-m", "tidalog.warm", _DELETIONS])
    analysis, engine = _loaded()
    materialise(engine, analysis)
    engine.columns("path")
    if code := beside.wait():
        sys.exit(f"the kernels of deletion were not compiled: their process ended with {code}, see above")
    _warm_dictionary(engine.dictionary)
    _warm_updates(engine, analysis)
    for more in (10_000, 200_000, 400_000):  # to a larger table, to one in reserved memory, and in place
        engine.store.ensure(more, 2)
    number_by_term(*(np.zeros(1, np.int32) for _ in range(4)))
    engine.back_to(engine.mark())
    return time.perf_counter() - start


def _loaded() -> tuple[Analysis, EmbeddedEngine]:
    analysis = analyse(parse(_PROGRAM))
    engine = EmbeddedEngine()
    for fact in analysis.facts:
        ids = engine.dictionary.ids_of(fact.arguments)
        engine.insert(fact.predicate, [ids[i : i + 1] for i in range(len(ids))], 1)
    return analysis, engine


def warm_deletions() -> None:
    """Calls the kernels of deletion, of loading and of storage alone, which share little with the rest: they
    compile beside it."""
    analysis, engine = _loaded()
    _warm_dictionary(engine.dictionary)
    _warm_storage(engine)
    maintainer = Maintainer(engine, analysis)
    component = next(one for one in maintainer.components if "path" in one.predicates)
    edge = engine.dictionary.ids_of([IRI("a"), IRI("b")])
    for strategy in ("ranked", "bf"):
        txn = Transaction(engine)
        txn.ask([Facts("edge", [edge[:1], edge[1:]], 1)], ())
        for number, ids in txn.to_delete.items():
            txn.delete(number, ids)
        runner = Runner(engine, Limits(), None, counting=False)
        marks = maintainer.marks
        work = ComponentUpdate(component, txn, runner, Counters(), marks, _NONE, "ours", NO_FUNCTIONS)
        STRATEGIES[strategy].delete(work)
        txn.undo()
        component.forget_plans()  # they name indexes that are gone


def _warm_updates(engine: EmbeddedEngine, analysis: Analysis) -> None:
    """An edge comes and goes under every strategy and kind of marks, with the next update in sight."""
    maintainer = Maintainer(engine, analysis)
    edge = engine.dictionary.ids_of([IRI("b"), IRI("a")])
    batch = Facts("edge", [edge[:1], edge[1:]], 1)
    come, go = EncodedUpdate(insertions=(batch,)), EncodedUpdate(deletions=(batch,))
    for strategy in choose.STRATEGIES:
        for marking in choose.MARKINGS:
            maintainer.use(choose.Options(strategy, marking))
            maintainer.apply(come, [go])
            maintainer.apply(go, [come])
    close_up(engine.store, engine.indexes, engine.counts)
    repack(engine.store)


def _warm_storage(engine: EmbeddedEngine) -> None:
    """Facts and terms go out to a snapshot and to a log, and come back."""
    edge = engine.dictionary.ids_of([IRI("b"), IRI("a")])
    change = EncodedUpdate(insertions=[Facts("edge", [edge[:1], edge[1:]], 1)])
    header = {"kind": "updates", "number": 1}
    record = unpacked(memoryview(b"".join(changes_packed(header, [change], engine.dictionary))))
    changes_of(record, engine.dictionary)
    with tempfile.TemporaryDirectory() as folder:
        image = image_of(engine, {}, derived=True)
        filled = EmbeddedEngine()
        Snapshot(Path(folder), write_snapshot(Path(folder), image, 1, "", 0)).fill(filled)
        fill_table_of(filled)


_PROGRAM = """
edge(a, b). edge(b, c). size(a, 1). size(b, 2.5). flag. wide(a, b, c).
path(?x, ?y) :- edge(?x, ?y).
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z), ?x != ?z.
degree(?x, #count(?y)) :- edge(?x, ?y).
begun(?x) :- edge(?x, ?y).
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
    if sys.argv[1:] == [_DELETIONS]:
        warm_deletions()
        sys.exit()
    seconds = warm()
    print(f"compiled code is ready ({seconds:.1f} s) in {cache_folder()}")
