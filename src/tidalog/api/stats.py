"""The figures of a knowledge base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass


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
        lines += [f"{name}: {bad_rows(count)} left out" for name, count in self.skipped.items()]
        return "\n".join(lines)


def summary(stats: Stats) -> str:
    """One line: what was derived, how fast, in how much memory."""
    parts = [
        f"{stats.implicit:,} facts derived from {stats.explicit:,}",
        f"{stats.seconds:.2f} s",
        f"{amount(stats.facts_per_second)} facts/s",
        f"{stats.derivations:,} derivations",
        size(stats.bytes),
    ]
    return " · ".join(parts)


def times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def bad_rows(count: int) -> str:
    return "1 bad row" if count == 1 else f"{count:,} bad rows"


def amount(value: float) -> str:
    """`950`, `12 k`, `3.4 M`: three figures at most."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= limit:
            scaled = value / limit
            return f"{scaled:.1f}{unit}" if scaled < 100 else f"{scaled:.0f}{unit}"
    return f"{value:.0f}"


def size(count: int) -> str:
    """`3.1 MB`."""
    return f"{amount(count)}B" if count >= 1000 else f"{count} B"
