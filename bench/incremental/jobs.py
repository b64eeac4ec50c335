"""Starting a job in a process of its own, from the suites' side."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.process import OK, Limits, watched
from bench.report import Section

_COMPILING_SECONDS = 900.0
"""The first run after a change of the compiled code compiles it, which no figure includes."""


@dataclass(frozen=True)
class Done:
    status: str
    detail: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def problem(self) -> str:
        return f"{self.status}: {self.detail}"


def run_job(job: str, request: Mapping[str, object], limits: Limits) -> Done:
    with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as scratch:
        output = Path(scratch) / "figures.json"
        command = [sys.executable, "-m", "bench.incremental", job, json.dumps(request), str(output)]
        status, detail = watched(command, limits, Path(scratch))
        if status != OK:
            return Done(status, detail)
        return Done(OK, figures=json.loads(output.read_text()))


def compile_all(limits: Limits, job: str = "warm") -> Done:
    """Compiled code is built, and what the jobs of a kind import is in the cache of the system."""
    return run_job(job, {}, Limits(max(limits.seconds, _COMPILING_SECONDS), limits.bytes))


def failed(title: str, done: Done) -> Section:
    """A section that says why there is none."""
    return Section(title, ("status",), rows=[(done.status,)], problems=[f"{title}: {done.problem}"])
