"""Which classes become one because of pairs of terms that are equal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tidalog.engine.dictionary import Dictionary
from tidalog.engine.equal_terms import EqualTerms
from tidalog.maintain.equality.relations import Table
from tidalog.model.facts import Ids
from tidalog.model.terms import sort_key


def joined(pairs: Table) -> Iterator[Ids]:
    """The terms that pairs connect: every term has the smallest label among its neighbours and theirs, until
    no label changes."""
    terms, ends = np.unique(pairs, return_inverse=True)
    one, other = ends.reshape(pairs.shape).T
    label = np.arange(len(terms))
    while True:
        least, before = np.minimum(label[one], label[other]), label
        label = before.copy()
        for end in (one, other, before[one], before[other]):
            np.minimum.at(label, end, least)
        while (jumped := label[label]).tobytes() != label.tobytes():
            label = jumped
        if (label == before).all():
            break
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    yield from np.split(terms[order], starts[1:])


def merged(equal: EqualTerms, pairs: Table, dictionary: Dictionary) -> tuple[dict[int, Ids], dict[int, Ids]]:
    """The classes that pairs of representatives make one: those that go, and those that come.  The
    representative is the first member in the order of terms, whatever the order of updates."""
    going: dict[int, Ids] = {}
    coming: dict[int, Ids] = {}
    for group in map(np.ndarray.tolist, joined(pairs)):
        first = min(group, key=lambda number: sort_key(dictionary.term(number)))
        known = {number: equal.classes[number] for number in group if number in equal.classes}
        going |= known
        alone = np.array([number for number in group if number not in known], np.int32)
        coming[first] = np.sort(np.concatenate([alone, *known.values()]))
    return going, coming
