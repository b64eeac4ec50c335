"""Which components an update reaches: by the predicates that they read, in topological order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from tidalog.maintain.component import MaintainedComponent


class Readers:
    """Which components read or derive a predicate; components are numbered in topological order."""

    def __init__(self, components: Sequence[MaintainedComponent]) -> None:
        self.holder = {p: number for number, one in enumerate(components) for p in one.numbers}
        """Predicate → the component that derives it."""
        self._readers: dict[int, list[int]] = {}
        for number, one in enumerate(components):
            for predicate in one.lower:
                self._readers.setdefault(predicate, []).append(number)

    def of(self, predicate: int) -> Sequence[int]:
        """The components above that read a predicate."""
        return self._readers.get(predicate, ())


class Worklist:
    """Components to visit, the lowest first, each once."""

    def __init__(self) -> None:
        self._heap: list[int] = []
        self._known: set[int] = set()

    def add(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number not in self._known:
                self._known.add(number)
                heapq.heappush(self._heap, number)

    def pop(self) -> int:
        return heapq.heappop(self._heap)

    def __bool__(self) -> bool:
        return bool(self._heap)
