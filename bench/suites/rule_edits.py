"""Rule edits: what loading costs, one rule more or less, and a first fact, by the number of rules."""

from __future__ import annotations

from collections.abc import Iterator

from bench.incremental.jobs import failed, run_job
from bench.process import OK, Limits
from bench.report import Section
from bench.suites.options import Options

_SIZES, _QUICK_SIZES = [500, 1000, 2000, 8000, 20000], [100, 200]
_SHAPES = ["chain", "star", "independent", "triples", "one head", "one loop", "one cycle"]
"""In the last three an edit changes a component that all rules are in."""
_MOST_MILLISECONDS = {2000: 10.0, 20000: 50.0}
_MOST_GROWTH = 1.5
_SECONDS = 1800.0
_COLUMNS = (
    "shape",
    "rules",
    "load ms",
    "analysis ms",
    "µs a rule",
    "first add and remove ms",
    "add ms",
    "remove ms",
    "first fact ms",
    "second",
)
_MOST_LOADING = 8000, 2000.0
"""Rules, and milliseconds to load them."""
_NOTE = "CPU time.  The first edit of a program builds the rule graph that later ones change."


def run(options: Options) -> Iterator[Section]:
    title = "Rule edits: analysis, and one rule added and removed"
    options.say("rule edits")
    sizes = _QUICK_SIZES if options.quick else _SIZES
    request = {"shapes": _SHAPES, "sizes": sizes, "repeat": options.repeat}
    limits = Limits(max(options.limits.seconds, _SECONDS), options.limits.bytes)
    done = run_job("rule-edits", request, limits)
    if done.status != OK:
        yield failed(title, done)
        return
    section = Section(title, _COLUMNS, notes=[_NOTE])
    slow: list[str] = []
    long: list[str] = []
    for shape, by_size in done.figures.items():
        for size, found in by_size.items():
            milliseconds = {key: 1e3 * seconds for key, seconds in found.items()}
            cells = [f"{milliseconds[key]:,.0f}" for key in ("load", "analysis")]
            cells.append(f"{1e3 * milliseconds['analysis'] / int(size):.0f}")
            cells += [f"{milliseconds[key]:,.1f}" for key in ("first", "add", "remove")]
            cells += [f"{milliseconds[key]:.2f}" for key in ("first fact", "second fact")]
            section.add(shape, f"{int(size):,}", *cells)
            if int(size) == _MOST_LOADING[0] and milliseconds["load"] > _MOST_LOADING[1]:
                long.append(f"{shape} {milliseconds['load']:,.0f}")
            most = _MOST_MILLISECONDS.get(int(size))
            if most is not None:
                slow += [
                    f"{way} {shape} {size}: {milliseconds[way]:.1f}"
                    for way in ("add", "remove")
                    if milliseconds[way] > most
                ]
        section.end_group()
        section.records.append({"shape": shape, **by_size})
    if not options.quick:
        section.check("an edit takes at most 10 ms among 2,000 rules and 50 ms among 20,000", slow)
        section.check("8,000 rules load in 2 s", long)
        growth = {
            shape: found[str(_SIZES[-1])]["analysis"] / found[str(_SIZES[2])]["analysis"]
            for shape, found in done.figures.items()
        }
        steep = [f"{s} {g:.1f}" for s, g in growth.items() if g > _MOST_GROWTH * _SIZES[-1] / _SIZES[2]]
        section.check("analysis of ten times as many rules takes at most 15 times as long", steep)
    yield section
