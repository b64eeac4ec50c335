"""Who is told of changes: subscriptions to predicates and to queries.

Subscribers are called when an update is done, so that what they do cannot harm it: an error of one is logged
(logger `tidalog`) and the others are called all the same.  A subscriber may use the knowledge base.  Updates
that it makes are applied at once and told of when everybody has been told of the one before, so that each
subscriber sees changes in the order in which they happened.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from tidalog.api.delta import Delta, PredicateChange
from tidalog.api.results import Result
from tidalog.model.facts import Facts

PredicateCallback = Callable[[PredicateChange], object]
QueryCallback = Callable[[Result, Result], object]
_LOG: Final = logging.getLogger("tidalog")
_NAME: Final = re.compile(r"[\w-]+|[\w-]*:[^\s(){}\"?]*|<[^<>\s]*>")


def is_predicate(text: str) -> bool:
    """Whether a text is the name of a predicate; any other is a query."""
    return _NAME.fullmatch(text.strip()) is not None


class Subscription:
    """Ends with `cancel`."""

    def __init__(self, what: str, tell: _Tell, subscriptions: Subscriptions) -> None:
        self.what = what
        self._tell: _Tell | None = tell
        self._subscriptions = subscriptions

    @property
    def active(self) -> bool:
        return self._tell is not None

    def cancel(self) -> None:
        """No more calls; a second time does nothing."""
        self._tell = None
        self._subscriptions.remove(self)

    def __repr__(self) -> str:
        return f"<Subscription to {self.what}{'' if self.active else ', cancelled'}>"

    def _told(self, delta: Delta) -> None:
        if self._tell is None:
            return
        try:
            self._tell(delta)
        except Exception:
            _LOG.exception("a subscriber to %s failed; the update is done", self.what)


class _Tell(Protocol):
    def __call__(self, delta: Delta, /) -> None: ...


class Subscriptions:
    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []
        self._waiting: deque[Delta] = deque()
        self._telling = False

    def __bool__(self) -> bool:
        return bool(self._subscriptions)

    def add(self, what: str, tell: _Tell) -> Subscription:
        subscription = Subscription(what, tell, self)
        self._subscriptions.append(subscription)
        return subscription

    def remove(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def tell(self, delta: Delta) -> None:
        """Tells everybody, or leaves it to whoever is telling of an earlier update."""
        if not self._subscriptions:
            return
        self._waiting.append(delta)
        if self._telling:
            return
        self._telling = True
        try:
            while self._waiting:
                current = self._waiting.popleft()
                for subscription in tuple(self._subscriptions):
                    subscription._told(current)
        finally:
            self._telling = False
            self._waiting.clear()


class PredicateWatch:
    """Tells of a predicate whenever it changes."""

    def __init__(self, predicate: str, callback: PredicateCallback) -> None:
        self._predicate, self._callback = predicate, callback

    def __call__(self, delta: Delta, /) -> None:
        if self._predicate in delta:  # no longer, for a while, if nothing speaks of it any more
            self._callback(delta[self._predicate])


class QueryWatch:
    """Tells of the answers to a query that came and went.  It is asked again if a predicate that it reads
    has changed, or if everything was derived anew since, and the answers are compared."""

    def __init__(
        self,
        reads: Callable[[], frozenset[str]],
        ask: Callable[[], Facts],
        result: Callable[[Facts], Result],
        epoch: Callable[[], int],
        callback: QueryCallback,
    ) -> None:
        self._reads, self._ask, self._result, self._callback = reads, ask, result, callback
        self._epoch = epoch
        self._known, self._known_at = ask(), epoch()
        self._read = reads()

    def __call__(self, delta: Delta, /) -> None:
        epoch = self._epoch()
        if epoch == self._known_at and self._read.isdisjoint(delta):
            return
        if epoch != self._known_at:
            self._read = self._reads()  # triples may be somewhere else
        before, now = self._known, self._ask()
        self._known, self._known_at = now, epoch
        inserted, deleted = _without(now, before), _without(before, now)
        if inserted.count or deleted.count:
            self._callback(self._result(inserted), self._result(deleted))


def _without(one: Facts, other: Facts) -> Facts:
    """Rows of the first that the second does not have; neither has one twice."""
    if not one.columns:
        return Facts("", [], max(0, one.count - other.count))
    if not one.count or not other.count:
        return one
    both = np.stack([np.concatenate(pair) for pair in zip(one.columns, other.columns, strict=True)], axis=1)
    _, first, counts = np.unique(both, axis=0, return_index=True, return_counts=True)
    kept: npt.NDArray[np.int64] = np.sort(first[(counts == 1) & (first < one.count)])
    return Facts("", [column[kept] for column in one.columns], len(kept))
