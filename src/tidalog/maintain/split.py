"""Relations that are split off others: facts of a relation with some constants move to one of their own.

In the new relation they are there as if they had always been, before the update begins; in the one that they
leave, the update deletes them.  So nothing that follows from them is new, and the cost follows their number:
they are found by an index on the constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tidalog.engine.bits import EXPLICIT, PRESENT, STATUS_EXPLICIT
from tidalog.engine.engine import EmbeddedEngine
from tidalog.model.facts import Ids


@dataclass(frozen=True, slots=True)
class SplitOff:
    """A relation that gets the explicit facts of another one with these values in some columns; they have the
    other columns there."""

    relation: str
    general: str
    key: Mapping[int, int]


def split_off(engine: EmbeddedEngine, splits: Sequence[SplitOff]) -> dict[int, Ids]:
    """Puts facts into the relations that are split off, in the savepoint that is open.  Gives the facts that
    leave each general relation."""
    left: dict[int, list[Ids]] = {}
    for split in splits:
        if not engine.has(split.general):
            continue
        general, arity = engine.predicate(split.general), engine.arity(split.general)
        own = [column for column in range(arity) if column not in split.key]
        relation = engine.predicate(split.relation, len(own))
        index = engine.temporary_index(general, tuple(split.key))
        ids = engine.indexes.ids_of_key(index, engine.store, list(split.key.values()))
        status = engine.store.arrays.status[ids]
        ids = ids[(status & (EXPLICIT | PRESENT)) == EXPLICIT | PRESENT]
        if len(ids):
            columns = [engine.store.column(ids, column) for column in own]
            engine.store.insert(relation, columns, len(ids), STATUS_EXPLICIT)
            left.setdefault(general, []).append(ids)
    return {general: np.concatenate(parts) for general, parts in left.items()}
