"""Stores beside the same work in memory: `python -m bench.storage [--facts N] [--rows N] [--folder PATH]`, or
the suite `storage` of `python -m bench`.

Opening         a closure of short chains with about N facts, from a snapshot, compared with deriving it
The log         batches of update rows with texts for terms: to ids, to the log, through the engine
The policies    updates of one row each, one by one and as a stream, under each policy of `fsync`
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console

import tidalog
from bench.report import Section, print_section
from tidalog.api.stored import StoredKnowledgeBase
from tidalog.model.update import EncodedUpdate

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
CHAIN = 8
"""Edges of a chain; with what follows from them it has 44 facts."""
BATCHES = 5
SINGLE = 1000
"""Updates of one row each."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.storage", description="Stores beside memory.")
    parser.add_argument("--facts", type=int, default=10_000_000, help="facts of the store that is opened")
    parser.add_argument("--rows", type=int, default=100_000, help="update rows of a batch")
    parser.add_argument("--folder", type=Path, help="where stores go; a disk to be measured")
    asked = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        for section in sections(Path(folder), asked.facts, asked.rows):
            print_section(console, section)


def sections(folder: Path, facts: int, rows: int, updates: int = SINGLE) -> Iterator[Section]:
    """All tables, one after the other; stores are made in a folder."""
    yield opening(folder, facts)
    yield logging(folder, rows)
    yield policies(folder, updates)


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


# --- opening ------------------------------------------------------------------------------------------------


def opening(folder: Path, facts: int) -> Section:
    path = folder / "opening.tidalog"
    chains = max(1, facts // (CHAIN + CHAIN * (CHAIN + 1) // 2))
    start = (np.arange(chains)[:, None] * (CHAIN + 1) + np.arange(CHAIN)[None, :]).ravel()
    edges = pa.table({"a": pa.array(start), "b": pa.array(start + 1)})
    kb = tidalog.open(path)
    kb.load(RULES)
    insert = timed(lambda: kb.insert("edge", edges))
    derive = timed(kb.materialise)
    held = kb.stats().facts
    write = timed(kb.snapshot)
    kb.close()
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    seconds = []
    for _ in range(3):
        opened: list[StoredKnowledgeBase] = []
        seconds.append(timed(lambda opened=opened: opened.append(tidalog.open(path))))
        kb = opened[0]
        assert kb.stats().facts == held
        first = timed(lambda kb=kb: kb.apply(tidalog.Update(insertions={"edge": [(-2, -1)]})))
        second = timed(lambda kb=kb: kb.apply(tidalog.Update(deletions={"edge": [(-2, -1)]})))
        kb.snapshot()
        kb.close()
    shutil.rmtree(path)
    title = f"A store of {held:,} facts, {size / 1e6:,.0f} MB"
    table = Section(title, ("", "seconds", "of deriving"), text_columns=1)
    for name, value in (
        ("facts into an empty store", insert),
        ("deriving everything", derive),
        ("writing a snapshot", write),
        ("opening", statistics.median(seconds)),
        ("the first update after it", first),
        ("the second update", second),
    ):
        table.add(name, f"{value:.4f}", f"{value / derive:.2f}")
        table.records.append({"what": name, "facts": held, "seconds": value})
    return table


# --- the log ------------------------------------------------------------------------------------------------


def batches(rows: int) -> Iterator[pa.Table]:
    """Chains of three edges with names for nodes."""
    for number in range(BATCHES):
        numbers = np.arange(rows // 3 * 4) + number * rows * 4
        numbers = numbers[numbers % 4 != 3]
        yield pa.table({"a": [f"node{n}" for n in numbers], "b": [f"node{n + 1}" for n in numbers]})


def logging(folder: Path, rows: int) -> Section:
    columns = ("", "to ids", "to the log", "engine", "log / engine", "MB")
    table = Section(f"Batches of {rows:,} rows", columns, text_columns=1)
    for fsync in ("always", "batch", "off"):
        path = folder / f"log-{fsync}.tidalog"
        kb = tidalog.open(path, fsync=fsync)  # type: ignore[arg-type]
        kb.load(RULES)
        kb.materialise()
        times = [_batch(kb, number, batch) for number, batch in enumerate(batches(rows))]
        size = sum(file.stat().st_size for file in path.glob("*.wal")) / BATCHES / 1e6
        kb.close()
        ids, log, engine = (statistics.median(column) for column in zip(*times, strict=True))
        shown = [f"{value * 1000:.1f} ms" for value in (ids, log, engine)]
        table.add(f"fsync={fsync}", *shown, f"{log / engine:.2f}", f"{size:.1f}")
        table.records.append({"fsync": fsync, "rows": rows, "ids": ids, "log": log, "engine": engine})
    return table


def _batch(kb: StoredKnowledgeBase, number: int, batch: pa.Table) -> tuple[float, float, float]:
    update = tidalog.Update(insertions={"edge": batch})
    prepared: list[EncodedUpdate] = []
    return (
        timed(lambda: prepared.append(kb._prepared(update))),
        timed(lambda: kb.log_updates(prepared, source="bench", batch=number)),
        timed(lambda: list(kb.apply_pending())),
    )


def policies(folder: Path, updates: int) -> Section:
    columns = ("", "one by one", "as a stream", "against memory")
    table = Section(f"{updates:,} updates of one row", columns, text_columns=1)
    usual = 0.0
    for fsync in ("", "off", "batch", "always"):
        path = folder / f"single-{fsync}.tidalog"
        kb = tidalog.open(path, fsync=fsync) if fsync else tidalog.open()  # type: ignore[call-overload]
        kb.load(RULES)
        kb.materialise()
        one, other = ([_single(n) for n in range(begin, begin + updates)] for begin in (0, updates))
        kb.apply(_single(-1))
        alone = timed(lambda kb=kb, one=one: [kb.apply(update) for update in one]) / updates
        stream = timed(lambda kb=kb, other=other: list(kb.stream(other))) / updates
        kb.close()
        usual = usual or stream
        name = f"fsync={fsync}" if fsync else "in memory"
        table.records.append({"fsync": fsync, "one_by_one": alone, "stream": stream})
        table.add(name, f"{alone * 1e3:.3f} ms", f"{stream * 1e3:.3f} ms", f"{stream / usual:.2f}")
    return table


def _single(number: int) -> tidalog.Update:
    return tidalog.Update(insertions={"edge": [(2 * number, 2 * number + 1)]})


if __name__ == "__main__":
    main()
