"""Limits of a run, its progress and its figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a run stops with the state as before; `strict`: also where a built-in cannot be computed."""

    max_facts: int | None = None
    max_seconds: float | None = None
    max_memory: int | None = None
    """Bytes, by the engine's own account of its arrays."""
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is."""

    component: int
    components: int
    rule: str
    facts: int
    derivations: int
    rounds: int
    seconds: float


@dataclass(slots=True)
class RunStats:
    """What a run did."""

    facts: int = 0
    """Facts in the store after it, hidden ones left out."""
    derived: int = 0
    """Facts that it added."""
    derivations: int = 0
    """Rule instances found, each once."""
    rounds: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory: int = 0
    """Bytes of the engine's arrays at the end."""
    peak_memory: int = 0
    uncomputed: dict[str, int] = field(default_factory=dict)
    """Rule → computations that failed."""


ProgressCallback = Callable[[Progress], None]
