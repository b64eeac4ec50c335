"""The rule edits of a batch, checked one after the other before facts change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.analysis.diagnostics import ArityDiffers
from tidalog.analysis.keyed import KeyedEdit
from tidalog.api.naming import checked_name
from tidalog.engine.dictionary import Dictionary
from tidalog.io.update_diagnostics import UnknownPredicate
from tidalog.keyed.changes import plain_texts
from tidalog.keyed.diagnostics import RuleViolated
from tidalog.keyed.packing import BAD
from tidalog.keyed.rules import EditRows, Rules
from tidalog.model.errors import ProgramError, RunError, TidalogError
from tidalog.model.facts import Ids

if TYPE_CHECKING:
    from tidalog.model.update import Label

_EXAMPLES: Final = 3


@dataclass(frozen=True)
class Refusal:
    """A refused edit, or with a key: an update of that key that was refused with it."""

    key: str | None
    update: Label | None
    why: str


@dataclass(frozen=True)
class PlannedEdit:
    label: Label | None
    keyed: KeyedEdit
    rows: int
    why: str | None
    """The reason if it is refused."""


def plan_edits(rules: Rules, rows: EditRows) -> list[PlannedEdit]:
    """Edits the rules by the rows of a batch, and returns what its database has to change."""
    edits_planned: list[PlannedEdit] = []
    for label, edits in zip(rows.labels, rows.edits, strict=True):
        keyed, why = KeyedEdit(), None
        try:
            keyed = rules.edit(label, edits)
        except ProgramError as error:
            why = "; ".join(f"{found.message} ({found.number})" for found in error.diagnostics)
        edits_planned.append(PlannedEdit(label, keyed, len(edits.added) + len(edits.removed), why))
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


def refuse_violated(dictionary: Dictionary, keys: Ids, names: Ids, change: PlannedEdit) -> None:
    """Raises `RunError` (T135) if there are keys that violate constraints, with these names, after an
    edit."""
    if not len(keys):
        return
    texts = sorted(plain_texts(dictionary, np.unique(keys)).to_pylist())
    count = "a key" if len(texts) == 1 else f"{len(texts):,} keys"
    constraint = plain_texts(dictionary, names[:1])[0].as_py()
    update = "the batch" if change.label is None else f"update {change.label}"
    examples = ", ".join(texts[:_EXAMPLES]) + (" …" if len(texts) > _EXAMPLES else "")
    raise RunError(RuleViolated(update=update, keys=count, constraint=constraint, examples=examples))
