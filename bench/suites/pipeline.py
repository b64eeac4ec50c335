"""The pipeline on Spark: batches beside a trigger that does nothing and beside the engine alone, and memory
of a long stream."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench import spark_memory, spark_stream
from bench.report import Section, Target
from bench.suites.options import Options

NAMES = ("batches", "sustained", "memory")
_MOST_BEYOND = 2.0
"""What a batch may cost beyond a trigger that does nothing, in times of the engine."""
_ROWS_A_SECOND = 200_000
_GROWTH = 1.1
"""A process that holds a tenth more at the end than early is not flat."""


def run(options: Options) -> Iterator[Section]:
    if not options.with_tidalog:
        return
    asked = [name for name in NAMES if not options.names or name in options.names]
    for name in asked:
        options.say(f"pipeline: {name}")
        with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as scratch:
            yield _SECTIONS[name](Path(scratch) / "run", options.quick)


def _timed(title: str, rows: int, batches: int, root: Path) -> tuple[Section, Mapping[str, float]]:
    root.mkdir()
    found = spark_stream.timed(rows, batches, "string", True, root)
    figures = {name: float(str(value)) for name, value in found.items()}
    section = Section(title, ("what", "seconds a batch"), text_columns=1)
    for name in ("nothing", "engine", "pipeline"):
        section.add(name, f"{figures[name]:.3f}")
    section.notes.append(f"{figures['rows_per_second_sustained']:,.0f} rows a second, all in all")
    section.records.append(dict(found))
    return section, figures


def _batches(root: Path, quick: bool) -> Section:
    rows = 1000 if quick else 100_000
    section, figures = _timed(f"Batches of {rows:,} rows through Spark", rows, 12 if quick else 100, root)
    if not quick:
        beyond = figures["beyond_nothing_over_engine"]
        text = f"beyond nothing: {beyond:.2f} times the engine, at most {_MOST_BEYOND:g}"
        section.targets.append(Target(text, beyond <= _MOST_BEYOND))
    return section


def _sustained(root: Path, quick: bool) -> Section:
    rows = 2000 if quick else 500_000
    section, figures = _timed(
        f"Batches of {rows:,} rows, one after the other", rows, 10 if quick else 16, root
    )
    if not quick:
        rate = figures["rows_per_second"]
        text = f"{rate:,.0f} rows a second, at least {_ROWS_A_SECOND:,}"
        section.targets.append(Target(text, rate >= _ROWS_A_SECOND))
    return section


def _memory(root: Path, quick: bool) -> Section:
    root.mkdir()
    batches = 25 if quick else 1000
    found = spark_memory.run(1000, batches, "local[2]", False, root)
    section = Section(
        f"Memory over {batches:,} batches, MB", ("process", "early", "late", "late ÷ early", "peak")
    )
    section.text_columns = 1
    section.records.append(dict(found))
    sizes = found["megabytes"]
    assert isinstance(sizes, dict)
    for name, part in sizes.items():
        growth = part.get("growth", 0.0)
        section.add(
            name, f"{part['early']:.1f}", f"{part['late']:.1f}", f"{growth:.2f}", f"{part['peak']:.1f}"
        )
        if not quick and name in ("python", "jvm_live"):
            section.targets.append(
                Target(f"{name} grows {growth:.2f} times, at most {_GROWTH}", growth <= _GROWTH)
            )
    section.notes.append("jvm_live: what the JVM holds after a collection of garbage that it was asked for")
    return section


_SECTIONS = {"batches": _batches, "sustained": _sustained, "memory": _memory}
