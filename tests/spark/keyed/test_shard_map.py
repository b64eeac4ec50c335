"""Every task of Spark gets as many buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tidalog.keyed.shard_map import entry_of_bucket, hashed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_hash_is_that_of_spark(spark: SparkSession) -> None:
    numbers = np.array([*range(200), -1, 2**31 - 1, -(2**31), 123456789], np.int32)
    frame = spark.createDataFrame([(n,) for n in numbers.tolist()], "n int")
    assert [row[0] for row in frame.selectExpr("hash(n)").collect()] == hashed(numbers).tolist()


@pytest.mark.parametrize("buckets", [1, 2, 3, 8, 64, 1000])
def test_buckets_are_spread_evenly_over_any_number_of_tasks_that_divides_theirs(buckets: int) -> None:
    entries = entry_of_bucket(buckets)
    assert len(set(entries.tolist())) == buckets
    for tasks in (n for n in range(1, buckets + 1) if buckets % n == 0):
        counts = np.bincount(hashed(entries).astype(np.int64) % tasks, minlength=tasks)
        assert set(counts.tolist()) == {buckets // tasks}
