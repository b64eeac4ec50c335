"""Where rows on their way to buckets come from, and what is wrong with some of them.

A row has its file, block and number, or its position in a queue.  A note is the fault of a row with its
values, in JSON, as under BAD.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.keyed.packing import BAD, TIME

FILE: Final = "__tidalog_file"
BLOCK: Final = "__tidalog_block"
ROW: Final = "__tidalog_row"
OFFSETS: Final = ("topic", "partition", "offset")
"""The columns of a message queue that identify the origin of a row."""
ORIGINS: Final = (FILE, BLOCK, ROW, *OFFSETS)
KEY_OF_ROW: Final = "__tidalog_key"
"""The key in a note; its column has a name of its own in every stream."""


def numbered(table: pa.Table) -> pa.Table:
    """The rows of a task, in order, with their numbers: those of the file if it has any, else from the start
    of their block."""
    if FILE not in table.column_names:
        return table
    files = table.column(FILE).combine_chunks().dictionary_encode()
    table = table.set_column(table.column_names.index(FILE), FILE, files)
    if ROW in table.column_names or not table.num_rows:
        return table
    file = files.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    block = pc.fill_null(table.column(BLOCK), -1).to_numpy()
    count = np.arange(len(file))
    begins = np.concatenate([[True], (file[1:] != file[:-1]) | (block[1:] != block[:-1])])
    numbers = count - np.maximum.accumulate(np.where(begins, count, 0))
    notes = table.column(BAD).to_pylist()
    for row in np.flatnonzero(table.column(BAD).is_valid().to_numpy()).tolist():
        found = json.loads(notes[row])
        found["values"][ROW] = int(numbers[row])
        notes[row] = json.dumps(found)
    table = table.set_column(table.column_names.index(BAD), BAD, pa.array(notes, pa.string()))
    return table.append_column(ROW, pa.array(numbers, pa.int64()))


def note_of(fault: Mapping[str, str], row: Mapping[str, object], time: object = None) -> str:
    """`time` is that of the row, as text."""
    own = {name: value for name, value in row.items() if not name.startswith("__") or name in ORIGINS}
    values = {KEY_OF_ROW: own.pop("key", None), **own, TIME: time}
    return json.dumps({"fault": fault, "values": values}, default=str)


def with_names(note: str, key: str, time: str | None) -> str:
    """A note with the names of the columns in the stream; `time` is None if there is no such column."""
    found = json.loads(note)
    names = {KEY_OF_ROW: key, TIME: time}
    fault, values = found["fault"], found["values"]
    fault["column"] = names.get(fault.get("column"), fault.get("column")) or ""
    named = {names.get(name, name): value for name, value in values.items()}
    return json.dumps({"fault": fault, "values": {name: named[name] for name in named if name is not None}})
