"""The arrays that compiled code takes, by kind of number and dimensions.

An entry point of compiled code (`jit.entry`) is typed by its annotations, so these say what a caller must
pass: arrays in C order.  The builder reads the dimensions from the annotation; mypy sees a plain array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, cast, get_args

import numpy as np
import numpy.typing as npt

Int32s = Annotated[npt.NDArray[np.int32], 1]
Int64s = Annotated[npt.NDArray[np.int64], 1]
Bools = Annotated[npt.NDArray[np.bool_], 1]
Int8s = Annotated[npt.NDArray[np.int8], 1]
Uint8s = Annotated[npt.NDArray[np.uint8], 1]
Uint16s = Annotated[npt.NDArray[np.uint16], 1]
Uint32s = Annotated[npt.NDArray[np.uint32], 1]
Uint64s = Annotated[npt.NDArray[np.uint64], 1]
Float64s = Annotated[npt.NDArray[np.float64], 1]

Int32Table = Annotated[npt.NDArray[np.int32], 2]
Int64Table = Annotated[npt.NDArray[np.int64], 2]
Uint8Table = Annotated[npt.NDArray[np.uint8], 2]

Int32Levels = Annotated[npt.NDArray[np.int32], 3]


def kind_of(hint: object) -> tuple[np.dtype[np.generic], int]:
    """The kind of number and the dimensions of one of these."""
    array, dimensions = get_args(hint)
    return np.dtype(get_args(get_args(array)[1])[0]), dimensions


EACH: Final = 4
"""The numbers that a block of addresses has for each array: its address and its shape."""

int32: Final = cast("Callable[[object], int]", np.int32)
int64: Final = cast("Callable[[object], int]", np.int64)
"""Numbers as compiled code computes with them; to mypy, as to compiled code, they are ints."""
