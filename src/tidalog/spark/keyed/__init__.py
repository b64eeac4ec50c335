"""Buckets of keys on Spark's executors: `stream` is the API; Spark calls `processor` for each bucket.

    rows ─ validate ─▶ pack by bucket ─ shuffle ─▶ processor: bucket (tidalog.keyed) ─▶ unpack ─▶ changes

A bucket has one entry in Spark's state (`state`).  `worker_rpc` sends a batch to the worker process that has
the bucket's engine in memory.

The function `tidalog.spark.keyed` has the name of this package.  Importing a module of the package replaces
the function by the package in `tidalog.spark`, so the package is callable and calls the function.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidalog.spark.keyed.stream import Keyed


class _Package(ModuleType):
    def __call__(self, *arguments: object, **options: object) -> Keyed:
        from tidalog.spark.keyed.stream import keyed

        return keyed(*arguments, **options)  # type: ignore[arg-type]


sys.modules[__name__].__class__ = _Package
