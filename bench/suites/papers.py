"""The papers' own evaluations, run again: here Tables 1 to 3 of the paper on B/F with marking, and streams of
short-lived facts, for which marks are made; those of the paper on B/F are in `considered`, those of the paper
on changing rules in `rules`, those of the paper on windows in `windows`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.incremental.jobs import compile_all, failed, run_job
from bench.papers.figures import REAL, SEQ, TRANS, Figures
from bench.papers.streams import SIZES, TRACKS
from bench.process import OK, Limits
from bench.report import Section
from bench.suites import considered, rules, windows
from bench.suites.options import Options

_WHOLE = "marking"
_TABLES: dict[str, tuple[str, str, Mapping[Any, Figures]]] = {
    "trans": ("trans", "Table 1: P_trans, by size of an update", TRANS),
    "seq": ("seq", "Table 2: P_seq, by size of an update", SEQ),
    "tracks": ("map", "Table 3: the map program, by track", REAL),
}
_SHORT_LIVED = "short-lived"
_MARKING = (*_TABLES, _SHORT_LIVED)
NAMES = (_WHOLE, *_MARKING, considered.WHOLE, *rules.NAMES, *windows.NAMES)

_COUNTED = ("deletions", "backward", "forward", "insertions", "marks_explicit", "marks_implicit")
_COLUMNS = (
    "stream",
    "variant",
    "deletions",
    "backward",
    "forward",
    "insertions",
    "marks ex.",
    "im.",
    "CPU ms",
    "paper s",
    "paper ÷ ours",
)
_OLD = "without marks"
_SHOWN = (_OLD, "paper", "linked", "complete", "ours", "ranked")
_COMPARED = (("ours, auto", "ours, no marks"), ("ranked", "ranked, no marks"))
"""With marks where they pay and without any: run more often, so that a difference of a twentieth shows."""
_ALWAYS = ("ours", "ours, no marks")
"""The same with marks in every update."""
_SAME_INSERTIONS = (_OLD, "paper", "linked", "complete", "ours")
_MARKED = ("paper", "linked", "complete", "ours")

_TABLE_SECONDS = 400.0
"""A table is one process with all its streams."""
_TIMES_FASTER = 500.0
_MOST_LOSS = 1.05
_LEAST_GAIN = 0.80
"""Time with marks ÷ time without."""

_SHORT_SIZES = [80, 640]
_SHORT_COLUMNS = (
    "stream",
    "strategy",
    "none ms",
    "look-ahead 1 ms",
    "÷ none",
    "look-ahead 3 ms",
    "÷ none",
    "auto ms",
    "÷ none",
    "recorded 1",
    "recorded 3",
)

Row = Mapping[str, Mapping[str, float]]


def run(options: Options) -> Iterator[Section]:
    if not options.with_tidalog:
        return
    asked = options.names or set(NAMES)
    parts = [name for name in _MARKING if name in asked or _WHOLE in asked]
    if parts:
        yield from _marking(options, parts)
    if considered.WHOLE in asked:
        yield from considered.run(options)
    parts = [name for name in rules.PARTS if name in asked or rules.WHOLE in asked]
    if parts:
        yield from rules.run(options, parts)
    parts = [name for name in windows.PARTS if name in asked or windows.WHOLE in asked]
    if parts:
        yield from windows.run(options, parts)


def _marking(options: Options, asked: Sequence[str]) -> Iterator[Section]:
    options.say("papers: compiled code")
    warm = compile_all(options.limits)
    if warm.status != OK:
        yield failed("Compiled code", warm)
    for name, (family, title, figures) in _TABLES.items():
        if name in asked:
            options.say(f"papers: {title}")
            yield _table(options, family, title, figures)
    if _SHORT_LIVED in asked:
        options.say("papers: short-lived facts")
        yield _short_lived(options)


def _limits(options: Options) -> Limits:
    return Limits(max(options.limits.seconds, _TABLE_SECONDS), options.limits.bytes)


def _table(options: Options, family: str, title: str, figures: Mapping[Any, Figures]) -> Section:
    section = Section(title, _COLUMNS)
    rows: Sequence[int | str] = TRACKS if family == "map" else SIZES
    if options.quick:
        rows = rows[-1:] if family == "map" else rows[:1]
    request = {
        "family": family,
        "rows": rows,
        "repeat": options.repeat,
        "often": [name for pair in (*_COMPARED, _ALWAYS) for name in pair],
    }
    done = run_job("tables", request, _limits(options))
    if done.status != OK:
        section.problems.append(f"{title} {done.problem}")
        return section
    found: dict[str, Row] = done.figures["rows"]
    for row in rows:
        _add_rows(section, str(row), found[str(row)], figures[row])
        section.records.append({"family": family, "row": row, "variants": found[str(row)]})
    whole = [(str(row), found[str(row)], figures[row]) for row in rows]
    _add_count_targets(section, family, whole)
    if not options.quick:
        _add_time_targets(section, whole)
    section.notes += [
        "Averages over the streams of a row (three seeds; a track is one).  CPU: the stream alone, from no "
        "facts, best of several runs in turn.",
        "without marks, paper, linked, complete: B/F in the paper's order, by kind of marks; ours: complete "
        "marks in our order; ranked: deletion in rank order, marks where they pay (its insertions are net).",
    ]
    return section


def _add_rows(section: Section, row: str, found: Row, paper: Figures) -> None:
    old = (paper.deletions.old, paper.backward.old, paper.forward.old, paper.insertions)
    new = (paper.deletions.new, paper.backward.new, paper.forward.new, paper.insertions)
    marks = (f"{paper.marks_explicit:,}", f"{paper.marks_implicit:,}")
    section.add(row, "their B/F", *(f"{n:,}" for n in old), "", "", "", f"{paper.seconds_old:,.2f}", "")
    section.add(row, "their marking", *(f"{n:,}" for n in new), *marks, "", f"{paper.seconds_new:,.2f}", "")
    for name in _SHOWN:
        counts = [f"{round(found[name][key]):,}" for key in _COUNTED]
        if name == _OLD:
            counts[4:] = ["", ""]
        seconds = found[name]["cpu_seconds"]
        section.add(row, name, *counts, f"{seconds * 1e3:,.1f}", "", f"{_theirs(name, paper) / seconds:,.0f}")
    section.end_group()


def _theirs(name: str, paper: Figures) -> float:
    return paper.seconds_old if name == _OLD else paper.seconds_new


def _add_count_targets(section: Section, family: str, rows: Sequence[tuple[str, Row, Figures]]) -> None:
    wrong = [
        f"{row} {name} {round(found[name]['insertions']):,} for {paper.insertions:,}"
        for row, found, paper in rows
        for name in _SAME_INSERTIONS
        if round(found[name]["insertions"]) != paper.insertions
    ]
    section.check("insertions are the paper's", wrong)
    wrong = [
        f"{row} {name} {round(found[name]['marks_explicit']):,} for {paper.marks_explicit:,}"
        for row, found, paper in rows
        for name in _MARKED
        if round(found[name]["marks_explicit"]) != paper.marks_explicit
    ]
    section.check("explicit marks are the paper's", wrong)
    if family == "seq":
        section.check("every count of the table is the paper's with linked marks", _differences(rows))
    more = [
        f"{row} {key} {found['ours'][key]:,.0f} for {found[_OLD][key]:,.0f}"
        for row, found, _ in rows
        for key in ("backward", "forward")
        if found["ours"][key] > found[_OLD][key]
    ]
    section.check("ours needs no more backward and forward applications than without marks", more)


def _differences(rows: Sequence[tuple[str, Row, Figures]]) -> list[str]:
    wrong = []
    for row, found, paper in rows:
        marks = (paper.marks_explicit, paper.marks_implicit)
        old = (paper.deletions.old, paper.backward.old, paper.forward.old, paper.insertions)
        new = (paper.deletions.new, paper.backward.new, paper.forward.new, paper.insertions, *marks)
        for name, theirs in ((_OLD, old), ("linked", new)):
            for key, count in zip(_COUNTED, theirs, strict=False):
                if round(found[name][key]) != count:
                    wrong.append(f"{row} {name} {key} {round(found[name][key]):,} for {count:,}")
    return wrong


def _add_time_targets(section: Section, rows: Sequence[tuple[str, Row, Figures]]) -> None:
    slow = []
    least = float("inf")
    for row, found, paper in rows:
        for name in _SHOWN:
            times = _theirs(name, paper) / found[name]["cpu_seconds"]
            least = min(least, times)
            if times < _TIMES_FASTER:
                slow.append(f"{row} {name} {times:,.0f}")
    section.check(f"at least {_TIMES_FASTER:,.0f} times as fast as the paper (least: {least:,.0f})", slow)
    always = _ratios(rows, *_ALWAYS)
    section.notes.append(
        f"Complete marks in every update, our order: time ÷ time without {min(always.values()):.2f} to "
        f"{max(always.values()):.2f}."
    )
    for name, unmarked in _COMPARED:
        ratios = _ratios(rows, name, unmarked)
        lost = [f"{row} {ratio:.2f}" for row, ratio in ratios.items() if ratio > _MOST_LOSS]
        text = f"{name}: marks cost at most 5 % (time ÷ time without: at most {max(ratios.values()):.2f})"
        section.check(text, lost)


def _ratios(rows: Sequence[tuple[str, Row, Figures]], name: str, unmarked: str) -> dict[str, float]:
    """Time with marks ÷ time without, by row."""
    return {row: found[name]["cpu_seconds"] / found[unmarked]["cpu_seconds"] for row, found, _ in rows}


def _short_lived(options: Options) -> Section:
    section = Section("Short-lived facts: marks against none", _SHORT_COLUMNS)
    sizes = _SHORT_SIZES[:1] if options.quick else _SHORT_SIZES
    done = run_job("short-lived", {"sizes": sizes, "repeat": options.repeat}, _limits(options))
    if done.status != OK:
        section.problems.append(f"short-lived facts {done.problem}")
        return section
    missed: dict[str, list[str]] = {}
    for kind, by_size in done.figures["kinds"].items():
        for size, by_strategy in by_size.items():
            for strategy, found in by_strategy.items():
                none, one, three, auto = (
                    found[name]["cpu_seconds"] for name in ("none", "look-ahead 1", "look-ahead 3", "auto")
                )
                section.add(
                    f"{kind}, {size}",
                    strategy,
                    f"{none * 1e3:,.1f}",
                    f"{one * 1e3:,.1f}",
                    f"{one / none:.2f}",
                    f"{three * 1e3:,.1f}",
                    f"{three / none:.2f}",
                    f"{auto * 1e3:,.1f}",
                    f"{auto / none:.2f}",
                    f"{found['look-ahead 1']['recorded']:,.0f}",
                    f"{found['look-ahead 3']['recorded']:,.0f}",
                )
                dense = "dense" in kind
                wanted = "cost at most 5 % where what is derived stays" if dense else "save at least 20 %"
                # What is asked of marks is asked of those that the user gets, or of complete ones.
                slow = missed.setdefault(f"{strategy}, look-ahead 3, complete or auto: marks {wanted}", [])
                ratio = min(three, auto) / none
                if ratio > (_MOST_LOSS if dense else _LEAST_GAIN):
                    slow.append(f"{kind} {size} {ratio:.2f}")
                slow = missed.setdefault(f"{strategy}, auto, look-ahead 3: marks cost at most 5 %", [])
                if auto / none > _MOST_LOSS:
                    slow.append(f"{kind} {size} {auto / none:.2f}")
                section.records.append({"kind": kind, "size": size, "strategy": strategy, "marking": found})
        section.end_group()
    for what, slow in missed.items() if not options.quick else ():
        section.check(what, slow)
    section.notes.append("Facts live one to three updates.  Complete marks, our order; CPU, best of several.")
    return section
