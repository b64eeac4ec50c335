"""The quarantine: a folder with a file for each batch with bad rows.

A line of JSON for each row: `number`, `message` and `column` are the fault, `file`, `block` and `row` (or
`topic`, `partition` and `offset`) its position, `values` the row itself.  A batch that comes again replaces
its file, so that no row is in it twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tidalog.io.files import AtomicFile
from tidalog.spark.ingest import BadRow


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


def position_of(row: BadRow) -> str:
    """The position of a bad row, for people."""
    if "file" in row:
        after = f" after byte {row['block']:,}" if row["block"] else ""
        return f"{row['file']}, row {row['row']:,}{after}"
    offset = [f"{name} {row[name]}" for name in ("topic", "partition", "offset") if name in row]
    return ", ".join(offset) or "a row"
