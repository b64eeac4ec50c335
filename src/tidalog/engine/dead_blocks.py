"""Gives back the memory of blocks in which every id, or every row, is dead.

What comes and goes in order, as the facts of a window do, leaves whole blocks dead.  The living are counted
by block, some updates at a time, so that no update pays for more than what has changed.  Compaction, which
moves everything, is for what is dead among the living.

A dead id has status 0 and is in no list of expiries, which is also what memory holds once it was given back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import Int32s, Int64s, int64
from tidalog.engine.expiry_kernels import LINK
from tidalog.engine.fact_kernels import ARITY, FACTS, HEADER, Facts
from tidalog.engine.jit import entry
from tidalog.engine.memory import give_back, is_reserved
from tidalog.model.facts import Ids

if TYPE_CHECKING:
    from tidalog.engine.expiries import ExpiryStore
    from tidalog.engine.facts import FactStore

IDS: Final = 1 << 15
"""Ids in a block: a power of two."""
ROWS: Final = 1 << 17
"""Numbers of the arena in a block: a power of two."""
PENDING: Final = 1 << 12
"""Deaths that are counted together."""
BULK: Final = 8
"""If an update kills one fact in `BULK` or more, compaction is left to free the memory: touching new memory
would cost more."""
_NO_IDS: Final[Ids] = np.empty(0, np.int32)


class _Blocks:
    """How many live in each block, and the blocks whose memory was given back."""

    def __init__(self) -> None:
        self.living: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.given: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)

    def reserve(self, blocks: int) -> None:
        if blocks > len(self.living):
            more = max(blocks, 64)
            self.living = np.concatenate([self.living, np.zeros(more, np.int64)])
            self.given = np.concatenate([self.given, np.zeros(more, np.bool_)])

    def dead(self, complete: int) -> list[int]:
        """Those of the first `complete` blocks that can be given back."""
        found: list[int] = np.flatnonzero((self.living[:complete] == 0) & ~self.given[:complete]).tolist()
        return found


class DeadBlocks:
    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self.ids, self.rows = 0, 0
        """Ids, and numbers of the arena, in blocks whose memory was given back."""
        self._ids, self._rows = _Blocks(), _Blocks()
        self._counted = 0, 0
        """Ids and rows that begin before were counted."""
        self._dead: list[Ids] = []
        self._gone: list[Ids] = []
        self._pending = 0

    def add(self, dead: Ids, gone: int) -> None:
        """These ids died in an update, and the rows of the first ones."""
        self._dead.append(dead)
        self._gone.append(dead[:gone])
        self._pending += len(dead)

    def follow(self, store: FactStore, expiries: ExpiryStore) -> None:
        """Gives memory back once enough has died."""
        if self._pending >= PENDING:
            in_bulk = BULK * self._pending > store.live
            self._count(store)
            if not in_bulk:
                self._give_back_ids(store, expiries)
                self._give_back_rows(store)

    def ids_are_compacted(self, store: FactStore) -> None:
        """Every id is about to have a fact."""
        self._count(store)
        self._ids, self.ids = _Blocks(), 0
        self._ids.reserve(store.live // IDS + 1)
        self._ids.living[: store.live // IDS] = IDS
        self._ids.living[store.live // IDS] = store.live % IDS
        self._counted = store.live, store.used

    def rows_were_compacted(self) -> None:
        """Every row has a fact."""
        self._reset()

    def in_memory(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """The ranges of ids between two that take memory."""
        begin = first
        if self.ids:
            for block in np.flatnonzero(self._ids.given[: -(-end // IDS)]).tolist():
                if block * IDS > begin:
                    yield begin, block * IDS
                begin = max(begin, (block + 1) * IDS)
        if begin < end:
            yield begin, end

    def _count(self, store: FactStore) -> None:
        ids, rows = self._ids, self._rows
        ids.reserve(len(store) // IDS + 1)
        rows.reserve(store.used // ROWS + 1)
        dead, gone = np.concatenate([*self._dead, _NO_IDS]), np.concatenate([*self._gone, _NO_IDS])
        blocks = np.array([*self._counted, _bits(IDS), _bits(ROWS)])
        count_blocks(store.at, blocks, dead, gone, ids.living, rows.living)
        self._counted = len(store), store.used
        self._dead.clear()
        self._gone.clear()
        self._pending = 0

    def _give_back_ids(self, store: FactStore, expiries: ExpiryStore) -> None:
        arrays, life = store.arrays, expiries.arrays.life
        if not is_reserved(arrays.status) or not is_reserved(arrays.offset):
            return
        for block in self._ids.dead(len(store) // IDS):
            begin, end = block * IDS, (block + 1) * IDS
            if life[begin:end, LINK].any():
                continue  # a list of expiries passes through
            give_back(arrays.status, begin, end)
            give_back(arrays.offset, begin, end)
            if end <= len(life) and is_reserved(life):
                give_back(life, begin, end)
            self._ids.given[block] = True
            self.ids += IDS

    def _give_back_rows(self, store: FactStore) -> None:
        arrays = store.arrays
        if not is_reserved(arrays.arguments):
            return
        widest = int(arrays.extent[:, ARITY].max()) + HEADER
        for block in self._rows.dead(store.used // ROWS):
            # The last row of the block before may reach into this one.
            give_back(arrays.arguments, block * ROWS + widest, (block + 1) * ROWS)
            self._rows.given[block] = True
            self.rows += ROWS


def _bits(size: int) -> int:
    return size.bit_length() - 1


# --- compiled ---------------------------------------------------------------------------------------


@entry
def count_blocks(facts: Facts, blocks: Int64s, dead: Int32s, gone: Int32s, ids: Int64s, rows: Int64s) -> None:
    """Counts what lives in each block.  `blocks`: the ids, and how much of the arena, that were counted
    before, and the bits of numbers in a block of both.  `gone`: those of the dead ids whose rows are dead."""
    arguments, offset = facts.arguments, facts.offset
    begin, used, of_ids, of_rows = blocks[0], blocks[1], blocks[2], blocks[3]
    for fact in range(begin, facts.state[FACTS]):
        ids[fact >> of_ids] += 1
        at = int64(offset[fact]) - HEADER
        if at >= used and arguments[at] == fact:  # its last id counts
            rows[at >> of_rows] += 1
    for i in range(len(dead)):
        ids[dead[i] >> of_ids] -= 1
    for i in range(len(gone)):
        rows[(int64(offset[gone[i]]) - HEADER) >> of_rows] -= 1
