"""What compiled expressions ask Python: functions of decimals, large integers, times and durations.

Compiled code computes with integers and doubles.  Where an operand is another number or a time, it looks for
the call in a table of answers; a call that is not there becomes a question, the row waits, and the executor
returns as it does when the dictionary is full (`GROW_TERMS`).  Python then answers every open question, and
the operator runs again.  An expression with n such calls runs n times more for a block of rows.  A call is
asked once, until the answers are forgotten.

Invariant.  An answer depends on its call alone, so the table can be cleared while nothing runs.  The table is
at most half full.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.builtins import CannotCompute, apply
from tidalog.engine.dictionary_kernels import ANSWERS_AT, ASKED, CALLS_AT, QUESTIONS
from tidalog.engine.functions import NAMES
from tidalog.engine.question_kernels import (
    ABSENT,
    CALL,
    INTEGER,
    KINDS,
    NO_ANSWER,
    OPEN,
    TERM,
    UNUSED,
    move_answers,
)
from tidalog.model.terms import Double, Integer, Term

_SMALL: Final = 1 << 10  # calls that the first table has slots for
_MANY: Final = 1 << 20  # answers that are kept from one run to the next


class Questions:
    """Owns the table and answers."""

    def __init__(self, state: npt.NDArray[np.int64]) -> None:
        self._state = state
        self._resize(_SMALL)

    def _resize(self, slots: int) -> None:
        self._calls = np.zeros(slots * CALL, np.int64)
        self._answers = np.full(slots, UNUSED, np.int32)
        self._state[CALLS_AT], self._state[ANSWERS_AT] = self._calls.ctypes.data, self._answers.ctypes.data
        self._state[QUESTIONS], self._state[ASKED] = slots, 0

    @property
    def nbytes(self) -> int:
        return self._calls.nbytes + self._answers.nbytes

    def answer(self, term: Callable[[int], Term], id_of: Callable[[Term], int]) -> None:
        """Answers what is open, and empties the buffer."""
        for slot in np.flatnonzero(self._answers == OPEN).tolist():
            function, left, right = self._calls[slot * CALL : (slot + 1) * CALL].tolist()
            operands = [
                _operand(kind, number, term)
                for kind, number in (
                    (function % KINDS, left),
                    (function // KINDS % KINDS, right),
                )
                if kind != ABSENT
            ]
            outcome = apply(NAMES[function // KINDS**2], operands)
            self._answers[slot] = NO_ANSWER if isinstance(outcome, CannotCompute) else id_of(outcome)
        if self._state[ASKED] * 4 > len(self._answers):
            calls, answers = self._calls, self._answers
            self._resize(4 * len(answers))
            move_answers(calls, answers, self._calls, self._answers)
            self._state[ASKED] = np.count_nonzero(answers != UNUSED)

    def forget(self, *, few: bool) -> None:
        """Forgets all answers, or only if there are too many to keep; nothing may wait for one."""
        if self._state[ASKED] > (0 if few else _MANY):
            self._resize(_SMALL)


def _operand(kind: int, number: int, term: Callable[[int], Term]) -> Term:
    if kind == TERM:
        return term(number)
    if kind == INTEGER:
        return Integer(number)
    return Double(struct.unpack("<d", struct.pack("<q", number))[0])
