"""Several systems on one job: runs in turn, the best of them, and whether all say the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.digest import Content, agree
from bench.process import ERROR, OK, Limits, Run, run_job
from bench.systems import System

NOT_INSTALLED = "not installed"
INEXPRESSIBLE = "cannot say it"
_LONG_ENOUGH_SECONDS = 30.0
"""A system whose run took longer is not run again: repeating it would show nothing new."""


@dataclass(frozen=True)
class Contender:
    """A system with all its runs of one job."""

    system: System
    status: str
    runs: tuple[Run, ...] = ()
    detail: str = ""

    @property
    def good(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.status == OK)

    def best(self, phase: str, clock: str) -> float | None:
        """The least `cpu` or `wall` seconds of a phase over all runs."""
        return min((getattr(run.phase(phase), clock) for run in self.good), default=None)

    def all(self, phase: str, clock: str) -> list[float]:
        return [getattr(run.phase(phase), clock) for run in self.good]

    @property
    def peak_bytes(self) -> int | None:
        return min((run.peak_bytes for run in self.good), default=None)

    @property
    def contents(self) -> Mapping[str, Content]:
        return self.good[0].contents if self.good else {}


def contest(
    systems: Sequence[System],
    able: Iterable[str],
    folder: Path,
    repeat: int,
    limits: Limits,
) -> list[Contender]:
    """Run every system `repeat` times, taking turns so that a busy minute hits all alike.

    `able` are the keys of the systems that can do this job at all.
    """
    able = set(able)
    out = {
        system.key: NOT_INSTALLED if system.version() is None else INEXPRESSIBLE
        for system in systems
        if system.version() is None or system.key not in able
    }
    runs: dict[str, list[Run]] = {system.key: [] for system in systems}
    for _ in range(repeat):
        for system in systems:
            if system.key in out or _settled(runs[system.key]):
                continue
            for threads in system.threads:
                runs[system.key].append(run_job(system, folder, threads, limits))
    return [_contender(system, out.get(system.key), runs[system.key]) for system in systems]


def _settled(runs: Sequence[Run]) -> bool:
    return any(
        run.status != OK or sum(phase.wall for phase in run.phases.values()) > _LONG_ENOUGH_SECONDS
        for run in runs
    )


def _contender(system: System, absent: str | None, runs: Sequence[Run]) -> Contender:
    if absent is not None:
        return Contender(system, absent)
    failed = next((run for run in runs if run.status != OK), None)
    if failed is not None and not any(run.status == OK for run in runs):
        return Contender(system, failed.status, tuple(runs), failed.detail)
    return Contender(system, OK, tuple(runs))


def disagreements(
    contenders: Sequence[Contender],
    expected: Mapping[str, int] | None,
) -> list[str]:
    """Sentences about results that differ, from what is expected or from one another; none is good."""
    found = []
    finished = [contender for contender in contenders if contender.good]
    for contender in finished:
        if not all(_same(run.contents, contender.contents) for run in contender.good):
            found.append(f"{contender.system.label} gives different results in different runs")
        for predicate, count in (expected or {}).items():
            content = contender.contents.get(predicate)
            if content is None or content.count != count:
                got = "no" if content is None else f"{content.count:,}"
                found.append(f"{contender.system.label}: {predicate} has {got} facts, expected {count:,}")
    for one, other in pairwise(finished):
        if not _same(one.contents, other.contents):
            found.append(f"{one.system.label} and {other.system.label} differ in their results")
    found.extend(
        f"{contender.system.label} failed: {_last_line(contender.detail)}"
        for contender in contenders
        if contender.status == ERROR
    )
    return found


def _same(one: Mapping[str, Content], other: Mapping[str, Content]) -> bool:
    return one.keys() == other.keys() and all(agree(one[name], other[name]) for name in one)


def _last_line(text: str) -> str:
    """Of a traceback, the line that says what went wrong; the JSON file has all of it."""
    return text.splitlines()[-1] if text else "without a word"
