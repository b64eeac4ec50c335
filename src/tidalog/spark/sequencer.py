"""The order of updates: groups rows by the label of their update, and finds the new ones.

Labels ascend, so an update with a label above the last one is new.  The last one may continue as long as it
waits, because a batch may end anywhere.  Any other update with a known label is a duplicate if it has the
same content, and too late otherwise; one with an unknown label is too late.  Labels older than the record of
labels count as duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.io.columns import RawTable
from tidalog.io.declared_rows import Declarations
from tidalog.io.diagnostics import Position
from tidalog.io.result import Reading
from tidalog.io.term_fields import readings_of
from tidalog.io.update_tables import UpdateTable, update_table_of
from tidalog.io.update_times import Times
from tidalog.model.update import Label
from tidalog.model.window_times import START
from tidalog.spark.named_columns import CONTENT, TIME
from tidalog.storage.dedup import Content, Seen

LabelKind = Literal["integer", "text"]


def _never_seen(label: Label, content: Content) -> Seen | None:
    del label, content
    return None


@dataclass(frozen=True)
class Before:
    """The state before a batch: the last label, whether its update still waits, and the updates seen."""

    last: Label | None = None
    waits: bool = False
    seen: Callable[[Label, Content], Seen | None] = _never_seen


@dataclass(frozen=True)
class Ordered:
    """The new updates of a batch, in order.

    With `goes_on` the first of them continues the last update of the previous batch.  `contents` identify
    them; `skipped` rows are duplicates.  Updates with the labels `changed` and `unseen` are too late: the
    former were seen with other rows, the latter never.
    """

    updates: UpdateTable
    contents: list[Content] | None = None
    goes_on: bool = False
    skipped: int = 0
    times: Sequence[int | None] = ()
    """The latest time of the rows of each update; of updates without labels it is that of all their rows."""
    changed: list[Label] = field(default_factory=list)
    unseen: list[Label] = field(default_factory=list)


def ordered(
    table: pa.Table,
    batch: int,
    before: Before | None = None,
    kind: LabelKind | None = None,
    declarations: Declarations | None = None,
    moments: Times | None = None,
) -> Ordered:
    """The new updates of valid rows.  Rows without labels are one update for each of their times, `moments`,
    with the labels 1, 2 …  Labels are of `kind`, or of the type of their column; a column CONTENT identifies
    rows.  Arguments become terms of the declared types, which they fit.
    """
    name = f"batch {batch}"

    def updates_of(rows: pa.Table) -> UpdateTable:
        return update_table_of(raw_batch(rows, name), declarations)

    if "update" not in table.column_names:
        moments = np.full(table.num_rows, START, np.int64) if moments is None else moments
        each, ranks = np.unique(moments, return_inverse=True)
        updates = updates_of(table.add_column(0, "update", pa.array(ranks + 1)))
        return Ordered(updates, times=[None if time == START else time for time in each.tolist()])
    labels = _labels(table.column("update"), kind)
    rows = table.set_column(table.column_names.index("update"), "update", labels)
    contents = _contents(rows)
    times = _times(rows)
    rows = rows.drop_columns([name for name in (CONTENT, TIME) if name in rows.column_names])
    before = before if before is not None else Before()
    last = before.last
    if last is None or not any(label <= last for label in contents):  # type: ignore[operator]
        return Ordered(updates_of(rows), list(contents.values()), times=list(times.values()))
    skipped = 0
    new: dict[Label, Content] = {}
    late: dict[str, list[Label]] = {"other": [], "never": []}
    goes_on = False
    for label, content in contents.items():
        if label > last:  # type: ignore[operator]
            new[label] = content
            continue
        seen = before.seen(label, content)
        if label == last and before.waits and seen != "same":
            goes_on = True
            new[label] = content
        elif seen in late:
            late[seen].append(label)
        else:
            skipped += content[0]
    is_new = (pc.greater_equal if goes_on else pc.greater)(labels, pa.scalar(last, labels.type))
    new_times = [times[label] for label in new] if times else []
    contents_new = list(new.values())
    updates = updates_of(rows.filter(is_new))
    return Ordered(updates, contents_new, goes_on, skipped, new_times, late["other"], late["never"])


def _labels(column: pa.ChunkedArray, kind: LabelKind | None) -> pa.ChunkedArray:
    """Labels as int64 or text."""
    if kind is None:
        kind = "integer" if pa.types.is_integer(column.type) else "text"
    return column.cast(pa.int64() if kind == "integer" else pa.string())


def _contents(rows: pa.Table) -> dict[Label, Content]:
    """The contents of the updates of a batch by label, ascending."""
    total = CONTENT if CONTENT in rows.column_names else None
    sums = [("update", "count"), *([(total, "sum")] if total is not None else [])]
    found = rows.group_by("update", use_threads=False).aggregate(sums).sort_by("update")
    columns = [found.column(name).to_pylist() for name in ("update", "update_count")]
    totals = found.column(f"{total}_sum").to_pylist() if total is not None else [0] * found.num_rows
    return {label: (count, value) for label, count, value in zip(*columns, totals, strict=True)}


def _times(rows: pa.Table) -> dict[Label, int | None]:
    """The latest time of each update by label, ascending; empty if rows have no times."""
    if TIME not in rows.column_names:
        return {}
    found = rows.group_by("update", use_threads=False).aggregate([(TIME, "max")]).sort_by("update")
    columns = (found.column(name).to_pylist() for name in ("update", f"{TIME}_max"))
    return dict(zip(*columns, strict=True))


def raw_batch(table: pa.Table, name: str) -> RawTable:
    """The rows of a batch as columns of an update table."""

    def locate(row: int, field: int) -> tuple[Position, str]:
        return Position(name, row + 1, unit="row"), ""

    columns = [table.column(number) for number in range(table.num_columns)]
    # Text is in `any` form, whatever its field says.
    readings: list[Reading] = ["int" if one == "int" else "string" for one in readings_of(table.schema)]
    return RawTable(name, columns, table.num_rows, locate, tuple(table.column_names), readings)
