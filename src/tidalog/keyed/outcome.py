"""What a batch does to a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tidalog.engine.dictionary import Dictionary
from tidalog.keyed.batches import Numbers, SubBatches
from tidalog.keyed.changes import KeyedChanges, plain_texts
from tidalog.keyed.keys import KeyTable
from tidalog.keyed.rule_edits import Refusal
from tidalog.model.facts import Ids
from tidalog.model.update import EncodedUpdate


@dataclass(frozen=True)
class Clock:
    """The time of the stream, and when a fact of a key expires next."""

    now: int
    due: int


@dataclass
class BatchOutcome:
    """What a batch did to a bucket."""

    changes: pa.Table
    """Insertions and deletions of facts, with their keys."""
    refused: pa.Table
    """Updates that violate a constraint: key, update, and the name of the constraint."""
    record: bytes
    """Applied to the bucket before, it restores the bucket after."""
    rows: int = 0
    updates: int = 0
    """Updates of keys that were applied."""
    skipped: int = 0
    refused_rows: int = 0
    expired: int = 0
    """Keys that were removed."""
    bad: list[str] = field(default_factory=list)
    """Faults of doubtful rows that are wrong."""
    changes_rules: bool = False
    rule_rows: Sequence[int] = (0, 0, 0)
    """Rows about rules: all, those of edits that were applied before, and those of refused edits."""
    refused_rules: list[Refusal] = field(default_factory=list)
    predicates: dict[str, list[int]] = field(default_factory=dict)
    """By predicate: how many facts were inserted and deleted."""
    expired_facts: int = 0
    """Facts that were too old for a window, or followed from such facts."""
    moves_time: bool = False
    clock: Clock | None = None
    """Time after the batch, if there are windows."""


@dataclass
class Collected:
    """What is collected while a batch is applied."""

    changes: KeyedChanges
    labels: pa.Array
    """Labels of the updates."""
    applied: list[EncodedUpdate] = field(default_factory=list)
    """Updates that were applied, for the record."""
    refused: list[tuple[Numbers, list[str]]] = field(default_factory=list)
    """Numbers of updates, and the constraint that each violates."""
    behind: list[tuple[Ids, Ids]] = field(default_factory=list)
    """Keys whose old facts stay, and the constraint that each would violate without them."""
    late: dict[int, int] = field(default_factory=dict)
    """Updates that come too late, and the times of their keys."""
    refused_rules: list[Refusal] = field(default_factory=list)

    def refusals(self, order: SubBatches, known: KeyTable, dictionary: Dictionary) -> pa.Table:
        """The refused updates: key, label, constraint."""
        updates = np.concatenate([np.empty(0, np.int64), *(numbers for numbers, _ in self.refused)])
        names = [name for _, part in self.refused for name in part]
        found = {
            "key": plain_texts(dictionary, order.keys[updates]),
            "update": self.labels.take(pa.array(updates)),
            "constraint": pa.array(names, pa.string()),
        }
        tables = [pa.table(found)]
        for keys, constraints in self.behind:
            labels = known.last_labels(keys).cast(self.labels.type)
            arrays = [plain_texts(dictionary, keys), labels, plain_texts(dictionary, constraints)]
            tables.append(pa.table(arrays, names=list(found)))
        return pa.concat_tables(tables)
