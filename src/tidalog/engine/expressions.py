"""Expressions inside compiled code: numbers, comparison, logic.

An expression is postfix code for a small stack: `LOAD, operand` or `function, number of arguments`.  A stack
entry is a tagged value and, if it came from a term unchanged, that term's id.  The meaning is that of
`tidalog.builtins`, written a second time; what stands in `NATIVE` is computed here, anything else by Python
through a memo relation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from tidalog.engine.dictionary_kernels import (
    BLANK,
    BOOLEAN_VALUE,
    DOUBLE,
    DOUBLE_VALUE,
    INSTANT_VALUE,
    INT_VALUE,
    IRI,
    STRING,
    Terms,
    compare_int_double,
    compare_text,
    intern_boolean,
    intern_double,
    intern_integer,
)
from tidalog.engine.native import bits_double, compiled
from tidalog.program import Call, Expression, Variable
from tidalog.terms import Term

LOAD: Final = 0
ADD: Final = 1
SUBTRACT: Final = 2
MULTIPLY: Final = 3
DIVIDE: Final = 4
REMAINDER: Final = 5
POWER: Final = 6
NEGATE: Final = 7
ABSOLUTE: Final = 8
ROUND: Final = 9
FLOOR: Final = 10
CEIL: Final = 11
SQRT: Final = 12
EXP: Final = 13
MINIMUM: Final = 14
MAXIMUM: Final = 15
EQUAL: Final = 16
UNEQUAL: Final = 17
LESS: Final = 18
LESS_EQUAL: Final = 19
GREATER: Final = 20
GREATER_EQUAL: Final = 21
AND: Final = 22
OR: Final = 23
NOT: Final = 24
IF: Final = 25
COALESCE: Final = 26
IS_IRI: Final = 28
IS_BLANK: Final = 29
IS_STRING: Final = 30
IS_NUMERIC: Final = 31
IS_DOUBLE: Final = 32

NATIVE: Final = {
    "+": ADD,
    "-": SUBTRACT,
    "*": MULTIPLY,
    "/": DIVIDE,
    "%": REMAINDER,
    "REM": REMAINDER,
    "**": POWER,
    "POW": POWER,
    "neg": NEGATE,
    "ABS": ABSOLUTE,
    "ROUND": ROUND,
    "FLOOR": FLOOR,
    "CEIL": CEIL,
    "SQRT": SQRT,
    "EXP": EXP,
    "MIN": MINIMUM,
    "MAX": MAXIMUM,
    "=": EQUAL,
    "!=": UNEQUAL,
    "<": LESS,
    "<=": LESS_EQUAL,
    ">": GREATER,
    ">=": GREATER_EQUAL,
    "AND": AND,
    "OR": OR,
    "NOT": NOT,
    "IF": IF,
    "COALESCE": COALESCE,
    "ISIRI": IS_IRI,
    "ISURI": IS_IRI,
    "ISBLANK": IS_BLANK,
    "ISNULL": IS_BLANK,
    "ISSTRING": IS_STRING,
    "ISNUMERIC": IS_NUMERIC,
    "ISDOUBLE": IS_DOUBLE,
}
STACK: Final = 64

# Tags of values.
FAILED: Final = 0
INT: Final = 1
REAL: Final = 2
TRUTH: Final = 3
INSTANT: Final = 4
OTHER: Final = 5

NO_TERM: Final = -1
_MIN64: Final = np.int64(-(2**63))


def is_native(expression: Expression) -> bool:
    """Whether compiled code computes this expression: it knows every function, and its stack is enough."""
    depth = deepest = 0
    for node in _postfix(expression):
        if isinstance(node, Call):
            if node.function not in NATIVE:
                return False
            depth -= len(node.arguments)
        depth += 1
        deepest = max(deepest, depth)
    return deepest <= STACK


def encode(
    expression: Expression, register: Callable[[Variable], int], term: Callable[[Term], int]
) -> list[int]:
    """Postfix code of a native expression."""
    code: list[int] = []
    for node in _postfix(expression):
        if isinstance(node, Call):
            code += [NATIVE[node.function], len(node.arguments)]
        elif isinstance(node, Variable):
            code += [LOAD, register(node)]
        else:
            code += [LOAD, -1 - term(node)]  # type: ignore[arg-type]
    return code


def _postfix(expression: Expression) -> list[Expression]:
    """The nodes, arguments before calls, without recursion."""
    waiting, nodes = [expression], []
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if isinstance(node, Call):
            waiting.extend(node.arguments)
    nodes.reverse()
    return nodes


# --- compiled ---------------------------------------------------------------------------------------


@compiled
def add_checked(a: int, b: int) -> tuple[int, int]:
    """(tag, sum): FAILED if it does not fit 64 bits.  Computed without sign: compiled signed arithmetic may
    assume that it never overflows, and drop the check."""
    r = np.int64(np.uint64(a) + np.uint64(b))
    if ((a ^ r) & (b ^ r)) < 0:
        return FAILED, 0
    return INT, r


@compiled
def multiply_checked(a: int, b: int) -> tuple[int, int]:
    if a == 0 or b == 0:
        return INT, 0
    if b == -1:
        return (FAILED, 0) if a == _MIN64 else (INT, -a)
    if a == -1:
        return (FAILED, 0) if b == _MIN64 else (INT, -b)
    r = np.int64(np.uint64(a) * np.uint64(b))
    if r // b != a or r % b != 0:
        return FAILED, 0
    return INT, r


@compiled
def power_checked(a: int, b: int) -> tuple[int, int]:
    if a == 0:
        return INT, 1 if b == 0 else 0
    if a == 1 or a == -1:
        return INT, a if b % 2 == 1 else 1
    if b >= 64:
        return FAILED, 0
    result = np.int64(1)
    for _ in range(b):
        tag, result = multiply_checked(result, a)
        if tag == FAILED:
            return FAILED, 0
    return INT, result


@compiled
def integer_arithmetic(function: int, a: int, b: int) -> tuple[int, int, float]:
    """(tag, integer, double) of a binary operation on two integers."""
    if function == ADD:
        tag, r = add_checked(a, b)
        return tag, r, 0.0
    if function == SUBTRACT:
        r = np.int64(np.uint64(a) - np.uint64(b))
        if ((a ^ b) & (a ^ r)) < 0:
            return FAILED, 0, 0.0
        return INT, r, 0.0
    if function == MULTIPLY:
        tag, r = multiply_checked(a, b)
        return tag, r, 0.0
    if function == POWER:
        if b >= 0:
            tag, r = power_checked(a, b)
            return tag, r, 0.0
        return double_arithmetic(POWER, np.float64(a), np.float64(b))
    if b == 0:
        return FAILED, 0, 0.0
    if b == -1:
        if function == REMAINDER:
            return INT, 0, 0.0
        return (FAILED, 0, 0.0) if a == _MIN64 else (INT, -a, 0.0)
    m = a % b
    if function == REMAINDER:
        if m != 0 and (a < 0) != (b < 0):
            m -= b
        return INT, m, 0.0
    if m == 0:
        return INT, a // b, 0.0
    return REAL, 0, np.float64(a) / np.float64(b)


@compiled
def double_arithmetic(function: int, a: float, b: float) -> tuple[int, int, float]:
    """A NaN that arises from numbers is a failure; a NaN that comes in goes out."""
    if function == ADD:
        r = a + b
    elif function == SUBTRACT:
        r = a - b
    elif function == MULTIPLY:
        r = a * b
    elif function == POWER:
        if a == 0.0 and b < 0.0:
            return FAILED, 0, 0.0
        r = math.pow(a, b)
    else:
        if b == 0.0:
            return FAILED, 0, 0.0
        r = a / b if function == DIVIDE else np.fmod(a, b)
    if r != r and a == a and b == b:
        return FAILED, 0, 0.0
    return REAL, 0, r


@compiled
def round_double(function: int, x: float) -> float:
    if x - x != 0.0:
        return x
    if function == FLOOR:
        return np.floor(x)
    if function == CEIL:
        return np.ceil(x)
    whole = np.trunc(x)
    if abs(x - whole) >= 0.5:
        return whole + (1.0 if x > 0.0 else -1.0)
    return whole


@compiled
def unary_number(function: int, tag: int, i: int, x: float) -> tuple[int, int, float]:
    if tag != INT and tag != REAL:
        return FAILED, 0, 0.0
    if function == SQRT or function == EXP:
        v = np.float64(i) if tag == INT else x
        if function == SQRT:
            if v < 0.0:
                return FAILED, 0, 0.0
            return REAL, 0, math.sqrt(v)
        return REAL, 0, np.exp(v)
    if tag == INT:
        if function == NEGATE or (function == ABSOLUTE and i < 0):
            return (FAILED, 0, 0.0) if i == _MIN64 else (INT, -i, 0.0)
        return INT, i, 0.0
    if function == NEGATE:
        return REAL, 0, -x
    if function == ABSOLUTE:
        return REAL, 0, abs(x)
    return REAL, 0, round_double(function, x)


@compiled
def compare_values(ta: int, ia: int, xa: float, tb: int, ib: int, xb: float) -> int:
    """-1, 0, 1; 2 if a NaN is among them."""
    if ta == INT and tb == INT:
        return -1 if ia < ib else (1 if ia > ib else 0)
    if ta == INT:
        return 2 if xb != xb else compare_int_double(ia, xb)
    if tb == INT:
        return 2 if xa != xa else -compare_int_double(ib, xa)
    if xa != xa or xb != xb:
        return 2
    return -1 if xa < xb else (1 if xa > xb else 0)


@compiled
def equal_values(ta: int, ia: int, xa: float, term_a: int, tb: int, ib: int, xb: float, term_b: int) -> bool:
    if (ta == INT or ta == REAL) and (tb == INT or tb == REAL):
        c = compare_values(ta, ia, xa, tb, ib, xb)
        if c == 2:
            return ta == REAL and tb == REAL and xa != xa and xb != xb
        return c == 0
    if ta == TRUTH and tb == TRUTH:
        return ia == ib
    return term_a == term_b and term_a != NO_TERM


@compiled
def order_values(
    terms: Terms, ta: int, ia: int, xa: float, term_a: int, tb: int, ib: int, xb: float, term_b: int
) -> int:
    """-1, 0, 1, 2 (a NaN: no comparison holds), 3 (no order)."""
    if (ta == INT or ta == REAL) and (tb == INT or tb == REAL):
        return compare_values(ta, ia, xa, tb, ib, xb)
    if ta == tb and (ta == TRUTH or ta == INSTANT):
        return -1 if ia < ib else (1 if ia > ib else 0)
    if ta == OTHER and tb == OTHER and terms.kind[term_a] == STRING and terms.kind[term_b] == STRING:
        return compare_text(terms, term_a, term_b)
    return 3


@compiled
def is_of_kind(function: int, terms: Terms, tag: int, term: int) -> bool:
    if function == IS_NUMERIC:
        return tag == INT or tag == REAL
    if term == NO_TERM:
        return function == IS_DOUBLE and tag == REAL
    kind = terms.kind[term]
    if function == IS_IRI:
        return kind == IRI
    if function == IS_BLANK:
        return kind == BLANK
    if function == IS_DOUBLE:
        return kind == DOUBLE
    return kind == STRING


@compiled
def run_expression(
    terms: Terms,
    code: np.ndarray,
    at: int,
    length: int,
    block: np.ndarray,
    row: int,
    tags: np.ndarray,
    ints: np.ndarray,
    reals: np.ndarray,
    ids: np.ndarray,
) -> None:
    """Leaves the value in place 0 of the stack."""
    top = 0
    for pc in range(at, at + length, 2):
        function, argument = code[pc], code[pc + 1]
        if function == LOAD:
            term = np.int64(block[argument, row]) if argument >= 0 else np.int64(-1 - argument)
            value = terms.value[term]
            ids[top] = term
            ints[top] = terms.number[term]
            reals[top] = 0.0
            if value == INT_VALUE:
                tags[top] = INT
            elif value == DOUBLE_VALUE:
                tags[top] = REAL
                reals[top] = bits_double(terms.number[term])
            elif value == BOOLEAN_VALUE:
                tags[top] = TRUTH
            elif value == INSTANT_VALUE:
                tags[top] = INSTANT
            else:
                tags[top] = OTHER
            top += 1
            continue
        first = top - argument
        tag, i, x, term = FAILED, np.int64(0), 0.0, np.int64(NO_TERM)
        if function <= POWER:
            ta, tb = tags[first], tags[first + 1]
            if ta == INT and tb == INT:
                tag, i, x = integer_arithmetic(function, ints[first], ints[first + 1])
            elif (ta == INT or ta == REAL) and (tb == INT or tb == REAL):
                a = np.float64(ints[first]) if ta == INT else reals[first]
                b = np.float64(ints[first + 1]) if tb == INT else reals[first + 1]
                tag, i, x = double_arithmetic(function, a, b)
        elif function <= EXP:
            tag, i, x = unary_number(function, tags[first], ints[first], reals[first])
        elif function == MINIMUM or function == MAXIMUM:
            sign = -1 if function == MINIMUM else 1
            best = first
            failed = False
            for k in range(first, top):
                if tags[k] != INT and tags[k] != REAL:
                    failed = True
            if not failed:
                for k in range(first, top):
                    if tags[k] == REAL and reals[k] != reals[k]:
                        best = k
                        break
                    c = compare_values(tags[k], ints[k], reals[k], tags[best], ints[best], reals[best])
                    if c == sign or (c == 0 and tags[k] == INT):
                        best = k
                tag, i, x = tags[best], ints[best], reals[best]
        elif function == EQUAL or function == UNEQUAL:
            if tags[first] != FAILED and tags[first + 1] != FAILED:
                same = equal_values(
                    tags[first],
                    ints[first],
                    reals[first],
                    ids[first],
                    tags[first + 1],
                    ints[first + 1],
                    reals[first + 1],
                    ids[first + 1],
                )
                tag = TRUTH
                i = np.int64(1) if same == (function == EQUAL) else np.int64(0)
        elif function <= GREATER_EQUAL:
            c = order_values(
                terms,
                tags[first],
                ints[first],
                reals[first],
                ids[first],
                tags[first + 1],
                ints[first + 1],
                reals[first + 1],
                ids[first + 1],
            )
            if c != 3:
                tag = TRUTH
                if function == LESS:
                    holds = c == -1
                elif function == LESS_EQUAL:
                    holds = c == -1 or c == 0
                elif function == GREATER:
                    holds = c == 1
                else:
                    holds = c == 1 or c == 0
                i = np.int64(1) if holds else np.int64(0)
        elif function == AND or function == OR:
            decisive = np.int64(0) if function == AND else np.int64(1)
            tag, i = TRUTH, 1 - decisive
            for k in range(first, top):
                if tags[k] == TRUTH:
                    if ints[k] == decisive:
                        tag, i = TRUTH, decisive
                        break
                else:
                    tag = FAILED
        elif function == NOT:
            if tags[first] == TRUTH:
                tag, i = TRUTH, 1 - ints[first]
        elif function == IF:
            if tags[first] == TRUTH:
                k = first + 1 if ints[first] == 1 else first + 2
                tag, i, x, term = tags[k], ints[k], reals[k], ids[k]
        elif function == COALESCE:
            for k in range(first, top):
                if tags[k] != FAILED:
                    tag, i, x, term = tags[k], ints[k], reals[k], ids[k]
                    break
        elif tags[first] != FAILED:
            tag = TRUTH
            i = np.int64(1) if is_of_kind(function, terms, tags[first], ids[first]) else np.int64(0)
        tags[first], ints[first], reals[first], ids[first] = tag, i, x, term
        top = first + 1


@compiled
def term_of(terms: Terms, tag: int, i: int, x: float, term: int) -> int:
    """The term of a value; room for one more has been made."""
    if term != NO_TERM:
        return term
    if tag == INT:
        return intern_integer(terms, i)
    if tag == REAL:
        return intern_double(terms, x)
    return intern_boolean(terms, i)


@compiled
def evaluate_rows(
    terms: Terms,
    code: np.ndarray,
    at: int,
    block: np.ndarray,
    rows: int,
    compute: bool,
    selected: np.ndarray,
    values: np.ndarray,
) -> tuple[int, int]:
    """Selects the rows where the expression (code[at] is its length) is true or, if `compute`, has a value,
    which goes to `values`.  Returns how many, and how many rows failed."""
    tags, ints = np.empty(STACK, np.int64), np.empty(STACK, np.int64)
    reals, ids = np.empty(STACK, np.float64), np.empty(STACK, np.int64)
    kept = failed = 0
    for row in range(rows):
        run_expression(terms, code, at + 1, code[at], block, row, tags, ints, reals, ids)
        if tags[0] == FAILED:
            failed += 1
        elif compute:
            values[kept] = term_of(terms, tags[0], ints[0], reals[0], ids[0])
            selected[kept] = row
            kept += 1
        elif tags[0] == TRUTH and ints[0] == 1:
            selected[kept] = row
            kept += 1
    return kept, failed
