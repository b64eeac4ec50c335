"""Reads Spark's checkpoint, and checks that it matches a store.

In a checkpoint `metadata` has the id of the query, `offsets` a file for each planned batch, `commits` one for
each batch for which `foreachBatch` has returned.  A batch that was planned but not committed is repeated with
the same content; later batches are planned again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidalog.spark.diagnostics import CheckpointAhead, CheckpointLost, SparkError

if TYPE_CHECKING:
    from tidalog.api.stored import StoredKnowledgeBase


@dataclass(frozen=True)
class Checkpoint:
    """The id of the query, None if it never started; the last planned and the last committed batch, -1 if
    there is none."""

    query: str | None
    planned: int
    committed: int


def read_checkpoint(folder: Path) -> Checkpoint:
    try:
        query = str(json.loads((folder / "metadata").read_text(encoding="utf-8"))["id"])
    except (FileNotFoundError, NotADirectoryError):
        return Checkpoint(None, -1, -1)
    return Checkpoint(query, _last(folder / "offsets"), _last(folder / "commits"))


def _last(folder: Path) -> int:
    if not folder.is_dir():
        return -1
    return max((int(path.name) for path in folder.iterdir() if path.name.isdigit()), default=-1)


@dataclass(frozen=True)
class Lineage:
    """The name of a checkpoint's batches in the store.  A checkpoint that was restored from a copy gives the
    numbers of batches that the store has to new batches; `restored` distinguishes them."""

    restored: int

    def source(self, query: str) -> str:
        return query if self.restored == 0 else f"{query}#{self.restored}"


def lineage_of(kb: StoredKnowledgeBase, folder: Path, *, has_labels: bool, other_updates: bool) -> Lineage:
    """Compares a checkpoint with a store.

    Raises `SparkError` if the checkpoint has batches that the store does not have (T117), or if updates could
    be applied twice (T118): they have no labels, and the checkpoint is new or older than the store.
    `other_updates` asserts that they are new.
    """
    found = read_checkpoint(folder)
    if found.query is None:
        if not has_labels and not other_updates and kb.sources:
            raise _lost(kb, "its checkpoint is not here, so all updates would come again")
        return Lineage(0)
    restored = 0
    while kb.last_batch(Lineage(restored + 1).source(found.query)) is not None:
        restored += 1
    logged = kb.last_batch(Lineage(restored).source(found.query))
    if found.committed > (-1 if logged is None else logged):
        has = "none of them" if logged is None else f"those up to {logged:,}"
        why = f"Spark has seen batch {found.committed:,} acknowledged, and the store has {has}"
        raise SparkError(CheckpointAhead(checkpoint=folder, store=kb.path, why=why))
    if logged is not None and logged > found.planned:
        if not has_labels and not other_updates:
            why = f"the checkpoint ends with batch {found.planned:,}, and the store has had batch {logged:,}"
            raise _lost(kb, why)
        return Lineage(restored + 1)
    return Lineage(restored)


def _lost(kb: StoredKnowledgeBase, why: str) -> SparkError:
    hint = "put the checkpoint back, or begin with a new store; if the updates are new, set other_updates"
    why = f"{why}; without a column update new updates cannot be distinguished from old ones"
    return SparkError(CheckpointLost(store=kb.path, why=why, hint=hint))
