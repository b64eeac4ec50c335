"""The columns of a stream under the names that the checks of its rows use (validate.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tidalog.io.update_checks import YEARS
from tidalog.spark.columns import UpdateColumns, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CONTENT: Final = "__tidalog_content"
"""The column with a number that identifies a row's content without its label; in streams with labels."""
TIME: Final = "__tidalog_time"
"""The column with the time of a row, in streams for windows."""
KEY: Final = "__tidalog_key"
"""The column with the key of a row, in keyed streams."""
DATED: Final = r"\A(?!0000)[0-9]{4}-"
"""The beginning of the text of a date in the calendar."""
_SECONDS: Final = "cast(unix_micros(`update`) / 1000000bd as decimal(18, 6))"
_INSTANT: Final = f"timestamp_ntz'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, {_SECONDS})"
"""A timestamp in UTC, whatever the zone of the session is."""


def named(frame: DataFrame, columns: UpdateColumns) -> DataFrame:
    """The rows of a stream with columns `update` (if there is one), `op`, `predicate`, `arg1` …, and all
    others unchanged, for `Validation`.

    It is part of the stream's own plan, so that it is built once and not for every batch.
    """
    own = {columns.update, columns.op, columns.predicate, *columns.arguments, columns.corrupt}
    others = [name for name in frame.columns if name not in own]
    given = {"op": columns.op, "predicate": columns.predicate}
    if columns.update is not None:
        given = {"update": columns.update, **given}
    renamed = [_column(frame, old).alias(new) for new, old in given.items()]
    arguments = [_column(frame, old).alias(f"arg{n}") for n, old in enumerate(columns.arguments, 1)]
    kept = [_column(frame, name).alias(name) for name in others]
    if columns.time is not None:
        kept.append(_column(frame, columns.time).alias(TIME))
    record = [] if columns.corrupt is None else [_column(frame, columns.corrupt).alias(columns.corrupt)]
    return frame.select(*renamed, *arguments, *kept, *record)


def _column(frame: DataFrame, name: str) -> Column:
    """A column; text is compared byte by byte, whatever its collation."""
    found = frame[quoted(name)]
    return found.cast("string") if frame.schema[name].dataType.typeName() == "string" else found


def label_of(text_labels: bool) -> Column:
    """The label of a row's update, a text or an integer; null if it is not a label."""
    from pyspark.sql import functions as F

    return F.col("update").cast("string") if text_labels else F.expr("try_cast(`update` as bigint)")


def dated_labels(kind: str) -> Column:
    """Labels that are dates or times as text with the same order: instants in UTC."""
    from pyspark.sql import functions as F

    label = F.col("update")
    text = label.cast("string")
    if kind == "date":
        return text
    if kind == "timestamp":
        in_utc = F.expr(_INSTANT).cast("string")
        text = F.when(F.year(label).between(YEARS[0] + 1, YEARS[1] - 1), in_utc).otherwise(text)
    whole, part = F.substring(text, 1, 19), F.rpad(F.substring(text, 21, 6), 6, "0")
    zone = "Z" if kind == "timestamp" else ""
    return F.when(text.rlike(DATED), F.concat(whole, F.lit("."), part, F.lit(zone))).otherwise(text)


def content_of(columns: UpdateColumns) -> Column:
    """A 40-bit hash of a row; the sum of many of them does not overflow."""
    from pyspark.sql import functions as F

    names = ["op", "predicate", *(f"arg{n + 1}" for n in range(len(columns.arguments)))]
    return F.shiftrightunsigned(F.xxhash64(*names), 24)
