"""When continuous queries are evaluated, and what they emit.

A query with a period is evaluated at the multiples of it, as time moves; any other one after every change,
if someone gets its answers.  Where a stream writes the feed of a query, only the updates of streams evaluate
it.  A change that moves time over several periods visits each of them at which something has changed, and the
last; time has moved on its way, so the windows hold what they held then.  At a period between, all answers
are emitted only if they differ from those before.

What comes and goes is the difference to the answers of the last evaluation (`last_answers`), so nothing is
emitted twice, and a store that goes on emits what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tidalog.api.answers import Answers
from tidalog.api.database import Database
from tidalog.api.last_answers import Evaluated, LastAnswers
from tidalog.api.merged import merged
from tidalog.api.outcome import Outcome
from tidalog.model.facts import Facts
from tidalog.model.registered import Registered, RegisteredQuery
from tidalog.model.update import EncodedUpdate


@dataclass(frozen=True)
class Emission:
    """What a query emits at an evaluation."""

    query: RegisteredQuery
    time: int | None
    """That of the windows; None if there is none."""
    answers: Facts | None
    """All of them, if the query emits all or writes them to a file."""
    inserted: Facts
    deleted: Facts


class Evaluations:
    """Of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.answers = Answers(database)
        self._last = LastAnswers(database, self.answers)
        self.listeners: Counter[str] = Counter()
        """How many get what each query emits; of queries without a period, only those are evaluated."""
        self._changed: set[str] = set()
        """Queries that may have other answers than at their last evaluation."""
        self._emitted: list[Emission] = []
        self._reopened: set[str] = set()
        """Queries of a store that have had no listener since it was opened."""
        self._is_suspended = self._is_delivering = False

    @property
    def active(self) -> list[RegisteredQuery]:
        """The queries that are evaluated without being asked."""
        found = (query for query in self._database.registered if not query.paused)
        heard = [query for query in found if query.every is not None or self._is_heard(query)]
        return [query for query in heard if query.feed is None or self._is_delivering]

    @property
    def follow_changes(self) -> bool:
        """Whether a query is evaluated after every change."""
        return any(query.every is None for query in self.active)

    def _is_heard(self, query: RegisteredQuery) -> bool:
        return bool(self.listeners[query.name] or query.to or query.changes or query.feed)

    def take(self) -> list[Emission]:
        """What was emitted since the last call."""
        found, self._emitted = self._emitted, []
        return found

    # --- around changes -----------------------------------------------------------------------------

    def applied(
        self, updates: Sequence[EncodedUpdate], apply: Callable[[Sequence[EncodedUpdate], bool], Outcome]
    ) -> Outcome:
        """Applies updates, and evaluates what is due before and after.  `apply` is told whether they are the
        given ones."""
        outcomes: list[Outcome] = []
        before = self._database.windows.now
        for update in updates:
            self._database.read_time(update)
        target = min((update.time for update in updates if update.time is not None), default=before)
        for time in self._due_before(target):
            outcomes.append(apply([EncodedUpdate(time=time)], False))
            self._last.note(outcomes[-1])
            self._evaluate_due(time, target)
        outcomes.append(apply(updates, True))
        self._last.note(outcomes[-1])
        self.changed(time_has_moved=self._database.windows.now != before)
        return merged(outcomes)

    def changed(self, *, time_has_moved: bool = False) -> None:
        """Facts or rules have changed, and what follows is derived."""
        self.note_changed()
        if self._is_suspended:
            return
        windows = self._database.windows
        if time_has_moved:
            self._evaluate_due(windows.now, windows.now)
        for query in self.active:
            if query.every is None:
                self._evaluate(query, windows.now if windows.started else None)

    def keep_answers(self) -> None:
        """A change comes that is not an update: its effects will not be known."""
        self._last.keep()

    def note_changed(self) -> None:
        """Facts or rules have changed, and what follows is not derived yet."""
        self._changed.update(query.name for query in self._database.registered)

    @contextmanager
    def delivering(self) -> Iterator[None]:
        """Surrounds updates that a store has logged before they are applied: those of streams."""
        self._is_delivering = True
        try:
            yield
        finally:
            self._is_delivering = False

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Surrounds changes that are applied as one: evaluation waits for their end."""
        before, self._is_suspended = self._is_suspended, True
        changed = set(self._changed)
        try:
            with self._last.rolled_back():
                yield
        except BaseException:
            self._changed = changed
            raise
        finally:
            self._is_suspended = before

    def reopened(self) -> None:
        """A store was opened: the listeners of its queries are gone, and what they heard last."""
        silent = (q for q in self._database.registered if q.every is None and not self._is_heard(q))
        self._reopened = {query.name for query in silent}
        for name in self._reopened:
            self._last.forget(name)

    def listened(self, query: RegisteredQuery) -> None:
        """Someone gets what a query emits from now on."""
        self.listeners[query.name] += 1
        if query.name in self._reopened:
            self._reopened.discard(query.name)
            windows = self._database.windows
            self._last.begin(query, windows.now if windows.started else None)

    def has_begun(self, name: str) -> bool:
        """Whether a query was evaluated."""
        return name in self._last

    @property
    def next_due(self) -> int | None:
        """The next period at which a query of a stream may have other answers; None if there is none."""
        now = self._database.windows.now
        waiting = (q for q in self._database.registered if q.feed is not None and not q.paused)
        periods = (q.every for q in waiting if q.every is not None and q.name in self._changed)
        return min(((now // every + 1) * every for every in periods), default=None)

    def registered(self, before: Registered) -> None:
        """Queries were registered and dropped: what is not as it was before begins."""
        now = self._database.registered
        same = {query.name for query in now if query.is_as(before.find(query.name))}
        for name in {query.name for query in (*before, *now)} - same:
            self._forget(name)

    def _forget(self, name: str) -> None:
        self._reopened.discard(name)
        self._last.forget(name)
        self.answers.forget(name)
        self._changed.discard(name)

    # --- periods ------------------------------------------------------------------------------------

    def _due_before(self, target: int) -> list[int]:
        """The periods, later than now and before a time, at which queries may have other answers, and the
        last."""
        windows = self._database.windows
        if self._is_suspended or not windows.started or target <= windows.now:
            return []
        found: set[int] = set()
        for query in self.active:
            every = query.every
            if every is None:
                continue
            last = (target - 1) // every * every
            if last <= windows.now:
                continue
            found.add(last)
            if query.name in self._changed:
                found.add((windows.now // every + 1) * every)
            found.update(-(-time // every) * every for time in windows.expiries(windows.now, last))
        return sorted(time for time in found if time < target)

    def _evaluate_due(self, time: int, target: int) -> None:
        """Time is at a period, on its way to a target."""
        for query in self.active:
            if query.every is not None and time % query.every == 0:
                self._evaluate(query, time, only_if_changed=time + query.every <= target)

    def _evaluate(self, query: RegisteredQuery, time: int | None, *, only_if_changed: bool = False) -> None:
        found = self._last.evaluate(query, time)
        self._changed.discard(query.name)
        differs = bool(found)
        match query.emit:
            case "rstream":
                emits = differs or not only_if_changed
            case "istream":
                emits = bool(found.inserted.count)
            case "dstream":
                emits = bool(found.deleted.count)
            case "changes":
                emits = differs
        if emits or (query.to and (differs or found.is_first)):
            answers = self.answers.of(query) if query.emit == "rstream" or query.to else None
            self._emitted.append(Emission(query, time, answers, found.inserted, found.deleted))

    # --- the last answers ---------------------------------------------------------------------------

    def looked_at(self, query: RegisteredQuery) -> Evaluated:
        """The answers that a query has for who looks at it: of one with a period, those of the last."""
        known = self._last.of(query) if query.every is not None else None
        if known is not None:
            return known
        windows = self._database.windows
        return Evaluated(windows.now if windows.started else None, self.answers.of(query))

    # --- snapshots ----------------------------------------------------------------------------------

    def to_json(self) -> dict[str, object]:
        return {
            name: {**last, "changed": name in self._changed} for name, last in self._last.to_json().items()
        }

    def restore(self, found: Mapping[str, Any], terms: int) -> None:
        """The counterpart of `to_json`.  Raises `ValueError` or `KeyError` for anything else."""
        self._last.restore(found, terms)
        self._changed.update(name for name, last in found.items() if last["changed"])
