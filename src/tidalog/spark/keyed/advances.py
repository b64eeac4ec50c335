"""The advances of a keyed stream (clock.py) as a source of Spark, whose offset is the last advance.

Methods of the source run in processes that Spark starts; only the one beside the driver reads the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from tidalog.keyed.packing import BUCKET, EVERY, NOW, UNTIL
from tidalog.spark.keyed.clock import ClockState, read_clock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_FORMAT: Final = "tidalog-clock"
_TIME, _WRITTEN = "advance", "written"


def advances_of(spark: SparkSession, folder: Path, *, with_now: bool) -> DataFrame:
    """The advances of a checkpoint as rows for every bucket."""
    from pyspark.sql import functions as F

    spark.dataSource.register(AdvanceSource)
    found = spark.readStream.format(_FORMAT).load(str(folder))
    now = [F.col(_WRITTEN).alias(NOW)] if with_now else []
    return found.select(F.lit(EVERY).alias(BUCKET), F.col(_TIME).alias(UNTIL), *now)


class AdvanceSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return _FORMAT

    def schema(self) -> str:
        return f"{_TIME} bigint, {_WRITTEN} bigint"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _Advances(Path(self.options["path"]))


class _Advances(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._target: ClockState | None = None

    def initialOffset(self) -> dict[str, int]:
        return _offset(ClockState())

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, int]:
        latest = read_clock(self._folder) if self._target is None else self._target
        return _offset(latest) if latest.advance > start[_TIME] else start

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = read_clock(self._folder)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [InputPartition((end[_TIME], end[_WRITTEN]))] if end != start else []

    def read(self, partition: InputPartition) -> Iterator[tuple[int, int]]:
        yield partition.value


def _offset(state: ClockState) -> dict[str, int]:
    return {_TIME: state.advance, _WRITTEN: state.written}
