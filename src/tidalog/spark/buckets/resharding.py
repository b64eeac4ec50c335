"""The keys of an ended run, dealt out anew: what another number of buckets begins with.

The state of the run is read with Spark's own reader of state.  Each bucket is put together from its snapshot
and its log, without rules, for explicit facts and keys are all that is kept; its keys go to their new buckets
as records.  Nothing of the old checkpoint is changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from tidalog.spark.buckets.bucket import Bucket
from tidalog.spark.buckets.changes import plain_texts
from tidalog.spark.buckets.diagnostics import NoKeyedState
from tidalog.spark.buckets.packing import BUCKET
from tidalog.spark.buckets.setting import Setting, rulesless
from tidalog.spark.buckets.state import TOKEN
from tidalog.spark.buckets.stream import NOTE
from tidalog.spark.diagnostics import SparkError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RECORDS: Final = f"{BUCKET} int, record binary"


def reshard(
    spark: SparkSession, checkpoint: str | os.PathLike[str], folder: str | os.PathLike[str], buckets: int
) -> int:
    """Writes what a run with so many buckets begins with to a new folder, for `keyed(…, initial=folder)`;
    gives the number of keys.  The run that `checkpoint` is of must have ended.

    Raises `SparkError` (T124) if there is no state of keys.
    """
    source = Path(checkpoint).expanduser().absolute()
    labels = _labels(source)
    old = _state(spark, source)

    def dealt(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        setting = rulesless(labels)
        for batch in batches:
            for row in batch.to_pylist():
                yield from _dealt(setting, row["snapshot"] or [], row["log"] or [])

    # Spark's own hash decides where a key goes, here as in the stream.
    parts = old.mapInArrow(dealt, "key string, record binary")
    bucket = f"cast(pmod(xxhash64(key), {int(buckets)}) as int) as {BUCKET}"
    parts.selectExpr(bucket, "record").write.mode("errorifexists").parquet(str(Path(folder).absolute()))
    return int(spark.read.parquet(str(Path(folder).absolute())).count())


def _labels(checkpoint: Path) -> str | None:
    try:
        note = json.loads((checkpoint / NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        why = "no keyed stream was started with it"
        raise SparkError(NoKeyedState(path=checkpoint, why=why)) from None
    labels: str | None = note["labels"]
    return labels


def _state(spark: SparkSession, checkpoint: Path) -> DataFrame:
    """A row for each bucket: the pieces of its snapshot, and the records behind it, in order."""
    from pyspark.sql import functions as F

    def entries(name: str) -> DataFrame:
        reader = spark.read.format("statestore").option("stateVarName", name)
        found = reader.option("flattenCollectionTypes", False).load(str(checkpoint))
        pieces = F.transform("list_value", lambda value: value["piece"])
        return found.select(F.col(f"key.{BUCKET}").alias(BUCKET), pieces.alias(name))

    return entries("snapshot").join(entries("log"), BUCKET, "full_outer")


def _dealt(setting: Setting, snapshot: list[bytes], log: list[bytes]) -> Iterator[pa.RecordBatch]:
    """Each key of a bucket with its record."""
    bucket = Bucket(setting)
    if snapshot:
        bucket.replay(b"".join(snapshot))
    for record in log:
        bucket.replay(record[TOKEN:])
    keys = bucket.keys.ids
    names = plain_texts(bucket.engine.dictionary, keys)
    for place in range(len(keys)):
        record = bucket.snapshot(np.array([keys[place]], np.int32))
        arrays = [names.slice(place, 1), pa.array([record], pa.binary())]
        yield pa.RecordBatch.from_arrays(arrays, ["key", "record"])
