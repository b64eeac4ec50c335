"""The fact store: one flat space of facts for all predicates.

A fact is a number (its id, given out in order of arrival) and a row of int32 in one arena: its id, its
predicate, its arguments.  A wide predicate costs the narrow ones nothing; a cache line or two holds a fact.
Invariants:

*  ids are dense, 0 … n-1, and a derived fact has a larger id than the facts of its first derivation;
*  a (predicate, arguments) pair has at most one id, found in the table `slots` (see `hash_table`; values are
   where its arguments start), and is PRESENT.  Facts that are known to be new are left out; a
   predicate's are added when one is first looked up, and all its ids below TABLED are there.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.addresses import Owner
from tidalog.engine.dead_blocks import DeadBlocks
from tidalog.engine.fact_kernels import (
    ARITY,
    COUNT,
    DEAD,
    ENTRIES,
    EXTENT,
    FACTS,
    GARBAGE,
    HEADER,
    LAST,
    NONE,
    STATE,
    TABLED,
    USED,
    Facts,
    add_to_table,
    append_rows,
    facts_of,
    gather_column,
    insert_rows,
    truncate_facts,
    untabled,
)
from tidalog.engine.hash_table import Table, fits
from tidalog.engine.memory import resized
from tidalog.engine.probe import find_rows

Ints = npt.NDArray[np.int32]

UNUSED: Final = 1 << 16  # ids or offsets that may be unused, however small the store
SPARSE: Final = 64  # ids for each fact that a scan may have to pass over
MOST_FACTS: Final = 2**31 - 2
MOST_ARGUMENTS: Final = 2**32 - 2


class FactStore(Owner[Facts]):
    """Owns the arrays and grows them."""

    def __init__(self, capacity: int = 1024) -> None:
        self._table = Table(capacity)
        self.dead_blocks = DeadBlocks()
        super().__init__(
            Facts(
                arguments=np.empty(capacity * 4, np.int32),
                offset=np.empty(capacity, np.uint32),
                status=np.empty(capacity, np.uint16),
                slots=self._table.slots,
                state=np.zeros(STATE, np.int64),
                extent=np.zeros((16, EXTENT), np.int64),
            )
        )

    def __len__(self) -> int:
        return int(self.arrays.state[FACTS])

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        a = self.arrays
        per_fact = a.offset.itemsize + a.status.itemsize
        used = self.ids_in_memory * per_fact + self.rows_in_memory * a.arguments.itemsize
        return used + a.slots.nbytes + a.extent.nbytes

    def ensure(self, more: int, arity: int, predicate: int = NONE) -> None:
        """Capacity for `more` facts of an arity, so that compiled code need not grow anything; also for those
        of a predicate that are not in the table yet."""
        a = self.arrays
        facts, used = int(a.state[FACTS]) + more, int(a.state[USED]) + more * (arity + HEADER)
        if self._has_capacity(facts, used, more, predicate):
            return
        if facts > MOST_FACTS or used > MOST_ARGUMENTS:
            raise MemoryError("the store holds at most 2^31 facts and 2^32 arguments")
        a = a._replace(
            arguments=resized(a.arguments, int(a.state[USED]), used, MOST_ARGUMENTS),
            offset=resized(a.offset, len(self), facts, MOST_FACTS),
            status=resized(a.status, len(self), facts, MOST_FACTS),
        )
        entries = int(a.state[ENTRIES]) + more
        if predicate >= 0:
            entries += int(untabled(self.at, predicate))
        if not fits(entries, len(a.slots)):
            self._table.grow(entries)
            a = a._replace(slots=self._table.slots)
        self.replace(a)

    def _has_capacity(self, facts: int, used: int, more: int, predicate: int) -> bool:
        a = self.arrays
        if facts > min(len(a.offset), len(a.status)) or used > len(a.arguments):
            return False
        entries = int(a.state[ENTRIES]) + more
        if predicate >= 0 and not self._is_tabled(predicate):
            entries += int(untabled(self.at, predicate))
        return fits(entries, len(a.slots))

    def _is_tabled(self, predicate: int) -> bool:
        """Whether all facts of a predicate are in the table."""
        extent = self.arrays.extent[predicate]
        return bool(extent[TABLED] > extent[LAST] or extent[COUNT] == 0)

    def add_predicate(self, predicate: int, arity: int) -> None:
        """Adds a predicate, which has no facts yet."""
        a = self.arrays
        if predicate + 2 > len(a.extent):
            extent = np.zeros((2 * len(a.extent), EXTENT), np.int64)
            extent[: len(a.extent)] = a.extent
            self.replace(a._replace(extent=extent))
            a = self.arrays
        a.extent[predicate, ARITY] = arity

    def count(self, predicate: int) -> int:
        return int(self.arrays.extent[predicate, COUNT])

    def ids(self, predicate: int, begin: int = 0, mask: int = 0, want: int = 0) -> Ints:
        """The facts of a predicate from an id on whose status under `mask` is `want`, ascending."""
        count, first, last = (int(x) for x in self.arrays.extent[predicate, :TABLED])
        out = np.empty(count, np.int32)
        if count == 0:
            return out
        found = 0
        for at, end in self.dead_blocks.in_memory(max(first, begin), last + 1):
            found += facts_of(self.at, predicate, at, end, mask, want, out[found:])
        return out[:found]

    def column(self, ids: Ints, column: int) -> Ints:
        out = np.empty(len(ids), np.int32)
        gather_column(self.at, ids, column, out)
        return out

    def find(self, predicate: int, table: Ints) -> Ints:
        """The fact of each row of a table, columns first, or -1."""
        self.add_to_table(predicate)
        out = np.empty(table.shape[1], np.int32)
        find_rows(self.at, predicate, table, table.shape[1], out)
        return out

    def add_to_table(self, predicate: int) -> None:
        """Adds all facts of a predicate to the table."""
        if self._is_tabled(predicate):
            return
        self.ensure(0, 0, predicate)
        add_to_table(self.at, predicate)

    def insert(self, predicate: int, columns: list[Ints], rows: int, status: int) -> int:
        """Adds rows; the bits are also set on facts that are there already.  Returns how many are new."""
        table = np.empty((len(columns), rows), np.int32)
        for c, column in enumerate(columns):
            table[c] = column
        return self.insert_table(predicate, table, status)

    def insert_table(self, predicate: int, table: Ints, status: int) -> int:
        """The same for rows in one array, columns first."""
        columns, rows = table.shape
        new = 0
        part_size = 1 << 18
        hashes = np.empty(min(part_size, max(rows, 1)), np.uint64)
        for start in range(0, rows, part_size):
            count = min(part_size, rows - start)
            self.ensure(count, columns, predicate)
            add_to_table(self.at, predicate)
            part = np.ascontiguousarray(table[:, start : start + count])
            new += insert_rows(self.at, predicate, part, count, hashes, status)
        return new

    def append(self, predicate: int, columns: list[Ints], rows: int, status: int) -> None:
        """Adds rows that are known to be new."""
        self.ensure(rows, len(columns))
        table = np.array(columns, np.int32).reshape((len(columns), rows))
        append_rows(self.at, predicate, table, rows, status)

    @property
    def used(self) -> int:
        """How much of the arena is in use."""
        return int(self.arrays.state[USED])

    @property
    def live(self) -> int:
        """How many facts there are."""
        return len(self) - int(self.arrays.state[DEAD])

    @property
    def ids_in_memory(self) -> int:
        """How many ids take memory, whether they have facts or not."""
        return len(self) - self.dead_blocks.ids

    @property
    def rows_in_memory(self) -> int:
        """How much of the arena takes memory."""
        return self.used - self.dead_blocks.rows

    @property
    def garbage(self) -> int:
        """How much of the arena is rows of facts that are gone."""
        return int(self.arrays.state[GARBAGE])

    @property
    def has_sparse_ids(self) -> bool:
        """Whether most ids are dead and take memory, or far too many are passed over."""
        most = 2 * self.live + UNUSED
        return self.ids_in_memory > most or len(self) > SPARSE * most

    @property
    def has_sparse_rows(self) -> bool:
        """Whether most of the arena is rows of facts that are gone."""
        if 2 * (self.garbage - self.dead_blocks.rows) > self.rows_in_memory + UNUSED:
            return True
        return self.used > MOST_ARGUMENTS // 2 and 2 * self.garbage > self.used

    def truncate(self, length: int, used: int) -> None:
        """Removes every fact with an id of `length` or more, and rows from `used` on."""
        truncate_facts(self.at, length, used)
