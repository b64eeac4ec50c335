"""DRed with marking: `dred` with marks of kind `paper`.

Explicit facts that the next update deletes are DOOMED.  A mark passes from them, and from marked facts, to
every head that an instance inserts or brings back (`engine.passing`, `kernels.dred_marks`); what is marked in
the end is overdeleted at once by the next update.  A deleted fact is POSITIVE if it is sure to be true once
the next update is done; the implicit ones of these are carried over, and inserted together with what that
update inserts.  Both hold for the announced update alone: if another one comes, they are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tidalog.engine import undo_log as changes
from tidalog.engine.bits import DELETED, MARKED, NEW, POSITIVE, PRESENT, SPREAD
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.fact_kernels import hash_rows
from tidalog.engine.mark_propagation import PASS_ON
from tidalog.engine.update_kernels import clear_bits_of
from tidalog.maintain.component import Node
from tidalog.maintain.component_plans import BACKWARD, FORWARD
from tidalog.maintain.counters import Counters
from tidalog.maintain.kernels import dred_marks as kernel
from tidalog.maintain.kernels import rederive as steps
from tidalog.maintain.kernels.counters import new_counters
from tidalog.maintain.marks.marks import Marking
from tidalog.maintain.marks.pairs import Pairs
from tidalog.maintain.runner import Runner
from tidalog.maintain.strategies.ranked import new_state, note_deleted, old_state
from tidalog.maintain.transaction import Transaction, each_once
from tidalog.model.facts import Facts, Ids

_NO_IDS: Ids = np.empty(0, np.int32)
_STATUS_CARRIED = int(PRESENT | NEW)

Asked = tuple[Sequence[Facts], Sequence[Facts]]
Hashes = npt.NDArray[np.uint64]
Rows = tuple[int, npt.NDArray[np.int32]]
"""A predicate, rows of it (columns first)."""


class DRedMarks(Marking):
    """What one update of DRed leaves for the next.  An update that fails leaves it as it was."""

    def __init__(self, engine: EmbeddedEngine, look_ahead: int) -> None:
        super().__init__(engine, "dred", look_ahead)
        self.spared: Hashes = np.empty(0, np.uint64)
        """Hashes of the facts that the next update inserts, sorted."""
        self.carried: list[Rows] = []
        """What the update before has left for this one to insert."""
        self.carried_in = 0
        self.positive = 0
        """Deleted facts that the next update brings back."""
        self._announced: Asked | None = None
        self._carry: list[Rows] = []
        self._coming: Asked | None = None
        self._deleted: list[Ids] = []
        self._change: Transaction | None = None

    def begin(self, change: Transaction, upcoming: Sequence[Asked]) -> Ids:
        marked = super().begin(change, upcoming)
        self._change = change
        as_announced = self._announced is not None and _same(change.asked, self._announced)
        self.carried = self._carry if as_announced else []
        self.carried_in = 0
        self._coming = upcoming[0] if upcoming and self.look_ahead else None
        self._deleted = []
        hashes: list[Hashes] = []
        for number, table in self._inserted_next():
            found = np.empty(table.shape[1], np.uint64)
            hash_rows(number, table, table.shape[1], found)
            hashes.append(found)
            ids = change.find(number, table)
            self._deleted.append(ids[np.isin(ids, change.to_delete.get(number, _NO_IDS))])
        self.spared = np.sort(np.concatenate(hashes)) if hashes else np.empty(0, np.uint64)
        for positive in self._deleted:
            changes.set_bits_of(self.engine.store.arrays, self.engine.log.arrays, positive, int(POSITIVE))
        return marked if as_announced else _NO_IDS

    def _inserted_next(self) -> list[tuple[int, npt.NDArray[np.int32]]]:
        assert self._change is not None
        return list(self._change.tables(self._coming[1])) if self._coming is not None else []

    @property
    def observed(self) -> int:
        return PASS_ON if self._doomed else 0

    def deleted(self, ids: Ids) -> None:
        """Facts of a component that are deleted, each after those that took it along."""
        self._deleted.append(ids.copy())

    def concerns(self, predicates: Sequence[int]) -> bool:
        return any(number in predicates for number, _ in self.carried)

    def insert_carried(self, change: Transaction, predicates: Sequence[int]) -> None:
        """What is carried over, after what the update inserts, and each fact after those that derive it: so
        ids stay ranks."""
        for number, table in self.carried:
            if number in predicates:
                self.carried_in += change.put(number, table, table.shape[1], _STATUS_CARRIED)

    def end(self, pairs: Pairs) -> tuple[int, int]:
        self._doomed = [np.unique(np.concatenate(self._doomed))] if self._doomed else []
        counts = super().end(pairs)
        both, status = DELETED | POSITIVE, self.engine.store.arrays.status
        parts = [part[(status[part] & both) == both] for part in self._deleted]
        gone = each_once(np.concatenate(parts)) if parts else _NO_IDS
        self.positive = len(gone)
        assert self._change is not None
        for number, table in self._inserted_next():
            gone = gone[~np.isin(gone, self._change.find(number, table))]
        self._announced, self._carry = self._coming, self._rows(self._change, gone)
        self._change = None
        return counts

    def _rows(self, change: Transaction, ids: Ids) -> list[Rows]:
        """The rows of facts in their order, those of one predicate together that follow each other."""
        if not len(ids):
            return []
        kinds = change.predicates_of(ids)
        found: list[Rows] = []
        for run in np.split(ids, np.flatnonzero(np.diff(kinds)) + 1):
            number = int(change.predicates_of(run[:1])[0])
            table = np.empty((self.engine.arities[number], len(run)), np.int32)
            for column in range(len(table)):
                table[column] = self.engine.store.column(run, column)
            found.append((number, table))
        return found


def _same(asked: Asked, announced: Asked) -> bool:
    """Whether two updates are the same, fact by fact in order."""

    def one(left: Sequence[Facts], right: Sequence[Facts]) -> bool:
        return len(left) == len(right) and all(
            a.predicate == b.predicate
            and a.count == b.count
            and all(np.array_equal(x, y) for x, y in zip(a.columns, b.columns, strict=True))
            for a, b in zip(left, right, strict=True)
        )

    return one(asked[0], announced[0]) and one(asked[1], announced[1])


def delete_with_marks(
    node: Node, change: Transaction, runner: Runner, counters: Counters, marking: DRedMarks, marked: Ids
) -> None:
    """Overdeletes, `marked` facts at once, and brings back what one step derives from the rest."""
    engine = node.engine
    seeds = change.deleted_of(node.below)
    clear_bits_of(engine.shared, seeds, int(SPREAD))
    searches = node.plans.searches((FORWARD, old_state))
    searches.catch_up(engine)
    queue = node.workspace.ids("gone", node.facts + len(seeds) + 1)
    over = kernel.MarkedOverdeletionWork(seeds, queue)
    work, control = over.work, over.work.control
    for number in node.numbers:
        if number in change.to_delete:
            kernel.delete_all(engine.shared, over.at, change.to_delete[number])
    kernel.delete_all(engine.shared, over.at, marked)
    runner.drive_search(
        lambda: int(kernel.overdelete(engine.shared, searches.at, over.at)),
        control,
        kernel.BUDGET,
        searches.rule,
    )
    counters.add_kernel(work.counters)
    gone = work.gone[len(seeds) : control[kernel.GONE]].copy()
    if len(gone):
        _rederive(node, runner, counters, marking, gone)
        note_deleted(node, change, gone)
        marking.deleted(gone)


def _rederive(node: Node, runner: Runner, counters: Counters, marking: DRedMarks, gone: Ids) -> None:
    engine = node.engine
    searches = node.plans.searches((BACKWARD, new_state))
    searches.catch_up(engine)
    control, found = np.zeros(steps.CONTROL, np.int64), new_counters()
    out, marks = np.empty(len(gone), np.int32), np.empty(len(gone), np.uint8)
    runner.drive_search(
        lambda: int(
            kernel.rederive(
                engine.shared,
                searches.at,
                gone,
                marking.spared,
                out,
                marks,
                control,
                found,
            )
        ),
        control,
        steps.BUDGET,
        searches.rule,
    )
    counters.add_kernel(found)
    count = int(control[steps.BACK])
    first = len(engine.store)
    engine.store.ensure(count, 0)
    changes.revive(engine.store.arrays, engine.log.arrays, out, count)
    back = first + np.flatnonzero(marks[:count]).astype(np.int32)
    engine.store.arrays.status[back] |= MARKED
    marking.proofs_marked(back)
