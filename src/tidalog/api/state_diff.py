"""The difference of two states that share only the dictionary: for changes that move facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalog.analysis import Analysis
from tidalog.api.naming import user_predicates
from tidalog.api.relations import rows_of
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.transaction import PredicateDelta
from tidalog.model.facts import Facts, Ids

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Visible:
    """The facts of a predicate, each once, and which of them are explicit."""

    columns: list[Ids]
    explicit: Mask

    @property
    def rows(self) -> int:
        return len(self.explicit)

    def chosen(self, mask: Mask) -> list[Ids]:
        return [column[mask] for column in self.columns]


def visible(engine: EmbeddedEngine, analysis: Analysis) -> dict[str, Visible]:
    """Facts by the predicates that users know."""
    found: dict[str, Visible] = {}
    for name in user_predicates(analysis):
        implicit, explicit = (rows_of(engine, analysis, name, kind) for kind in (False, True))
        if implicit.count or explicit.count:
            found[name] = _together(explicit, implicit)
    return found


def _together(explicit: Facts, implicit: Facts) -> Visible:
    columns = [np.concatenate(pair) for pair in zip(explicit.columns, implicit.columns, strict=True)]
    return Visible(columns, np.repeat([True, False], [explicit.count, implicit.count]))


def differences(before: Mapping[str, Visible], after: Mapping[str, Visible]) -> dict[str, PredicateDelta]:
    """The net change of every predicate that has changed."""
    found: dict[str, PredicateDelta] = {}
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old is not None and new is not None and len(old.columns) != len(new.columns):
            # Facts with another number of arguments have nothing to do with those that were there; a change
            # has one number of columns, and what is there now decides which.
            old = None
        some = old or new
        assert some is not None
        nothing = Visible([np.empty(0, np.int32)] * len(some.columns), np.zeros(0, np.bool_))
        change = _difference(old or nothing, new or nothing)
        if change is not None:
            found[name] = change
    return found


def _difference(old: Visible, new: Visible) -> PredicateDelta | None:
    there_before, was_explicit = _found(new, old)
    there_now, is_explicit = _found(old, new)
    inserted, deleted = ~there_before, ~there_now
    gained = there_before & new.explicit & ~was_explicit
    lost = there_now & old.explicit & ~is_explicit
    if not (inserted.any() or deleted.any() or gained.any() or lost.any()):
        return None
    return PredicateDelta(
        new.chosen(inserted),
        int(inserted.sum()),
        new.explicit[inserted],
        old.chosen(deleted),
        int(deleted.sum()),
        old.explicit[deleted],
        new.chosen(gained),
        int(gained.sum()),
        old.chosen(lost),
        int(lost.sum()),
    )


def _found(facts: Visible, others: Visible) -> tuple[Mask, Mask]:
    """Of each fact whether it is among others, and whether it is explicit there."""
    there, explicit = np.zeros(facts.rows, np.bool_), np.zeros(facts.rows, np.bool_)
    if not facts.rows or not others.rows:
        return there, explicit
    if not facts.columns:
        there[:], explicit[:] = True, others.explicit[0]
        return there, explicit
    both = np.stack(
        [np.concatenate(pair) for pair in zip(facts.columns, others.columns, strict=True)], axis=1
    )
    _, which = np.unique(both, axis=0, return_inverse=True)
    which = which.reshape(-1)
    own, theirs = which[: facts.rows], which[facts.rows :]
    place = np.full(int(which.max()) + 1, -1, np.int64)
    place[theirs] = np.arange(others.rows)
    at = place[own]
    there = at >= 0
    explicit[there] = others.explicit[at[there]]
    return there, explicit
