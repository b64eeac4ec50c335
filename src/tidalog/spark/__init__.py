"""The pipeline on Spark: updates from any Spark source to an engine, changes to any sink.

Only this package uses Spark, and only the command line imports it.  PySpark is imported when one of these
names is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tidalog.spark.diagnostics import SparkError
    from tidalog.spark.keyed.resharding import reshard
    from tidalog.spark.keyed.stream import Keyed, keyed
    from tidalog.spark.progress import BatchReport, Totals
    from tidalog.spark.query import MaintenanceQuery
    from tidalog.spark.session import spark_session
    from tidalog.spark.stream import Maintained, maintain
    from tidalog.spark.tables import create_views, materialise

_MODULES: Final = {
    "BatchReport": "tidalog.spark.progress",
    "Keyed": "tidalog.spark.keyed.stream",
    "MaintenanceQuery": "tidalog.spark.query",
    "Maintained": "tidalog.spark.stream",
    "SparkError": "tidalog.spark.diagnostics",
    "Totals": "tidalog.spark.progress",
    "create_views": "tidalog.spark.tables",
    "keyed": "tidalog.spark.keyed.stream",
    "maintain": "tidalog.spark.stream",
    "materialise": "tidalog.spark.tables",
    "reshard": "tidalog.spark.keyed.resharding",
    "spark_session": "tidalog.spark.session",
}

__all__ = [
    "BatchReport",
    "Keyed",
    "Maintained",
    "MaintenanceQuery",
    "SparkError",
    "Totals",
    "create_views",
    "keyed",
    "maintain",
    "materialise",
    "reshard",
    "spark_session",
]


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'tidalog.spark' has no attribute {name!r}")
    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
