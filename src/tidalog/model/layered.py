"""Mappings that grow by a few entries at a time at a cost that follows these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Generic, TypeVar

V = TypeVar("V")
_MOST: Final = 256
"""Entries of the upper layer; then both become one."""


class Layered(Mapping[str, V], Generic[V]):
    """An immutable mapping with other entries on top."""

    def __init__(self, below: Mapping[str, V], above: Mapping[str, V]) -> None:
        lower: Mapping[str, V] = below
        if isinstance(below, Layered):
            lower, above = below._below, {**below._above, **above}
        if len(above) > _MOST:
            lower, above = {**lower, **above}, {}
        self._below: Mapping[str, V] = lower
        self._above: Mapping[str, V] = above
        self._new = [key for key in above if key not in lower]

    def __getitem__(self, key: str) -> V:
        return self._above[key] if key in self._above else self._below[key]

    def __contains__(self, key: object) -> bool:
        return key in self._above or key in self._below

    def __iter__(self) -> Iterator[str]:
        yield from self._below
        yield from self._new

    def __len__(self) -> int:
        return len(self._below) + len(self._new)
