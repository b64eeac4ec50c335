"""Arrays by address, as compiled code sees them."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt


def int32_at(address: int, length: int) -> npt.NDArray[np.int32]:
    """The array at an address that its owner keeps alive."""
    return np.frombuffer((ctypes.c_int32 * int(length)).from_address(int(address)), np.int32)


def uint64_at(address: int, length: int) -> npt.NDArray[np.uint64]:
    return np.frombuffer((ctypes.c_uint64 * int(length)).from_address(int(address)), np.uint64)
