"""Resharding: the keys of an ended run, for a run with another number of buckets.

Spark's own reader reads the state of the run.  Each bucket is restored from its snapshot and its log, without
evaluating rules, since only explicit facts and keys are kept.  Its keys go to their new buckets as records,
and every new bucket gets the rules of the stream.  The old checkpoint does not change.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from tidalog.keyed.bucket import Bucket
from tidalog.keyed.changes import plain_texts
from tidalog.keyed.config import facts_only
from tidalog.keyed.engines import TOKEN
from tidalog.keyed.packing import BUCKET
from tidalog.keyed.shard_map import Numbers, entry_of_bucket
from tidalog.spark.internals import map_in_arrow
from tidalog.spark.keyed.checkpoint import note_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEYS: Final = f"{BUCKET} int, key string"
_RECORDS: Final = f"{BUCKET} int, record binary, keys int"


def reshard(
    spark: SparkSession, checkpoint: str | os.PathLike[str], folder: str | os.PathLike[str], buckets: int
) -> int:
    """Writes the initial state of a run with this many buckets to a new folder, for
    `keyed(…, initial=folder)`; returns the number of keys.  The run of `checkpoint` must have ended.

    Raises `SparkError` (T124) if there is no state of keys.
    """
    from pyspark.sql import functions as F

    source = Path(checkpoint).expanduser().absolute()
    target = str(Path(folder).absolute())
    note = note_of(source)
    labels = note.labels
    old = _state(spark, source / note.generation)
    entries = entry_of_bucket(buckets)

    def keys_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                bucket = _restored(labels, row["snapshot"] or [], row["log"] or [])
                names = plain_texts(bucket.engine.dictionary, bucket.keys.ids)
                numbers = pa.array(np.full(len(names), row[BUCKET], np.int32))
                yield pa.RecordBatch.from_arrays([numbers, names], [BUCKET, "key"])

    def resharded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                bucket = _restored(labels, row["snapshot"] or [], row["log"] or [])
                yield _resharded(bucket, {one["key"]: one["target"] for one in row["targets"] or ()}, entries)

    # Spark's own hash determines the bucket of a key, as in the stream.
    bucket = F.expr(f"cast(pmod(xxhash64(key), {int(buckets)}) as int)")
    targets = map_in_arrow(old, keys_of, _KEYS).withColumn("target", bucket).groupBy(BUCKET)
    targets_of = targets.agg(F.collect_list(F.struct("key", "target")).alias("targets"))
    with_targets = old.join(targets_of, BUCKET, "left")  # a bucket without keys may have rules
    map_in_arrow(with_targets, resharded, _RECORDS).write.mode("errorifexists").parquet(target)
    return int(spark.read.parquet(target).agg(F.coalesce(F.sum("keys"), F.lit(0))).collect()[0][0])


def _state(spark: SparkSession, checkpoint: Path) -> DataFrame:
    """A row for each bucket: the pieces of its snapshot, and the later records, in order."""
    from pyspark.sql import functions as F

    def entries(name: str) -> DataFrame:
        reader = spark.read.format("statestore").option("stateVarName", name)
        found = reader.option("flattenCollectionTypes", False).load(str(checkpoint))
        pieces = F.transform("list_value", lambda value: value["piece"])
        return found.select(F.col(f"key.{BUCKET}").alias(BUCKET), pieces.alias(name))

    return entries("snapshot").join(entries("log"), BUCKET, "full_outer")


def _restored(labels: str | None, snapshot: list[bytes], log: list[bytes]) -> Bucket:
    bucket = Bucket(facts_only(labels))
    if snapshot:
        bucket.restore(b"".join(snapshot))
    for record in log:
        bucket.restore(record[TOKEN:])
    return bucket


def _resharded(bucket: Bucket, target_of: dict[str, int], entries: Numbers) -> pa.RecordBatch:
    """A record for each new bucket that gets keys of the old one."""
    keys = bucket.keys.ids
    names = plain_texts(bucket.engine.dictionary, keys).to_pylist()
    targets = np.array([target_of[name] for name in names], np.int32)
    of_all = bucket.rules.edited or bucket.windows.has_content  # every bucket has the rules, and the time
    numbers = np.arange(len(entries)) if of_all else np.unique(targets)
    records = [bucket.snapshot(keys[targets == number]) for number in numbers.tolist()]
    counts = [int((targets == number).sum()) for number in numbers.tolist()]
    arrays = [pa.array(entries[numbers]), pa.array(records, pa.binary()), pa.array(counts, pa.int32())]
    return pa.RecordBatch.from_arrays(arrays, [BUCKET, "record", "keys"])
