"""`pyarrow.compute`, imported when one of its functions is first called.

Importing it builds some 300 functions with their documentation, which takes longer than a small program runs.
Use it as `from tidalog import arrow_compute as pc`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module("pyarrow.compute"), name)
    return value
