"""Several changes of a database, one after the other, as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tidalog.api.outcome import Outcome
from tidalog.api.transitions import Transitions
from tidalog.api.user_changes import flagged
from tidalog.maintain.counters import Counters
from tidalog.maintain.delta import PredicateDelta


def merged(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of all, with the label and the rules of the last."""
    if len(outcomes) == 1:
        return outcomes[0]
    counters, uncomputed = Counters(), Counter[str]()
    chosen: dict[str, str] = {}
    for outcome in outcomes:
        counters.add(outcome.counters)
        uncomputed.update(outcome.uncomputed)
        chosen |= outcome.chosen
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.changes)
    changes = {
        name: change
        for name in names
        if (change := composed([o.changes[name] for o in outcomes if name in o.changes])) is not None
    }
    return replace(
        outcomes[-1],
        changes=changes,
        counters=counters,
        ignored=sum(outcome.ignored for outcome in outcomes),
        chosen=chosen,
        updates=outcomes[-1].updates,
        uncomputed=uncomputed,
        expired=tuple(facts for outcome in outcomes for facts in outcome.expired),
        by_relation={},
    )


def composed(changes: Sequence[PredicateDelta]) -> PredicateDelta | None:
    """A fact is now as the last change of it says, and was as the first says."""
    if len(changes) == 1:
        return changes[0]
    parts = [part for change in changes for part in flagged(change)]
    if not parts:
        return None
    if not parts[0][0]:  # one fact without arguments
        table = np.empty((sum(len(flags[0]) for _, flags in parts), 0), np.int32)
        first, last, which = np.array([0]), np.array([len(table) - 1]), np.array([0])
    else:
        table = np.concatenate([np.stack(columns, axis=1) for columns, _ in parts])
        _, first = np.unique(table, axis=0, return_index=True)
        _, from_end = np.unique(table[::-1], axis=0, return_index=True)
        last, which = len(table) - 1 - from_end, first
    was, was_explicit, is_, is_explicit = (
        np.concatenate(flags) for flags in zip(*(flags for _, flags in parts), strict=True)
    )
    return Transitions(was[first], was_explicit[first], is_[last], is_explicit[last]).delta(table[which])
