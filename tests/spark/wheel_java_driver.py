"""Run in a process of its own, without any Java but that of the wheel: streaming with RocksDB state, Arrow in
and out, Python workers.  Prints what it found as JSON."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path


def main(folder: Path) -> None:
    from tidalog.spark.java import find_java
    from tidalog.spark.session import spark_session

    java = find_java()
    spark = spark_session("local[2]")
    from pyspark.sql.functions import col, count

    source, out = folder / "in", folder / "out"
    spark.range(100).write.parquet(str(source))
    counted = (
        spark.readStream.schema("id long")
        .parquet(str(source))
        .groupBy((col("id") % 10).alias("digit"))
        .agg(count("*").alias("n"))
    )
    seen: list[list[int]] = []

    def keep(frame, number) -> None:  # type: ignore[no-untyped-def]
        seen.extend(list(row.values()) for row in frame.toArrow().to_pylist())

    query = (
        counted.writeStream.foreachBatch(keep)
        .outputMode("update")
        .option("checkpointLocation", str(out))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()

    def workers(batches):  # type: ignore[no-untyped-def]
        import pyarrow as pa

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable] * batch.num_rows})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # PySpark's own, about pandas: this call is the test's
        pythons = spark.range(3).mapInArrow(workers, "python string").distinct().collect()
    jvm = spark.sparkContext._jvm  # type: ignore[attr-defined]
    said = {
        "from_wheel": java.from_wheel,
        "version": java.version,
        "running": str(jvm.System.getProperty("java.home")),
        "java_home": os.environ.get("JAVA_HOME"),
        "counts": sorted(seen),
        "pythons": [row[0] for row in pythons],
    }
    spark.stop()
    print(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
