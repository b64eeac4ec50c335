"""Parquet and Arrow files (IPC file and stream, Feather)."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.ipc as ipc

from tidalog import arrow_compute as pc
from tidalog.io.columns import RawTable
from tidalog.io.diagnostics import BrokenFile, Position
from tidalog.io.spark_fields import with_spark_fields, with_types_of_spark
from tidalog.io.term_fields import readings_of
from tidalog.model.errors import DataError

_LAST_MICROSECOND: Final = 2**63 // 1000
"""Microseconds from 1970 that do not fit 64 bits as nanoseconds."""


def raw_table(table: pa.Table, name: str) -> RawTable:
    """A table whose rows are located by their number; the text of a row is its values.  Fields may say how
    their text is read."""

    def locate(row: int, field: int) -> tuple[Position, str]:
        values = [column[row].as_py() for column in table.columns]
        return Position(name, row + 1, unit="row"), repr(values)

    names, readings = tuple(table.column_names), readings_of(table.schema)
    return RawTable(name, list(table.columns), table.num_rows, locate, names, readings)


def read_parquet(path: Path, buffer: pa.Buffer) -> RawTable:
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(buffer))
        table = file.read()
        if any(file.schema.column(number).physical_type == "INT96" for number in range(len(file.schema))):
            coarse = pq.ParquetFile(pa.BufferReader(buffer), coerce_int96_timestamp_unit="us").read()
            table = _without_overflow(table, coarse)
        return raw_table(with_types_of_spark(table), str(path))
    except (pa.ArrowException, OSError) as error:
        raise _broken(path, "Parquet", error) from error


def _without_overflow(fine: pa.Table, coarse: pa.Table) -> pa.Table:
    """A table with timestamps in nanoseconds, but those that lie centuries from 1970 in microseconds."""
    for number, column in enumerate(coarse.columns):
        if column.type == fine.column(number).type or not pa.types.is_timestamp(column.type):
            continue
        bounds = pc.min_max(column.cast(pa.int64())).as_py()
        if bounds["min"] is not None and max(-bounds["min"], bounds["max"]) >= _LAST_MICROSECOND:
            fine = fine.set_column(number, coarse.schema.field(number), column)
    return fine


def write_parquet(table: pa.Table, target: BinaryIO | Path, compression: str | None = None) -> None:
    """Arrow finds its types and metadata in the file again, and so does Spark."""
    import pyarrow.parquet as pq

    pq.write_table(with_spark_fields(table), target, compression=compression or "zstd")


def read_arrow(path: Path, buffer: pa.Buffer) -> RawTable:
    """The file format if the file starts as one, the stream format otherwise."""
    is_file = buffer.slice(0, min(6, buffer.size)).to_pybytes() == b"ARROW1"
    try:
        reader = ipc.open_file(buffer) if is_file else ipc.open_stream(buffer)
        table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise _broken(path, "Arrow", error) from error
    return raw_table(table, str(path))


def _broken(path: Path, format: str, error: Exception) -> DataError:
    why = str(error).splitlines()[0] if str(error) else "it cannot be read"
    return DataError(BrokenFile(path=path, format=format, why=why.rstrip(".")))
