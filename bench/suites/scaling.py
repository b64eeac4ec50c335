"""Scaling: the same program on inputs whose result doubles; the time should at most double too."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from bench.closures import chain_closure_size, left_closure
from bench.compare import Contender, contest, disagreements
from bench.generators import chains, random_digraph
from bench.report import Section, Target, ratio, seconds
from bench.staging import stage
from bench.stratified import shop
from bench.suites.options import Options
from bench.systems import TIDALOG
from bench.workload import Workload

_COLUMNS = ("family", "input", "facts", "CPU s", "facts ×", "CPU ×", "CPU × ÷ facts ×", "peak MB")


def run(options: Options) -> list[Section]:
    section = Section("Scaling of Tidalog: each size doubles the result", _COLUMNS)
    if not options.with_tidalog:
        return []
    for family, workloads in _families(options.quick).items():
        before: Contender | None = None
        for workload in workloads:
            options.say(f"{family}: {workload.title}")
            with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as scratch:
                stage(workload, Path(scratch))
                (contender,) = contest([TIDALOG], {"tidalog"}, Path(scratch), options.repeat, options.limits)
            section.records.append(
                {
                    "family": family,
                    "workload": workload.title,
                    "status": contender.status,
                    "runs": [asdict(run) for run in contender.runs],
                }
            )
            section.problems += disagreements([contender], workload.expected)
            _add_row(section, family, workload, contender, before)
            if before is not None and not options.quick:
                _add_target(section, family, contender, before)
            before = contender
        section.end_group()
    return [section]


def _add_row(
    section: Section, family: str, workload: Workload, contender: Contender, before: Contender | None
) -> None:
    if not contender.good:
        section.add(family, workload.title, contender.status, *["–"] * (len(_COLUMNS) - 3))
        return
    facts, cpu = _facts(contender), contender.best("evaluate", "cpu")
    growth = slowdown = relative = ""
    if before is not None and before.good:
        growth = ratio(facts, _facts(before))
        slowdown = ratio(cpu, before.best("evaluate", "cpu"))
        earlier = before.best("evaluate", "cpu")
        if cpu and earlier:
            relative = ratio(cpu / earlier, facts / _facts(before))
    peak = contender.peak_bytes or 0
    section.add(
        family,
        workload.title,
        f"{facts:,.0f}",
        seconds(cpu),
        growth,
        slowdown,
        relative,
        f"{peak / 1e6:,.0f}",
    )


def _add_target(section: Section, family: str, contender: Contender, before: Contender) -> None:
    cpu, earlier = contender.best("evaluate", "cpu"), before.best("evaluate", "cpu")
    if cpu is None or not earlier:
        return
    slower, larger = cpu / earlier, _facts(contender) / _facts(before)
    text = f"{family}: {slower:.2f} times the time for {larger:.2f} times the result"
    section.targets.append(Target(text, slower <= larger))


def _facts(contender: Contender) -> float:
    return float(sum(content.count for content in contender.contents.values()))


def _families(quick: bool) -> dict[str, Sequence[Workload]]:
    """Nodes and edges of a digraph grow by √2: its closure, nearly all pairs, then doubles."""
    counts = (10, 20, 40) if quick else (100, 200, 400)
    digraphs = (
        ((200, 400), (283, 566), (400, 800)) if quick else ((2_000, 4_000), (2_828, 5_656), (4_000, 8_000))
    )
    purchases = (10_000, 20_000, 40_000) if quick else (500_000, 1_000_000, 2_000_000)
    return {
        "chains": [
            left_closure(
                "chains",
                f"{count} chains of 200 nodes",
                partial(chains, count, 200),
                *chain_closure_size(count, 200),
            )
            for count in counts
        ],
        "digraph": [
            left_closure(
                "digraph",
                f"digraph of {nodes:,} nodes, {edges:,} edges",
                partial(random_digraph, nodes, edges),
            )
            for nodes, edges in digraphs
        ],
        "shop": [shop("shop", number // 20, number) for number in purchases],
    }
