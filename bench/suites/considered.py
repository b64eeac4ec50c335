"""The evaluation of the paper on the Backward/Forward algorithm: deletions by strategy, over universities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench import plots
from bench.incremental.jobs import failed, run_job
from bench.papers.bf_figures import DATA, TABLE, Deletion
from bench.process import OK, Limits
from bench.report import Section
from bench.suites.options import Options

WHOLE = "bf"

_UNIVERSITIES, _QUICK_UNIVERSITIES = 10, 1
_CAP, _QUICK_CAP = 60.0, 10.0
_JOB_SECONDS = 3600.0
_STRATEGIES = ("dred", "bf", "ranked", "auto", "recompute")
_COLUMNS = (
    "deleted",
    "facts",
    "implicit",
    "recompute",
    "dred",
    "|D|",
    "bf",
    "|C|",
    "ranked",
    "auto",
    "recompute ÷ bf",
    "dred ÷ bf",
    "|D| ÷ |C|",
)
_JUDGED = "UOBM-like"
"""B/F is to beat the others here: facts have many derivations."""
_PAPER_ROWS = {"100": 0, "5,000": 1, "25 %": 2, "50 %": 3, "75 %": 4, "100 %": 5}

Found = Mapping[str, Any]


def run(options: Options) -> Iterator[Section]:
    options.say("papers: deletions by B/F and others (Table 2 of the paper on B/F)")
    request = {
        "universities": _QUICK_UNIVERSITIES if options.quick else _UNIVERSITIES,
        "repeat": options.repeat,
        "cap": _QUICK_CAP if options.quick else _CAP,
    }
    limits = Limits(max(options.limits.seconds, _JOB_SECONDS), options.limits.bytes)
    done = run_job("considered", request, limits)
    if done.status != OK:
        yield failed("Table 2 of the paper on B/F", done)
        return
    for name, found in done.figures["datasets"].items():
        yield section(name, found)


def section(name: str, found: Found) -> Section:
    title = f"Table 2 of the paper on B/F: {name}, beside {found['paper']}"
    section = Section(title, _COLUMNS, text_columns=1)
    for row in found["sizes"]:
        _check_same(section, row)
        section.add(*_cells(row, _paper_row(found["paper"], row["label"])))
    theirs = DATA[found["paper"]]
    section.notes.append(
        f"{found['explicit']:,} explicit facts, {found['facts']:,} in all with {found['derivations']:,} "
        f"derivations in {found['scratch']:.2f} s (paper: {theirs.explicit:.3g}, "
        f"{theirs.explicit + theirs.implicit:.3g}, {theirs.instances:.3g}, {theirs.seconds:,.0f} s)."
    )
    equal = found["equilibrium"]
    share, theirs_share = (
        equal["high"] / found["explicit"],
        TABLE[found["paper"]][-1].explicit / theirs.explicit,
    )
    section.notes.append(
        f"B/F costs as much as starting over between {equal['low']:,} and {equal['high']:,} deletions, "
        f"{share:.1%} of the explicit facts (paper: {theirs_share:.1%})."
    )
    section.notes.append("CPU ms; |D| and |C|: facts considered for deletion; in brackets: the paper's.")
    _add_targets(section, name, found)
    labels = [row["label"] for row in found["sizes"]]
    series = {s: [_milliseconds(row, s) for row in found["sizes"]] for s in _STRATEGIES}
    section.plots.append(plots.lines(f"bf-{name}".lower(), title, "CPU ms, by deleted facts", labels, series))
    section.records.append({"dataset": name, **found})
    return section


def _paper_row(paper: str, label: str) -> Deletion | None:
    rows, at = TABLE[paper], _PAPER_ROWS.get(label)
    return rows[at] if at is not None and at < len(rows) else None


def _cells(row: Found, paper: Deletion | None) -> Iterator[str]:
    bf, dred = row["by"]["bf"], row["by"]["dred"]
    yield from (row["label"], f"{row['size']:,}", _count(bf, "implicit"), _time(row, "recompute"))
    yield from (_time(row, "dred"), _count(dred, "deletions"), _time(row, "bf"), _count(bf, "checked"))
    yield from (_time(row, "ranked"), _time(row, "auto"))
    ms = {name: _milliseconds(row, name) for name in _STRATEGIES}
    yield _beside(_ratio(ms["recompute"], ms["bf"]), paper and paper.again_over_bf)
    yield _beside(_ratio(ms["dred"], ms["bf"]), paper and paper.dred_over_bf)
    yield _beside(_ratio(dred.get("deletions"), bf.get("checked")), paper and paper.considered)


def _check_same(section: Section, row: Found) -> None:
    counts = {name: found["implicit"] for name, found in row["by"].items() if "implicit" in found}
    if len(set(counts.values())) > 1:
        section.problems.append(f"{row['label']}: different facts are left: {counts}")


def _add_targets(section: Section, name: str, found: Found) -> None:
    if name == _JUDGED:
        rows = [row for row in found["sizes"] if row["label"] != "100 %"]
        for other in ("dred", "recompute"):
            slower = _slower(rows, ("bf",), other)
            section.check(f"B/F beats {other} below the equilibrium", slower)
    for other in ("dred", "bf", "recompute"):
        slower = _slower(found["sizes"], ("ranked", "auto"), other)
        section.check(f"ranked or auto beats {other} everywhere", slower)


def _slower(rows: Sequence[Found], ours: Sequence[str], other: str) -> list[str]:
    """The rows in which all of ours cost more than the other; one that was stopped costs more than any."""
    wrong = []
    for row in rows:
        best = min((ms for name in ours if (ms := _milliseconds(row, name)) is not None), default=None)
        theirs = _milliseconds(row, other)
        if theirs is not None and (best is None or best > theirs):
            wrong.append(row["label"] if best is None else f"{row['label']} {best / theirs:.2f}")
    return wrong


def _milliseconds(row: Found, strategy: str) -> float | None:
    seconds = row["by"][strategy].get("cpu_seconds")
    return None if seconds is None else 1e3 * seconds


def _time(row: Found, strategy: str) -> str:
    ms = _milliseconds(row, strategy)
    if ms is None:
        return f"> {row['by'][strategy]['stopped_after'] * 1e3:,.0f}"
    return f"{ms:,.1f}"


def _count(figures: Found, name: str) -> str:
    return f"{figures[name]:,}" if name in figures else "–"


def _ratio(value: float | None, other: float | None) -> float | None:
    return value / other if value is not None and other else None


def _beside(ours: float | None, paper: float | None) -> str:
    return f"{_shown(ours)} ({_shown(paper)})"


def _shown(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"
