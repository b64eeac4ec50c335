"""One Spark session for all tests of a process: starting one takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tidalog.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = spark_session("local[2]", {"spark.sql.streaming.stateStore.maintenanceInterval": "600s"})
    yield session
    session.stop()
