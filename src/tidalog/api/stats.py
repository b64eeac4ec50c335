"""The figures of a knowledge base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from tidalog.model.amounts import counted, duration, rate, size, times


@dataclass(frozen=True, slots=True)
class Stats:
    """What a knowledge base holds, and what its last materialisation did."""

    predicates: Mapping[str, int]
    """Facts by predicate; triples count once, as `triple`."""
    facts: int
    explicit: int
    implicit: int
    """Facts that are derived and not explicit as well."""
    terms: int
    bytes: int
    """The engine's arrays: facts, indexes and terms."""
    peak_bytes: int
    derivations: int
    """Rule instances found, each once."""
    rounds: int
    seconds: float
    cpu_seconds: float
    uncomputed: Mapping[str, int]
    """Rule → how often a built-in in it could not be computed."""
    skipped: Mapping[str, int]
    """Predicate → bad rows that were left out when its data was read."""

    @property
    def facts_per_second(self) -> float:
        """Implicit facts a second of materialisation."""
        return self.implicit / self.seconds if self.seconds > 0 else 0.0

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "facts_per_second": self.facts_per_second}

    def __str__(self) -> str:
        width = max((len(name) for name in self.predicates), default=0)
        lines = [f"{name:<{width}}  {count:>12,}" for name, count in self.predicates.items()]
        lines.append(summary(self))
        lines += [f"rule {rule}: not computable {times(count)}" for rule, count in self.uncomputed.items()]
        lines += [f"{name}: {counted(count, 'bad row')} left out" for name, count in self.skipped.items()]
        return "\n".join(lines)


def summary(stats: Stats) -> str:
    """One line: what was derived, how fast, in how much memory."""
    parts = [
        f"{counted(stats.implicit, 'fact')} derived from {stats.explicit:,}",
        duration(stats.seconds),
        *rate(stats.implicit, stats.seconds, "facts"),
        counted(stats.derivations, "derivation"),
        size(stats.bytes),
    ]
    return " · ".join(parts)
