"""Sums that are kept while values come and go: exact, so that nothing drifts.

An integer sum is a Python integer, a sum with decimals an exact decimal.  A sum with doubles is an integer
too, in units of the smallest double, and is rounded once when it is asked for; that is the correctly rounded
sum which `engine.aggregates` computes.  A group of durations is folded again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.builtins import CannotCompute, exact_average, exact_total
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.value_kinds import BIG_ABOVE, DECIMAL_BELOW, DOUBLE_VALUE, INT_VALUE
from tidalog.model.terms import Double, Term, numeric_value
from tidalog.model.values import EXACT

_UNIT: Final = 1074  # the smallest double is 2 ** -1074
_HALF: Final = 27
_ZERO: Final = Decimal(0)


@dataclass
class RunningSum:
    """The numbers among some values.  What is not a number is not counted."""

    integers: int = 0
    decimals: int = 0
    doubles: int = 0
    of_integers: int = 0
    of_decimals: Decimal = _ZERO
    as_doubles: int = 0
    """The sum of all finite numbers, each as a double, in units."""
    infinite: int = 0
    negative_infinite: int = 0
    not_a_number: int = 0

    @property
    def numbers(self) -> int:
        return self.integers + self.decimals + self.doubles

    def add(self, dictionary: Dictionary, values: npt.NDArray[np.int32], sign: int) -> int:
        """Adds or subtracts values; returns how many are numbers."""
        terms = dictionary.arrays
        kinds, bits = terms.value[values], terms.number[values]
        integers = bits[kinds == INT_VALUE]
        is_exact = (kinds >= DECIMAL_BELOW) & (kinds <= BIG_ABOVE)
        doubles = bits[kinds == DOUBLE_VALUE].view(np.float64)
        self.integers += sign * len(integers)
        self.doubles += sign * len(doubles)
        self.of_integers += sign * _exact_integers(integers)
        for value in values[is_exact].tolist():
            self._add_exact(numeric_value(dictionary.term(value)), sign)
        as_doubles = np.concatenate([doubles, bits[is_exact].view(np.float64)])
        finite = as_doubles[np.isfinite(as_doubles)]
        self.as_doubles += sign * (_exact(finite) + _exact(integers.astype(np.float64)))
        self.infinite += sign * int(np.count_nonzero(as_doubles == math.inf))
        self.negative_infinite += sign * int(np.count_nonzero(as_doubles == -math.inf))
        self.not_a_number += sign * int(np.count_nonzero(np.isnan(as_doubles)))
        return len(integers) + len(as_doubles)

    def _add_exact(self, value: object, sign: int) -> None:
        if isinstance(value, Decimal):
            self.decimals += sign
            self.of_decimals = (EXACT.add if sign > 0 else EXACT.subtract)(self.of_decimals, value)
        else:
            assert isinstance(value, int)
            self.integers += sign
            self.of_integers += sign * value

    def result(self, average: bool) -> Term | None:
        """None: there is no sum, or the group must be folded to find it."""
        if self.numbers == 0:
            return None
        if self.doubles == 0:
            exact: int | Decimal = self.of_integers
            if self.decimals:
                exact = EXACT.add(Decimal(self.of_integers), self.of_decimals)
            try:
                return exact_average(exact, self.numbers) if average else exact_total(exact)
            except CannotCompute:
                return None
        total = self._total()
        if total is None:
            return None
        return Double(total / self.numbers if average else total)

    def _total(self) -> float | None:
        if self.not_a_number:
            return None
        if self.infinite or self.negative_infinite:
            if self.infinite and self.negative_infinite:
                return None
            return math.inf if self.infinite else -math.inf
        if self.as_doubles == 0:
            return None  # a zero has a sign, which depends on the values
        try:
            return self.as_doubles / (1 << _UNIT)
        except OverflowError:
            return None


def _exact_integers(values: npt.NDArray[np.int64]) -> int:
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _exact(values: npt.NDArray[np.float64]) -> int:
    """The sum of finite doubles in units: mantissas, in halves that do not overflow, added up by exponent."""
    if not len(values):
        return 0
    fractions, exponents = np.frexp(values)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    total = 0
    for exponent in np.unique(exponents).tolist():
        mine = mantissas[exponents == exponent]
        whole = (int((mine >> _HALF).sum()) << _HALF) + int((mine & ((1 << _HALF) - 1)).sum())
        shift = exponent - 53 + _UNIT
        total += whole << shift if shift >= 0 else whole >> -shift
    return total
