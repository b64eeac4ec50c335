"""One run in a process of its own, watched from outside.

The child is ended when it takes longer or grows larger than allowed; both are results, not failures of
the benchmark, and the table shows them as such.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.digest import Content
from bench.measure import Phase
from bench.systems import System

ROOT = Path(__file__).resolve().parent.parent
_LOOK_EVERY_SECONDS = 0.05

OK = "ok"
TIMEOUT = "timeout"
MEMORY = "out of memory"
ERROR = "error"


@dataclass(frozen=True)
class Limits:
    seconds: float = 120.0
    bytes: int = 12 * 2**30


@dataclass(frozen=True)
class Run:
    """What came of one run; all but `status` and `detail` is meaningful only if `status` is OK."""

    status: str
    threads: int
    detail: str = ""
    phases: Mapping[str, Phase] = field(default_factory=dict)
    contents: Mapping[str, Content] = field(default_factory=dict)
    notes: Mapping[str, float] = field(default_factory=dict)
    base_bytes: int = 0
    peak_bytes: int = 0
    final_bytes: int = 0

    def phase(self, name: str) -> Phase:
        return self.phases.get(name, Phase())


def run_job(system: System, folder: Path, threads: int, limits: Limits) -> Run:
    """Run a staged job once."""
    with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as scratch:
        output = Path(scratch) / "report.json"
        command = [sys.executable, "-m", "bench.child", system.key, str(folder), str(threads), str(output)]
        status, detail = watched(command, limits, Path(scratch))
        if status != OK:
            return Run(status, threads, detail)
        report = json.loads(output.read_text())
    return Run(
        OK,
        threads,
        phases={name: Phase(**phase) for name, phase in report["phases"].items()},
        contents={name: Content(**content) for name, content in report["contents"].items()},
        notes=report["notes"],
        base_bytes=report["base_bytes"],
        peak_bytes=report["peak_bytes"],
        final_bytes=report["final_bytes"],
    )


def watched(
    command: Sequence[str],
    limits: Limits,
    scratch: Path,
    environment: Mapping[str, str] | None = None,
) -> tuple[str, str]:
    """Run a command to its end or to its limits: a status, and the last lines it wrote if it failed."""
    log = scratch / "log"
    with log.open("w") as sink:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
    deadline = time.monotonic() + limits.seconds
    while True:
        try:
            code = process.wait(_LOOK_EVERY_SECONDS)
            break
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                _end(process)
                return TIMEOUT, f"more than {limits.seconds:g} s"
            if _resident(process.pid) > limits.bytes:
                _end(process)
                return MEMORY, f"more than {limits.bytes / 2**30:,.0f} GiB"
    if code != 0:
        return ERROR, "\n".join(log.read_text(errors="replace").strip().splitlines()[-12:])
    return OK, ""


def _family(pid: int) -> list[psutil.Process]:
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _resident(pid: int) -> int:
    total = 0
    for member in _family(pid):
        try:
            total += member.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def _end(process: subprocess.Popen[bytes]) -> None:
    for member in _family(process.pid):
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()
