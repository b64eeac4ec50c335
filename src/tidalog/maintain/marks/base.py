"""What marks are: knowledge about the next updates that saves work when they come.

The hooks are called in this order: `begin`; for every component that the update reaches `before_deletion`,
`insert_carried`, `find_announced`, `observed`, `derived_unseen`; then `end` and `finished`.  `begin`
registers with the savepoint what a rollback must restore.  `Marks` itself is the kind `none`: every hook does
nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.analysis.normal import NormalRule
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.counters import Counters
from tidalog.maintain.transaction import Transaction
from tidalog.model.facts import Ids
from tidalog.model.update import EncodedUpdate

Foresight = Literal["nothing", "new", "all"]
"""None; those that have just come; or all."""
Hashes = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.uint32]
"""Where the rows of facts start: a new id does not change it."""
Table = npt.NDArray[np.int32]
"""Rows, columns first."""
NO_IDS: Final[Ids] = np.empty(0, np.int32)
NO_HASHES: Final[Hashes] = np.empty(0, np.uint64)


class Parts(NamedTuple):
    """What is maintained: the rules of a program, and its components."""

    rules: Sequence[NormalRule]
    components: Iterable[MaintainedComponent]


class Marks:
    """Marks of one kind on one engine.  An update that fails leaves them as they were."""

    name: ClassVar[str] = "none"
    survives_rule_edits: ClassVar[bool] = True
    observes: ClassVar[int] = 0
    """What `engine.emit` may observe about instances: a set of bits."""
    pass_on: ClassVar[bool] = False
    """Whether marks pass from body to head through implicit facts."""
    looks_ahead: ClassVar[bool] = False
    """Whether it is of use to know what the next updates do."""
    foresees: ClassVar[Foresight] = "nothing"
    """Which facts it is of use to know of, that windows will lose next, before any update says so."""
    allows_trials: ClassVar[bool] = True
    """Whether the order in which facts are deleted is free."""

    def __init__(self, engine: EmbeddedEngine, look_ahead: int, *, sparing: bool = False) -> None:
        """`sparing`: marks may pause for a while where they are seldom of use."""
        self.engine, self.look_ahead, self.sparing = engine, look_ahead, sparing

    # --- during an update ---------------------------------------------------------------------------

    def begin(self, txn: Transaction, upcoming: Sequence[EncodedUpdate], parts: Parts) -> Ids:
        """Ends the marks for this update and begins those for the next; gives the facts that were marked."""
        return NO_IDS

    @property
    def announced(self) -> Collection[int]:
        """Predicates that coming updates delete from, or that have facts carried over to this one."""
        return ()

    def carries(self, predicates: Sequence[int]) -> bool:
        """Whether facts of these predicates are carried over to this update."""
        return False

    def before_deletion(self, txn: Transaction, predicates: Sequence[int]) -> None:
        """A component with these predicates is about to delete."""

    def insert_carried(self, txn: Transaction, predicates: Sequence[int]) -> None:
        """The component has inserted what the update inserts: what the one before left for it follows."""

    def find_announced(self, txn: Transaction, predicates: Iterable[int]) -> None:
        """Finds the explicit facts of some predicates that coming updates delete; insertions are done."""

    def observed(self, component: MaintainedComponent) -> int:
        """What is to be observed about the instances of a component: `observes`, or nothing."""
        return 0

    @property
    def unmarked(self) -> Hashes:
        """Hashes of facts that get no mark, sorted."""
        return NO_HASHES

    @property
    def ignores_bodies(self) -> bool:
        """Whether nothing is kept about instances, so that insertion need not look at their bodies."""
        return True

    def derived_unseen(self, begin: int) -> None:
        """The facts from an id on were derived without a look at bodies."""

    def recomputed(self) -> None:
        """A component was derived from scratch, without a look at bodies."""

    def saved(self, joins: int) -> None:
        """Facts were deleted by what was recorded, without joins that would have found no proof."""

    def overdeleted(self, ids: Ids) -> None:
        """Facts of a component were deleted, each after the facts whose deletion caused it."""

    def proofs_marked(self, ids: Ids) -> None:
        """Facts that a proof has marked."""

    # --- between two updates ------------------------------------------------------------------------

    def end(self, counters: Counters) -> None:
        """Everything is maintained, but the transaction is not finished: counts what is marked."""

    def finished(self, deleted: Ids) -> None:
        """The update is finished; these facts are gone."""

    def marked_among(self, predicates: Sequence[int]) -> int:
        """How many derived facts of some predicates are marked for the next update."""
        return 0

    def rows_have_moved(self, before: Offsets, now: Offsets) -> None:
        """Rows of facts start at other offsets; what is not among them is gone."""

    def close(self) -> None:
        """No fact has a mark any more.  A savepoint is open."""
