"""Where Spark looks for `spark.read.format("tidalog")`: packages whose names begin with `pyspark_`."""

from tidalog.spark.data_source import TidalogDataSource


class DefaultSource(TidalogDataSource):
    pass


__all__ = ["DefaultSource"]
