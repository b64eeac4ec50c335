"""What a batch does to a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from tidalog.engine.dictionary import Dictionary
from tidalog.keyed.batches import Numbers, SubBatches
from tidalog.keyed.changes import KeyedChanges, plain_texts
from tidalog.keyed.keys import KeyTable
from tidalog.keyed.rule_edits import Refusal
from tidalog.keyed.window_states import NO_ROWS
from tidalog.model.facts import Ids
from tidalog.model.update import EncodedUpdate

Violations = tuple[Ids, Ids]
"""Keys, and the name of the constraint that each violates."""
_OF_KEYS: Final = ["key", "update", "constraint"]


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
    overdue: pa.Table
    """Constraints that time has violated, likewise, with the last update of the key."""
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
    overdue: list[Violations] = field(default_factory=list)
    """Keys for which time has violated constraints, and these."""
    late: dict[int, int] = field(default_factory=dict)
    """Updates that come too late, and the times of their keys."""
    refused_rules: list[Refusal] = field(default_factory=list)

    def refusals(self, order: SubBatches, dictionary: Dictionary) -> pa.Table:
        """The refused updates: key, label, constraint."""
        updates = np.concatenate([np.empty(0, np.int64), *(numbers for numbers, _ in self.refused)])
        names = [name for _, part in self.refused for name in part]
        found = [
            plain_texts(dictionary, order.keys[updates]),
            self.labels.take(pa.array(updates)),
            pa.array(names, pa.string()),
        ]
        return pa.table(found, names=_OF_KEYS)

    def overdue_of(self, known: KeyTable, dictionary: Dictionary) -> pa.Table:
        """What time has violated: key, its last label, constraint."""
        parts = self.overdue or [(NO_ROWS, NO_ROWS)]
        keys, names = (np.concatenate(column) for column in zip(*parts, strict=True))
        labels = known.last_labels(keys).cast(self.labels.type)
        texts = [plain_texts(dictionary, column) for column in (keys, names)]
        return pa.table([texts[0], labels, texts[1]], names=_OF_KEYS)
