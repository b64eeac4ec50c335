"""The quarantine: a folder with a file for each batch that had bad rows.

A line of JSON for each row: `number`, `message` and `column` say what is wrong, `file`, `block` and `row` (or
`topic`, `partition` and `offset`) where it stands, `values` what it says.  A batch that comes again replaces
its file whole, so that no row is in it twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tidalog.io.files import AtomicFile
from tidalog.spark.ingest import BadRow


def write_bad_rows(folder: Path, query: str, batch: int, rows: Sequence[BadRow]) -> Path:
    """Writes the bad rows of a batch; `query` tells batches of one stream from those of another,
    and from those of the same numbers that a checkpoint made anew after it was put back."""
    own, _, turn = query.partition("#")
    again = f"-{turn}" if turn else ""
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


def place_of(row: BadRow) -> str:
    """Where a bad row stands, for people."""
    if "file" in row:
        behind = f" behind byte {row['block']:,}" if row["block"] else ""
        return f"{row['file']}, row {row['row']:,}{behind}"
    offset = [f"{name} {row[name]}" for name in ("topic", "partition", "offset") if name in row]
    return ", ".join(offset) or "a row"
