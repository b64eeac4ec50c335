"""Subscriptions to predicates and to queries.

Subscribers are called after an update, so they cannot break it: an error of one is logged (logger `tidalog`)
and the others are still called.  A subscriber may use the knowledge base.  Its own updates are applied at
once and published after the current one, so that every subscriber sees changes in order.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from tidalog.api.database import Database
from tidalog.api.delta import Delta, PredicateChange
from tidalog.api.naming import predicates_read
from tidalog.api.queries import result_of
from tidalog.api.relations import without
from tidalog.api.results import Result
from tidalog.lang import parse_query
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

    def __init__(self, what: str, callback: _Callback, subscriptions: Subscriptions) -> None:
        self.what = what
        self._callback: _Callback | None = callback
        self._subscriptions = subscriptions

    @property
    def active(self) -> bool:
        return self._callback is not None

    def cancel(self) -> None:
        """No more calls; a second time does nothing."""
        self._callback = None
        self._subscriptions.remove(self)

    def __repr__(self) -> str:
        return f"<Subscription to {self.what}{'' if self.active else ', cancelled'}>"

    def _call(self, delta: Delta) -> None:
        if self._callback is None:
            return
        try:
            self._callback(delta)
        except Exception:
            _LOG.exception("a subscriber to %s failed; the update is done", self.what)


class _Callback(Protocol):
    def __call__(self, delta: Delta, /) -> None: ...


class Subscriptions:
    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []
        self._waiting: deque[Delta] = deque()
        self._publishing = False

    def __bool__(self) -> bool:
        return bool(self._subscriptions)

    def add(self, what: str, callback: _Callback) -> Subscription:
        subscription = Subscription(what, callback, self)
        self._subscriptions.append(subscription)
        return subscription

    def remove(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def publish(self, delta: Delta) -> None:
        """Calls all subscribers, or leaves it to the call that is publishing an earlier update."""
        if not self._subscriptions:
            return
        self._waiting.append(delta)
        if self._publishing:
            return
        self._publishing = True
        try:
            while self._waiting:
                current = self._waiting.popleft()
                for subscription in tuple(self._subscriptions):
                    subscription._call(current)
        finally:
            self._publishing = False
            self._waiting.clear()


class Ask(Protocol):
    def __call__(self, *, known_only: bool = True) -> tuple[list[str], Facts]:
        """The names of a query's columns, and its answers."""


class PredicateWatch:
    """Calls back when a predicate changes."""

    def __init__(self, predicate: str, callback: PredicateCallback) -> None:
        self._predicate, self._callback = predicate, callback

    def __call__(self, delta: Delta, /) -> None:
        if self._predicate in delta:
            self._callback(delta[self._predicate])


class QueryWatch:
    """Calls back with the answers to a query that came and went.  The query runs again if a predicate that it
    reads has changed, or if everything was derived again, and the answers are compared."""

    def __init__(self, database: Database, text: str, ask: Ask, callback: QueryCallback) -> None:
        self._database, self._ask, self._callback = database, ask, callback
        self._rule = parse_query(text, database.program.prefixes)
        self._names, self._answers = ask()
        self._epoch, self._reads = database.epoch, predicates_read(self._rule, database.analysis)

    def __call__(self, delta: Delta, /) -> None:
        database = self._database
        if database.epoch == self._epoch and self._reads.isdisjoint(delta):
            return
        if database.epoch != self._epoch:  # triples may be in other relations
            self._epoch, self._reads = database.epoch, predicates_read(self._rule, database.analysis)
        before, self._answers = self._answers, self._ask(known_only=False)[1]
        inserted, deleted = without(self._answers, before), without(before, self._answers)
        if inserted.count or deleted.count:
            self._callback(*(result_of(database, self._names, facts) for facts in (inserted, deleted)))
