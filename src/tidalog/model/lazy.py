"""`LazyMapping`: a mapping whose values are built when they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Generic, TypeVar

V = TypeVar("V")


class LazyMapping(Mapping[str, V], Generic[V]):
    """The values of some keys; each is built once."""

    def __init__(self, keys: Collection[str], build: Callable[[str], V]) -> None:
        """`keys`, which must not change, are found and iterated over as they are: a mapping, for example."""
        self._keys, self._build = keys, build
        self._built: dict[str, V] = {}

    def __getitem__(self, key: str) -> V:
        if key not in self._built:
            if key not in self._keys:
                raise KeyError(key)
            self._built[key] = self._build(key)
        return self._built[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
