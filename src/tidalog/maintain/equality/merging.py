"""Which classes become one because of pairs of terms that are equal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tidalog.engine.dictionary import Dictionary
from tidalog.engine.equal_terms import EqualTerms
from tidalog.maintain.equality.relations import Table
from tidalog.model.facts import Ids
from tidalog.model.terms import sort_key


def joined(pairs: Table) -> Iterator[list[int]]:
    """The terms that pairs connect."""
    above: dict[int, int] = {}

    def top(term: int) -> int:
        while (next_ := above.setdefault(term, term)) != term:
            above[term] = above[next_]
            term = above[term]
        return term

    for one, other in pairs.tolist():
        above[top(one)] = top(other)
    found: dict[int, list[int]] = {}
    for term in above:
        found.setdefault(top(term), []).append(term)
    yield from found.values()


def merged(equal: EqualTerms, pairs: Table, dictionary: Dictionary) -> tuple[dict[int, Ids], dict[int, Ids]]:
    """The classes that pairs of representatives make one: those that go, and those that come.  The
    representative is the first member in the order of terms, whatever the order of updates."""
    going: dict[int, Ids] = {}
    coming: dict[int, Ids] = {}
    for group in joined(pairs):
        first = min(group, key=lambda number: sort_key(dictionary.term(number)))
        known = {number: equal.classes[number] for number in group if number in equal.classes}
        going |= known
        alone = np.array([number for number in group if number not in known], np.int32)
        coming[first] = np.sort(np.concatenate([alone, *known.values()]))
    return going, coming
