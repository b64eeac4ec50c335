"""Binary heaps in arrays that have capacity, in an order that the caller gives.

`comes_before(context, one, other)` is compiled code; each order gets heap code of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tidalog.engine.array_types import int64
from tidalog.engine.jit import compiled

Order = Callable[..., bool]

# --- compiled ---------------------------------------------------------------------------------------


@compiled
def push(heap: np.ndarray, size: int, item: int, comes_before: Order, context: object) -> None:
    """Adds an item to `size` others."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if not comes_before(context, item, heap[parent]):
            break
        heap[child] = heap[parent]
        child = parent
    heap[child] = item


@compiled
def pop(heap: np.ndarray, size: int, comes_before: Order, context: object) -> int:
    """Removes the first of `size` items."""
    first, last = heap[0], heap[size - 1]
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and comes_before(context, heap[child + 1], heap[child]):
            child += 1
        if not comes_before(context, heap[child], last):
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = last
    return int64(first)
