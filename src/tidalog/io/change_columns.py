"""The columns of a change feed as a table, for folders of Parquet files and for keyed streams."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

OPERATIONS: Final = ("-", "+", "empty")
"""The column `op`, by 0 for a deletion, 1 for an insertion, and 2 for an evaluation without answers."""
EMPTY: Final = 2
KINDS: Final = ("implicit", "explicit", "expired")
"""The column `kind`, by 0 for a derived fact, 1 for an explicit one, and 2 for one that was too old."""
EXPIRED: Final = 2


def change_schema(arguments: int, *, text_labels: bool, keyed: bool = False) -> pa.Schema:
    """One row per change of a fact with at most this many arguments; its key is the first column if
    `keyed`."""
    text = pa.string()
    key = [("key", text)] if keyed else []
    label = ("update", text if text_labels else pa.int64())
    named = [(f"arg{number}", text) for number in range(1, arguments + 1)]
    return pa.schema([*key, label, ("op", text), ("predicate", text), *named, ("kind", text)])
