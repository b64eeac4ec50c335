"""When continuous queries are evaluated, and what they emit.

A query with a period is evaluated at the multiples of it, as time moves; any other one after every change,
if someone gets its answers.  Where a stream writes the feed of a query, only the updates of streams evaluate
it.  A change that skips several periods stops at each one where something changed, and at the last; at each
stop the windows have the content of that time.  At the stops between, all answers are emitted only if they
differ from the previous ones.

What comes and goes is the difference to the answers of the last evaluation (`last_answers`), so nothing is
emitted twice, and a store that goes on emits what is missing.

What a query emits that another one reads as a stream becomes triples of that stream, at the time of the
evaluation and as part of the update that led to it.  The log of a store does not have them: the same
updates feed the same triples again.

An update that fails undoes the evaluations before it.  An evaluation that fails is logged, for the change
that led to it is done; the next one emits what is missing.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final

from tidalog.api.answers import Answers
from tidalog.api.database import Database
from tidalog.api.last_answers import Evaluated, LastAnswers
from tidalog.api.merged import merged
from tidalog.api.outcome import Outcome
from tidalog.api.stream_chain import Chain
from tidalog.engine.interrupts import interrupt_later
from tidalog.maintain.runner import Interrupted
from tidalog.model.errors import TidalogError
from tidalog.model.facts import Facts
from tidalog.model.registered import NO_QUERIES, Registered, RegisteredQuery
from tidalog.model.update import EncodedUpdate
from tidalog.model.window_times import time_text

_LOG: Final = logging.getLogger("tidalog")


@dataclass(frozen=True)
class Emission:
    """What a query emits at an evaluation."""

    query: RegisteredQuery
    time: int | None
    """That of the windows; None if there is none."""
    number: int
    """1 for what it emits first at this time."""
    answers: Facts | None
    """All of them, if the query emits all or writes them to a file."""
    inserted: Facts
    deleted: Facts

    @property
    def label(self) -> str:
        return label_of(self.time, self.number)

    @property
    def is_empty(self) -> bool:
        """Whether all answers are emitted, and there are none: in a feed one row says so."""
        return self.query.emit == "rstream" and self.answers is not None and not self.answers.count


def label_of(time: int | None, number: int) -> str:
    """The label of an evaluation in feeds: its time, from the second one at a time on also its number; or the
    number alone, if nothing has a time."""
    if time is None:
        return str(number)
    return time_text(time) if number == 1 else f"{time_text(time)}#{number}"


def emitted_rows(emission: Emission) -> Iterator[tuple[int, Facts]]:
    """Rows that went (-1), then rows that came; of all answers, every row comes at each evaluation."""
    emit, answers = emission.query.emit, emission.answers
    if emit in ("dstream", "changes") and emission.deleted.count:
        yield -1, emission.deleted
    came = answers if emit == "rstream" and answers is not None else emission.inserted
    if emit != "dstream" and came.count:
        yield 1, came


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
        self._numbers: dict[str, tuple[int | None, int]] = {}
        """When each query emitted last, and how often at this time."""
        self._known_chain: Chain | None = None
        self._reopened: set[str] = set()
        """Queries of a store that have had no listener since it was opened."""
        self._is_suspended = self._is_delivering = False

    @property
    def active(self) -> list[RegisteredQuery]:
        """The queries that are evaluated without being asked."""
        found = (query for query in self._database.registered if not query.paused)
        heard = [query for query in found if query.every is not None or self._is_heard(query)]
        return [query for query in heard if query.feed is None or self._is_delivering]

    def _chain(self) -> Chain:
        """How queries feed each other."""
        registered, program = self._database.registered, self._database.program
        if self._known_chain is None or not self._known_chain.is_of(registered, program):
            self._known_chain = Chain(registered, program)
        return self._known_chain

    @property
    def follow_changes(self) -> bool:
        """Whether a query is evaluated after every change."""
        return any(query.every is None for query in self.active)

    def _is_heard(self, query: RegisteredQuery) -> bool:
        is_heard = self.listeners[query.name] or query.to or query.changes or query.feed
        return bool(is_heard) or query.name in self._chain().feeding

    def take(self) -> list[Emission]:
        """What was emitted since the last call."""
        found, self._emitted = self._emitted, []
        return found

    # --- around changes -----------------------------------------------------------------------------

    def applied(
        self, updates: Sequence[EncodedUpdate], apply: Callable[[Sequence[EncodedUpdate], bool], Outcome]
    ) -> Outcome:
        """Applies updates, and evaluates what is due before and after.  `apply` gets updates, and whether
        these are the given ones."""
        outcomes: list[Outcome] = []
        before = self._database.windows.now
        updates = [self._database.on_time(update) for update in updates]
        target = min((update.time for update in updates if update.time is not None), default=before)
        due = self._due_before(target)
        with self._undone_on_error() if due else nullcontext():
            while due:
                time = due.pop(0)
                outcomes.append(apply([EncodedUpdate(time=time)], False))
                self._last.note(outcomes[-1])
                if fed := self._evaluate_all(_is_due(time), _is_between(time, target), apply):
                    outcomes += fed
                    due = self._due_before(target)  # what was fed expires, too
            outcomes.append(given := apply(updates, True))
        self._last.note(given)
        self.note_changed()
        now = self._database.windows.now
        is_due = _is_due(now) if now != before else _never
        if not self._is_suspended:
            outcomes += self._evaluate_all(lambda query: query.every is None or is_due(query), _never, apply)
        return replace(merged(outcomes), label=given.label, rules=given.rules, updates=given.updates)

    def changed(self, before: Registered = NO_QUERIES) -> None:
        """Facts or rules have changed otherwise than by an update, and what follows is derived; or queries,
        and those that are as `before` emit only if their answers differ.  Queries that feed others are
        evaluated by the next update."""
        self.note_changed()
        if not self._is_suspended:
            feeding, same = self._chain().feeding, set(before)
            self._evaluate_all(
                lambda query: query.every is None and query.name not in feeding, lambda query: query in same
            )

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
        try:
            with self._rolled_back():
                yield
        finally:
            self._is_suspended = before

    @contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        """Surrounds updates that are undone together, with what was evaluated between them."""
        with self._rolled_back(), self._database.steps():
            yield

    @contextmanager
    def _rolled_back(self) -> Iterator[None]:
        changed, numbers, emitted = set(self._changed), dict(self._numbers), len(self._emitted)
        try:
            with self._last.rolled_back():
                yield
        except BaseException:
            self._changed, self._numbers = changed, numbers
            del self._emitted[emitted:]
            raise

    def reopened(self) -> None:
        """A store was opened: its queries have no listeners yet, so the last answers of those without a
        period are forgotten."""
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

    def last_answers(self, query: RegisteredQuery) -> Facts | None:
        """The answers of a query at its last evaluation; None if there was none."""
        known = self._last.of(query)
        return None if known is None else known.answers

    def next_label(self, query: RegisteredQuery) -> str:
        """The label of the next evaluation of a query, if it has the present time."""
        windows = self._database.windows
        time = windows.now if windows.started else None
        return label_of(time, self._next_number(query.name, time))

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
            self._reopened.discard(name)
            self._last.forget(name)
            self.answers.forget(name)
            self._changed.discard(name)
            if now.find(name) is None:
                self._numbers.pop(name, None)

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

    def _evaluate_all(
        self,
        is_wanted: Callable[[RegisteredQuery], bool],
        only_if_changed: Callable[[RegisteredQuery], bool],
        apply: Callable[[Sequence[EncodedUpdate], bool], Outcome] | None = None,
    ) -> list[Outcome]:
        """Evaluates queries, each after those that feed it, and those without a period after what was fed.
        Returns what feeding has changed."""
        windows, outcomes = self._database.windows, list[Outcome]()
        time = windows.now if windows.started else None
        active, chain = {query.name for query in self.active}, self._chain()
        for query in chain.queries:
            is_fed = bool(outcomes) and query.every is None
            if query.name not in active or not (is_wanted(query) or is_fed):
                continue
            try:
                emission = self._evaluate(query, time, only_if_changed=only_if_changed(query))
            except Exception as error:
                _LOG.exception("the query %s was not evaluated; the update is done", query.name)
                _interrupt_again(error)
                continue
            if emission is not None and apply is not None and query.name in chain.feeding:
                outcomes += self._fed(emission, apply)
        return outcomes

    def _fed(
        self, emission: Emission, apply: Callable[[Sequence[EncodedUpdate], bool], Outcome]
    ) -> list[Outcome]:
        """Makes what a query emits triples of its stream.  An error does not undo the update that led to
        it."""
        name, rows = emission.query.name, {-1: list[Facts](), 1: list[Facts]()}
        for op, facts in emitted_rows(emission):
            came = op > 0 or emission.query.emit == "dstream"
            rows[1 if came else -1].append(Facts(name, facts.columns, facts.count))
        if not any(rows.values()):
            return []
        update = EncodedUpdate(rows[-1], rows[1], time=emission.time, accepted=True)
        try:
            outcome = apply([update], False)
        except TidalogError as error:
            _LOG.error("what %s emits is not in its stream; the update is done: %s", name, error)
            _interrupt_again(error)
            return []
        self._last.note(outcome)
        self.note_changed()
        return [outcome]

    def _evaluate(
        self, query: RegisteredQuery, time: int | None, *, only_if_changed: bool = False
    ) -> Emission | None:
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
        if not emits and not (query.to and (differs or found.is_first)):
            return None
        answers = None
        if query.emit == "rstream" or query.to:
            answers = self.answers.of(query) if found.answers is None else found.answers
        number = self._next_number(query.name, time)
        self._numbers[query.name] = time, number
        emission = Emission(query, time, number, answers, found.inserted, found.deleted)
        self._emitted.append(emission)
        return emission if emits else None

    def _next_number(self, name: str, time: int | None) -> int:
        last, number = self._numbers.get(name, (None, 0))
        return number + 1 if last == time else 1

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
            name: {**last, "changed": name in self._changed, "emitted": self._numbers.get(name)}
            for name, last in self._last.to_json().items()
        }

    def restore(self, found: Mapping[str, Any], terms: int) -> None:
        """The counterpart of `to_json`.  Raises `ValueError` or `KeyError` for anything else."""
        self._last.restore(found, terms)
        for query in self._database.registered:
            last = found.get(query.name, {"changed": True})
            if last["changed"]:
                self._changed.add(query.name)
            if last.get("emitted") is not None:
                time, number = last["emitted"]
                self._numbers[query.name] = None if time is None else int(time), int(number)


def _is_due(time: int) -> Callable[[RegisteredQuery], bool]:
    return lambda query: query.every is not None and time % query.every == 0


def _is_between(time: int, target: int) -> Callable[[RegisteredQuery], bool]:
    """Whether a query is evaluated again on the way to a time, or there."""

    def is_between(query: RegisteredQuery) -> bool:
        return time < target if query.every is None else time + query.every <= target

    return is_between


def _never(query: RegisteredQuery) -> bool:
    return False


def _interrupt_again(error: Exception) -> None:
    """Ctrl-C that ended an evaluation ends what comes next."""
    if isinstance(error, TidalogError) and any(isinstance(one, Interrupted) for one in error.diagnostics):
        interrupt_later()
