"""Private parts of Spark are used in one file, and importing Tidalog changes nothing in the process."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

from tidalog.spark.internals import no_callback_log, no_query_log

SOURCES = Path(__file__).resolve().parents[2] / "src"
INTERNALS = SOURCES / "tidalog" / "spark" / "internals.py"
PRIVATE = re.compile(
    r"\._j(df|c|gd|vm|sc|sparkSession|sqlContext|seq|map)\b"  # handles of JVM objects
    r"|\b_?jvm\b"
    r"|(SparkContext|SparkSession)\._"
    r"|pyspark\.(java_gateway|serializers|worker|daemon|shell|util|core\._|[a-z_.]*\._)"
    r"|\bpy4j\b"
    r"|while sending command"  # as py4j logs
    r"|stateful_processor_util|PythonEvalType|UserDefinedFunction|[\"'](DataFrame|SQL)QueryContextLogger"
)


def test_private_names_of_spark_are_in_one_file() -> None:
    found = {
        f"{path.relative_to(SOURCES)}: {line.strip()}"
        for path in SOURCES.rglob("*.py")
        if path != INTERNALS
        for line in path.read_text(encoding="utf-8").splitlines()
        if PRIVATE.search(line)
    }
    assert not found
    assert PRIVATE.search(INTERNALS.read_text(encoding="utf-8"))


IMPORTS = """
import logging, os, pkgutil, signal, sys, threading, warnings, importlib
import pyspark.sql, pyspark.logger, pyarrow.parquet, numba, psutil
def state():
    names = [None, "py4j.clientserver", "DataFrameQueryContextLogger", "tidalog"]
    loggers = [logging.getLogger(name) for name in names]
    return (
        dict(os.environ), list(warnings.filters), threading.active_count(), list(sys.path),
        [signal.getsignal(number) for number in signal.valid_signals()],
        [(l.level, list(l.filters), list(l.handlers)) for l in loggers],
    )
before = state()
import tidalog.spark
for module in pkgutil.walk_packages(tidalog.spark.__path__, "tidalog.spark."):
    importlib.import_module(module.name)
assert state() == before, (before, state())
"""


def test_importing_changes_no_state_of_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


SESSION = """
import os
def environment():  # without what PySpark itself leaves there
    return {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
before = environment()
from tidalog.spark import spark_session
spark = spark_session("local[1]")
assert environment() == before, set(environment().items()) ^ set(before.items())
first = spark.sparkContext._gateway
spark.stop()
again = spark_session("local[1]")
assert again.sparkContext._gateway is first
from tidalog.spark.internals import map_in_arrow
print(map_in_arrow(again.range(3).filter("id >= 0"), lambda batches: batches, "id long").count())
again.stop()
"""


def test_a_session_leaves_the_environment_as_it_was_and_the_next_one_has_its_jvm() -> None:
    """Its workers run the Python of the driver all the same."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    done = subprocess.run(
        [sys.executable, "-c", SESSION],
        capture_output=True,
        text=True,
        timeout=400,
        env=environment,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


class TestLogs:
    def test_queries_of_other_threads_are_logged(self) -> None:
        logger = logging.getLogger("DataFrameQueryContextLogger")
        seen: list[bool] = []

        def log() -> None:
            seen.append(bool(logger.filter(logging.makeLogRecord({}))))

        with no_query_log():
            log()
            other = threading.Thread(target=log)
            other.start()
            other.join()
        log()
        assert seen == [False, True, True]

    def test_only_expected_errors_of_batches_are_not_logged_and_only_for_a_while(self) -> None:
        logger = logging.getLogger("py4j.clientserver")
        restore = no_callback_log(KeyError)

        def logs(error: Exception) -> bool:
            return bool(logger.filter(logging.makeLogRecord({"exc_info": (type(error), error, None)})))

        assert (logs(KeyError()), logs(ValueError())) == (False, True)
        restore()
        assert logs(KeyError())
