"""`Block`: changes of a database that are applied as one, within `kb.as_one()`.

The changes inside derive nothing.  When the block ends, everything is derived if constraints, limits or
subscribers ask for it; if that fails, or an exception ends the block, everything is as it was before.  A
block without changes costs nothing.  A block within a block is undone by itself, and checked with the one
around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from tidalog.api.database import Database
from tidalog.api.lock import Lock
from tidalog.api.progress import ProgressBar
from tidalog.maintain.delta import PredicateDelta


class Block:
    def __init__(
        self, database: Database, lock: Lock, bar: ProgressBar, around: Block | None, *, with_state_diff: bool
    ) -> None:
        """`around`: the block that it is part of; `with_state_diff`: `changes` has what the block changed,
        when it has ended."""
        self._bar, self._around = bar, around
        self.changes: Mapping[str, PredicateDelta] = {}
        self._database, self._lock, self._with_state_diff = database, lock, with_state_diff
        self._deriving: AbstractContextManager[dict[str, PredicateDelta]] | None = None

    def begin(self) -> None:
        """Called before every change; the first one copies the engine."""
        if self._around is not None:
            self._around.begin()
        if self._deriving is None:
            self._deriving = self._database.deriving(
                with_state_diff=self._with_state_diff,
                checked=self._around is None,
                progress=self._bar.run_callback,
            )
            self.changes = self._deriving.__enter__()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._deriving is not None:
            with self._lock.at_work(), self._bar:
                self._deriving.__exit__(kind, error, trace)
