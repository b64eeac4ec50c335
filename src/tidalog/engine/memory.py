"""Memory that grows in place.

A large array is a view of a stretch of address space that was reserved once and is backed by memory only
where it has been written.  So growth copies nothing, there are never two copies, and parts can be given
back.  Where the system grants no such reservation, arrays are allocated and copied as usual.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

Element = TypeVar("Element", bound=np.generic)

_NO_RESERVE: Final[int] = getattr(  # Python has no name for it before 3.13
    mmap, "MAP_NORESERVE", {"linux": 0x4000, "darwin": 0x40}.get(sys.platform, 0)
)
_SMALL: Final = 1 << 21  # bytes below which copying is cheaper than a mapping of its own: one large page
_FACTOR: Final = 4
_trim: Final = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def resized(array: npt.NDArray[Element], used: int, needed: int, most: int) -> npt.NDArray[Element]:
    """An array with capacity for `needed` elements that begins with the `used` ones of this one, or itself if
    it has that capacity; the rest is undefined.  It will never be asked for more than `most`."""
    if needed <= len(array):
        return array
    size = max(needed, len(array) * _FACTOR)
    if size * array.itemsize > _SMALL:
        reserved = reserve(array.dtype, most)
        if reserved is not None:
            reserved[:used] = array[:used]
            return reserved
    result = np.empty(size, array.dtype)
    result[:used] = array[:used]
    return result


def reserve(
    dtype: np.dtype[Element], length: int, *, large_pages: bool = True
) -> npt.NDArray[Element] | None:
    """Zeros that take memory only once they are written, or None where that cannot be had.  Large pages are
    for what is written from one end to the other."""
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return None
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    try:
        area = mmap.mmap(-1, length * dtype.itemsize, flags=flags)
    except (OSError, ValueError):
        return None
    if large_pages and hasattr(mmap, "MADV_HUGEPAGE"):
        area.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(area, dtype)


def give_back(array: npt.NDArray[Element], begin: int, end: int) -> None:
    """Gives the memory of some elements of a reserved array back; they are zeros from here on."""
    area, first = _area_of(array)
    assert area is not None
    width = array.strides[0]
    start, stop = first + begin * width, first + end * width
    start, stop = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE, stop // mmap.PAGESIZE * mmap.PAGESIZE
    if start < stop:
        area.madvise(mmap.MADV_DONTNEED, start, stop - start)


def release_heap() -> None:
    """Gives memory that was freed back to the system, which the C library keeps after much was allocated."""
    if _trim is not None:
        _trim(0)


def is_reserved(array: npt.NDArray[Element]) -> bool:
    """Whether an array has memory that can be given back."""
    return sys.platform == "linux" and _area_of(array)[0] is not None


def _area_of(array: npt.NDArray[Element]) -> tuple[mmap.mmap | None, int]:
    """The address space that an array is a view of, and where in it the array begins."""
    base = array.base
    while isinstance(base, np.ndarray):
        base = base.base
    area = base.obj if isinstance(base, memoryview) else base
    if not isinstance(area, mmap.mmap):
        return None, 0
    return area, array.ctypes.data - np.frombuffer(area, np.uint8).ctypes.data
