"""Blocks of addresses: how Python hands compiled code many arrays at once.

An entry point of compiled code (`jit.entry`) takes blocks, arrays and numbers.  A block stands for a named
tuple of arrays: it is one array of integers, four for each array of the tuple, its address and its shape.
Python passes the block, and the entry gets the tuple, as its annotation says.  So a call costs the same
whatever the tuple has in it, and in compiled code its arrays have no owner, so nothing counts references.

Invariant.  The owner of a block keeps its arrays alive and its block up to date; one thread at a time uses
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final, Generic, TypeVar, cast, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import EACH, kind_of
from tidalog.engine.kernel_object import KernelError

Block = npt.NDArray[np.int64]
_NO_LENGTHS: Final = (0,) * (EACH - 2)
V = TypeVar("V", bound=tuple[Any, ...])


def block_of(arrays: Iterable[Any]) -> Block:
    """A block of contiguous arrays, and of those of the tuples among them; the caller keeps them alive."""
    return np.array([number for array in _each(arrays) for number in _numbers_of(array)], np.int64)


def _each(arrays: Iterable[Any]) -> Iterator[np.ndarray]:
    for one in arrays:
        if isinstance(one, tuple):
            yield from _each(one)
        else:
            yield one


def _numbers_of(array: np.ndarray) -> tuple[int, ...]:
    """Its address and its shape."""
    if not array.flags.c_contiguous:
        raise KernelError("a block names contiguous arrays only")
    return array.ctypes.data, *array.shape, *_NO_LENGTHS[array.ndim - 1 :]


def _check_kinds(arrays: tuple[Any, ...]) -> None:
    """Each array is what its annotation says."""
    for (name, kind), array in zip(_kinds_of(type(arrays)), arrays, strict=True):
        if isinstance(array, tuple):
            _check_kinds(array)
        elif (array.dtype, array.ndim) != kind:
            raise KernelError(f"{type(arrays).__name__}.{name}: {array.dtype} of {array.ndim} dimensions")


@cache
def _kinds_of(arrays: type) -> Sequence[tuple[str, tuple[np.dtype[np.generic], int] | None]]:
    """The fields of a named tuple with their kinds; None where that is a tuple."""
    hints = get_type_hints(arrays, include_extras=True)
    return [(name, kind_of(hint) if get_args(hint) else None) for name, hint in hints.items()]


class Owner(Generic[V]):
    """Has a named tuple of arrays, which Python reads, and its block, which compiled code gets."""

    def __init__(self, arrays: V) -> None:
        _check_kinds(arrays)
        self.arrays = arrays
        self._block = block_of(arrays)
        self.at = cast(V, self._block)
        """The block, always the same.  To mypy it is what an entry sees, so that it checks which block goes
        where."""

    def replace(self, arrays: V) -> None:
        """Some arrays are others now."""
        self._write(self.arrays, arrays, 0)
        self.arrays = arrays

    def _write(self, before: tuple[Any, ...], after: tuple[Any, ...], at: int) -> int:
        """Writes the arrays that are others; the first has number `at`.  The number after the last."""
        for old, new in zip(before, after, strict=True):
            if isinstance(old, tuple):
                at = self._write(old, new, at)
                continue
            if new is not old:
                if new.dtype != old.dtype or new.ndim != old.ndim:
                    raise KernelError(f"an array of {type(after).__name__} is of another kind")
                self._block[EACH * at : EACH * (at + 1)] = _numbers_of(new)
            at += 1
        return at
