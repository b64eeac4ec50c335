"""The quarantine: a folder with a file for each batch with bad rows.

A line of JSON for each row: `number`, `message` and `column` are its error, `file`, `block` and `row` (or
`topic`, `partition` and `offset`) its position, `values` the row itself.  A batch that Spark repeats replaces
its file, so that no row is listed twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidalog.io.files import AtomicFile
from tidalog.keyed.row_notes import OFFSETS
from tidalog.model.amounts import counted
from tidalog.spark.diagnostics import BadRowsInStream, SparkError
from tidalog.spark.ingest import BadRow


@dataclass(frozen=True)
class Quarantine:
    """Without a folder, bad rows end the stream."""

    folder: Path | None

    def check(self, bad: Sequence[BadRow], batch: int) -> None:
        """Raises `SparkError` (T115) if there are bad rows and no folder for them."""
        if bad and self.folder is None:
            rows = counted(len(bad), "row")
            raise SparkError(BadRowsInStream(rows=rows, batch=batch, first=_line(bad[0])))

    def write(self, query: str, batch: int, rows: Sequence[BadRow]) -> None:
        if rows and self.folder is not None:
            write_bad_rows(self.folder, query, batch, rows)


def write_bad_rows(folder: Path, query: str, batch: int, rows: Sequence[BadRow]) -> Path:
    """Writes the bad rows of a batch.  `query` distinguishes the batches of several streams, and those that a
    restored checkpoint has numbered again."""
    own, _, restored = query.partition("#")
    again = f"-{restored}" if restored else ""
    path = folder / f"batch-{batch:09d}-{own[:8]}{again}.ndjson"
    file = AtomicFile(path)
    try:
        text = file.text()
        for row in rows:
            text.write(json.dumps({"batch": batch, **row}, ensure_ascii=False, default=str) + "\n")
    except BaseException:
        file.abandon()
        raise
    file.commit()
    return path


def _line(row: BadRow) -> str:
    """The position and the error of a bad row, as one line of a message."""
    column = f", column {row['column']}" if row["column"] else ""
    return f"{position_of(row)}{column}: {row['message']} ({row['number']})"


def position_of(row: BadRow) -> str:
    """The position of a bad row, for messages."""
    if "file" in row:
        number = f", row {row['row']:,}" if "row" in row else ""
        after = f" after byte {row['block']:,}" if row["block"] else ""
        return f"{row['file']}{number}{after}"
    return ", ".join(f"{name} {row[name]}" for name in OFFSETS if name in row) or "a row"
