"""Arithmetic on tagged numbers, with the failures that `builtins` asks for.

Integers are computed without sign: compiled signed arithmetic may assume that it never overflows, and drop
the check."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from tidalog.engine.array_types import int64
from tidalog.engine.dictionary_kernels import compare_int_double
from tidalog.engine.functions import (
    ABSOLUTE,
    ADD,
    CEIL,
    DIV,
    DIVIDE,
    EXP,
    FAILED,
    FLOOR,
    INT,
    MOD,
    MULTIPLY,
    NEGATE,
    POWER,
    REAL,
    REMAINDER,
    SQRT,
    SUBTRACT,
)
from tidalog.engine.jit import compiled

_MIN64: Final = int64(-(2**63))


@compiled
def add_checked(a: int, b: int) -> tuple[int, int]:
    """(tag, sum): FAILED if it does not fit 64 bits.  Computed without sign: compiled signed arithmetic may
    assume that it never overflows, and drop the check."""
    r = int64(np.uint64(a) + np.uint64(b))
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
    r = int64(np.uint64(a) * np.uint64(b))
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
    result = int64(1)
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
        r = int64(np.uint64(a) - np.uint64(b))
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
        if function == REMAINDER or function == MOD:
            return INT, 0, 0.0
        return (FAILED, 0, 0.0) if a == _MIN64 else (INT, -a, 0.0)
    m = a % b
    if m != 0 and (a < 0) != (b < 0):
        m -= b
    if function == REMAINDER or function == MOD:
        return INT, m, 0.0
    if function == DIV:
        return INT, (a - m) // b, 0.0
    if m == 0:
        return INT, a // b, 0.0
    return REAL, 0, np.float64(a) / np.float64(b)


@compiled
def double_arithmetic(function: int, a: float, b: float) -> tuple[int, int, float]:
    """A NaN that arises from numbers is a failure; a NaN that comes in goes out."""
    if function == DIV or function == MOD:
        return FAILED, 0, 0.0
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
        if b == 0.0 or (function == REMAINDER and (a == np.inf or a == -np.inf)):
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
        return float(np.floor(x))
    if function == CEIL:
        return float(np.ceil(x))
    whole = float(np.trunc(x))
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
