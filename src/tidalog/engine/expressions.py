"""Expressions inside compiled code: numbers, comparison, logic.

An expression is postfix code for a small stack: `LOAD, operand` or `function, number of arguments`.  A stack
entry is a tagged value and, if it came from a term unchanged, that term's id.  The meaning is that of
`tidalog.builtins`; the functions in `NATIVE` are computed here for integers and doubles and by Python for
other numbers, times and durations (`questions`).  Any other function is computed by Python through a memo
relation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tidalog.engine.arithmetic import compare_values, double_arithmetic, integer_arithmetic, unary_number
from tidalog.engine.array_types import Int32s, Int32Table, int64
from tidalog.engine.dictionary_kernels import (
    BLANK,
    DOUBLE,
    IRI,
    STRING,
    Terms,
    compare_text,
    intern_boolean,
    intern_double,
    intern_integer,
)
from tidalog.engine.functions import (
    AND,
    ASKED,
    COALESCE,
    EQUAL,
    EXP,
    FAILED,
    GREATER,
    GREATER_EQUAL,
    IF,
    INT,
    IS_BLANK,
    IS_DOUBLE,
    IS_IRI,
    IS_NUMERIC,
    LESS,
    LESS_EQUAL,
    LOAD,
    MAXIMUM,
    MINIMUM,
    MOD,
    NATIVE,
    NO_TERM,
    NOT,
    OR,
    OTHER,
    REAL,
    STACK,
    TRUTH,
    UNEQUAL,
    postfix,
)
from tidalog.engine.jit import bits_double, compiled, double_bits, entry, float64_at, inlined, int64_at
from tidalog.engine.question_kernels import OPEN, ask
from tidalog.engine.value_kinds import INSTANT_VALUE, MIXED_VALUE, TIME_VALUE
from tidalog.engine.value_order import NAN, compare_numbers, compare_times, is_duration, is_exact
from tidalog.model.program import Aggregate, Call, Expression, Parameter, Variable
from tidalog.model.terms import Term

UNORDERED: Final = 3
UNKNOWN: Final = 4


def encode(
    expression: Expression, register: Callable[[Variable], int], term: Callable[[Term], int]
) -> list[int]:
    """Postfix code of a native expression."""
    code: list[int] = []
    for node in postfix(expression):
        if isinstance(node, Call):
            code += [NATIVE[node.function], len(node.arguments)]
        elif isinstance(node, Variable):
            code += [LOAD, register(node)]
        else:
            # Parameters have values and aggregates are apart before rules are compiled.
            assert not isinstance(node, Parameter | Aggregate)
            code += [LOAD, -1 - term(node)]
    return code


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def is_number(tag: int) -> bool:
    return tag == INT or tag == REAL or is_exact(tag)


@compiled
def order_values(
    terms: Terms, ta: int, ia: int, xa: float, term_a: int, tb: int, ib: int, xb: float, term_b: int
) -> int:
    """-1, 0, 1, NAN (no comparison holds), UNORDERED, or UNKNOWN: Python must say."""
    if (ta == INT or ta == REAL) and (tb == INT or tb == REAL):
        return compare_values(ta, ia, xa, tb, ib, xb)
    if is_number(ta) and is_number(tb):
        a = double_bits(xa) if ta == REAL else int64(ia)
        b = double_bits(xb) if tb == REAL else int64(ib)
        return compare_numbers(terms, ta, a, term_a, tb, b, term_b, False)
    if is_duration(ta) and is_duration(tb):
        if ta != tb or ta == MIXED_VALUE:
            return UNKNOWN
        return compare_times(terms, term_a, term_b)
    if ta == tb:
        if ta == TRUTH:
            return -1 if ia < ib else (1 if ia > ib else 0)
        if ta == INSTANT_VALUE or ta == TIME_VALUE:
            return compare_times(terms, term_a, term_b)
        if ta == OTHER and terms.kind[term_a] == STRING and terms.kind[term_b] == STRING:
            return compare_text(terms, term_a, term_b)
    return UNORDERED


@compiled
def equal_values(
    terms: Terms, ta: int, ia: int, xa: float, term_a: int, tb: int, ib: int, xb: float, term_b: int
) -> int:
    """0 if they are equal, 1 if not, or UNKNOWN."""
    if ta == OTHER or tb == OTHER:
        return 0 if term_a == term_b and term_a != NO_TERM else 1
    c = order_values(terms, ta, ia, xa, term_a, tb, ib, xb, term_b)
    if c == NAN:
        return 0 if ta == REAL and tb == REAL and xa != xa and xb != xb else 1
    if c == UNKNOWN and term_a == term_b:
        return 0
    return c if c == 0 or c == UNKNOWN else 1


@compiled
def is_of_kind(function: int, terms: Terms, tag: int, term: int) -> bool:
    if function == IS_NUMERIC:
        return is_number(tag)
    if term == NO_TERM:
        return function == IS_DOUBLE and tag == REAL
    kind = terms.kind[term]
    if function == IS_IRI:
        return bool(kind == IRI)
    if function == IS_BLANK:
        return bool(kind == BLANK)
    if function == IS_DOUBLE:
        return bool(kind == DOUBLE)
    return bool(kind == STRING)


@inlined
def can_compute(tag: int) -> bool:
    """Whether arithmetic may know the value: it is a number or a time."""
    return tag > OTHER and tag != TRUTH


@inlined
def put_term(
    terms: Terms,
    term: int,
    at: int,
    tags: np.ndarray,
    ints: np.ndarray,
    reals: np.ndarray,
    ids: np.ndarray,
) -> None:
    tags[at], ids[at], ints[at] = terms.value[term], term, terms.number[term]
    reals[at] = bits_double(terms.number[term]) if tags[at] == REAL else 0.0


@compiled
def ask_pair(
    terms: Terms,
    function: int,
    a: int,
    b: int,
    tags: np.ndarray,
    ints: np.ndarray,
    reals: np.ndarray,
    ids: np.ndarray,
) -> int:
    """The answer of Python for two values on the stack."""
    return ask(
        terms,
        function,
        ids[a],
        ints[a],
        tags[a] == REAL,
        reals[a],
        ids[b],
        ints[b],
        tags[b] == REAL,
        reals[b],
        False,
    )


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
    """Leaves the value at the bottom of the stack; ASKED if Python must answer first."""
    top = 0
    for pc in range(at, at + length, 2):
        function, argument = code[pc], code[pc + 1]
        if function == LOAD:
            term = int64(block[argument, row]) if argument >= 0 else int64(-1 - argument)
            put_term(terms, term, top, tags, ints, reals, ids)
            top += 1
            continue
        first = top - argument
        tag, i, x, term = FAILED, int64(0), 0.0, int64(NO_TERM)
        asked = False
        if function <= MOD:
            ta, tb = tags[first], tags[first + 1]
            if ta == INT and tb == INT:
                tag, i, x = integer_arithmetic(function, ints[first], ints[first + 1])
            elif (ta == INT or ta == REAL) and (tb == INT or tb == REAL):
                a = np.float64(ints[first]) if ta == INT else reals[first]
                b = np.float64(ints[first + 1]) if tb == INT else reals[first + 1]
                tag, i, x = double_arithmetic(function, a, b)
            elif can_compute(ta) and can_compute(tb):
                asked = True
                term = ask_pair(terms, function, first, first + 1, tags, ints, reals, ids)
        elif function <= EXP:
            if tags[first] == INT or tags[first] == REAL:
                tag, i, x = unary_number(function, tags[first], ints[first], reals[first])
            elif can_compute(tags[first]):
                asked = True
                term = ask(terms, function, ids[first], 0, False, 0.0, NO_TERM, 0, False, 0.0, True)
        elif function == MINIMUM or function == MAXIMUM:
            sign = -1 if function == MINIMUM else 1
            best = first
            failed = False
            for k in range(first, top):
                failed = failed or not can_compute(tags[k])
                asked = asked or not (tags[k] == INT or tags[k] == REAL)
            asked = asked and not failed
            if asked:
                for k in range(first, top):
                    term = ask_pair(terms, function, first, k, tags, ints, reals, ids)
                    if term < 0:
                        break
                    put_term(terms, term, first, tags, ints, reals, ids)
            elif not failed:
                for k in range(first, top):
                    if tags[k] == REAL and reals[k] != reals[k]:
                        best = k
                        break
                    c = compare_values(tags[k], ints[k], reals[k], tags[best], ints[best], reals[best])
                    if c == sign or (c == 0 and tags[k] == INT):
                        best = k
                tag, i, x = tags[best], ints[best], reals[best]
        elif function <= GREATER_EQUAL:
            if tags[first] != FAILED and tags[first + 1] != FAILED:
                if tags[first] == INT and tags[first + 1] == INT:
                    c = -1 if ints[first] < ints[first + 1] else (1 if ints[first] > ints[first + 1] else 0)
                elif function == EQUAL or function == UNEQUAL:
                    c = equal_values(
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
                else:
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
                if c == UNKNOWN:
                    asked = True
                    term = ask_pair(terms, function, first, first + 1, tags, ints, reals, ids)
                elif c != UNORDERED:
                    if function == EQUAL:
                        holds = c == 0
                    elif function == UNEQUAL:
                        holds = c != 0
                    elif function == LESS:
                        holds = c == -1
                    elif function == LESS_EQUAL:
                        holds = c == -1 or c == 0
                    elif function == GREATER:
                        holds = c == 1
                    else:
                        holds = c == 1 or c == 0
                    tag, i = TRUTH, int64(1) if holds else int64(0)
        elif function == AND or function == OR:
            decisive = int64(0) if function == AND else int64(1)
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
            i = int64(1) if is_of_kind(function, terms, tags[first], ids[first]) else int64(0)
        if asked:
            if term == OPEN:
                tags[0] = ASKED
                return
            if term >= 0:
                put_term(terms, term, first, tags, ints, reals, ids)
            else:
                tags[first], ids[first] = FAILED, NO_TERM
        else:
            tags[first], ints[first], reals[first], ids[first] = tag, i, x, term
        top = first + 1


@compiled
def term_of(terms: Terms, tag: int, i: int, x: float, term: int) -> int:
    """The term of a value; there is capacity for one more."""
    if term != NO_TERM:
        return term
    if tag == INT:
        return intern_integer(terms, i)
    if tag == REAL:
        return intern_double(terms, x)
    return intern_boolean(terms, i)


@entry
def evaluate_rows(
    terms: Terms,
    code: Int32s,
    at: int,
    block: Int32Table,
    rows: int,
    compute: bool,
    selected: Int32s,
    values: Int32s,
) -> tuple[int, int]:
    """Selects the rows where the expression (code[at] is its length) is true or, if `compute`, has a value,
    which goes to `values`.  Returns how many, and how many rows failed; (-1, 0) if Python must answer first.
    """
    # Views of one array, which have no owner: counting references would cost more than the expression.
    stack = np.empty(4 * STACK, np.int64)
    address = stack.ctypes.data
    tags, ints = int64_at(address, STACK), int64_at(address + 8 * STACK, STACK)
    ids, reals = int64_at(address + 16 * STACK, STACK), float64_at(address + 24 * STACK, STACK)
    kept = failed = 0
    waiting = False
    for row in range(rows):
        run_expression(terms, code, at + 1, code[at], block, row, tags, ints, reals, ids)
        if tags[0] == ASKED:
            waiting = True
        elif tags[0] == FAILED:
            failed += 1
        elif compute:
            values[kept] = term_of(terms, tags[0], ints[0], reals[0], ids[0])
            selected[kept] = row
            kept += 1
        elif tags[0] == TRUTH and ints[0] == 1:
            selected[kept] = row
            kept += 1
    stack[0] = 0  # it lives until here
    if waiting:
        return -1, 0
    return kept, failed
