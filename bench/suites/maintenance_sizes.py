"""Maintenance by size: of what does not change, of the stream, of the deletion."""

from __future__ import annotations

from typing import Any

from bench.incremental.jobs import run_job
from bench.process import OK, Limits
from bench.report import Section
from bench.suites.options import Options

_MOST_GROWTH = 4.0
_MOST_THROUGH = 50.0
_MOST_UNEVEN = 1.5
_LEAST_RATE = 1_000.0
_MOST_OVER_BEST = 1.25
_STRATEGY_CAP = 10.0
_EQUILIBRIUM_SECONDS = 400.0


def locality(options: Options) -> Section:
    columns = ("strategy", "facts", "MB", "median ms", "best ms", "× smallest", "checked", "derivations")
    section = Section("The same ten facts out and in again, on larger and larger stores", columns, 1)
    sizes = [1_000, 10_000] if options.quick else [10_000, 100_000, 1_000_000, 10_000_000]
    repeat = 5 if options.quick else 15 * options.repeat
    repeat = min(repeat, sizes[0] // 209 - 2)
    done = run_job("locality", {"sizes": sizes, "repeat": repeat}, options.limits)
    if done.status != OK:
        section.problems.append(f"locality {done.problem}")
        return section
    for strategy, by_size in done.figures["strategies"].items():
        least, most = by_size[str(sizes[0])], by_size[str(sizes[-1])]
        for found in by_size.values():
            section.add(
                strategy,
                f"{found['facts']:,}",
                f"{found['bytes'] / 1e6:,.0f}",
                f"{found['median_cpu_seconds'] * 1e3:,.3f}",
                f"{found['best_cpu_seconds'] * 1e3:,.3f}",
                f"{found['median_cpu_seconds'] / least['median_cpu_seconds']:.2f}",
                f"{found['counters']['checked']:,}",
                f"{found['counters']['derivations']:,}",
            )
        section.end_group()
        differ = [size for size, found in by_size.items() if found["counters"] != least["counters"]]
        section.check(f"{strategy}: every counter is the same on every size", differ)
        growth = most["median_cpu_seconds"] / least["median_cpu_seconds"]
        text = f"{strategy}: {growth:.2f} times the time on the largest store, at most {_MOST_GROWTH:g}"
        section.check(text, [] if growth <= _MOST_GROWTH else ["this run"])
        section.records.append({"strategy": strategy, "sizes": by_size})
    section.notes.append(
        "Chains of 20 nodes with their closure; an update concerns one of them.  CPU time of both."
    )
    return section


def components(options: Options) -> Section:
    columns = ("components", "number", "construct ms", "first pair", "insert", "delete", "pair with limits")
    section = Section("One fact through a chain of components, and to one of many side by side", columns, 1)
    sizes = [10, 100] if options.quick else [10, 500, 1_000, 2_000, 8_000]
    done = run_job("components", {"sizes": sizes, "repeat": 5}, options.limits)
    if done.status != OK:
        section.problems.append(f"components {done.problem}")
        return section
    for shape, by_size in done.figures.items():
        for size, found in by_size.items():
            section.add(shape, f"{int(size):,}", *(f"{seconds * 1e3:,.2f}" for seconds in found.values()))
        section.end_group()
        section.records.append({"shape": shape, "sizes": by_size})
    if not options.quick:
        through, beside = done.figures["through"], done.figures["beside"]
        for what in ("insertion", "deletion"):
            spent = through["2000"][what] * 1e3
            text = f"{what} through 2,000 components: {spent:.1f} ms, at most {_MOST_THROUGH:g}"
            section.check(text, [] if spent <= _MOST_THROUGH else ["this run"])
            growth = through["8000"][what] / through["2000"][what] / 4
            text = f"{what}: {growth:.2f} times as much per component for 8,000 as for 2,000, at most 1.5"
            section.check(text, [] if growth <= _MOST_UNEVEN else ["this run"])
            growth = beside["8000"][what] / beside["10"][what]
            text = f"{what} into one of 8,000: {growth:.2f} times that into one of 10, at most 1.5"
            section.check(text, [] if growth <= _MOST_UNEVEN else ["this run"])
    section.notes.append("CPU time of `Maintainer.apply`; construction is that of a maintainer.")
    return section


def sustained(options: Options) -> Section:
    columns = ("way", "updates", "CPU s", "updates / s")
    section = Section("Small updates without end: the map program", columns, text_columns=1)
    request = {"rounds": 1 if options.quick else 4, "repeat": options.repeat}
    done = run_job("sustained", request, options.limits)
    if done.status != OK:
        section.problems.append(f"sustained {done.problem}")
        return section
    updates = done.figures["updates"]
    for way, seconds in done.figures["cpu_seconds"].items():
        rate = updates / seconds
        section.add(way, f"{updates:,}", f"{seconds:.3f}", f"{rate:,.0f}")
        text = f"{way}: {rate:,.0f} updates a second, at least {_LEAST_RATE:,.0f}"
        section.check(text, [] if rate >= _LEAST_RATE else ["this run"])
    section.notes.append(
        "Tracks 0 to 2 in turn, each followed by an update that deletes what is left; look-ahead 1, best of "
        "several.  kb.stream: from Update objects, each turned into term ids on the way."
    )
    section.records.append(dict(done.figures))
    return section


_EQUILIBRIUM_COLUMNS = (
    "deleted",
    "strategy",
    "CPU ms",
    "÷ best",
    "implicit deleted",
    "checked |C|",
    "backward",
    "forward",
    "del-prop",
    "derivations",
    "rederived",
)


def equilibrium(options: Options) -> list[Section]:
    request = {
        "links": 600 if options.quick else 60_000,
        "sizes": [10, 100] if options.quick else [100, 1_000, 5_000],
        "repeat": min(2, options.repeat),
        "cap": _STRATEGY_CAP,
    }
    limits = Limits(max(options.limits.seconds, _EQUILIBRIUM_SECONDS), options.limits.bytes)
    done = run_job("equilibrium", request, limits)
    if done.status != OK:
        section = Section("Deletions of growing size", _EQUILIBRIUM_COLUMNS)
        section.problems.append(f"equilibrium {done.problem}")
        return [section]
    return [_deletions(name, found) for name, found in done.figures["datasets"].items()]


def _deletions(name: str, found: dict[str, Any]) -> Section:
    title = f"Deletions of growing size, {name}: {found['explicit']:,} explicit of {found['facts']:,} facts"
    section = Section(title, _EQUILIBRIUM_COLUMNS)
    worse = []
    for size, by_strategy in found["sizes"].items():
        done = {key: one for key, one in by_strategy.items() if "cpu_seconds" in one}
        best = min(one["cpu_seconds"] for one in done.values())
        for strategy, one in by_strategy.items():
            if strategy not in done:
                section.add(size, strategy, f"> {one['stopped_after'] * 1e3:,.0f}", *["–"] * 8)
                continue
            section.add(
                size,
                strategy,
                f"{one['cpu_seconds'] * 1e3:,.1f}",
                f"{one['cpu_seconds'] / best:.2f}",
                *(f"{one[key]:,}" for key in _COUNTED),
            )
        section.end_group()
        if len({one["implicit_deleted"] for one in done.values()}) > 1:
            section.problems.append(f"{name}, {size}: strategies delete different numbers of facts")
        auto = by_strategy["auto"].get("cpu_seconds", float("inf"))
        if auto > _MOST_OVER_BEST * best:
            worse.append(f"{size} {auto / best:.2f}")
        section.records.append({"data": name, "deleted": int(size), "strategies": by_strategy})
    section.check("auto takes at most 25 % more than the best strategy", worse)
    point = found["equilibrium"]
    share = point["high"] / found["links"]
    text = f"between {point['low']:,} and {point['high']:,}" if point["low"] else f"below {point['high']:,}"
    section.notes += [
        f"Equilibrium, where B/F costs as much as recompute: {text} of {found['links']:,} links "
        f"({share:.1%} at most).",
        f"From scratch: {found['scratch_cpu_seconds'] * 1e3:,.0f} ms, {found['derivations']:,} derivations.  "
        "Every figure is of an update on a fresh store; larger deletions contain the smaller.",
    ]
    section.records.append({"data": name, "equilibrium": point})
    return section


_COUNTED = (
    "implicit_deleted",
    "checked",
    "backward",
    "forward",
    "deletions",
    "derivations",
    "rederivations",
)
