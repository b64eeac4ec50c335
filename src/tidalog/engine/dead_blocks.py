"""Gives back the memory of blocks in which every id, or every row, is dead.

What comes and goes in order, as the facts of a window do, leaves whole blocks dead.  They are found by a look at
some blocks after each update, as many as keep up with the deletions, so that no update pays for all of them.
Compaction, which moves everything, is for what is dead among the living.

A dead id has status 0 and is in no list of expiries, which is also what memory holds once it was given back.
Rows are found one after the other; a block that was given back keeps where the first row after it starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from tidalog.engine.addresses import facts_at
from tidalog.engine.array_types import Int64s, int64
from tidalog.engine.expiry_kernels import LINK
from tidalog.engine.fact_kernels import ARITY, DEAD, FACTS, GARBAGE, HEADER
from tidalog.engine.jit import entry
from tidalog.engine.memory import give_back, is_reserved

if TYPE_CHECKING:
    from tidalog.engine.expiries import ExpiryStore
    from tidalog.engine.facts import FactStore

IDS: Final = 1 << 15
"""Ids in a block."""
ROWS: Final = 1 << 17
"""Numbers of the arena in a block."""
_EAGERNESS: Final = 4
"""Ids and rows that are looked at for each one that dies."""


class DeadBlocks:
    """The blocks of a store whose memory was given back."""

    def __init__(self) -> None:
        self._seen = [0, 0]
        self._credit = [0, 0]
        self._found = np.zeros(2, np.int64)
        self.ids_were_compacted()
        self.rows_were_compacted()

    def ids_were_compacted(self) -> None:
        self.ids = 0
        """Ids in these blocks."""
        self._given = np.zeros(0, np.bool_)
        self._next = 0

    def rows_were_compacted(self) -> None:
        self.rows = 0
        """Numbers of the arena in these blocks."""
        self._after: dict[int, int] = {}
        """Block of the arena → where the first row after it starts."""
        self._row_block, self._row = 0, 0

    def follow(self, store: FactStore, expiries: ExpiryStore, shared: Int64s) -> None:
        """Some facts may have died."""
        dead = store.arrays.state[[DEAD, GARBAGE]].tolist()
        for kind in range(2):
            self._credit[kind] += _EAGERNESS * max(0, dead[kind] - self._seen[kind])
        self._seen = dead
        if self._credit[0] >= IDS:
            self._look_at_ids(store, expiries)
        if self._credit[1] >= ROWS:
            self._look_at_rows(store, shared)

    def living(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """The ranges of ids between two that have memory."""
        if not self.ids:
            yield first, end
            return
        begin = first
        for block in np.flatnonzero(self._given[: -(-end // IDS)]).tolist():
            if block * IDS > begin:
                yield begin, block * IDS
            begin = max(begin, (block + 1) * IDS)
        if begin < end:
            yield begin, end

    def _look_at_ids(self, store: FactStore, expiries: ExpiryStore) -> None:
        arrays, life = store.arrays, expiries.arrays.life
        can_go = is_reserved(arrays.status) and is_reserved(arrays.offset)
        while self._credit[0] >= IDS:
            self._credit[0] -= IDS
            block, begin, end = self._next, self._next * IDS, (self._next + 1) * IDS
            if not can_go or end > len(store):
                self._credit[0] = self._next = 0
                return
            self._next += 1
            if block < len(self._given) and self._given[block]:
                continue
            if arrays.status[begin:end].any() or life[begin:end, LINK].any():
                continue
            give_back(arrays.status, begin, end)
            give_back(arrays.offset, begin, end)
            if end <= len(life) and is_reserved(life):
                give_back(life, begin, end)
            if block >= len(self._given):
                self._given = np.concatenate([self._given, np.zeros(block + 64, np.bool_)])
            self._given[block] = True
            self.ids += IDS

    def _look_at_rows(self, store: FactStore, shared: Int64s) -> None:
        arguments = store.arrays.arguments
        can_go = is_reserved(arguments)
        while self._credit[1] >= ROWS:
            self._credit[1] -= ROWS
            block, begin, end = self._row_block, self._row_block * ROWS, (self._row_block + 1) * ROWS
            if not can_go or end > store.used:
                self._credit[1] = self._row_block = self._row = 0
                return
            self._row_block += 1
            if block in self._after:
                self._row = self._after[block]
            elif find_rows_of_block(shared, self._row, end, self._found):
                self._row = int(self._found[0])
            else:
                give_back(arguments, begin, end)
                self._row = self._after[block] = int(self._found[1])
                self.rows += ROWS


# --- compiled ---------------------------------------------------------------------------------------


@entry
def find_rows_of_block(shared: Int64s, start: int, end: int, found: Int64s) -> int:
    """How many facts have rows between the start of a row and an offset.  `found` gets the start of the row that
    has this offset, and that of the first row from there on."""
    facts = facts_at(shared)
    arguments, living = facts.arguments, 0
    at = last = int64(start)
    while at < end:
        last = at
        fact = int64(arguments[at])
        if fact < facts.state[FACTS] and facts.status[fact] != 0 and facts.offset[fact] == at + HEADER:
            living += 1
        at += HEADER + facts.extent[arguments[at + 1], ARITY]
    found[0], found[1] = last if at > end else at, at
    return living
