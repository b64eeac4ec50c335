"""What a search reads, and lookups in it for one row of registers.

A *view* is an array of addresses and lengths: facts, table, indexes and the plans of one way to search.  It
is one argument instead of a dozen arrays, and is filled whenever a kernel is entered.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import int64
from tidalog.engine.delta_scan import Plans
from tidalog.engine.fact_kernels import HEADER, Facts
from tidalog.engine.hash_table import EMPTY, HALF, LOW32, ONE, table_shift
from tidalog.engine.index import (
    COLUMN,
    IS_RECORD,
    LENGTH,
    POOL,
    POOL_SIZE,
    RECORD,
    RECORD_SIZE,
    RECORDS,
    SIZE,
    SLOTS,
    START,
    VALUE,
    WIDTH,
)
from tidalog.engine.jit import (
    compiled,
    hash_add,
    hash_end,
    hash_start,
    inlined,
    int32_at,
    int64_table,
    uint16_at,
    uint32_at,
    uint64_at,
)
from tidalog.engine.opcodes import FILTER_FIELDS, FILTER_MASK, FILTER_ORDER, FILTER_WANT
from tidalog.engine.probe import passes

# Fields of a view.
ARGUMENTS: Final = 0
ARGUMENTS_SIZE: Final = 1
OFFSET: Final = 2
STATUS: Final = 3
FACT_CAPACITY: Final = 4
TABLE: Final = 5
TABLE_SIZE: Final = 6
TABLE_SHIFT: Final = 7
INDEXES: Final = 8
INDEX_COUNT: Final = 9
INDEX_WIDTH: Final = 10
CODE: Final = 11
CODE_SIZE: Final = 12
FILTERS: Final = 13
FILTERS_SIZE: Final = 14
STARTS: Final = 15
ORDER: Final = 16
PLANS: Final = 17
FIRST: Final = 18
FIRST_SIZE: Final = 19
VIEW: Final = 20


# --- compiled ---------------------------------------------------------------------------------------


@compiled
def fill_view(view: np.ndarray, facts: Facts, indexes: np.ndarray, plans: Plans) -> None:
    """Addresses of everything that a search by some plans reads: one array to pass on instead of a dozen."""
    view[ARGUMENTS], view[ARGUMENTS_SIZE] = facts.arguments.ctypes.data, len(facts.arguments)
    view[OFFSET] = facts.offset.ctypes.data
    view[STATUS], view[FACT_CAPACITY] = facts.status.ctypes.data, min(len(facts.offset), len(facts.status))
    view[TABLE], view[TABLE_SIZE] = facts.slots.ctypes.data, len(facts.slots)
    view[TABLE_SHIFT] = int64(table_shift(len(facts.slots)))
    view[INDEXES] = indexes.ctypes.data
    view[INDEX_COUNT], view[INDEX_WIDTH] = indexes.shape
    view[CODE], view[CODE_SIZE] = plans.code.ctypes.data, len(plans.code)
    view[FILTERS], view[FILTERS_SIZE] = plans.filters.ctypes.data, plans.filters.size
    view[STARTS], view[ORDER] = plans.starts.ctypes.data, plans.order.ctypes.data
    view[PLANS] = len(plans.starts)
    view[FIRST], view[FIRST_SIZE] = plans.first.ctypes.data, len(plans.first)


@inlined
def arguments_of(view: np.ndarray) -> np.ndarray:
    return int32_at(view[ARGUMENTS], view[ARGUMENTS_SIZE])


@inlined
def offsets_of(view: np.ndarray) -> np.ndarray:
    return uint32_at(view[OFFSET], view[FACT_CAPACITY])


@inlined
def status_of(view: np.ndarray) -> np.ndarray:
    return uint16_at(view[STATUS], view[FACT_CAPACITY])


@inlined
def code_of(view: np.ndarray) -> np.ndarray:
    return int32_at(view[CODE], view[CODE_SIZE])


@inlined
def index_of(view: np.ndarray, number: int) -> np.ndarray:
    """The row of `Indexes.meta` of an index."""
    row: np.ndarray = int64_table(view[INDEXES], view[INDEX_COUNT], view[INDEX_WIDTH])[number]
    return row


@inlined
def allows(view: np.ndarray, number: int, fact: int, pivot: int) -> bool:
    """Whether a filter lets an atom match a fact."""
    filters = int32_at(view[FILTERS], view[FILTERS_SIZE])
    at = number * FILTER_FIELDS
    return passes(
        status_of(view),
        fact,
        filters[at + FILTER_MASK],
        filters[at + FILTER_WANT],
        filters[at + FILTER_ORDER],
        pivot,
    )


@inlined
def value_of(code: np.ndarray, at: int, registers: np.ndarray) -> int:
    operand = code[at]
    return int64(registers[operand] if operand >= 0 else -1 - operand)


@compiled
def find_fact(view: np.ndarray, predicate: int, at: int, arity: int, registers: np.ndarray) -> int:
    """The fact of a predicate whose arguments are operands in the code from `at` on, or -1."""
    code, arguments = code_of(view), arguments_of(view)
    h = hash_start(predicate)
    for j in range(arity):
        h = hash_add(h, value_of(code, at + j, registers))
    h = hash_end(h)
    slots = uint64_at(view[TABLE], view[TABLE_SIZE])
    mask = np.uint64(view[TABLE_SIZE] - 1)
    s = h >> np.uint64(view[TABLE_SHIFT])
    while True:
        entry = slots[s]
        if entry == EMPTY:
            return -1
        if entry >> HALF == h >> HALF:
            offset = int64(entry & LOW32)
            same = arguments[offset - 1] == predicate
            j = 0
            while same and j < arity:
                same = arguments[offset + j] == value_of(code, at + j, registers)
                j += 1
            if same:
                return int64(arguments[offset - HEADER])
        s = (s + ONE) & mask


@compiled
def find_run(view: np.ndarray, meta: np.ndarray, keys: int, registers: np.ndarray) -> tuple[int, int]:
    """Start and length of the run of a key; (-1 - fact, 1) for a single fact, length 0 for none."""
    code, arguments = code_of(view), arguments_of(view)
    width = meta[WIDTH]
    slots = uint64_at(meta[SLOTS], meta[SIZE])
    records = int32_at(meta[RECORDS], meta[RECORD_SIZE] * RECORD)
    pool = int32_at(meta[POOL], meta[POOL_SIZE])
    h = hash_start(0)
    for j in range(width):
        h = hash_add(h, value_of(code, keys + j, registers))
    h = hash_end(h)
    mask = np.uint64(meta[SIZE] - 1)
    s = h >> table_shift(meta[SIZE])
    while True:
        entry = slots[s]
        if entry == EMPTY:
            return int64(0), int64(0)
        if entry >> HALF == h >> HALF:
            value = entry & LOW32
            length = int64(1)
            if value & IS_RECORD:
                at = int64(value & VALUE) * RECORD
                start, length = int64(records[at + START]), int64(records[at + LENGTH])
                first = int64(pool[start])
            else:
                first = int64(value) - 1
                start = -1 - first
            offset = int64(offsets_of(view)[first])
            same = True
            j = 0
            while same and j < width:
                same = arguments[offset + meta[COLUMN + j]] == value_of(code, keys + j, registers)
                j += 1
            if same:
                return start, length
        s = (s + ONE) & mask


@inlined
def agrees(arguments: np.ndarray, offset: int, code: np.ndarray, same: int) -> bool:
    """Whether columns are equal where an atom repeats a variable."""
    equal = True
    for j in range(code[same]):
        if arguments[offset + code[same + 1 + 2 * j]] != arguments[offset + code[same + 2 + 2 * j]]:
            equal = False
            break
    return equal
