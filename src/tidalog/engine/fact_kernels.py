"""What compiled code does with facts; `facts` has the invariants."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import (
    Int32s,
    Int32Table,
    Int64s,
    Int64Table,
    Uint16s,
    Uint32s,
    Uint64s,
    int64,
)
from tidalog.engine.bits import EXPLICIT, PRESENT
from tidalog.engine.hash_table import (
    EMPTY,
    HALF,
    LOW32,
    ONE,
    make_entry,
    put_entry,
    remove_entry,
    table_shift,
)
from tidalog.engine.jit import compiled, entry, hash_add, hash_end, hash_start, inlined, prefetch

Ints = npt.NDArray[np.int32]

FACTS: Final = 0  # state[FACTS]: how many facts
USED: Final = 1  # state[USED]: how much of the arena is in use
ENTRIES: Final = 2  # state[ENTRIES]: facts in the table
DEAD: Final = 3  # state[DEAD]: ids whose facts are deleted or have another id
GARBAGE: Final = 4  # state[GARBAGE]: how much of the arena is rows of facts that are gone
STATE: Final = 5
HEADER: Final = 2  # numbers of a row before its arguments: the fact's id, its predicate
FAR_AHEAD: Final = 32  # rows between the prefetch of a slot and its use
AHEAD: Final = 12  # the same for the row that the slot points at
REACH: Final = np.uint64(3)  # slots after a home where an entry most often ends, perhaps a cache line later
CACHED: Final = 1 << 18  # a table of this many slots stays in a processor's cache anyway
NONE: Final = -1

# Columns of `extent`: how many facts a predicate has, ids between which all of them lie, the id below which
# they are in the table, and how many arguments they have.
COUNT: Final = 0
FIRST: Final = 1
LAST: Final = 2
TABLED: Final = 3
ARITY: Final = 4
EXTENT: Final = 5


class Facts(NamedTuple):
    """The arrays that compiled code sees.  Python replaces them when they grow, between calls."""

    arguments: Int32s  # arena of rows
    offset: Uint32s  # fact → where its arguments start, after HEADER
    status: Uint16s  # fact → bits
    slots: Uint64s  # hash table of all facts
    state: Int64s  # FACTS, USED …
    extent: Int64Table  # [predicate, (COUNT, FIRST, LAST, TABLED, ARITY)]


@inlined
def same_arguments(arguments: np.ndarray, at: int, rows: np.ndarray, row: int) -> bool:
    same = True
    for c in range(rows.shape[0]):
        if arguments[at + c] != rows[c, row]:
            same = False
            break
    return same


@inlined
def find_row(
    slots: np.ndarray,
    arguments: np.ndarray,
    predicate: int,
    rows: np.ndarray,
    row: int,
    h: np.uint64,
    shift: np.uint64,
) -> tuple[np.uint64, int]:
    """The slot of a row with the hash `h` and the offset of its arguments; or an empty slot and NONE."""
    mask = np.uint64(len(slots) - 1)
    found = int64(NONE)
    s = h >> shift
    while True:
        entry = slots[s]
        if entry == EMPTY:
            break
        if entry >> HALF == h >> HALF:
            at = int64(entry & LOW32)
            if arguments[at - 1] == predicate and same_arguments(arguments, at, rows, row):
                found = at
                break
        s = (s + ONE) & mask
    return s, found


@inlined
def begin_row(
    facts: Facts, predicate: int, h: np.uint64, s: np.uint64, n: int, used: int, status: np.uint16
) -> None:
    """Puts a new fact `n`, which has the hash `h`, into an empty slot.  Its arguments come after HEADER, from
    the end of the `used` part of the arena on."""
    arguments = facts.arguments
    facts.slots[s] = make_entry(h, used + HEADER)
    facts.offset[n] = np.uint32(used + HEADER)
    facts.status[n] = status
    arguments[used] = n
    arguments[used + 1] = predicate


@inlined
def add_row(
    facts: Facts,
    predicate: int,
    rows: np.ndarray,
    row: int,
    h: np.uint64,
    s: np.uint64,
    n: int,
    used: int,
    status: np.uint16,
) -> None:
    """`begin_row`, and the arguments of a row."""
    begin_row(facts, predicate, h, s, n, used, status)
    arguments = facts.arguments
    for c in range(rows.shape[0]):
        arguments[used + HEADER + c] = rows[c, row]


@entry
def hash_rows(predicate: int, rows: Int32Table, count: int, hashes: Uint64s) -> None:
    start = hash_start(predicate)
    for i in range(count):
        hashes[i] = start
    for c in range(rows.shape[0]):
        column = rows[c]
        for i in range(count):
            hashes[i] = hash_add(hashes[i], column[i])
    for i in range(count):
        hashes[i] = hash_end(hashes[i])


@inlined
def look_ahead(
    slots: np.ndarray,
    arguments: np.ndarray,
    hashes: np.ndarray,
    i: int,
    last: int,
    shift: np.uint64,
    mask: np.uint64,
) -> None:
    """Prefetches the memory that rows after the i-th will need, so that many loads are under way at a time:
    for a later row its slot of the table, for a sooner one the row that its slot points at."""
    home = hashes[min(i + FAR_AHEAD, last)] >> shift
    prefetch(slots, home)
    prefetch(slots, (home + REACH) & mask)
    h = hashes[min(i + AHEAD, last)]
    entry = slots[h >> shift]
    prefetch(arguments, entry & LOW32 if entry >> HALF == h >> HALF else EMPTY)


@compiled
def insert_pairs(
    facts: Facts,
    predicate: int,
    left: np.ndarray,
    right: np.ndarray,
    count: int,
    hashes: np.ndarray,
    status: int,
) -> None:
    """`insert_rows` for two columns, which most facts have."""
    start = hash_start(predicate)
    for i in range(count):
        hashes[i] = hash_end(hash_add(hash_add(start, left[i]), right[i]))
    slots, arguments, bits = facts.slots, facts.arguments, np.uint16(status)
    mask, shift = np.uint64(len(slots) - 1), table_shift(len(slots))
    n, used = facts.state[FACTS], facts.state[USED]
    is_far = len(slots) > CACHED
    for i in range(count):
        if is_far:
            look_ahead(slots, arguments, hashes, i, count - 1, shift, mask)
        h, a, b = hashes[i], left[i], right[i]
        tag = h >> HALF
        s = h >> shift
        while True:
            entry = slots[s]
            if entry == EMPTY:
                begin_row(facts, predicate, h, s, n, used, bits)
                arguments[used + 2] = a
                arguments[used + 3] = b
                used += 2 + HEADER
                n += 1
                break
            if entry >> HALF == tag:
                at = int64(entry & LOW32)
                if arguments[at] == a and arguments[at + 1] == b and arguments[at - 1] == predicate:
                    if bits & EXPLICIT:
                        facts.status[arguments[at - HEADER]] |= bits
                    break
            s = (s + ONE) & mask
    end_rows(facts, predicate, n, used)


@compiled
def insert_wide(
    facts: Facts, predicate: int, rows: np.ndarray, count: int, hashes: np.ndarray, status: int
) -> None:
    hash_rows(predicate, rows, count, hashes)
    slots, arguments, bits = facts.slots, facts.arguments, np.uint16(status)
    mask, shift = np.uint64(len(slots) - 1), table_shift(len(slots))
    n, used = facts.state[FACTS], facts.state[USED]
    is_far = len(slots) > CACHED
    for i in range(count):
        if is_far:
            look_ahead(slots, arguments, hashes, i, count - 1, shift, mask)
        s, at = find_row(slots, arguments, predicate, rows, i, hashes[i], shift)
        if at == NONE:
            add_row(facts, predicate, rows, i, hashes[i], s, n, used, bits)
            used += rows.shape[0] + HEADER
            n += 1
        elif bits & EXPLICIT:
            facts.status[arguments[at - HEADER]] |= bits
    end_rows(facts, predicate, n, used)


@inlined
def end_rows(facts: Facts, predicate: int, n: int, used: int) -> None:
    """After rows of a predicate were added: the store has `n` facts."""
    before = facts.state[FACTS]
    facts.state[ENTRIES] += n - before
    facts.state[FACTS] = n
    facts.state[USED] = used
    facts.extent[predicate, TABLED] = n
    note_extent(facts, predicate, before)


@entry
def untabled(facts: Facts, predicate: int) -> int:
    """At most this many facts of a predicate are not in the table."""
    extent = facts.extent[predicate]
    if extent[COUNT] == 0 or extent[TABLED] > extent[LAST]:
        return 0
    return int64(min(extent[COUNT], extent[LAST] + 1 - max(extent[FIRST], extent[TABLED])))


@entry
def add_to_table(facts: Facts, predicate: int) -> None:
    """Adds the rest of a predicate's facts to the table, which has capacity."""
    if untabled(facts, predicate) == 0:
        return
    extent = facts.extent[predicate]
    slots, arguments, offset = facts.slots, facts.arguments, facts.offset
    shift = table_shift(len(slots))
    for f in range(max(extent[FIRST], extent[TABLED]), extent[LAST] + 1):
        at = int64(offset[f])
        if not facts.status[f] & PRESENT or arguments[at - 1] != predicate:
            continue
        if arguments[at - HEADER] != f:
            continue  # it has got another id
        put_entry(slots, make_entry(fact_hash(facts, f), at), shift)
        facts.state[ENTRIES] += 1
    extent[TABLED] = extent[LAST] + 1


@entry
def append_rows(facts: Facts, predicate: int, rows: Int32Table, count: int, status: int) -> None:
    """Adds rows that are known to be new, past the table."""
    arity = rows.shape[0]
    width = arity + HEADER
    n, used = facts.state[FACTS], facts.state[USED]
    arguments, offset, bits = facts.arguments, facts.offset, np.uint16(status)
    for i in range(count):
        at = used + i * width
        arguments[at] = n + i
        arguments[at + 1] = predicate
        offset[n + i] = np.uint32(at + HEADER)
        facts.status[n + i] = bits
    for c in range(arity):
        column = rows[c]
        for i in range(count):
            arguments[used + i * width + HEADER + c] = column[i]
    facts.state[FACTS] = n + count
    facts.state[USED] = used + count * width
    note_extent(facts, predicate, n)


@compiled
def note_extent(facts: Facts, predicate: int, before: int) -> None:
    """After facts of a predicate were added to a store that had `before`."""
    n = facts.state[FACTS]
    if n > before:
        extent = facts.extent[predicate]
        if extent[COUNT] == 0:
            extent[FIRST] = before
        extent[COUNT] += n - before
        extent[LAST] = n - 1


@entry
def insert_rows(
    facts: Facts, predicate: int, rows: Int32Table, count: int, hashes: Uint64s, status: int
) -> int:
    """Adds `count` rows (columns first); there is capacity.  Returns the number of new facts."""
    before = facts.state[FACTS]
    if rows.shape[0] == 2:
        insert_pairs(facts, predicate, rows[0], rows[1], count, hashes, status)
    else:
        insert_wide(facts, predicate, rows, count, hashes, status)
    return int64(facts.state[FACTS] - before)


@compiled
def fact_hash(facts: Facts, fact: int) -> np.uint64:
    at = int64(facts.offset[fact])
    predicate = facts.arguments[at - 1]
    h = hash_start(predicate)
    for c in range(facts.extent[predicate, ARITY]):
        h = hash_add(h, facts.arguments[at + c])
    return hash_end(h)


@compiled
def forget_row(facts: Facts, fact: int) -> None:
    """Removes a fact from the table and from its predicate's count; its row stays."""
    at = int64(facts.offset[fact])
    extent = facts.extent[facts.arguments[at - 1]]
    if fact < extent[TABLED]:
        mask = np.uint64(len(facts.slots) - 1)
        s = fact_hash(facts, fact) >> table_shift(len(facts.slots))
        while facts.slots[s] & LOW32 != np.uint64(at):
            s = (s + ONE) & mask
        remove_entry(facts.slots, s)
        facts.state[ENTRIES] -= 1
    extent[COUNT] -= 1


@entry
def truncate_facts(facts: Facts, length: int, used: int) -> None:
    """Removes the facts from an id on, and the rows from an offset on.  A row before that offset may belong
    to a fact with a smaller id again."""
    for f in range(facts.state[FACTS] - 1, length - 1, -1):
        if facts.arguments[int64(facts.offset[f]) - HEADER] == f:
            forget_row(facts, f)
    facts.state[USED] = used
    facts.state[FACTS] = length
    for p in range(len(facts.extent)):
        facts.extent[p, TABLED] = min(facts.extent[p, TABLED], length)
        facts.extent[p, LAST] = min(facts.extent[p, LAST], length - 1)


@entry
def facts_of(facts: Facts, predicate: int, first: int, last: int, mask: int, want: int, out: Int32s) -> int:
    """The ids in [first, last) of a predicate whose status under `mask` is `want`, ascending."""
    count = 0
    arguments, offset = facts.arguments, facts.offset
    bits, wanted = np.uint16(mask) | PRESENT, np.uint16(want) | PRESENT
    for f in range(first, last):
        if (facts.status[f] & bits) == wanted and arguments[int64(offset[f]) - 1] == predicate:
            out[count] = f
            count += 1
    return count


@entry
def gather_column(facts: Facts, ids: Int32s, column: int, out: Int32s) -> None:
    for i in range(len(ids)):
        out[i] = facts.arguments[int64(facts.offset[ids[i]]) + column]
