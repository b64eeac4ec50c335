"""Pauses the garbage collector while many objects are created that form no cycles.

Looking for cycles among them would double the time to read millions of facts, or to analyse thousands of
rules.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
