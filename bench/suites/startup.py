"""Start-up: `tidalog run` on a small program, with compiled code to make (cold) and at hand (warm)."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.process import OK, watched
from bench.report import Section, Target, seconds
from bench.suites.options import Options

_COLUMNS = ("what", "status", "wall s", "CPU s", "wall s of all runs")

_COLD_SECONDS = 60.0
_WARM_SECONDS = 0.7
_UPDATE_MILLISECONDS = 20.0

_SMALL_PROGRAM = """\
% A little of everything, so that all compiled code is needed.
edge(a, b) . edge(b, c) . edge(c, d) . edge(d, b) . size(a, 3) . size(b, 4) . size(c, 5) . ratio(d, 2.5) .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
unreached(?x, ?y) :- size(?x, ?n), size(?y, ?m), ~path(?x, ?y) .
larger(?x, ?m) :- size(?x, ?n), ?m = ?n * 2 + 1, ?m > 7 .
half(?x, ?h) :- ratio(?x, ?v), ?h = ?v / 2.0 .
degree(?x, #count(?y)) :- path(?x, ?y) .
total(#sum(?n, ?x)) :- size(?x, ?n) .
extent(#min(?n), #max(?n), #avg(?n), #median(?n)) :- size(?x, ?n) .
label(?x, ?s) :- size(?x, ?n), ?s = CONCAT(STR(?x), "!") .
@output path .
"""


_THREE_RULES = """\
edge(a, b) . edge(b, c) . edge(c, d) .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
far(?x) :- path(?x, d) .
@output path .
"""

_FIRST_UPDATE = """\
import sys, time, tidalog
base = tidalog.open()
base.load(sys.argv[1])
base.materialise()
start = time.process_time()
with base.update() as update:
    update.delete("edge", [("a", "b")])
print(time.process_time() - start)
"""


@dataclass(frozen=True)
class Start:
    status: str
    detail: str
    wall: float
    cpu: float


def run(options: Options) -> list[Section]:
    if not options.with_tidalog:
        return []
    section = Section("Start-up of Tidalog", _COLUMNS)
    with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as scratch:
        folder = Path(scratch)
        program = folder / "small.rls"
        program.write_text(_SMALL_PROGRAM)
        command = [sys.executable, "-c", "from tidalog.cli import main; main()", "run", str(program)]
        options.say("start-up: cold")
        cold = [_start(command, folder, options)]
        options.say("start-up: warm")
        warm = [_start(command, folder, options) for _ in range(options.repeat)]
        small = folder / "three.rls"
        small.write_text(_THREE_RULES)
        three = [_start([*command[:-1], str(small)], folder, options) for _ in range(options.repeat)]
        updates = [_first_update(small, folder) for _ in range(options.repeat)]
        check = [_start([*command[:-2], "check", str(small)], folder, options) for _ in range(options.repeat)]
        others = {
            code: [_start([sys.executable, "-c", code], folder, options) for _ in range(options.repeat)]
            for code in ("import tidalog; tidalog.open()", "import tidalog", "import numpy, pyarrow", "pass")
        }
    _add(section, "tidalog run, cold: compiles everything, once a machine", cold)
    _add(section, "tidalog run, warm", warm)
    _add(section, "tidalog run, three rules", three)
    _add(section, "tidalog check, three rules", check)
    for code, starts in others.items():
        _add(section, f"python -c '{code}'", starts)
    _add_target(section, "cold", cold, _COLD_SECONDS)
    _add_target(section, "three rules", three, _WARM_SECONDS)
    first = 1000 * min(updates)
    within = f"first update of a process: {first:.1f} CPU ms, under {_UPDATE_MILLISECONDS} ms"
    section.targets.append(Target(within, first < _UPDATE_MILLISECONDS))
    section.notes.append(
        "Cold: a new folder for compiled code.  The program has a few facts and a little of everything."
    )
    return [section]


def _add_target(section: Section, what: str, starts: list[Start], most: float) -> None:
    if all(start.status == OK for start in starts):
        cpu = min(start.cpu for start in starts)
        section.targets.append(Target(f"{what}: {cpu:.2f} CPU s, under {most} s", cpu < most))


def _first_update(program: Path, folder: Path) -> float:
    """CPU seconds of the first update of a process."""
    environment = os.environ | _cache(folder)
    command = [sys.executable, "-c", _FIRST_UPDATE, str(program)]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def _cache(folder: Path) -> dict[str, str]:
    """Caches of their own.  Python keeps its bytecode, as it does for users, whatever the environment."""
    bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    return {"NUMBA_CACHE_DIR": str(folder / "compiled"), **bytecode}


def _start(command: list[str], folder: Path, options: Options) -> Start:
    before, began = _children_cpu(), time.perf_counter()
    status, detail = watched(command, options.limits, folder, _cache(folder))
    return Start(status, detail, time.perf_counter() - began, _children_cpu() - before)


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _add(section: Section, what: str, starts: list[Start]) -> None:
    section.records.append(
        {
            "what": what,
            "runs": [{"status": s.status, "wall": s.wall, "cpu": s.cpu} for s in starts],
        }
    )
    failed = next((start for start in starts if start.status != OK), None)
    if failed is not None:
        section.add(what, failed.status, "–", "–", "–")
        section.problems.append(f"{what}: {failed.detail}")
        return
    section.add(
        what,
        OK,
        seconds(min(start.wall for start in starts)),
        seconds(min(start.cpu for start in starts)),
        " ".join(seconds(start.wall) for start in starts),
    )
