"""`did you mean …?` for a name that nothing defines, at a cost independent of the size of the program.

A typing error changes a letter or two, so the intended name is close in alphabetical order, read forwards or
backwards: only the names close in one of these orders are compared.  In a program with hundreds of undefined
predicates these are not typing errors but data yet to come: only the first few get suggestions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cached_property
from typing import Final

COMPARED: Final = 256
"""How many names are compared in each of the two orders; with fewer names, all are compared."""
SEARCHES: Final = 64
"""How many undefined names get a suggestion."""


class Suggestions:
    """Finds the intended name among those defined."""

    def __init__(self, defined: Iterable[str]) -> None:
        self._defined = defined
        self._searches = 0

    def near(self, name: str, cutoff: float) -> str | None:
        """The most similar name, if one is similar enough."""
        self._searches += 1
        if self._searches > SEARCHES:
            return None
        found = get_close_matches(name, self._candidates(name), 1, cutoff)
        return found[0] if found else None

    def _candidates(self, name: str) -> list[str]:
        if len(self._names) <= COMPARED:
            return self._names
        forwards = _around(self._names, name)
        backwards = (other[::-1] for other in _around(self._reversed, name[::-1]))
        return sorted({*forwards, *backwards})

    @cached_property
    def _names(self) -> list[str]:
        return sorted(self._defined)

    @cached_property
    def _reversed(self) -> list[str]:
        return sorted(name[::-1] for name in self._names)


def _around(names: list[str], name: str) -> list[str]:
    at = bisect_left(names, name)
    return names[max(0, at - COMPARED // 2) : at + COMPARED // 2]
