"""Python functions in Spark's plans, without pandas.

`DataFrame.mapInArrow` and `GroupedData.transformWithState` ask for pandas at the driver and then do not use
it: Arrow and rows are all that goes to a worker.  These are the same calls without the question.

Spark hands idle workers out in turn, and it keeps those apart that have another environment.  So a variable
of its own gives the engines workers that do nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, GroupedData, SparkSession
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

ArrowFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_ROLE: Final = "TIDALOG_ROLE"


def map_in_arrow(frame: DataFrame, function: ArrowFunction, schema: str) -> DataFrame:
    """`frame.mapInArrow(function, schema)`."""
    from pyspark.sql import DataFrame
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    called = UserDefinedFunction(function, schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column = called(*(frame[name] for name in frame.columns))
    given: Any = frame
    return DataFrame(given._jdf.mapInArrow(column._jc, False, None), frame.sparkSession)


def transform_with_state(
    grouped: GroupedData, processor: StatefulProcessor, schema: str, initial: GroupedData | None
) -> DataFrame:
    """`grouped.transformWithState(…)` in update mode without timers, on workers of its own."""
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils
    from pyspark.sql.types import StructType
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    given: Any = grouped
    frame, spark = given._df, given.session
    calls = TransformWithStateInPandasUdfUtils(processor, "None")
    function: Callable[..., Any] = calls.transformWithStateUDF
    kind: int = PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF
    if initial is not None:
        function = calls.transformWithStateWithInitStateUDF
        kind = PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_INIT_STATE_UDF
    result = StructType.fromDDL(schema)
    with _workers_of_its_own(spark):
        column = UserDefinedFunction(function, result, evalType=kind)(
            *(frame[name] for name in frame.columns)
        )
    of_result = spark._jsparkSession.parseDataType(result.json())
    first = None if initial is None else initial._jgd
    changed = given._jgd.transformWithStateInPySpark(column._jc, of_result, "Update", "None", first, "")
    return DataFrame(changed, spark)


@contextmanager
def _workers_of_its_own(spark: SparkSession) -> Iterator[None]:
    """Functions that are made here get other workers than the rest."""
    environment = spark.sparkContext.environment
    environment[_ROLE] = "engines"
    try:
        yield
    finally:
        del environment[_ROLE]
