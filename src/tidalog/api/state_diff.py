"""The difference of two states that share only the dictionary: for changes that move facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tidalog.analysis import Analysis
from tidalog.api.naming import user_predicates
from tidalog.api.relations import rows_of
from tidalog.api.transitions import Table, Transitions
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.delta import PredicateDelta
from tidalog.model.facts import Mask
from tidalog.model.registered import is_of_query
from tidalog.model.rows import distinct_rows


@dataclass(frozen=True, slots=True)
class Visible:
    """The facts of a predicate, each once and a row of a table, and which of them are explicit."""

    table: Table
    explicit: Mask


def visible(engine: EmbeddedEngine, analysis: Analysis) -> dict[str, Visible]:
    """Facts by the predicates that users know."""
    return _facts(engine, analysis, user_predicates(analysis))


def changes_since(
    old_engine: EmbeddedEngine, old_analysis: Analysis, engine: EmbeddedEngine, analysis: Analysis
) -> tuple[dict[str, PredicateDelta], dict[str, PredicateDelta]]:
    """The changes between two states: of the predicates that users know, and of continuous queries."""
    return (
        differences(visible(old_engine, old_analysis), visible(engine, analysis)),
        differences(_of_queries(old_engine, old_analysis), _of_queries(engine, analysis)),
    )


def _of_queries(engine: EmbeddedEngine, analysis: Analysis) -> dict[str, Visible]:
    """Facts of the relations of continuous queries."""
    return _facts(engine, analysis, filter(is_of_query, analysis.predicates))


def _facts(engine: EmbeddedEngine, analysis: Analysis, names: Iterable[str]) -> dict[str, Visible]:
    found: dict[str, Visible] = {}
    for name in names:
        explicit, implicit = (rows_of(engine, analysis, name, kind) for kind in (True, False))
        if implicit.count or explicit.count:
            table = np.concatenate([explicit.table, implicit.table], axis=1).T
            found[name] = Visible(table, np.repeat([True, False], [explicit.count, implicit.count]))
    return found


def differences(before: Mapping[str, Visible], after: Mapping[str, Visible]) -> dict[str, PredicateDelta]:
    """The net change of every predicate that has changed."""
    found: dict[str, PredicateDelta] = {}
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old is not None and new is not None and old.table.shape[1] != new.table.shape[1]:
            # Facts with another number of arguments are unrelated to those that were there; a change
            # has one number of columns, and what is there now decides which.
            old = None
        change = _difference(old, new)
        if change is not None:
            found[name] = change
    return found


def _difference(old: Visible | None, new: Visible | None) -> PredicateDelta | None:
    sides = [side for side in (old, new) if side is not None]
    both = np.concatenate([side.table for side in sides])
    if both.shape[1]:
        first, rows = distinct_rows(both)
        table = both[first]
    else:  # one fact without arguments
        table, rows = both[:1], np.zeros(len(both), np.int64)
    found = Transitions.none(len(table))
    if old is not None:
        of_old = rows[: len(old.table)]
        found.was[of_old], found.was_explicit[of_old] = True, old.explicit
    if new is not None:
        of_new = rows[len(both) - len(new.table) :]
        found.is_[of_new], found.is_explicit[of_new] = True, new.explicit
    return found.delta(table)
