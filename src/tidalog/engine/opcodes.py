"""Plans as integers: the layout that the compiler writes and the executors read.

A plan is one run of int32 numbers.  An *operand* is a register (0 or more) or a constant term (-1 - id).
Register 0 holds the id of the pivot's fact.

    plan    PIVOT_PREDICATE (or -1: start with one empty row), FILTER, checks, loads, operators …
    checks  count, then (column, operand) each: the column equals a constant
            count, then (column, column) each: a repeated variable
    loads   count, then (column, register) each

    operator  OPCODE, LENGTH (to the next operator), then
    PROBE   index, filter, fact register or -1, keys: count, operands; same: count, (column, column);
            keep: count, registers; new: count, (column, register)
    MEMBER  predicate, filter, fact register or -1, arguments: count, operands; keep: count, registers
    ABSENT  index or -1, predicate, filter, keys: count, operands; same: count, (column, column);
            keep: count, registers
    OUTSIDE set of terms, register; keep: count, registers: the term is not in the set (see `bitmaps`)
    TEST    expression: length, code; keep: count, registers
    COMPUTE target register, expression: length, code; keep: count, registers (the target is not in it)
    FOLD    index, keys: count, operands; aggregate, target register, distinct (0 or 1);
            columns: count, columns; keep: count, registers
    EMIT    predicate, whether the head is known to be new (0 or 1), arguments: count, operands;
            body: count, registers that hold the facts of the body, if the algorithm looks at them
"""

from __future__ import annotations

from typing import Final

PROBE: Final = 1
MEMBER: Final = 2
ABSENT: Final = 3
TEST: Final = 4
COMPUTE: Final = 5
FOLD: Final = 6
EMIT: Final = 7
OUTSIDE: Final = 8

# Filters come from the algorithm, one row per filter number of a plan.
FILTER_MASK: Final = 0  # status bits looked at; 0 looks at none
FILTER_WANT: Final = 1  # their wanted value
FILTER_ORDER: Final = 2  # ANY_ID …
FILTER_FIELDS: Final = 3

# Orders: which ids a fact may have beside the pivot's.
ANY_ID: Final = 0
BELOW_PIVOT: Final = 1
UP_TO_PIVOT: Final = 2
NOT_PIVOT: Final = 3  # one instance at a time only
NEW_BELOW_PIVOT: Final = 4  # a fact that is not NEW may have any
NEW_UP_TO_PIVOT: Final = 5

MOST_ATOMS: Final = 64  # of a rule whose instances are searched for one by one

# Why the executor returned.
DONE: Final = 0
GROW_FACTS: Final = 1
GROW_INDEX: Final = 2
GROW_TERMS: Final = 3
PAUSE: Final = 4
STRICT: Final = 5
GROW_LOG: Final = 6
