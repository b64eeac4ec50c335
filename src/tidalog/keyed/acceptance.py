"""Which keys of an update are refused because of a constraint.

The rule of `api.violations`, for each key: an update is refused if it violates a constraint that was not
violated before it, and that time alone, up to the same moment, does not violate either.  Keys that may be
refused are rolled back by their inverse, compared with time alone, and applied again if that is so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tidalog.api.merged import composed
from tidalog.api.transitions import inverse
from tidalog.keyed.outcome import Collected, Violations
from tidalog.keyed.rollback import update_of, update_without, without_keys
from tidalog.keyed.window_states import NO_ROWS
from tidalog.keyed.windows import KeyedPlan
from tidalog.maintain.delta import PredicateDelta
from tidalog.model.facts import Ids
from tidalog.model.update import EncodedUpdate

if TYPE_CHECKING:
    from tidalog.keyed.bucket import Bucket

Delta = Mapping[str, PredicateDelta]
Pairs = npt.NDArray[np.int64]
"""A key and a constraint that it violates, as one number."""


class Acceptance:
    """Of the updates of one bucket."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def violated_in(self, delta: Delta) -> Violations:
        """Keys that violate a constraint now and did not before, and the names of the constraints."""
        found = delta.get(self._bucket.config.violated)
        if found is None or not found.inserted_rows:
            return NO_ROWS, NO_ROWS
        keys, names = found.inserted
        return keys, names

    def accepted(
        self, plan: KeyedPlan, update: EncodedUpdate, work: Collected
    ) -> tuple[Delta, KeyedPlan, Violations]:
        """Applies the plan of an update, except to keys that are refused.  Returns what has changed, by which
        plan, and these keys with the names of the constraints."""
        bucket, windows = self._bucket, self._bucket.windows
        delta = bucket.maintained(plan.update, work)
        keys, names = self.violated_in(delta)
        if not len(keys):
            windows.commit(plan)
            return delta, plan, (keys, names)
        doubtful = np.unique(keys)
        after = self._violated_by(doubtful)
        bucket.maintain(inverse(delta, doubtful))
        by_time = self._violated_by_time(plan, doubtful)
        refused = np.unique(_key_of(after[~np.isin(after, by_time)]))
        delta = {name: without_keys(change, doubtful) for name, change in delta.items()}
        accepted = np.setdiff1d(doubtful, refused)
        if len(accepted):
            again = windows.plan(update_of(update, accepted), plan.times.only(accepted))
            more = bucket.maintain(again.update)
            work.overdue.append(self.violated_in(more))
            delta = _joined(delta, more)
        if len(refused):
            plan = self.without(plan, update, refused, work)
        windows.commit(plan)
        found = np.isin(keys, refused)
        return delta, plan, (keys[found], names[found])

    def without(self, plan: KeyedPlan, update: EncodedUpdate, keys: Ids, work: Collected) -> KeyedPlan:
        """The plan of the last update without some keys."""
        plan = self._bucket.windows.plan(update_without(update, keys), plan.times.without(keys))
        work.applied[-1] = plan.update
        return plan

    def _violated_by_time(self, plan: KeyedPlan, keys: Ids) -> Pairs:
        """What keys violate at the time after a plan if nothing else changes.  Nothing does."""
        bucket, times = self._bucket, plan.times.only(keys)
        alone = bucket.windows.plan(EncodedUpdate(), bucket.windows.alone(times))
        delta = bucket.maintain(alone.update)
        found = self._violated_by(keys)
        bucket.maintain(inverse(delta))
        return found

    def _violated_by(self, keys: Ids) -> Pairs:
        """What keys violate now."""
        of, names = self._bucket.engine.columns(self._bucket.config.violated)
        found = np.isin(of, keys)
        pairs: Pairs = (of[found].astype(np.int64) << 32) | names[found].astype(np.int64)
        return pairs


def _key_of(pairs: Pairs) -> Ids:
    return (pairs >> 32).astype(np.int32)


def _joined(one: Delta, other: Delta) -> Delta:
    """Deltas of different keys as one."""
    parts = {name: [d[name] for d in (one, other) if name in d] for name in {**one, **other}}
    found = {name: composed(changes) for name, changes in parts.items()}
    return {name: change for name, change in found.items() if change is not None}
