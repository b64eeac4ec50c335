"""Windows: time of a step over the share of the window that changes in it, as in the IMaRS paper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import plots
from bench.incremental.jobs import failed, run_job
from bench.process import OK, Limits
from bench.report import Section
from bench.suites.options import Options
from bench.windows.variants import BARE, IMARS, NAMES, OURS, SCRATCH, VOLZ

BEST = "expire" if "expire" in OURS else "auto"
"""The strategy that is held to the targets: that for windows, where this version has it."""

_JOB_SECONDS = 1800.0
_STEP_CAP = 3.0
"""CPU seconds of all steps of a variant at one share, and of a single one."""
_SHARES = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_QUICK_SHARES = (2.0, 50.0)
_FEW_SHARES = (0.1, 1.0, 2.0, 10.0, 20.0, 50.0)
_ELSE = tuple(name for name in OURS if name != "auto")
_PLOTTED = (SCRATCH, BARE, VOLZ, IMARS, "ranked", BEST)

_LEAST_GAINS = {2.0: 7.0, 0.1: 100.0}
"""Against the bare kernel, by share."""
_LEAST_BREAK_EVEN = 10.0
_MOST_OVER_BEST = 1.2

Found = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """One table of shares."""

    title: str
    program: str
    shape: str
    window: int
    shares: Sequence[float] = _SHARES
    variants: Sequence[str] = NAMES
    transitive: bool = True
    """Whether the content changes, so that the strategy for windows is to beat all others."""
    beside_bare: bool = False
    """Whether the targets against the bare kernel hold."""


_FAST = (BARE, *OURS)
ROWS = (
    Row("Trees, two-rule closure", "closure", "trees", 10_000, beside_bare=True),
    Row("Trees, the transitive rule R", "R", "trees", 10_000, beside_bare=True),
    Row("Trees, two-rule closure", "closure", "trees", 100_000, _FEW_SHARES, _FAST, beside_bare=True),
    Row("Heartbeats, two-rule closure", "closure", "heartbeats", 10_000, _FEW_SHARES, transitive=False),
    Row("Dense digraph, two-rule closure", "closure", "dense", 1_000, _FEW_SHARES),
)


def long_enough(options: Options) -> Limits:
    return Limits(max(options.limits.seconds, _JOB_SECONDS), options.limits.bytes)


def shares(options: Options) -> Iterator[Section]:
    for row in ROWS[:2] if options.quick else ROWS:
        title = f"{row.title}: a window of {row.window:,}"
        options.say(f"papers: {title}")
        window = row.window // 10 if options.quick else row.window
        shares = _QUICK_SHARES if options.quick else row.shares
        by_size = {max(1, round(window * share / 100)): share for share in shares}
        request = {
            "program": row.program,
            "shape": row.shape,
            "window": window,
            "steps": list(by_size),
            "variants": row.variants,
            "blocks": options.repeat,
            "each": 2 if options.quick else 5,
            "cap": _STEP_CAP,
        }
        done = run_job("window-shares", request, long_enough(options))
        if done.status != OK:
            yield failed(title, done)
        else:
            yield shares_section(row, title, by_size, done.figures)


def shares_section(row: Row, title: str, by_size: Mapping[int, float], figures: Found) -> Section:
    gains = (f"{BARE} ÷ {BEST}", f"recompute ÷ {BEST}", "auto ÷ best")
    section = Section(title, ("changes", "rows", "result", *row.variants, *gains), text_columns=1)
    times: dict[str, list[float | None]] = {name: [] for name in row.variants}
    for size, share in by_size.items():
        found = figures["steps"][str(size)]
        variants = found["variants"]
        milliseconds = {}
        for name in row.variants:
            seconds = variants[name]["seconds"]
            milliseconds[name] = 1e3 * min(seconds) if seconds else None
            times[name].append(milliseconds[name])
            for step in variants[name]["wrong"]:
                section.problems.append(f"{share:g} %, {name}: another result after step {step}")
        cells = [shown(ms) if ms else variants[name]["status"] for name, ms in milliseconds.items()]
        best = min((ms for name, ms in milliseconds.items() if name in _ELSE and ms), default=None)
        section.add(
            f"{share:g} %",
            f"{size:,}",
            f"{found['facts']:,}",
            *cells,
            _ratio(milliseconds[BARE], milliseconds[BEST]),
            _ratio(milliseconds["recompute"], milliseconds[BEST]),
            _ratio(milliseconds["auto"], best),
        )
    section.records.append({"row": title, **figures})
    _add_targets(section, row, list(by_size.values()), times)
    labels = [f"{share:g} %" for share in by_size.values()]
    series = {name: times[name] for name in _PLOTTED if name in times}
    name = f"windows-{row.program}-{row.shape}-{row.window}".lower()
    section.plots.append(plots.lines(name, title, "CPU ms a step, by share that changes", labels, series))
    section.notes.append(
        "CPU ms of a step in the mean, best of several blocks.  Strategies: `Database.apply`, with windows "
        "and deltas; volz and stream: the printed programs; from scratch: everything derived, without deltas."
    )
    return section


Times = Mapping[str, Sequence[float | None]]


def _add_targets(section: Section, row: Row, shares: Sequence[float], times: Times) -> None:
    ours = times[BEST]
    for reference in (BARE, SCRATCH, "recompute", VOLZ, IMARS):
        if reference in times:
            found = break_even(shares, ours, times[reference])
            section.notes.append(f"{BEST} costs as much as {reference} {_where(found, shares)}.")
    if VOLZ in times and IMARS in times:
        won = [
            f"{s:g} %" for s, v, i in zip(shares, times[VOLZ], times[IMARS], strict=True) if v and i and i < v
        ]
        section.notes.append(f"The paper's program beats that of Volz at: {', '.join(won) or 'none'}.")
    if row.transitive:
        slower = _slower(shares, ours, times["recompute"], [s for s in shares if s <= 50])
        section.check(f"{BEST} beats recompute, deltas on both sides, up to half of the window", slower)
    if row.beside_bare:
        for share, least in _LEAST_GAINS.items():
            if share in shares:
                at = shares.index(share)
                gain = _quotient(times[BARE][at], ours[at])
                text = f"{BEST}: {gain:.1f} times as fast as the {BARE} at {share:g} %, at least {least:g}"
                section.check(text, [] if gain >= least else ["this run"])
        even = break_even(shares, ours, times[BARE])
        text = (
            f"{BEST} costs as much as the {BARE} {_where(even, shares)}; at {_LEAST_BREAK_EVEN:g} % or later"
        )
        section.check(text, [] if even is None or even >= _LEAST_BREAK_EVEN else ["this run"])
    if row.transitive and BEST == "expire":
        wrong = [
            f"{name} at {share}"
            for name in (VOLZ, "dred", "bf", "ranked")
            if name in times
            for share in _slower(shares, ours, times[name], shares)
        ]
        section.check("expire beats volz, DRed, B/F and ranked", wrong)
    worse = []
    for at, share in enumerate(shares):
        best = min((ms for name in _ELSE if (ms := times[name][at])), default=None)
        ratio = _quotient(times["auto"][at], best)
        if ratio > _MOST_OVER_BEST:
            worse.append(f"{share:g} % {ratio:.2f}")
    section.check(f"auto takes at most {_MOST_OVER_BEST:g} times the best strategy", worse)


def _slower(
    shares: Sequence[float],
    ours: Sequence[float | None],
    theirs: Sequence[float | None],
    asked: Sequence[float],
) -> list[str]:
    """The shares at which ours takes longer than theirs; one that took too long is slower than any."""
    pairs = zip(shares, ours, theirs, strict=True)
    return [f"{s:g} %" for s, own, other in pairs if s in asked and other and (own is None or own > other)]


def break_even(
    shares: Sequence[float], ours: Sequence[float | None], theirs: Sequence[float | None]
) -> float | None:
    """The share from which on ours takes longer, between two shares on logarithmic scales; None for none."""
    before: tuple[float, float] | None = None
    for share, own, other in zip(shares, ours, theirs, strict=True):
        if own is None or other is None:
            continue
        ratio = math.log(own / other)
        if ratio > 0:
            if before is None:
                return share
            x, y = math.log(before[0]), math.log(share)
            return math.exp(x + (y - x) * -before[1] / (ratio - before[1]))
        before = share, ratio
    return None


def _where(share: float | None, shares: Sequence[float]) -> str:
    if share is None:
        return "at no share"
    return f"already at {share:g} %" if share <= shares[0] else f"at {share:.2g} %"


def _quotient(value: float | None, other: float | None) -> float:
    return value / other if value and other else math.nan


def _ratio(value: float | None, other: float | None) -> str:
    return f"{value / other:.2f}" if value and other else "–"


def shown(value: float) -> str:
    return f"{value:,.1f}" if value >= 10 else f"{value:.3f}"
