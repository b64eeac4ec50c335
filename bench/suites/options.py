"""What a user asked for, as every suite sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bench.process import Limits
from bench.report import Section
from bench.systems import SYSTEMS, System


def _silent(message: str) -> None:
    del message


@dataclass(frozen=True)
class Options:
    quick: bool = False
    repeat: int = 3
    only: frozenset[str] = frozenset()
    """Keys of the systems to run; empty means all."""
    names: frozenset[str] = frozenset()
    """Workloads within a suite; empty means all."""
    limits: Limits = field(default_factory=Limits)
    say: Callable[[str], None] = _silent
    """Called with a line on what is being run."""

    @property
    def systems(self) -> list[System]:
        return [system for key, system in SYSTEMS.items() if not self.only or key in self.only]

    @property
    def with_tidalog(self) -> bool:
        return not self.only or "tidalog" in self.only


@dataclass(frozen=True)
class Suite:
    name: str
    title: str
    run: Callable[[Options], Iterable[Section]]
    """Sections are printed as they come."""
    workloads: Callable[[bool], tuple[str, ...]] = lambda quick: ()
    """Names that select single rows of the suite."""
