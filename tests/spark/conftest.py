"""One Spark session for all tests of a process: starting one takes longer than most of them.

A JVM that lives for minutes and sees a few rows spends half of its CPU time in the optimising compiler and in
parallel collection; the tests do without both, also in the processes that they start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from update_streams import Workspace

from tidalog.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The current folder of the JVM and of Spark's workers."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def spark(spark_folder: Path) -> Iterator[SparkSession]:
    with chdir(spark_folder):
        session = spark_session("local[2]", {"spark.sql.streaming.stateStore.maintenanceInterval": "600s"})
    yield session
    session.stop()


@pytest.fixture
def workspace(spark: SparkSession, tmp_path: Path) -> Workspace:
    return Workspace(spark, tmp_path)
