"""The figures of a knowledge base."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice

from tidalog.api.shown import SHOWN_PARTS, html_table, more
from tidalog.model.amounts import counted, duration, rate, size, times


@dataclass(frozen=True, slots=True, repr=False)
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
    uncomputed_examples: Mapping[str, str]
    """Rule → inputs for which that happened, and why, where one was found."""
    skipped: Mapping[str, int]
    """Predicate → bad rows that were skipped when its data was read."""

    @property
    def facts_per_second(self) -> float:
        """Implicit facts a second of materialisation."""
        return self.implicit / self.seconds if self.seconds > 0 else 0.0

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "facts_per_second": self.facts_per_second}

    def __str__(self) -> str:
        return "\n".join([*_counts(self.predicates), *self._remarks()])

    def __repr__(self) -> str:
        shown = _counts(dict(islice(self.predicates.items(), SHOWN_PARTS)))
        left_out = more(len(self.predicates), SHOWN_PARTS, "predicates")
        return "\n".join([*shown, *left_out, *islice(self._remarks(), SHOWN_PARTS)])

    def _repr_html_(self) -> str:
        counts = ((name, f"{count:,}") for name, count in islice(self.predicates.items(), SHOWN_PARTS))
        left_out = more(len(self.predicates), SHOWN_PARTS, "predicates")
        return html_table(("predicate", "facts"), counts, *left_out, *islice(self._remarks(), SHOWN_PARTS))

    def failures(self) -> Iterator[str]:
        """A line for each rule with a built-in that could not be computed."""
        for rule, count in self.uncomputed.items():
            found = self.uncomputed_examples.get(rule)
            yield f"rule {rule}: not computable {times(count)}" + (f", such as {found}" if found else "")

    def _remarks(self) -> Iterator[str]:
        yield summary(self)
        yield from self.failures()
        for name, count in self.skipped.items():
            yield f"{name}: {counted(count, 'bad row')} left out"


def _counts(predicates: Mapping[str, int]) -> list[str]:
    width = max((len(name) for name in predicates), default=0)
    return [f"{name:<{width}}  {count:>12,}" for name, count in predicates.items()]


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
