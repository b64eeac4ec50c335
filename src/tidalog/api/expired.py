"""Which deleted facts of a delta are gone because time moved.

An explicit fact is if it left a window.  A derived one is if nothing else can have ended it: nothing that its
predicate depends on was deleted, or derived by a rule that was removed or that negates or aggregates.  Where
expiries are kept, they say it of every fact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from tidalog.analysis import Analysis
from tidalog.api.naming import holds_triples
from tidalog.maintain.delta import PredicateDelta
from tidalog.model.facts import Facts, Ids, Mask
from tidalog.model.program import Rule
from tidalog.rdf.layout import TRIPLE


@dataclass(frozen=True)
class Expired:
    facts: Sequence[Facts] = ()
    """Explicit facts that left windows."""
    is_reached: Callable[[str], bool] = lambda predicate: False
    """Whether something else than time may have ended derived facts of a predicate."""

    def among(self, predicate: str, change: PredicateDelta) -> Mask:
        """Which of the deleted facts of a predicate expired."""
        explicit = change.deleted_explicit
        found = rows_among(predicate, change.deleted, explicit, self.facts)
        if change.deleted_by_time is not None:
            found |= ~explicit & change.deleted_by_time
        if self.facts and not np.all(explicit) and not self.is_reached(predicate):
            found |= ~explicit
        return found


def expired_of(
    facts: Sequence[Facts],
    analysis: Analysis,
    changes: Mapping[str, PredicateDelta],
    removed: Sequence[Rule] = (),
) -> Expired:
    """What expired in an update with these changes that removed these rules."""

    @cache
    def found() -> Collection[str]:
        ended = {name for name, change in changes.items() if ended_among(name, change, facts).any()}
        heads = {head.predicate for rule in removed for head in rule.heads}
        return reached(analysis, ended | heads | uncertain_heads(analysis))

    return Expired(facts, lambda name: (TRIPLE if holds_triples(analysis, name) else name) in found())


def ended_among(predicate: str, change: PredicateDelta, expired: Sequence[Facts]) -> Mask:
    """Which of the deleted facts of a predicate were deleted themselves."""
    explicit = change.deleted_explicit
    return explicit & ~rows_among(predicate, change.deleted, explicit, expired)


def uncertain_heads(analysis: Analysis) -> set[str]:
    """The predicates of rules that negate or aggregate: a new fact may end what these derive."""
    return {r.head.predicate for r in analysis.rules if r.head is not None and (r.negations or r.aggregates)}


def reached(analysis: Analysis, predicates: Collection[str]) -> frozenset[str]:
    """These predicates, and those that depend on them."""
    relations = frozenset(analysis.triples.arities)
    found = set(predicates)
    if any(holds_triples(analysis, name) for name in predicates):
        found |= relations
    waiting = list(found)
    while waiting:
        new = analysis.dependents.get(waiting.pop(), frozenset()) - found
        found |= new
        waiting += new
    return frozenset(found | {TRIPLE} if found & relations else found)


def rows_among(predicate: str, columns: Sequence[Ids], explicit: Mask, facts: Sequence[Facts]) -> Mask:
    """Which explicit ones of some rows of a predicate are among facts."""
    own = [part for part in facts if part.predicate == predicate and part.count]
    if not own or not len(explicit):
        return np.zeros(len(explicit), np.bool_)
    table = np.concatenate([part.table for part in own], axis=1)
    found: Mask = explicit & np.isin(_keys(list(columns)), _keys(list(table)))
    return found


NOTHING_EXPIRED = Expired()


def _keys(columns: list[Ids]) -> npt.NDArray[np.void]:
    """A value for each row that equals that of no other."""
    rows = np.ascontiguousarray(np.stack([np.asarray(column, np.int32) for column in columns], axis=1))
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)
