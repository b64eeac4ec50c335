"""The rule edits of a batch, checked one after the other before anything is applied."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tidalog.analysis.diagnostics import ArityDiffers
from tidalog.api.naming import checked_name
from tidalog.io.update_diagnostics import UnknownPredicate
from tidalog.keyed.packing import BAD
from tidalog.keyed.rules import EditRows, Rules
from tidalog.model.errors import ProgramError, TidalogError

if TYPE_CHECKING:
    from tidalog.model.update import Label


@dataclass(frozen=True)
class Refusal:
    """A refused edit, or with a key: an update of that key that was refused with it."""

    key: str | None
    update: Label | None
    why: str


@dataclass(frozen=True)
class PlannedEdit:
    label: Label | None
    rules: Rules
    """After the edit."""
    rows: int
    why: str | None
    """The reason if it is refused."""


def plan_edits(rules: Rules, rows: EditRows) -> list[PlannedEdit]:
    """The edits of a batch, each with the rules after it."""
    edits_planned: list[PlannedEdit] = []
    for label, edits in zip(rows.labels, rows.edits, strict=True):
        why = None
        try:
            rules = rules.after(label, edits)
        except ProgramError as error:
            rules = rules.refused(label)
            why = "; ".join(f"{found.message} ({found.number})" for found in error.diagnostics)
        edits_planned.append(PlannedEdit(label, rules, len(edits.added) + len(edits.removed), why))
    return edits_planned


def with_learnt(table: pa.Table, doubtful: pa.Table | None, rules: Rules) -> tuple[pa.Table, list[str]]:
    """Rows, with the doubtful ones whose predicates edited rules have; and the faults of the others."""
    if doubtful is None or not doubtful.num_rows:
        return table, []
    if not rules.edited:
        return table, doubtful.column(BAD).to_pylist()
    mask = pa.array([_is_known(row, rules) for row in doubtful.to_pylist()], pa.bool_())
    wrong = doubtful.filter(pc.invert(mask)).column(BAD).to_pylist()
    return pa.concat_tables([table, doubtful.filter(mask).select(table.column_names)]), wrong


def _is_known(row: Mapping[str, object], rules: Rules) -> bool:
    fault = json.loads(str(row[BAD]))["fault"]
    if fault["number"] not in (UnknownPredicate.number, ArityDiffers.number) or row["key"] is None:
        return False
    try:
        name = checked_name(str(row["predicate"]), rules.config.prefixes)
    except TidalogError:
        return False
    arity = sum(value is not None for column, value in row.items() if column.startswith("arg"))
    return rules.known.get(name) == arity
