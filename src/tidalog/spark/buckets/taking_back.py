"""Updates of some keys taken back, while those of the others stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from tidalog.maintain.delta import PredicateDelta
from tidalog.maintain.maintainer import UpdateIds
from tidalog.maintain.transaction import Batch
from tidalog.spark.buckets.rounds import Ids
from tidalog.storage.records import Change, Facts


def inverse(delta: dict[str, PredicateDelta], keys: Ids) -> UpdateIds:
    """What makes facts of some keys explicit that are no longer, and the other way round."""
    deletions: list[Batch] = []
    insertions: list[Batch] = []
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
                target.append(Batch(name, [column[mine] for column in columns], int(mine.sum())))
    return UpdateIds(tuple(deletions), tuple(insertions))


def left(change: PredicateDelta, keys: Ids) -> PredicateDelta:
    """A change without some keys; what became explicit or implicit is told to nobody."""
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


def without(change: Change, keys: Ids) -> Change:
    return Change(None, list(_other(change.deletions, keys)), list(_other(change.insertions, keys)))


def _other(facts: Iterable[Facts], keys: Ids) -> Iterator[Facts]:
    for part in facts:
        kept: npt.NDArray[np.bool_] = ~np.isin(part.columns[0], keys)
        if kept.any():
            yield Facts(part.predicate, [column[kept] for column in part.columns], int(kept.sum()))


def composed(
    first: dict[str, PredicateDelta], second: dict[str, PredicateDelta]
) -> dict[str, PredicateDelta]:
    """What two changes made, one behind the other, as one.  What became explicit or implicit is not in it."""
    result: dict[str, PredicateDelta] = {}
    for name in {**first, **second}:
        now: dict[tuple[int, ...], tuple[bool, bool]] = {}
        for change in (part[name] for part in (first, second) if name in part):
            for inserted, columns, explicit in (
                (False, change.deleted, change.deleted_explicit),
                (True, change.inserted, change.inserted_explicit),
            ):
                facts = zip(*(column.tolist() for column in columns), strict=True)
                for fact, is_explicit in zip(facts, explicit.tolist(), strict=True):
                    if now.pop(fact, (inserted, False))[0] == inserted:
                        now[fact] = inserted, is_explicit
        width = len((first.get(name) or second[name]).inserted)
        left_over = [_columns([f for f, (sign, _) in now.items() if sign == s], width) for s in (True, False)]
        flags = [np.array([e for sign, e in now.values() if sign == s], np.bool_) for s in (True, False)]
        result[name] = PredicateDelta(
            left_over[0], len(flags[0]), flags[0], left_over[1], len(flags[1]), flags[1]
        )
    return result


def _columns(facts: list[tuple[int, ...]], width: int) -> list[Ids]:
    return [np.array([fact[place] for fact in facts], np.int32) for place in range(width)]
