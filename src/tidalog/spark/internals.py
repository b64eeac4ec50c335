"""The parts of PySpark that are not public API, all in this file.

Each function says which public call was tried and why it does not suffice.  Only this file has to be checked
against a new version of PySpark: a test looks for private names in all others.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import DataFrame, GroupedData, SparkSession
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

ArrowFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_ROLE: Final = "TIDALOG_ROLE"
_QUERY_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_CALLBACK_LOGGER: Final = "py4j.clientserver"


# --- sessions -----------------------------------------------------------------------------------------------


def running_context() -> SparkContext | None:
    """The context of this process, unless it was stopped.

    Public: `SparkSession.active()`.  It returns a session whose context was stopped by `SparkContext.stop`,
    and it does not find a context that has no session yet.
    """
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def start_context(conf: SparkConf, environment: Mapping[str, str], log: Path) -> SparkContext:
    """A context whose JVM writes to a file, with `environment` added to that of this process.

    A JVM that an earlier context of this process has left is reused.  The environment of this process is
    restored when the call returns: PySpark reads it while the context starts, and the JVM inherits it.

    Public: `SparkSession.builder.getOrCreate()`.  It gives the JVM the terminal of this process, where Spark
    prints its warnings and, if it does not start, a stack trace instead of our message.
    """
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    _import_quietly()
    with _environment(environment), log.open("wb") as output:
        gateway = SparkContext._gateway
        if gateway is None:
            streams = {"stdout": output, "stderr": output}
            gateway = launch_gateway(conf, popen_kwargs=streams)  # type: ignore[no-untyped-call]
        return SparkContext(conf=conf, gateway=gateway)


def _import_quietly() -> None:
    """Imports a module that PySpark would import with the first value for the JVM.  It warns about pandas 3
    and newer, which we do not use.

    Public: a filter of warnings, which would apply to the whole process.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        import pyspark.testing.utils  # noqa: F401


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# --- Python functions in plans ------------------------------------------------------------------------------


def map_in_arrow(frame: DataFrame, function: ArrowFunction, schema: str) -> DataFrame:
    """`frame.mapInArrow(function, schema)` without pandas.

    Public: `DataFrame.mapInArrow`.  It checks that pandas is installed, and warns about version 3 and newer,
    although only Arrow goes to the workers.
    """
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
    """`grouped.transformWithState(…)` in update mode without timers, in worker processes of its own.

    Public: `GroupedData.transformWithState`.  It checks for pandas as `mapInArrow` does, although rows go to
    the workers.  And it shares workers with every other function: Spark assigns idle workers in turn, so that
    a bucket would rarely reach the process that has its engine.  Spark does not mix workers with different
    environments, which `_own_workers` uses.
    """
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
    with _own_workers(spark):
        column = UserDefinedFunction(function, result, evalType=kind)(
            *(frame[name] for name in frame.columns)
        )
    result_type = spark._jsparkSession.parseDataType(result.json())
    first = None if initial is None else initial._jgd
    changed = given._jgd.transformWithStateInPySpark(column._jc, result_type, "Update", "None", first, "")
    return DataFrame(changed, spark)


@contextmanager
def _own_workers(spark: SparkSession) -> Iterator[None]:
    """Functions that are created here run in separate worker processes."""
    environment = spark.sparkContext.environment
    environment[_ROLE] = "engines"
    try:
        yield
    finally:
        del environment[_ROLE]


# --- versions -----------------------------------------------------------------------------------------------


def scala_version(spark: SparkSession) -> str:
    """`2.13` for Scala 2.13.17, by which connectors are named.

    Public: none; `spark.version` is that of Spark, and one Spark is built for several versions of Scala.
    """
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return ".".join(str(jvm.scala.util.Properties.versionNumberString()).split(".")[:2])


# --- logging ------------------------------------------------------------------------------------------------


@contextmanager
def no_query_log() -> Iterator[None]:
    """Suppresses PySpark's log of errors in queries of this thread.

    We test whether an expression resolves, and a failure is not an error.  Public: `PySparkLogger` with a
    level.  A level applies to all threads, and two threads that set and restore it may leave it wrong.
    """
    from pyspark.logger import PySparkLogger

    # The first call that gets a logger determines its class, and PySpark needs its own class.
    loggers = [PySparkLogger.getLogger(name) for name in _QUERY_LOGGERS]
    silent = _OtherThreads(threading.get_ident())
    for logger in loggers:
        logger.addFilter(silent)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(silent)


class _OtherThreads(logging.Filter):
    def __init__(self, thread: int) -> None:
        super().__init__()
        self._thread = thread

    def filter(self, record: logging.LogRecord) -> bool:
        return threading.get_ident() != self._thread


def no_callback_log(*expected: type[BaseException]) -> Callable[[], None]:
    """Suppresses py4j's log of exceptions of these types in `foreachBatch`, until the returned function is
    called.

    The caller that waits for the query gets the exception; the log would repeat it with all stack frames.
    Public: none; the name of the logger is py4j's own.
    """
    logger = logging.getLogger(_CALLBACK_LOGGER)
    silent = _Unexpected(expected)
    logger.addFilter(silent)
    return lambda: logger.removeFilter(silent)


@contextmanager
def no_tracebacks_of_py4j() -> Iterator[None]:
    """Suppresses the traceback that py4j logs of a call to the JVM that Ctrl-C interrupts, which also raises.

    Public: none; what py4j logs then is known by its text.
    """

    def is_other(record: logging.LogRecord) -> bool:
        return not str(record.msg).endswith("while sending command.")

    logger = logging.getLogger()
    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


class _Unexpected(logging.Filter):
    def __init__(self, expected: tuple[type[BaseException], ...]) -> None:
        super().__init__()
        self._expected = expected

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, self._expected)
