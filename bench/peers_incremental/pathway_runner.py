"""Pathway: the closure as `pw.iterate`, fed by a connector that waits for each result before its next change.

    python -m bench.peers_incremental.pathway_runner FOLDER SECONDS [OUTPUT]

The time of an update is from its commit to the moment when Pathway says that all results of that commit are
out.  What is asked of it is the number of paths alone, so that no result has to cross into Python.  Changes
end with the task or after SECONDS.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pathway as pw

from bench.peers_incremental.task import Edge, main, read_edges


class _Edges(pw.Schema):  # type: ignore[misc]
    x: int = pw.column_definition(primary_key=True)
    y: int = pw.column_definition(primary_key=True)


class _Counts:
    """Numbers of edges and of paths; `current` is set once they are those of the last commit."""

    def __init__(self) -> None:
        self.current = threading.Event()
        self.now: dict[str, int] = {}

    def change(self, key: pw.Pointer, row: dict[str, object], time: int, is_addition: bool) -> None:
        if is_addition:
            self.now[str(row["kind"])] = int(str(row["count"]))

    def end(self, time: int) -> None:
        self.current.set()

    def wait(self) -> int:
        self.current.wait()
        self.current.clear()
        return self.now.get("path", 0)


@dataclass(frozen=True)
class _Result:
    """What one commit led to."""

    facts: int
    wall: float
    cpu: float


def _clocks() -> tuple[float, float]:
    """Wall and CPU time; the latter is that of all threads."""
    return time.perf_counter(), time.process_time()


class _Source(pw.io.python.ConnectorSubject):  # type: ignore[misc]
    """All edges in one commit, then the changes, a commit each."""

    def __init__(self, edges: list[Edge], changes: list[Edge], seconds: float, counts: _Counts) -> None:
        super().__init__()
        self._edges = edges
        self._changes = changes
        self._seconds = seconds
        self._counts = counts
        self.report: dict[str, object] = {}

    def run(self) -> None:
        begun = _clocks()
        for x, y in self._edges:
            self.next(x=x, y=y)
        start = self._commit(begun)
        deleted: list[_Result] = []
        inserted: list[_Result] = []
        first = time.perf_counter()
        for x, y in self._changes:
            if time.perf_counter() - first > self._seconds:
                break
            begun = _clocks()
            self.delete(x=x, y=y)
            deleted.append(self._commit(begun))
            begun = _clocks()
            self.next(x=x, y=y)
            inserted.append(self._commit(begun))
        self.report = {
            "facts": start.facts,
            "materialise_seconds": start.wall,
            "materialise_cpu_seconds": start.cpu,
            "facts_after_delete": [result.facts for result in deleted],
            "delete_seconds": [result.wall for result in deleted],
            "delete_cpu_seconds": [result.cpu for result in deleted],
            "facts_after_insert": [result.facts for result in inserted],
            "insert_seconds": [result.wall for result in inserted],
            "insert_cpu_seconds": [result.cpu for result in inserted],
        }

    def _commit(self, begun: tuple[float, float]) -> _Result:
        self.commit()
        facts = self._counts.wait()
        wall, cpu = _clocks()
        return _Result(facts, wall - begun[0], cpu - begun[1])

    @property
    def _deletions_enabled(self) -> bool:
        return True


def _longer(path: pw.Table, edge: pw.Table) -> dict[str, pw.Table]:
    """One round: every edge is a path, and so is a path followed by an edge."""
    further = path.join(edge, path.y == edge.x).select(x=path.x, y=edge.y)
    every = edge.select(edge.x, edge.y).concat_reindex(further)
    return {"path": every.groupby(every.x, every.y).reduce(every.x, every.y), "edge": edge}


def _counted(edge: pw.Table) -> pw.Table:
    """The edges are counted too: a commit that leaves the paths as they are has a result to wait for."""
    start = edge.groupby(edge.x, edge.y).reduce(edge.x, edge.y)
    path = pw.iterate(_longer, path=pw.iterate_universe(start), edge=edge).path
    return path.reduce(kind="path", count=pw.reducers.count()).concat_reindex(
        edge.reduce(kind="edge", count=pw.reducers.count())
    )


def run(folder: Path, seconds: float) -> dict[str, object]:
    counts = _Counts()
    source = _Source(read_edges(folder / "edges.tsv"), read_edges(folder / "changes.tsv"), seconds, counts)
    edge = pw.io.python.read(source, schema=_Edges, autocommit_duration_ms=None)
    pw.io.subscribe(_counted(edge), on_change=counts.change, on_time_end=counts.end)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return {"system": f"Pathway {metadata.version('pathway')}", **source.report}


if __name__ == "__main__":
    main(run)
