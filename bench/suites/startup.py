"""Start-up: `tidalog run` on a small program, with compiled code to make (cold) and at hand (warm)."""

from __future__ import annotations

import resource
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
_WARM_SECONDS = 1.5

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
        imports = [
            _start([sys.executable, "-c", "import tidalog"], folder, options) for _ in range(options.repeat)
        ]
        bare = [_start([sys.executable, "-c", "pass"], folder, options) for _ in range(options.repeat)]
    _add(section, "tidalog run, cold: compiles everything, once a machine", cold)
    _add(section, "tidalog run, warm", warm)
    _add(section, "import tidalog", imports)
    _add(section, "python -c pass", bare)
    _add_target(section, "cold", cold, _COLD_SECONDS)
    _add_target(section, "warm", warm, _WARM_SECONDS)
    section.notes.append(
        "Cold: a new folder for numba's cache.  The program has a few facts and a little of everything."
    )
    return [section]


def _add_target(section: Section, what: str, starts: list[Start], most: float) -> None:
    if all(start.status == OK for start in starts):
        wall = min(start.wall for start in starts)
        section.targets.append(Target(f"{what}: {wall:.2f} s, under {most} s", wall < most))


def _start(command: list[str], folder: Path, options: Options) -> Start:
    before, began = _children_cpu(), time.perf_counter()
    cache = {"NUMBA_CACHE_DIR": str(folder / "numba")}
    status, detail = watched(command, options.limits, folder, cache)
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
