"""Speed and memory: every workload in every system, side by side."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.compare import Contender, contest, disagreements
from bench.process import OK
from bench.report import Record, Section, Target, megabytes, ratio, seconds
from bench.staging import stage
from bench.suites.options import Options
from bench.workload import Workload
from bench.workloads import speed_workloads

_COLUMNS = (
    "workload",
    "system",
    "facts",
    "CPU s",
    "wall s",
    "Tidalog ÷ peer, CPU",
    "wall",
    "M derivations / CPU s",
    "load s",
    "start s",
    "peak MB",
    "CPU s of all runs",
)
_MEMORY_COLUMNS = (
    "workload",
    "facts",
    "engine MB",
    "bytes a fact",
    "process bytes a fact",
    "final MB",
    "peak MB",
    "peak ÷ final",
)

_LEAST_RATE = 15.0
_MOST_BYTES_A_FACT = 80


def run(options: Options) -> list[Section]:
    speed = Section("Speed: evaluation, best of all runs", _COLUMNS)
    memory = Section("Memory of Tidalog", _MEMORY_COLUMNS, text_columns=1)
    for workload in speed_workloads(options.quick):
        if options.names and workload.name not in options.names:
            continue
        with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as scratch:
            options.say(f"{workload.name}: {workload.title}")
            folder = Path(scratch)
            stage(workload, folder)
            able = {"tidalog", *workload.scripts}
            contenders = contest(options.systems, able, folder, options.repeat, options.limits)
        _add_speed_rows(speed, workload, contenders)
        _add_memory_row(memory, workload, contenders)
        if not options.quick:
            _add_targets(speed, memory, workload, contenders)
    speed.notes += [
        "CPU and wall are of the evaluation alone; loading and start-up (imports, compiled code) are beside.",
        "Tidalog ÷ peer below 1: Tidalog is faster.  DuckDB: the better of one and two threads.",
        "Peak is of the whole process with its Python.  Derivations are rule instances, each counted once.",
    ]
    memory.notes.append(
        "Engine: all arrays of facts, hash table, indexes and dictionary.  Process: resident size after "
        "evaluation less that before loading."
    )
    return [speed, memory] if memory.rows else [speed]


def _add_speed_rows(section: Section, workload: Workload, contenders: list[Contender]) -> None:
    own = _own(contenders)
    derivations = workload.derivations
    if derivations is None and own is not None:
        derivations = int(own.good[0].notes["derivations"])
    for contender in contenders:
        section.records.append(_record(workload, contender))
        label = contender.system.label
        if contender.status != OK:
            section.add(workload.name, label, *[contender.status], *["–"] * (len(_COLUMNS) - 3))
            continue
        cpu, wall = contender.best("evaluate", "cpu"), contender.best("evaluate", "wall")
        versus = own if contender is not own else None
        section.add(
            workload.name,
            label,
            f"{sum(content.count for content in contender.contents.values()):,}",
            seconds(cpu),
            seconds(wall),
            ratio(versus.best("evaluate", "cpu"), cpu) if versus else "",
            ratio(versus.best("evaluate", "wall"), wall) if versus else "",
            _rate(derivations, cpu),
            seconds(contender.best("load", "wall")),
            seconds(contender.best("start", "wall")),
            megabytes(contender.peak_bytes),
            " ".join(seconds(value) for value in contender.all("evaluate", "cpu")),
        )
    section.end_group()
    section.problems += [f"{workload.name}: {text}" for text in disagreements(contenders, workload.expected)]
    if own is not None and workload.derivations is not None:
        made = int(own.good[0].notes["derivations"])
        if made != workload.derivations:
            section.problems.append(
                f"{workload.name}: Tidalog made {made:,} derivations; there are {workload.derivations:,}"
            )


def _rate(derivations: int | None, cpu: float | None) -> str:
    if derivations is None or not cpu:
        return "–"
    return f"{derivations / cpu / 1e6:,.1f}"


def _add_memory_row(section: Section, workload: Workload, contenders: list[Contender]) -> None:
    own = _own(contenders)
    if own is None:
        return
    run = min(own.good, key=lambda run: run.peak_bytes)
    facts = run.notes["facts"]
    engine = run.notes["engine_bytes"]
    section.add(
        workload.name,
        f"{facts:,.0f}",
        megabytes(engine),
        f"{engine / facts:.1f}",
        f"{(run.final_bytes - run.base_bytes) / facts:.1f}",
        megabytes(run.final_bytes),
        megabytes(run.peak_bytes),
        f"{run.peak_bytes / run.final_bytes:.2f}",
    )


def _add_targets(speed: Section, memory: Section, workload: Workload, contenders: list[Contender]) -> None:
    own = _own(contenders)
    if own is None:
        return
    cpu, wall = own.best("evaluate", "cpu") or 0.0, own.best("evaluate", "wall") or 0.0
    if workload.derivations is not None:
        rate = workload.derivations / max(cpu, 1e-9) / 1e6
        text = f"{workload.name}: {rate:,.1f} million derivations a CPU second, at least {_LEAST_RATE:,.0f}"
        speed.targets.append(Target(text, rate >= _LEAST_RATE))
    for peer in contenders:
        if peer is own or not peer.good:
            continue
        their_cpu, their_wall = peer.best("evaluate", "cpu") or 0.0, peer.best("evaluate", "wall") or 0.0
        text = f"{workload.name}: faster than {peer.system.label} in CPU and wall time"
        speed.targets.append(Target(text, cpu < their_cpu and wall < their_wall))
    run = min(own.good, key=lambda run: run.peak_bytes)
    if workload.derivations is not None:
        size = run.notes["engine_bytes"] / run.notes["facts"]
        text = f"{workload.name}: {size:.1f} bytes a fact, at most {_MOST_BYTES_A_FACT}"
        memory.targets.append(Target(text, size <= _MOST_BYTES_A_FACT))
    memory.targets.append(
        Target(f"{workload.name}: peak at most twice the final size", run.peak_bytes <= 2 * run.final_bytes)
    )


def _own(contenders: list[Contender]) -> Contender | None:
    return next((c for c in contenders if c.system.key == "tidalog" and c.good), None)


def _record(workload: Workload, contender: Contender) -> Record:
    return {
        "workload": workload.name,
        "title": workload.title,
        "system": contender.system.key,
        "version": contender.system.version(),
        "status": contender.status,
        "detail": contender.detail,
        "runs": [asdict(run) for run in contender.runs],
    }
