"""The table of `questions` in compiled code."""

from __future__ import annotations

from typing import Final

import numpy as np

from tidalog.engine.array_types import Int32s, Int64s, int64
from tidalog.engine.dictionary_kernels import ANSWERS_AT, ASKED, CALLS_AT, QUESTIONS, Terms
from tidalog.engine.functions import NO_TERM
from tidalog.engine.jit import (
    compiled,
    double_bits,
    entry,
    hash_add,
    hash_end,
    hash_start,
    int32_at,
    int64_at,
)

NO_ANSWER: Final = -1  # the call has no value
OPEN: Final = -2  # it has not been answered yet
UNUSED: Final = -3

# A call: function and kinds of its operands, first operand, second operand.
CALL: Final = 3
TERM: Final = 0
INTEGER: Final = 1
DOUBLE: Final = 2
ABSENT: Final = 3
KINDS: Final = 4


@compiled
def call_slot(calls: np.ndarray, answers: np.ndarray, function: int, left: int, right: int) -> int:
    """Where the table has a call, or the unused slot where it belongs."""
    h = hash_add(hash_start(function), left & 0xFFFFFFFF)
    h = hash_add(h, (left >> 32) & 0xFFFFFFFF)
    h = hash_add(h, right & 0xFFFFFFFF)
    h = hash_end(hash_add(h, (right >> 32) & 0xFFFFFFFF))
    mask = len(answers) - 1
    s = int64(h & np.uint64(mask))
    while answers[s] != UNUSED and not (
        calls[s * CALL] == function and calls[s * CALL + 1] == left and calls[s * CALL + 2] == right
    ):
        s = (s + 1) & mask
    return s


@compiled
def ask(
    terms: Terms,
    function: int,
    a: int,
    a_int: int,
    a_is_double: bool,
    a_real: float,
    b: int,
    b_int: int,
    b_is_double: bool,
    b_real: float,
    is_unary: bool,
) -> int:
    """The term that a function of one or two operands gives, NO_ANSWER or OPEN.  An operand is a term (`a`),
    or if that is NO_TERM an integer or a double."""
    left, right = int64(a), int64(b)
    kinds = TERM
    if a == NO_TERM:
        kinds = DOUBLE if a_is_double else INTEGER
        left = double_bits(a_real) if a_is_double else int64(a_int)
    if is_unary:
        kinds += ABSENT * KINDS
        right = int64(0)
    elif b == NO_TERM:
        kinds += (DOUBLE if b_is_double else INTEGER) * KINDS
        right = double_bits(b_real) if b_is_double else int64(b_int)
    call = int64(function) * KINDS * KINDS + kinds
    calls = int64_at(terms.state[CALLS_AT], terms.state[QUESTIONS] * CALL)
    answers = int32_at(terms.state[ANSWERS_AT], terms.state[QUESTIONS])
    s = call_slot(calls, answers, call, left, right)
    if answers[s] != UNUSED:
        return int64(answers[s])
    if terms.state[ASKED] * 2 < len(answers):
        calls[s * CALL], calls[s * CALL + 1], calls[s * CALL + 2] = call, left, right
        answers[s] = OPEN
        terms.state[ASKED] += 1
    return int64(OPEN)


@entry
def move_answers(calls: Int64s, answers: Int32s, new_calls: Int64s, new_answers: Int32s) -> None:
    """Enters all calls into an empty table that is large enough."""
    for i in range(len(answers)):
        if answers[i] != UNUSED:
            function, left, right = calls[i * CALL], calls[i * CALL + 1], calls[i * CALL + 2]
            s = call_slot(new_calls, new_answers, function, left, right)
            new_calls[s * CALL], new_calls[s * CALL + 1], new_calls[s * CALL + 2] = function, left, right
            new_answers[s] = answers[i]
