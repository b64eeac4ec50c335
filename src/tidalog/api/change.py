"""One change of a database, and its delta.

A change is what the write-ahead log keeps.  Live changes and those of recovery both go through `perform`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tidalog.api.database import Database
from tidalog.api.delta import Delta, PredicateChange
from tidalog.api.evaluations import Evaluations
from tidalog.api.expired import expired_of
from tidalog.api.load import Load
from tidalog.api.lock import Lock
from tidalog.api.maintenance import DEFAULT
from tidalog.api.outcome import Outcome
from tidalog.api.rules import rule_changes
from tidalog.api.sources import ReadProgram
from tidalog.api.user_changes import change_of
from tidalog.engine.limits import ProgressCallback
from tidalog.maintain.choose import Options
from tidalog.model.lazy import LazyMapping
from tidalog.model.registered import NO_QUERIES
from tidalog.model.update import EncodedUpdate
from tidalog.storage.records import DELETE, INSERT, LOAD, QUERIES, RULES, UPDATES


@dataclass(frozen=True)
class Change:
    kind: str
    """LOAD, INSERT, DELETE, RULES, QUERIES or UPDATES, as in `storage.records`."""
    updates: Sequence[EncodedUpdate]
    """Several, applied as one, if the kind is UPDATES; else one."""
    load: Load | None = None
    """Of a load, an insertion or a change of continuous queries."""
    read: ReadProgram | None = None
    """Of a load: the program that was read."""
    digest: str = ""
    skipped: Counter[str] = field(default_factory=Counter)
    """Of a load: rows of data that are not facts, by predicate."""

    @property
    def name(self) -> str:
        """For messages."""
        return _NAMES[self.kind]


_NAMES = {
    LOAD: "loading",
    INSERT: "an insertion",
    DELETE: "a deletion",
    RULES: "a change of rules",
    QUERIES: "a change of queries",
    UPDATES: "an update",
}


def perform(
    database: Database,
    change: Change,
    upcoming: Sequence[EncodedUpdate] = (),
    options: Options = DEFAULT,
    progress: ProgressCallback | None = None,
    *,
    now: bool = False,
    with_state_diff: bool = False,
    evaluations: Evaluations | None = None,
) -> Outcome:
    """Applies a change to a database, whole or not at all.  `UPDATES` derive what follows; others only if it
    is to be done `now`, and say what changed only `with_state_diff`.  `evaluations` are those of
    continuous queries that are due."""
    if change.kind == UPDATES:

        def apply(updates: Sequence[EncodedUpdate], given: bool) -> Outcome:
            following = upcoming if given else ()
            return database.apply(updates, following, options=options, progress=progress)

        if evaluations is None or not database.registered:
            return apply(change.updates, True)
        return evaluations.applied(change.updates, apply)
    if evaluations is not None:
        evaluations.keep_answers()
    now, before = now or (change.kind == QUERIES and database.run is not None), database.registered
    outcome = _performed(database, change, options, progress, now=now, with_state_diff=with_state_diff)
    if evaluations is not None and change.kind == QUERIES:
        evaluations.registered(before)
    if evaluations is not None and database.registered and now:
        evaluations.changed(before if change.kind == QUERIES else NO_QUERIES)
    elif evaluations is not None:
        evaluations.note_changed()
    return outcome


def _performed(
    database: Database,
    change: Change,
    options: Options,
    progress: ProgressCallback | None,
    *,
    now: bool,
    with_state_diff: bool,
) -> Outcome:
    if not now:
        return _stored(database, change)
    if change.load is not None and database.can_maintain(change.load):
        return database.maintain_load(change.load, options, progress)
    with database.deriving(with_state_diff=with_state_diff, progress=progress) as changes:
        outcome = _stored(database, change)
    return database.outcome_of(changes, outcome.new) if with_state_diff else outcome


def _stored(database: Database, change: Change) -> Outcome:
    """Applies a change that derives nothing."""
    if change.load is not None:
        return Outcome(new=database.load(change.load))
    (update,) = change.updates
    if change.kind == RULES:
        return Outcome(rules=database.edit_rules(update.rules))
    return Outcome(new=database.delete(update))


def delta_of(outcome: Outcome, database: Database, lock: Lock, *, derived: bool = True) -> Delta:
    """The delta of an outcome.  It asks the database about predicates that did not change."""
    engine, analysis, changes = database.engine, database.analysis, outcome.changes
    dictionary, program = engine.dictionary, analysis.program

    removed = outcome.rules.removed if outcome.rules is not None else ()
    expired = expired_of(outcome.expired, analysis, changes, removed)

    def of_others(predicate: str) -> PredicateChange:
        name, change = lock.run(lambda: change_of(engine, analysis, changes, predicate))
        return PredicateChange(name, change, dictionary, program, expired)

    return Delta(
        LazyMapping(changes, lambda name: PredicateChange(name, changes[name], dictionary, program, expired)),
        of_others,
        outcome.counters,
        label=outcome.label,
        ignored=outcome.ignored,
        chosen=outcome.chosen,
        explicit_facts=outcome.explicit,
        implicit_facts=outcome.facts - outcome.explicit,
        updates=outcome.updates,
        rules=rule_changes(outcome.rules, program.prefixes) if outcome.rules is not None else None,
        derived=derived,
        uncomputed=outcome.uncomputed,
        violated=sorted(database.violated),
    )
