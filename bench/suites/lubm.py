"""The Lehigh University Benchmark: materialisation and memory, deletions, axioms that come and go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from bench.incremental.jobs import compile_all, failed, run_job
from bench.process import OK, Limits
from bench.report import Section, megabytes
from bench.suites.options import Options

NAMES = ("materialise", "updates", "axioms")
_SIZES, _QUICK_SIZES = [10, 100], [1]
_PROGRAMS = ("compiled", "generic")
_CHANGED = 100
_SECONDS = 1800.0
_LEAST_RATE = {"compiled": 20e6, "generic": 8e6}
_MOST_BYTES = {"compiled": 60.0, "generic": 90.0}
_MOST_PEAK = 3e9
_LEAST_FASTER = {10: 100.0, 100: 500.0}
_LEAST_FASTER_EDIT = 20.0
_SHOWN = 12

Figures = Mapping[str, Any]


def run(options: Options) -> Iterator[Section]:
    wanted = options.names or frozenset(NAMES)
    warm = compile_all(options.limits)
    if warm.status != OK:
        yield failed("LUBM", warm)
        return
    sizes = _QUICK_SIZES if options.quick else _SIZES
    done: dict[tuple[int, str], Figures] = {}
    for size in sizes:
        for program in _PROGRAMS:
            options.say(f"lubm: {size} universities, {program}")
            compiled = program == "compiled"
            request = {
                "universities": size,
                "program": program,
                "repeat": options.repeat if size < _SIZES[-1] else 1,
                "updates": _CHANGED if compiled and "updates" in wanted else 0,
                "edits": compiled and "axioms" in wanted and size == sizes[0],
            }
            limits = Limits(max(options.limits.seconds, _SECONDS), options.limits.bytes)
            found = run_job("lubm", request, limits)
            if found.status != OK:
                yield failed(f"LUBM-{size}, {program}", found)
                return
            done[size, program] = found.figures
    if "materialise" in wanted:
        yield _materialised(done, options.quick)
    if "updates" in wanted:
        yield _updated({size: done[size, "compiled"] for size in sizes})
    if "axioms" in wanted:
        yield _edited(done[sizes[0], "compiled"], options.quick)


def _materialised(done: Mapping[tuple[int, str], Figures], quick: bool) -> Section:
    columns = ("program", "universities", "triples", "load s", "materialise s", "facts", "M derivations / s")
    section = Section(
        "LUBM: materialisation, CPU seconds", (*columns, "bytes a fact", "MB after loading", "peak MB"), 1
    )
    for (size, program), found in done.items():
        rate, bytes_ = found["derivations"] / found["materialise"], found["bytes"] / found["facts"]
        section.add(
            program,
            f"{size}",
            f"{found['triples']:,}",
            f"{found['loading']:.2f}",
            f"{found['materialise']:.3f}",
            f"{found['facts']:,}",
            f"{rate / 1e6:.1f}",
            f"{bytes_:.1f}",
            megabytes(found["bytes_loaded"]),
            megabytes(found["peak_bytes"]),
        )
        section.records.append({"program": program, **found})
        if not quick and size == _SIZES[-1]:
            least, most = _LEAST_RATE[program], _MOST_BYTES[program]
            text = f"{program}: {least / 1e6:.0f} M derivations a second"
            section.check(text, [] if rate >= least else [f"{rate / 1e6:.1f}"])
            text = f"{program}: under {most:.0f} bytes a fact"
            section.check(text, [] if bytes_ < most else [f"{bytes_:.1f}"])
            text = f"{program}: peak memory under {_MOST_PEAK / 1e9:.0f} GB"
            section.check(text, [] if found["peak_bytes"] < _MOST_PEAK else [megabytes(found["peak_bytes"])])
    section.notes.append(
        "Bytes are those of the engine; memory is that of the process, above what it began with."
    )
    return section


def _updated(done: Mapping[int, Figures]) -> Section:
    columns = ("change", "universities", "best ms", "median ms", "materialise ms", "times faster")
    section = Section(f"LUBM: {_CHANGED} random triples, compiled program", columns, 1)
    for size, found in done.items():
        whole = found["materialise"]
        for kind, times in found["updates"].items():
            faster = whole / median(times)
            milliseconds = (f"{1e3 * t:.2f}" for t in (times[0], median(times), whole))
            section.add(kind, f"{size}", *milliseconds, f"{faster:,.0f}")
            least = _LEAST_FASTER.get(size)
            if kind == "delete" and least is not None:
                text = f"LUBM-{size}: deleted {least:.0f} times faster than materialised again"
                section.check(text, [] if faster >= least else [f"{faster:.0f}"])
        section.records.append({"universities": size, **found["updates"]})
    return section


def _edited(found: Figures, quick: bool) -> Section:
    section = Section(
        "LUBM: a rule removed and added", ("rule", "remove ms", "add ms", "times faster", "again"), 1
    )
    whole: float = found["materialise"]
    edits: Sequence[Figures] = sorted(found["edits"], key=lambda edit: -max(edit["remove"], edit["add"]))
    for edit in edits[:_SHOWN]:
        section.add(
            edit["rule"].replace("http://swat.cse.lehigh.edu/onto/univ-bench.owl#", "")[:80],
            *(f"{1e3 * edit[way]:.2f}" for way in ("remove", "add")),
            *(f"{whole / edit[way]:,.0f}" for way in ("remove", "add")),
        )
    section.notes.append(f"The slowest of {len(edits)} rules, each removed and added again.")
    if not quick:
        for way in ("remove", "add"):
            slow = [edit["rule"] for edit in edits if whole / edit[way] < _LEAST_FASTER_EDIT]
            text = f"{way}: {_LEAST_FASTER_EDIT:.0f} times faster than materialising again"
            section.check(f"{text}, {len(edits) - len(slow)} of {len(edits)}", slow)
    section.records += edits
    return section
