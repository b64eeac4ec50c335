"""Keyed streams compared with one entry of state per key, and with deriving each key from scratch."""

from __future__ import annotations

from collections.abc import Iterator

from bench import spark_keyed
from bench.report import Section, Target
from bench.suites.options import Options

_TIMES = 5.0
_AT = 100
"""The number of facts per key from which a keyed stream must be `_TIMES` times faster."""


def run(options: Options) -> Iterator[Section]:
    if not options.with_tidalog:
        return
    keys, rows, batches = (200, 2000, 12) if options.quick else (10_000, 100_000, 40)
    title = f"Keyed streams: {keys:,} keys, {rows:,} rows a batch"
    section = Section(title, ("facts of a key", "what", "seconds a batch", "CPU s", "÷ keyed", "CPU ÷ keyed"))
    for facts in (20, _AT) if options.quick else (20, _AT, 300):
        options.say(f"keyed: {facts} facts of each key")
        found = spark_keyed.run(keys, rows, facts, batches)
        section.records.append(dict(found))
        for name in spark_keyed.COMPARED:
            part = found[name]
            section.add(
                str(facts),
                name,
                *(f"{part[figure]:.2f}" for figure in ("seconds", "cpu", "times", "times cpu")),
            )
        section.end_group()
        if facts >= _AT and not options.quick:
            for name in spark_keyed.COMPARED[1:]:
                times = found[name]["times"]
                text = f"{facts} facts of a key: {times:.1f} times faster than {name}, at least {_TIMES:g}"
                section.targets.append(Target(text, times >= _TIMES))
    yield section
