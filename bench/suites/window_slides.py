"""Windows: a large one that slides by little, memory, and systems with windows of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from bench.compare import NOT_INSTALLED
from bench.incremental.jobs import run_job
from bench.process import OK
from bench.report import Section
from bench.suites.options import Options
from bench.suites.window_shares import BEST, long_enough, shown
from bench.windows.join_task import JoinTask, expected
from bench.windows.peers import OURS, PEERS, joined
from bench.windows.slides import USERS
from bench.windows.variants import BARE

Found = Mapping[str, Any]

_STEPS_A_SECOND = 200.0
_WORST_MILLISECONDS = 20.0
_MOST_GROWTH = 3.0
_SLIDE = 1_000

_SLIDE_COLUMNS = (
    "strategy",
    "window",
    "background",
    "paths",
    "ms a slide",
    "worst ms",
    "slides a second",
    BARE,
    f"{BARE} ÷ slide",
)


def slides(options: Options) -> Iterator[Section]:
    windows = (2_000, 4_000) if options.quick else (10_000, 100_000, 1_000_000)
    backgrounds = (1_000, 2_000) if options.quick else (10_000, 100_000, 1_000_000)
    step = 200 if options.quick else _SLIDE
    named = ("auto", "expire") if BEST == "expire" else ("auto",)
    section = Section(f"Slides by {step:,} facts, two-rule closure of trees", _SLIDE_COLUMNS, text_columns=1)

    def measured(strategy: str, window: int, background: int) -> Found | None:
        options.say(f"papers: slides, {strategy}, {window:,} over {background:,}")
        steps = 5 if options.quick else 60
        request = {"strategy": strategy, "window": window, "background": background, "step": step}
        done = run_job(
            "window-slides", {**request, "steps": steps, "repeat": options.repeat}, long_enough(options)
        )
        if done.status != OK:
            section.problems.append(f"{strategy}, {window:,}: {done.problem}")
            return None
        _add_slide(section, strategy, window, background, done.figures)
        section.records.append({**request, **done.figures})
        return done.figures

    for strategy in named:
        found = {window: measured(strategy, window, 0) for window in windows}
        section.end_group()
        _check_sizes(section, strategy, found)
    measured(USERS, windows[-1], 0)
    section.end_group()
    for strategy in ("ranked", *named[1:]):
        by_background = {size: measured(strategy, windows[0], size) for size in backgrounds}
        section.end_group()
        counters = [found["counters"] for found in by_background.values() if found]
        text = f"{strategy}: every counter is the same whatever the background"
        section.check(text, [] if all(one == counters[0] for one in counters) else ["this run"])
    section.notes.append(
        f"CPU of a slide in the mean, best of several blocks, and the worst in it; {USERS}: from Arrow "
        "columns to a delta.  The background is of other trees."
    )
    yield section


def _add_slide(section: Section, strategy: str, window: int, background: int, found: Found) -> None:
    mean, worst, bare = found["cpu_seconds"], found["worst_cpu_seconds"], found["bare_kernel"]
    section.add(
        strategy,
        f"{window:,}",
        f"{background:,}",
        f"{found['paths']:,}",
        shown(1e3 * mean),
        shown(1e3 * worst),
        f"{1 / mean:,.0f}",
        shown(1e3 * bare),
        f"{bare / mean:,.1f}",
    )
    if found["wrong"]:
        section.problems.append(f"{strategy}, {window:,} over {background:,}: another result")


def _check_sizes(section: Section, strategy: str, by_window: Mapping[int, Found | None]) -> None:
    found = {window: figures for window, figures in by_window.items() if figures}
    if len(found) < 2:
        return
    small, large = found[min(found)], found[max(found)]
    rate, worst = 1 / large["cpu_seconds"], 1e3 * large["worst_cpu_seconds"]
    text = f"{strategy}: {rate:,.0f} slides a second of {max(found):,}, at least {_STEPS_A_SECOND:g}"
    section.check(text, [] if rate >= _STEPS_A_SECOND else ["this run"])
    text = f"{strategy}: worst slide {worst:.1f} ms, at most {_WORST_MILLISECONDS:g}"
    section.check(text, [] if worst <= _WORST_MILLISECONDS else ["this run"])
    growth = large["cpu_seconds"] / small["cpu_seconds"]
    text = f"{strategy}: {growth:.2f} times the time in the largest window, at most {_MOST_GROWTH:g}"
    section.check(text, [] if growth <= _MOST_GROWTH else ["this run"])


# --- memory -------------------------------------------------------------------------------------------------


def memory(options: Options) -> Iterator[Section]:
    window, step = (2_000, 200) if options.quick else (1_000_000, _SLIDE)
    columns = ("facts are", "facts", "engine: bytes a fact", "process: bytes a fact")
    section = Section(f"Memory of a window of {window:,}", columns, text_columns=1)
    for windowed in (False, True):
        options.say("papers: memory of windows")
        request = {"window": window, "step": step, "windowed": windowed}
        done = run_job("window-memory", request, long_enough(options))
        if done.status != OK:
            section.problems.append(f"memory: {done.problem}")
            continue
        facts = done.figures["facts"]
        name = "in a window" if windowed else "inserted and deleted"
        cells = (done.figures[key] / facts for key in ("engine_bytes", "resident_bytes"))
        section.add(name, f"{facts:,}", *(f"{value:,.1f}" for value in cells))
        section.records.append({**request, **done.figures})
    section.notes.append("Process: what it holds more than before the first fact.")
    yield section


# --- peers --------------------------------------------------------------------------------------------------

_PEER_COLUMNS = ("system", "status", "matches", "CPU ms a step", "wall ms", "lesser ÷ ours")


def peers(options: Options) -> Iterator[Section]:
    rows, seconds, steps = (50, 3, 6) if options.quick else (2_000, 10, 30)
    task = JoinTask(rows, seconds, steps)
    title = f"One join over two windows of {seconds} s, {rows:,} rows of each side a second"
    section = Section(title, _PEER_COLUMNS)
    right, first = expected(task), steps // 2
    ours: float | None = None
    load = os.getloadavg()[0]
    for peer in (OURS, *PEERS):
        if options.only and peer.key not in options.only:
            continue
        options.say(f"papers: windows, {peer.label}")
        found = joined(peer, task, right, long_enough(options))
        if found.status != OK:
            section.add(found.system, found.status, *["–"] * 4)
            if found.status != NOT_INSTALLED:
                section.problems.append(f"{found.system}: {found.status}: {found.detail}")
            continue
        least = found.seconds(first)
        ours = least if peer is OURS else ours
        cpu, wall = (1e3 * sum(part[first:]) / len(part[first:]) for part in (found.cpu, found.wall))
        ratio = f"{least / ours:,.1f}" if ours else "–"
        cells = (f"{found.matches:,}", shown(cpu), shown(wall), ratio)
        section.add(found.system, found.status, *cells)
        section.records.append({"peer": peer.key, **found.record})
    section.notes.append(
        "Means of the second half of the steps.  Ours: `kb.update`, Arrow columns in and the matches out; "
        "Pathway: from the commit on, matches are counted and summed there; Spark: the triggers of a step, "
        f"matches to memory.  Load of the machine: {load:.1f} before, {os.getloadavg()[0]:.1f} after."
    )
    yield section
