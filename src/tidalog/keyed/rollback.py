"""Rolls updates of some keys back, while those of the others stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from tidalog.maintain.delta import PredicateDelta
from tidalog.model.facts import Facts, Ids
from tidalog.model.update import EncodedUpdate


def inverse(delta: Mapping[str, PredicateDelta], keys: Ids) -> EncodedUpdate:
    """The update that undoes what a delta did to the explicit facts of some keys."""
    deletions: list[Facts] = []
    insertions: list[Facts] = []
    for name, change in delta.items():
        for target, columns, flags in (
            (deletions, change.inserted, change.inserted_explicit),
            (deletions, change.became_explicit, None),
            (insertions, change.deleted, change.deleted_explicit),
            (insertions, change.became_implicit, None),
        ):
            if not columns:
                continue
            mine = np.isin(columns[0], keys)
            mine = mine if flags is None else mine & flags
            if mine.any():
                target.append(Facts(name, [column[mine] for column in columns], int(mine.sum())))
    return EncodedUpdate(tuple(deletions), tuple(insertions))


def without_keys(change: PredicateDelta, keys: Ids) -> PredicateDelta:
    """A delta without some keys, and without what became explicit or implicit."""
    inserted = ~np.isin(change.inserted[0], keys)
    deleted = ~np.isin(change.deleted[0], keys)
    return PredicateDelta(
        [column[inserted] for column in change.inserted],
        int(inserted.sum()),
        change.inserted_explicit[inserted],
        [column[deleted] for column in change.deleted],
        int(deleted.sum()),
        change.deleted_explicit[deleted],
    )


def update_without(change: EncodedUpdate, keys: Ids) -> EncodedUpdate:
    return EncodedUpdate(list(_other(change.deletions, keys)), list(_other(change.insertions, keys)))


def _other(facts: Iterable[Facts], keys: Ids) -> Iterator[Facts]:
    for part in facts:
        kept: npt.NDArray[np.bool_] = ~np.isin(part.columns[0], keys)
        if kept.any():
            yield Facts(part.predicate, [column[kept] for column in part.columns], int(kept.sum()))


def composed(
    first: Mapping[str, PredicateDelta], second: Mapping[str, PredicateDelta]
) -> dict[str, PredicateDelta]:
    """Two deltas, one after the other, as one, without what became explicit or implicit."""
    result: dict[str, PredicateDelta] = {}
    for name in {**first, **second}:
        before: dict[_Fact, bool | None] = {}
        after: dict[_Fact, bool | None] = {}
        for change in (part[name] for part in (first, second) if name in part):
            for fact, was, now in _transitions(change):
                before.setdefault(fact, was)
                after[fact] = now
        new = {f: now for f, now in after.items() if now is not None and before[f] is None}
        gone = {f: was for f, was in before.items() if was is not None and after[f] is None}
        width = len((first.get(name) or second[name]).inserted)
        result[name] = PredicateDelta(
            _columns(new, width),
            len(new),
            np.array(list(new.values()), np.bool_),
            _columns(gone, width),
            len(gone),
            np.array(list(gone.values()), np.bool_),
        )
    return result


_Fact = tuple[int, ...]


def _transitions(change: PredicateDelta) -> Iterator[tuple[_Fact, bool | None, bool | None]]:
    """Facts, and whether they were and are explicit; None for a fact that was or is absent."""
    for fact, flag in zip(_facts(change.deleted), change.deleted_explicit.tolist(), strict=True):
        yield fact, flag, None
    for fact, flag in zip(_facts(change.inserted), change.inserted_explicit.tolist(), strict=True):
        yield fact, None, flag
    for fact in _facts(change.became_explicit):
        yield fact, False, True
    for fact in _facts(change.became_implicit):
        yield fact, True, False


def _facts(columns: list[Ids]) -> Iterator[_Fact]:
    return zip(*(column.tolist() for column in columns), strict=True)


def _columns(facts: Iterable[_Fact], width: int) -> list[Ids]:
    rows = list(facts)
    return [np.array([fact[position] for fact in rows], np.int32) for position in range(width)]
