"""What a search reads, and lookups in it for one row of registers.

A *view* is an array of addresses and lengths: facts, table, indexes and the plans of one way to search.  It
is one argument instead of a dozen arrays, and is filled whenever a kernel is entered.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import int64
from tidalog.engine.delta_scan import Plans
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.hash_table import table_shift
from tidalog.engine.index_kernels import WIDTH, index_at
from tidalog.engine.jit import (
    compiled,
    hash_add,
    hash_end,
    hash_start,
    inlined,
    int32_at,
    int32_table,
    int64_table,
    uint16_at,
    uint32_at,
    uint64_at,
)
from tidalog.engine.opcodes import FILTER_FIELDS, FILTER_MASK, FILTER_ORDER, FILTER_WANT
from tidalog.engine.probe import fact_with, operand_of, passes, run_of_key

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
def as_block(registers: np.ndarray) -> np.ndarray:
    """A row of registers as a block of one row."""
    return int32_table(registers.ctypes.data, len(registers), 1)


@inlined
def hash_of(seed: int, block: np.ndarray, code: np.ndarray, at: int, count: int) -> np.uint64:
    h = hash_start(seed)
    for j in range(count):
        h = hash_add(h, operand_of(block, 0, code, at + j))
    return hash_end(h)


@compiled
def find_fact(view: np.ndarray, predicate: int, at: int, arity: int, registers: np.ndarray) -> int:
    """The fact of a predicate whose arguments are operands in the code from `at` on, or -1."""
    code, block = code_of(view), as_block(registers)
    h = hash_of(predicate, block, code, at, arity)
    slots, shift = uint64_at(view[TABLE], view[TABLE_SIZE]), np.uint64(view[TABLE_SHIFT])
    return fact_with(slots, shift, arguments_of(view), h, predicate, block, 0, code, at, arity)


@compiled
def find_run(view: np.ndarray, meta: np.ndarray, keys: int, registers: np.ndarray) -> tuple[int, int]:
    """The run of a key whose operands stand in the code from `keys` on, see `run_of_key`."""
    code, block, width = code_of(view), as_block(registers), meta[WIDTH]
    h = hash_of(0, block, code, keys, width)
    return run_of_key(
        arguments_of(view), offsets_of(view), meta, index_at(meta), width, h, block, 0, code, keys
    )
