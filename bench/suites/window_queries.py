"""Windows: several queries over one stream, sharing what follows or each for itself."""

from __future__ import annotations

from collections.abc import Iterator

from bench.incremental.jobs import run_job
from bench.process import OK
from bench.report import Section
from bench.suites.options import Options
from bench.suites.window_shares import long_enough, shown
from bench.windows.queries import ALONE, APART, SHARED

_ROWS = (("trees", (50, 55, 60), 500), ("trees", (10, 30, 60), 500), ("dense", (40, 50, 60), 4))
_QUICK = (("trees", (5, 8, 10), 20), ("dense", (5, 8, 10), 4))
_COLUMNS = ("stream", "windows in seconds", "rows a step", "queries", "CPU ms a step", "derivations")


def queries(options: Options) -> Iterator[Section]:
    title = "Queries over windows of equal step, transitive closure"
    section = Section(title, (*_COLUMNS, f"÷ {SHARED}"), text_columns=4)
    for shape, seconds, step in _QUICK if options.quick else _ROWS:
        options.say(f"papers: queries over {shape}, {step} rows a step")
        request = {"shape": shape, "seconds": seconds, "step": step, "steps": 3 if options.quick else 10}
        done = run_job("window-queries", {**request, "repeat": options.repeat}, long_enough(options))
        if done.status != OK:
            section.problems.append(f"{shape}: {done.problem}")
            continue
        shared = done.figures[SHARED]["cpu_seconds"]
        for name in (SHARED, APART, ALONE):
            found = done.figures[name]
            cells = (shown(1e3 * found["cpu_seconds"]), f"{found['derivations']:,.0f}")
            lengths = ", ".join(map(str, seconds))
            section.add(shape, lengths, str(step), name, *cells, f"{found['cpu_seconds'] / shared:.2f}")
            if found["wrong"]:
                section.problems.append(f"{shape}: {name} has other answers")
        section.records.append({**request, **done.figures})
    section.notes.append(
        "`kb.update` with triples as texts in Arrow columns, and the changes of every query handed over; the "
        "best of several blocks.  Windows that are to share nothing are shorter by a part of a step."
    )
    yield section
