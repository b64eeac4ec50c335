"""`Changes`: the one path of a change: log it, apply it, note it, publish it.

Invariant.  Every change of a knowledge base goes through `Changes.perform`, apart from those whose updates
are in the log already: `apply_pending` and recovery apply them by `change.perform` too, and log the outcome.
Where a change can be refused for what follows from it, or is published to subscribers, what follows is
derived with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from tidalog.analysis.draft import ArgumentRange
from tidalog.api.block import Block
from tidalog.api.change import Change, delta_of, perform
from tidalog.api.database import Database
from tidalog.api.delta import Delta
from tidalog.api.diagnostics import bad_argument
from tidalog.api.evaluations import Evaluations
from tidalog.api.lock import Lock
from tidalog.api.maintenance import newly_explicit, no_longer_explicit
from tidalog.api.outcome import Outcome
from tidalog.api.progress import bar_for
from tidalog.api.subscriptions import Subscriptions
from tidalog.api.user_changes import moved_facts
from tidalog.builtins import PythonFunction
from tidalog.engine.limits import ProgressCallback
from tidalog.maintain.choose import Options
from tidalog.model.facts import Facts
from tidalog.model.rule_edit import RuleEdit
from tidalog.model.update import EncodedUpdate
from tidalog.storage.records import DELETE, INSERT, RULES, UPDATES
from tidalog.storage.segments import When


class Journal(Protocol):
    """What outlives the process."""

    def change(self, change: Change, when: When) -> AbstractContextManager[None]:
        """Surrounds a change: appends it to the log before, and its outcome after."""

    def as_one(self) -> AbstractContextManager[None]:
        """Surrounds changes that are applied as one."""

    def note(self, change: Change) -> None:
        """Called when a change is applied, before its outcome is logged."""

    def flush(self) -> None:
        """Called when a stream has ended."""


class NoJournal:
    """In memory nothing outlives the process."""

    def change(self, change: Change, when: When) -> AbstractContextManager[None]:
        return nullcontext()

    def as_one(self) -> AbstractContextManager[None]:
        return nullcontext()

    def note(self, change: Change) -> None:
        pass

    def flush(self) -> None:
        pass


class Axioms(Protocol):
    """What makes rules of axioms, which are triples."""

    def before(self, change: Change) -> Change:
        """The change with the rule edit that belongs to it."""

    def after(self, change: Change) -> RuleEdit:
        """The rule edit that is to follow a change."""

    def lost(self) -> None:
        """Called when a change was not applied, or is rolled back."""


class Changes:
    def __init__(
        self,
        opened: Callable[[], Database],
        lock: Lock,
        subscriptions: Subscriptions,
        options: Options,
        note: Callable[[Change], None],
        evaluations: Evaluations,
        emit: Callable[[], None],
    ) -> None:
        """`opened` raises if the knowledge base is closed; `note` gets every change that was applied; `emit`
        is called when continuous queries may have been evaluated."""
        self._evaluations, self._emit = evaluations, emit
        self.options = options
        self.journal: Journal = NoJournal()
        self.axioms: Axioms | None = None
        self._opened, self._lock, self._subscriptions, self._note = opened, lock, subscriptions, note
        self._block: Block | None = None
        """The block of changes that are applied as one."""

    # --- one change ---------------------------------------------------------------------------------

    def perform(
        self,
        change: Change,
        upcoming: Sequence[EncodedUpdate] = (),
        options: Options | None = None,
        progress: ProgressCallback | None = None,
        when: When = "now",
    ) -> Outcome:
        """Applies a change with the rule edit of its axioms, and notes it."""
        if self.axioms is None:
            return self._perform(change, upcoming, options, progress, when)
        try:
            outcome = self._perform(self.axioms.before(change), upcoming, options, progress, when)
        except BaseException:
            self.axioms.lost()
            raise
        if edit := self.axioms.after(change):
            self.edit_rules(edit)
        return outcome

    def _perform(
        self,
        change: Change,
        upcoming: Sequence[EncodedUpdate],
        options: Options | None,
        progress: ProgressCallback | None,
        when: When,
    ) -> Outcome:
        database, published = self._opened(), bool(self._subscriptions)
        now = database.is_checked or published or (change.load is not None and change.load.is_checked)
        now = now or self._evaluations.follow_changes
        if self._block is not None:
            self._block.begin()
        with self._emitting(), self._lock.at_work(), self.journal.change(change, when):
            outcome = perform(
                database,
                change,
                upcoming,
                options or self.options,
                progress,
                now=now and self._block is None,
                with_state_diff=published,
                evaluations=self._evaluations,
            )
            self._note(change)
            return outcome

    @contextmanager
    def _emitting(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self._block is None:
                self._emit()

    def publish(self, outcome: Outcome, *, derived: bool = True) -> Delta:
        """The delta of a change, which subscribers get if something was derived."""
        delta = delta_of(outcome, self._opened(), self._lock, derived=derived)
        if derived and self._block is None:
            self._subscriptions.publish(delta)
        return delta

    @contextmanager
    def as_one(self, progress: bool | None = None) -> Iterator[None]:
        """Surrounds changes that are applied as one."""
        around = self._block
        with_state_diff = around is None and bool(self._subscriptions)
        block = Block(self._opened(), self._lock, bar_for(progress), around, with_state_diff=with_state_diff)
        try:
            with self._evaluations.suspended(), self.journal.as_one(), block:
                self._block = block
                yield
        except BaseException:
            if self.axioms is not None:
                self.axioms.lost()
            raise
        finally:
            self._block = around
        if around is None and self._evaluations.follow_changes:
            with self._emitting(), self._lock.at_work():
                self._evaluations.changed()
        if block.changes:
            self.publish(self._opened().outcome_of(block.changes))

    def refuse_in_block(self, what: str) -> None:
        """Raises `UsageError` within a block of changes that are applied as one."""
        if self._block is not None:
            why = "if the block failed, it could not be undone"
            raise bad_argument(f"{what} is not possible within kb.as_one()", why, "do it after the block")

    # --- of each kind -------------------------------------------------------------------------------

    def at_time(self, moment: int | None) -> EncodedUpdate:
        """An update that moves windows to a time, unless they are past it; None: to that of the clock."""
        database = self._opened()
        if not database.has_time:
            problem, why = "nothing has a time", "the program has no windows, and no query has a period"
            raise bad_argument(problem, why, "write @window edge :- range 10s . before it")
        arrived = moment is None
        time = max(_clock() if moment is None else moment, database.windows.now)
        return EncodedUpdate(time=time, arrived=arrived)

    def _stamp(self, updates: Sequence[EncodedUpdate]) -> None:
        """Gives updates without a time that of their arrival, unless times come with the data."""
        database = self._opened()
        for update in updates if database.windows else ():
            database.read_time(update)
            if update.time is None and database.is_timed_by_arrival(update):
                update.time, update.arrived = max(database.windows.now, _clock()), True

    def _stamp_stored(self, update: EncodedUpdate) -> None:
        """The same for what is stored without deriving, once a time is known: before, it has the first."""
        if self._opened().windows.by_arrival:
            self._stamp([update])

    def maintain(
        self,
        updates: Sequence[EncodedUpdate],
        upcoming: Sequence[EncodedUpdate] = (),
        options: Options | None = None,
        progress: ProgressCallback | None = None,
        when: When = "now",
    ) -> Delta:
        """Applies updates as one."""
        self._stamp(updates)
        return self.publish(self.perform(Change(UPDATES, updates), upcoming, options, progress, when))

    def maintain_shown(
        self,
        updates: Sequence[EncodedUpdate],
        progress: bool | None = None,
        upcoming: Sequence[EncodedUpdate] = (),
    ) -> Delta:
        """The same, with a progress bar."""
        with bar_for(progress) as bar:
            return self.maintain(updates, upcoming, progress=bar.on_run)

    def insert(self, facts: Sequence[Facts], progress: bool | None) -> int:
        """Returns how many facts became explicit."""
        if self._is_maintained(sum(part.count for part in facts)):
            delta = self.maintain_shown([EncodedUpdate(insertions=[*facts])], progress)
            changes = {name: change.ids for name, change in delta.items()}
            moved = moved_facts(self._opened().analysis, changes)
            return sum(map(newly_explicit, changes.values())) - moved
        load = self._opened().plan_insertion(facts)
        update = EncodedUpdate(insertions=load.facts)
        self._stamp_stored(update)
        load.time = update.time
        return self.perform(Change(INSERT, [update], load)).new

    def delete(self, facts: Sequence[Facts], progress: bool | None) -> int:
        """Returns how many facts ceased to be explicit."""
        update = EncodedUpdate([part for part in facts if part.count])
        self._opened().check_arities(update.deletions)
        if self._is_maintained(sum(part.count for part in facts)):
            delta = self.maintain_shown([update], progress)
            return sum(no_longer_explicit(change.ids) for change in delta.values())
        self._stamp_stored(update)
        return self.perform(Change(DELETE, [update])).new

    def edit_rules(self, edit: RuleEdit) -> Delta:
        """Applies a rule edit as an update.  If nothing is derived yet, it only changes the program."""
        update = EncodedUpdate(rules=edit)
        if self._is_maintained(1):
            return self.maintain_shown([update])
        return self.publish(self.perform(Change(RULES, [update])), derived=False)

    def _is_maintained(self, rows: int) -> bool:
        """Whether this many facts are maintained, rather than everything derived again."""
        if not rows or self._block is not None:
            return False
        if self._subscriptions or self._evaluations.follow_changes:
            return True
        return self._opened().is_maintained(rows)

    def register(self, name: str, function: PythonFunction, arguments: ArgumentRange) -> None:
        """Registers a function, which is not logged.  Another one under a name changes what follows."""
        database, published = self._opened(), bool(self._subscriptions)
        self._evaluations.keep_answers()
        if self._block is not None:
            self._block.begin()
        elif name in database.environment.functions and (published or database.is_checked):
            with self._lock.at_work(), database.deriving(with_state_diff=published) as changes:
                database.register(name, function, arguments)
            if published:
                self.publish(database.outcome_of(changes))
            return
        database.register(name, function, arguments)


def _clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000
