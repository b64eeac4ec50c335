"""Spark tables in, Spark tables out: a single materialisation, and a store's predicates for SQL."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import tidalog
from tidalog.api.sources import ProgramSource
from tidalog.api.timed_changes import refuse_windows
from tidalog.io.diagnostics import NoTermForType
from tidalog.io.spark_fields import for_spark
from tidalog.model.errors import DataError
from tidalog.spark.data_source import spark_schema
from tidalog.spark.ingest import reading
from tidalog.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidalog.api.results import Result

_DAY_TIME: Final = ("interval day", "interval hour", "interval minute", "interval second")
_NOT_IN_A_NAME: Final = re.compile(r"\W+")


def materialise(
    tables: Mapping[str, DataFrame],
    program: ProgramSource,
    *,
    parameters: Mapping[str, object] | None = None,
    terms: bool = False,
) -> dict[str, DataFrame]:
    """The materialisation of a program over tables of facts, by predicate.

    The columns of a table are the arguments of its predicate: those with the declared names, else in order.
    The results have the declared names, else `arg1` …; a predicate without arguments has a row if it is true.
    Tables have no times, so a program with windows is refused (T178).
    With `terms`, every cell is text in `any` form.
    """
    spark = next((table.sparkSession for table in tables.values()), None) or spark_session()
    with tidalog.open() as kb:
        with kb.as_one():
            kb.load(program, parameters=parameters)
            refuse_windows(kb.program, "materialise of tables")
            for predicate, table in tables.items():
                _require_columns_for_arrow(table)
                with reading():
                    rows = table.toArrow()
                kb.insert(predicate, rows, progress=False)
        kb.materialise(progress=False)
        return {name: _frame(spark, kb.facts(name), terms) for name in kb.predicates}


def _require_columns_for_arrow(table: DataFrame) -> None:
    """Raises `DataError` (T045) for types of Spark that Arrow lacks, so that Spark cannot pass them."""
    for number, field in enumerate(table.schema.fields, 1):
        kind = field.dataType.simpleString()
        if kind.startswith("interval") and not kind.startswith(_DAY_TIME):
            raise DataError(
                NoTermForType(
                    path="the table",
                    field=f"{number} ({field.name})",
                    type=f"values of type {kind}",
                    hint="leave the column out, or cast it to a string or a number of months",
                )
            )


def _frame(spark: SparkSession, facts: Result, terms: bool) -> DataFrame:
    if not facts.columns:
        return spark.range(len(facts)).select()
    table = for_spark(facts.table, terms=terms)
    return spark.createDataFrame(table, spark_schema(table.schema))


def create_views(
    store: str | os.PathLike[str], spark: SparkSession | None = None, prefix: str = ""
) -> list[str]:
    """Creates a temporary view for each predicate of a store that has arguments; returns their names.

    A view has the current facts at each query.  The name of a view is `prefix` and the letters, digits and
    `_` of the predicate's name.
    """
    session = spark if spark is not None else spark_session()
    with tidalog.open(store, read_only=True) as kb:
        labels = {name: kb.analysis.label(name) for name, info in kb.predicates.items() if info.arity}
    views: list[str] = []
    for predicate, label in labels.items():
        wanted = prefix + _NOT_IN_A_NAME.sub("_", label).strip("_")
        view, number = wanted, 2
        while view in views:
            view, number = f"{wanted}_{number}", number + 1
        frame = session.read.format("tidalog").option("predicate", predicate)
        frame.load(str(Path(store).expanduser().absolute())).createOrReplaceTempView(view)
        views.append(view)
    return views
