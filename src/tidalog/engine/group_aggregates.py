"""Aggregates of all groups of a relation in one pass over its columns.

A row's group is a dense number, given out in the order in which groups first appear.  What an aggregate keeps
of a group is one number, so a pass reads its columns in order and touches little else.  The kernels handle
only the common case and report any other; `aggregates` then reads group by group.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.aggregates import COUNT, MAX, MIN, SUM
from tidalog.engine.array_types import Int32s, Int32Table, Int64s, Uint8s, int64
from tidalog.engine.dictionary_kernels import INTEGER, Terms
from tidalog.engine.hash_table import (
    EMPTY,
    HALF,
    LOW32,
    ONE,
    has_capacity,
    make_entry,
    move_entries,
    table_shift,
)
from tidalog.engine.jit import entry, hash_add, hash_end, hash_start
from tidalog.engine.value_kinds import INT_VALUE
from tidalog.engine.value_order import compare_terms

_LARGEST: Final = 2**63 - 1
_SLOTS: Final = 1024  # of the first table of groups


# --- compiled ---------------------------------------------------------------------------------------


@entry
def number_by_term(column: Int32s, numbers: Int32s, group_of: Int32s, first: Int32s) -> int:
    """Numbers groups by one column; `numbers` has a zero for every term.  How many groups there are; `first`
    is the first row of each."""
    groups = 0
    for i in range(len(column)):
        t = column[i]
        number = numbers[t]
        if number == 0:
            first[groups] = i
            groups += 1
            number = groups
            numbers[t] = number
        group_of[i] = number - 1
    return groups


@entry
def number_by_key(columns: Int32Table, group_of: Int32s, first: Int32s) -> int:
    """The same by any number of columns, with a table (see `hash_table`; values are group + 1) that grows."""
    width, rows = columns.shape
    slots = np.zeros(_SLOTS, np.uint64)
    mask, shift = np.uint64(len(slots) - 1), table_shift(len(slots))
    groups = 0
    for i in range(rows):
        h = hash_start(0)
        for c in range(width):
            h = hash_add(h, columns[c, i])
        h = hash_end(h)
        s = h >> shift
        while True:
            entry = slots[s]
            if entry == EMPTY:
                slots[s] = make_entry(h, groups + 1)
                group_of[i] = groups
                first[groups] = i
                groups += 1
                break
            if entry >> HALF == h >> HALF:
                group = int64(entry & LOW32) - 1
                same = True
                for c in range(width):
                    if columns[c, i] != columns[c, first[group]]:
                        same = False
                        break
                if same:
                    group_of[i] = group
                    break
            s = (s + ONE) & mask
        if not has_capacity(groups + 1, len(slots)):
            larger = np.zeros(2 * len(slots), np.uint64)
            move_entries(slots, larger)
            slots = larger
            mask, shift = np.uint64(len(slots) - 1), table_shift(len(slots))
    return groups


@entry
def is_key(column: Int32s, seen: Uint8s) -> bool:
    """Whether no term comes twice; `seen` has a zero for every term."""
    for i in range(len(column)):
        t = column[i]
        if seen[t] != 0:
            return False
        seen[t] = 1
    return True


@entry
def fold_groups(terms: Terms, operator: int, values: Int32s, group_of: Int32s, result: Int64s) -> bool:
    """The result of every group: how many rows, their sum, or the term that is the smallest or largest.
    False: a sum has other values than integers, or may exceed 64 bits."""
    rows = len(group_of)
    if operator == COUNT:
        for i in range(rows):
            result[group_of[i]] += 1
        return True
    kind, value, number = terms.kind, terms.value, terms.number
    if operator == SUM:
        largest = _LARGEST // max(rows, 1)
        for i in range(rows):
            t = values[i]
            v = number[t]
            if value[t] != INT_VALUE or v > largest or v < -largest:
                return False
            result[group_of[i]] += v
        return True
    if operator != MIN and operator != MAX:
        return False
    sign = -1 if operator == MIN else 1
    for g in range(len(result)):
        result[g] = -1
    for i in range(rows):
        t, best = int64(values[i]), result[group_of[i]]
        if best < 0:
            better = True
        elif kind[t] == INTEGER and kind[best] == INTEGER:
            better = number[t] < number[best] if sign < 0 else number[t] > number[best]
        else:
            better = t != best and compare_terms(terms, t, best) * sign > 0
        if better:
            result[group_of[i]] = t
    return True
