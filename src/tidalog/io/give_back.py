"""Memory that reading needed goes back to the system, where the system's allocator keeps it otherwise."""

from __future__ import annotations

import ctypes
from typing import Final

import pyarrow as pa

_MANY: Final = 100_000
"""Facts from which it pays: it takes some milliseconds."""


def give_back(facts: int) -> None:
    """Called after so many facts were read, when nothing refers to what was read."""
    if facts < _MANY:
        return
    pa.default_memory_pool().release_unused()
    try:
        trim = ctypes.CDLL(None).malloc_trim  # of glibc
    except (AttributeError, OSError, TypeError):
        return
    trim(0)
