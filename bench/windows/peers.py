"""Systems with windows of their own on one join, each in a process of its own; every result is checked."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.compare import NOT_INSTALLED
from bench.peers_incremental.contest import WRONG, pathway_python
from bench.process import OK, Limits, watched
from bench.windows.join_task import JoinTask


def _here() -> str:
    return sys.executable


@dataclass(frozen=True)
class Peer:
    key: str
    label: str
    module: str
    interpreter: Callable[[], str | None] = _here
    """The Python that runs it, or None where the peer is not installed."""


OURS = Peer("tidalog", "Tidalog", "bench.windows.join_ours")
PEERS = (
    Peer("pathway", "Pathway", "bench.windows.join_pathway", pathway_python),
    Peer("spark", "Spark", "bench.windows.join_spark"),
)


@dataclass(frozen=True)
class Found:
    """Seconds of each step."""

    system: str
    status: str
    detail: str = ""
    wall: tuple[float, ...] = ()
    cpu: tuple[float, ...] = ()
    matches: int = 0
    record: dict[str, object] = field(default_factory=dict)

    def seconds(self, first: int) -> float:
        """The mean from a step on, by the clock that favours the system."""
        return min(sum(part[first:]) / len(part[first:]) for part in (self.wall, self.cpu))


def joined(peer: Peer, task: JoinTask, right: Sequence[Sequence[int]], limits: Limits) -> Found:
    """A peer on a task whose results are known."""
    python = peer.interpreter()
    if python is None:
        return Found(peer.label, NOT_INSTALLED)
    with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as scratch:
        folder = Path(scratch)
        task.write(folder)
        output = folder / "report.json"
        status, detail = watched([python, "-m", peer.module, scratch, str(output)], limits, folder)
        if status != OK:
            return Found(peer.label, status, detail)
        report = json.loads(output.read_text())
    same = report["results"] == [list(one) for one in right]
    return Found(
        report["system"],
        OK if same else WRONG,
        "" if same else "matches differ from those of a search",
        tuple(report["wall"]),
        tuple(report["cpu"]),
        right[-1][0],
        report,
    )
