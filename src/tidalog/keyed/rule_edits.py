"""What the rows of a batch make of the rules of a bucket, before anything is done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tidalog.analysis.diagnostics import ArityDiffers
from tidalog.api.diagnostics import UnknownPredicate
from tidalog.api.naming import checked_name
from tidalog.keyed.packing import BAD
from tidalog.keyed.rules import Coming, Rules
from tidalog.model.errors import ProgramError, TidalogError

if TYPE_CHECKING:
    from tidalog.model.update import Label


@dataclass(frozen=True)
class Refusal:
    """A change of rules that could not be made, and with it an update of a key, or of none."""

    key: str | None
    update: Label | None
    why: str


@dataclass(frozen=True)
class RuleChange:
    label: Label | None
    rules: Rules
    """From then on."""
    rows: int
    why: str | None
    """For which it is refused."""


def planned(rules: Rules, asked: Coming) -> list[RuleChange]:
    """What the changes of a batch make of the rules, one after the other."""
    changes: list[RuleChange] = []
    for label, edits in zip(asked.labels, asked.edits, strict=True):
        why = None
        try:
            rules = rules.after(label, edits)
        except ProgramError as error:
            rules = rules.refused(label)
            why = "; ".join(f"{found.message} ({found.number})" for found in error.diagnostics)
        changes.append(RuleChange(label, rules, len(edits.added) + len(edits.removed), why))
    return changes


def with_known(table: pa.Table, doubtful: pa.Table | None, rules: Rules) -> tuple[pa.Table, list[str]]:
    """Rows, with those of doubtful ones whose predicates are known by now; and what is wrong with the
    others."""
    if doubtful is None or not doubtful.num_rows:
        return table, []
    if not rules.moved:
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
