"""Functions with several values: `?i = RANGE(1, ?n)`.

A call of one is lifted out of the expression that it stands in, and its variable takes every value in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tidalog.builtins.base import Builtin, CannotCompute, shown
from tidalog.model.terms import Integer, Term

MOST_VALUES: Final = 10_000_000
"""Values that one call may have."""


def integers(arguments: Sequence[Term]) -> range:
    """RANGE(first, last) and RANGE(first, last, step): the integers from the first to the last, both
    included."""
    numbers = [argument.value for argument in arguments if isinstance(argument, Integer)]
    if len(numbers) < len(arguments):
        odd = next(argument for argument in arguments if not isinstance(argument, Integer))
        raise CannotCompute(f"{shown(odd)} is not an integer")
    first, last, step = (*numbers, 1)[:3]
    if step == 0:
        raise CannotCompute("RANGE does not end with a step of 0")
    found = range(first, last + (1 if step > 0 else -1), step)
    if len(found) > MOST_VALUES:
        raise CannotCompute(f"RANGE has more than {MOST_VALUES:,} values")
    return found


def _alone(arguments: Sequence[Term]) -> Term:
    raise CannotCompute("RANGE has several values")


GENERATORS: Final[Mapping[str, Callable[[Sequence[Term]], range]]] = MappingProxyType({"RANGE": integers})
"""By name, what gives the values of a call: integers, so far."""

BUILTINS: Final[tuple[Builtin, ...]] = (
    Builtin("RANGE", 2, 3, _alone, "every integer from the first to the second, by steps of the third"),
)
