"""The peers on one task, each in its own process, with every count checked."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bench.compare import NOT_INSTALLED
from bench.peers_incremental.task import Edge, closure_size, closure_sizes, write_task
from bench.process import OK, Limits, watched

_PATHWAY_HOME = Path(__file__).resolve().parent / ".venv"
_PATHWAY = "pathway>=0.33,<1"
WRONG = "wrong"


@dataclass(frozen=True)
class Figures:
    """What a runner prints, with a status; wall seconds unless they are called CPU seconds.  Tuples have one
    entry for each change that was made in time."""

    system: str
    status: str
    detail: str = ""
    facts: int = 0
    materialise_seconds: float = 0.0
    materialise_cpu_seconds: float = 0.0
    facts_after_delete: tuple[int, ...] = ()
    delete_seconds: tuple[float, ...] = ()
    delete_cpu_seconds: tuple[float, ...] = ()
    facts_after_insert: tuple[int, ...] = ()
    insert_seconds: tuple[float, ...] = ()
    insert_cpu_seconds: tuple[float, ...] = ()


@dataclass(frozen=True)
class Peer:
    key: str
    label: str
    module: str
    interpreter: Callable[[], str | None]
    """The Python that runs it, or None where the peer is not installed."""


def pathway_python() -> str | None:
    if find_spec("pathway") is not None:
        return sys.executable
    own = _PATHWAY_HOME / "bin" / "python"
    return str(own) if (_PATHWAY_HOME / ".installed").exists() else None


def install_pathway() -> None:
    """Into an environment of its own, from the package index that pip is set to."""
    subprocess.run([sys.executable, "-m", "venv", str(_PATHWAY_HOME)], check=True)
    python = str(_PATHWAY_HOME / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", _PATHWAY], check=True)
    (_PATHWAY_HOME / ".installed").touch()


def _swi_python() -> str | None:
    return sys.executable if shutil.which("swipl") else None


PEERS = (
    Peer("pathway", "Pathway", "bench.peers_incremental.pathway_runner", pathway_python),
    Peer("swi", "SWI-Prolog", "bench.peers_incremental.swi_runner", _swi_python),
)


def contest(
    peers: Sequence[Peer], edges: Sequence[Edge], changes: Sequence[Edge], seconds: float, limits: Limits
) -> list[Figures]:
    """Run the peers one after the other; `seconds` is for the changes, `limits` for all of a run."""
    found = [_measured(peer, edges, changes, seconds, limits) for peer in peers]
    longest = max((len(figures.facts_after_delete) for figures in found), default=0)
    whole, without = closure_size(edges), list(closure_sizes(edges, changes[:longest]))
    return [_checked(figures, whole, without) for figures in found]


def _measured(
    peer: Peer, edges: Sequence[Edge], changes: Sequence[Edge], seconds: float, limits: Limits
) -> Figures:
    python = peer.interpreter()
    if python is None:
        return Figures(peer.label, NOT_INSTALLED)
    with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as scratch:
        folder = Path(scratch)
        write_task(folder, edges, changes)
        output = folder / "report.json"
        command = [python, "-m", peer.module, str(folder), str(seconds), str(output)]
        status, detail = watched(command, limits, folder)
        if status != OK:
            return Figures(peer.label, status, detail)
        report = json.loads(output.read_text())
    lists = {name: tuple(value) for name, value in report.items() if isinstance(value, list)}
    return Figures(**{**report, **lists, "status": OK})


def _checked(figures: Figures, whole: int, without: Sequence[int]) -> Figures:
    if figures.status != OK:
        return figures
    made = len(figures.facts_after_delete)
    right = (
        figures.facts == whole
        and list(figures.facts_after_delete) == list(without[:made])
        and all(count == whole for count in figures.facts_after_insert)
    )
    if right:
        return figures
    return Figures(**{**vars(figures), "status": WRONG, "detail": "counts differ from those of a search"})
