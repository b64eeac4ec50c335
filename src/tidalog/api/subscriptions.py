"""Subscriptions to predicates and to queries.

Invariant.  The arguments of a callback are computed under the lock, right after the update, so that they are
the change of that update alone.  The callback runs when the lock is free: a subscriber may use the knowledge
base, from any thread, and wait for it.  One thread calls at a time, so every subscriber gets changes in
order; updates that come meanwhile, from a subscriber or from another thread, are applied at once and
published after the current one.

A subscriber cannot break an update: its errors are logged (logger `tidalog`) and the others are still called.
"""

from __future__ import annotations

import inspect
import logging
import re
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from tidalog.api.arguments import check_callback, check_text
from tidalog.api.database import Database
from tidalog.api.delta import Delta, PredicateChange
from tidalog.api.naming import known_predicate, predicates_read
from tidalog.api.queries import result_of
from tidalog.api.relations import without
from tidalog.api.results import Result
from tidalog.lang import parse_query
from tidalog.model.errors import UsageError
from tidalog.model.facts import Facts

PredicateCallback = Callable[[PredicateChange], object]
QueryCallback = Callable[[Result, Result], object]
Call = Callable[[], object]
_LOG: Final = logging.getLogger("tidalog")
_NAME: Final = re.compile(r"[\w-]+|[\w-]*:[^\s(){}\"?]*|<[^<>\s]*>")
_UPDATE: Final = "update"
"""The parameter of a callback that gets the delta of the whole update."""


def is_predicate(text: str) -> bool:
    """Whether a text is the name of a predicate; any other is a query."""
    return _NAME.fullmatch(text.strip()) is not None


def check_subscriber(what: object, callback: object) -> None:
    """Raises `UsageError` for a text that names neither a predicate nor a query, and for a callback that
    cannot be called."""
    check_text(what, "a predicate or a query", 'write kb.subscribe("p", callback)')
    given = ["change"] if is_predicate(str(what)) else ["inserted", "deleted"]
    takes_update = callable(callback) and _takes_update(callback, len(given))
    check_callback(callback, given, [_UPDATE] if takes_update else [])


class Watch(Protocol):
    def __call__(self, delta: Delta, /) -> tuple[object, ...] | None:
        """The arguments of the callback after an update, or None if it is not to be called."""


class Subscription:
    """Ends with `cancel`."""

    def __init__(
        self, what: str, watch: Watch, callback: Callable[..., object], subscriptions: Subscriptions
    ) -> None:
        self.what = what
        self._watch, self._callback = watch, callback
        self._subscriptions = subscriptions
        self.active = True

    def cancel(self) -> None:
        """No more calls; a second time does nothing."""
        self.active = False
        self._subscriptions.remove(self)

    def __repr__(self) -> str:
        return f"<Subscription to {self.what}{'' if self.active else ', cancelled'}>"

    def call_for(self, delta: Delta) -> Call | None:
        """The call that an update asks for."""
        try:
            arguments = self._watch(delta)
        except Exception:
            self._failed()
            return None
        if arguments is None:
            return None
        whole = {_UPDATE: delta} if _takes_update(self._callback, len(arguments)) else {}
        return partial(self._call, *arguments, **whole)

    def _call(self, *arguments: object, **whole: Delta) -> None:
        if not self.active:
            return
        try:
            self._callback(*arguments, **whole)
        except Exception:
            self._failed()

    def _failed(self) -> None:
        _LOG.exception("a subscriber to %s failed; the update is done", self.what)


def _takes_update(callback: Callable[..., object], given: int) -> bool:
    """Whether a callback has a parameter `update` beside the arguments that it is given by position."""
    try:
        parameters = list(inspect.signature(callback).parameters.values())
    except (TypeError, ValueError):  # some functions written in C do not say
        return False
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return any(
        found.name == _UPDATE
        and found.kind in by_name
        and (position >= given or found.kind is inspect.Parameter.KEYWORD_ONLY)
        for position, found in enumerate(parameters)
    )


class Subscriptions:
    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []
        self._calls: deque[Call] = deque()
        self._delivering = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._subscriptions)

    def add(self, what: str, watch: Watch, callback: Callable[..., object]) -> Subscription:
        subscription = Subscription(what, watch, callback, self)
        self._subscriptions.append(subscription)
        return subscription

    def remove(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def publish(self, delta: Delta) -> None:
        """Finds what an update changed for each subscriber.  Runs under the lock of the knowledge base."""
        for subscription in tuple(self._subscriptions):
            call = subscription.call_for(delta)
            if call is not None:
                self._calls.append(call)

    def queue(self, call: Call) -> None:
        """Calls something when the lock is free, after what is queued already."""
        self._calls.append(call)

    def deliver(self) -> None:
        """Calls the subscribers, or leaves it to the thread that is calling them already.  Runs without the
        lock of the knowledge base."""
        while self._calls and self._delivering.acquire(blocking=False):
            try:
                while self._calls:
                    self._calls.popleft()()
            finally:
                self._delivering.release()


class Ask(Protocol):
    def __call__(self, *, known_only: bool = True) -> tuple[list[str], Facts]:
        """The names of a query's columns, and its answers."""


class PredicateWatch:
    """The change of a predicate."""

    def __init__(self, predicate: str) -> None:
        self._predicate = predicate

    def __call__(self, delta: Delta, /) -> tuple[object, ...] | None:
        try:
            change = delta.of_facts(self._predicate)
        except UsageError:  # there is no such predicate any more
            return None
        return (change,) if change else None


class QueryWatch:
    """The answers to a query that came and went.  The query runs again if a predicate that it reads has
    changed, or if everything was derived again, and the answers are compared."""

    def __init__(self, database: Database, text: str, ask: Ask) -> None:
        self._database, self._ask = database, ask
        self._rule = parse_query(text, database.program.prefixes)
        self._names, self._answers = ask()
        self._epoch, self._reads = database.epoch, predicates_read(self._rule, database.analysis)

    def __call__(self, delta: Delta, /) -> tuple[object, ...] | None:
        database = self._database
        if database.epoch == self._epoch and self._reads.isdisjoint(delta):
            return None
        if database.epoch != self._epoch:  # triples may be in other relations
            self._epoch, self._reads = database.epoch, predicates_read(self._rule, database.analysis)
        before, self._answers = self._answers, self._ask(known_only=False)[1]
        inserted, deleted = without(self._answers, before), without(before, self._answers)
        if not inserted.count and not deleted.count:
            return None
        return tuple(result_of(database, self._names, facts) for facts in (inserted, deleted))


def watch_of(what: str, database: Database, ask: Ask) -> Watch:
    """What is watched for a subscriber: a predicate, or the query that `ask` answers."""
    if is_predicate(what):
        return PredicateWatch(known_predicate(what.strip(), database.analysis))
    return QueryWatch(database, what, ask)
