"""What the benchmark's data costs: materialisation and memory, deletions, rules that come and go."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import tidalog
from bench.lubm import generator, programs
from bench.measure import peak_bytes, resident_bytes

_NAMED_ONCE = (
    "ub:Interested(?x) :- ub:researchInterest(?x, _)",
    "ub:Reachable(?x) :- ub:telephone(?x, _)",
    "ub:Quiet(?x) :- ub:Chair(?x), ub:motto(?x, _)",
)
"""Rules each of which alone names a class or property."""


def run(universities: int, program: str, repeat: int, updates: int, edits: bool) -> dict[str, object]:
    """The figures of one size and program, "compiled" or "generic"; updates and edits are of the last of
    several knowledge bases."""
    with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as folder:
        path = Path(folder) / "data.nt"
        triples = generator.write_ntriples(path, universities)
        kb, base = tidalog.open(), resident_bytes()
        seconds: list[float] = []
        loading: list[float] = []
        for _ in range(repeat):
            kb = tidalog.open()
            kb.load(programs.compiled() if program == "compiled" else programs.generic())
            if program == "generic":
                kb.insert("triple", str(programs.ONTOLOGY))
            loading.append(_seconds(partial(kb.insert, "triple", str(path))))
            loaded = resident_bytes() - base
            seconds.append(_seconds(kb.materialise))
        stats = kb.stats()
        found: dict[str, object] = {
            "triples": triples,
            "loading": min(loading),
            "bytes_loaded": loaded,
            "peak_bytes": peak_bytes(),
            "materialise": min(seconds),
            "facts": stats.facts,
            "derivations": stats.derivations,
            "bytes": stats.bytes,
        }
        if updates:
            found["updates"] = _updates(kb, Path(folder), universities, updates)
    if edits:
        found["edits"] = _edits(kb)
    return found


def _updates(kb: tidalog.KnowledgeBase, folder: Path, universities: int, size: int) -> dict[str, list[float]]:
    """Deletions of random triples, each followed by their insertion, which makes the next one alike."""
    found: dict[str, list[float]] = {"delete": [], "insert": []}
    drawn = _random_triples(universities, size)
    for number, rows in enumerate(drawn):
        for kind, sign in (("delete", "-"), ("insert", "+")):
            path = folder / f"{number}-{kind}.upd"
            path.write_text("".join(f"{sign}triple({', '.join(row)}).\n" for row in rows) + "commit.\n")
            (update,) = kb.read_updates(path)
            found[kind].append(_seconds(partial(kb.apply, update)))
    return {kind: sorted(times[5:]) for kind, times in found.items()}  # plans are compiled in the first ones


def _random_triples(universities: int, size: int, draws: int = 30) -> list[list[Sequence[str]]]:
    random = np.random.default_rng(1)
    chosen = set(random.integers(universities, size=min(universities, 20)).tolist())
    tables = [t for n, t in enumerate(generator.triples(universities)) if n in chosen]
    found: list[list[Sequence[str]]] = []
    for _ in range(draws):
        rows: list[Sequence[str]] = []
        for _ in range(size):
            table = tables[random.integers(len(tables))]
            at = int(random.integers(len(table)))
            rows.append([str(column[at].as_py()) for column in table.columns])
        found.append(rows)
    return found


def _edits(kb: tidalog.KnowledgeBase) -> list[dict[str, object]]:
    """Each axiom removed and added again, the better of two times; and rules that name something first, added
    and removed."""
    found: list[dict[str, object]] = []
    for name, rule in list(kb.rules.items()):
        times = [(_removed(kb, name), _added(kb, str(rule))) for _ in range(2)]
        remove, add = (min(some) for some in zip(*times, strict=True))
        found.append({"rule": str(rule), "remove": remove, "add": add})
    for text in _NAMED_ONCE:
        added = _added(kb, f"named: {text}")
        found.append({"rule": text, "add": added, "remove": _removed(kb, "named")})
    return found


def _added(kb: tidalog.KnowledgeBase, text: str) -> float:
    return _seconds(lambda: kb.rules.add(text))


def _removed(kb: tidalog.KnowledgeBase, name: str) -> float:
    return _seconds(lambda: kb.rules.remove(name))


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
