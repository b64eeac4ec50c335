"""A bucket: one database for many keys.

Invariant.  After every batch the facts of a key are those that an engine of its own would have after the same
updates.  `keys` has every known key, and each of them has its fact of the predicate of keys.

An update of a key that violates a constraint is rolled back by its inverse.  That touches no other key, for
the facts of a key depend only on its own explicit facts and on the rules.

Rules change for all keys at once, in a sub-batch of their own (rules.py).  Updates with the label of an edit
that is refused are refused with it.  An edit that makes a key violate a constraint ends the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalog.api.encoded_update import net_update
from tidalog.api.expired import reached, uncertain_heads
from tidalog.api.relations import explicit_rows
from tidalog.api.timed_changes import times_of
from tidalog.api.transitions import inverse
from tidalog.engine.engine import EmbeddedEngine
from tidalog.keyed.acceptance import Acceptance
from tidalog.keyed.batches import Numbers, SubBatches, codes_of, ranks_of, split_batch
from tidalog.keyed.bucket_records import Noted, packed_record, read_record
from tidalog.keyed.changes import NOTHING_EXPIRED, ExpiredOfKeys, KeyedChanges, ended_keys, plain_texts
from tidalog.keyed.config import BucketConfig
from tidalog.keyed.declared_rows import fitting_rows, late_notes
from tidalog.keyed.keys import KeyTable
from tidalog.keyed.outcome import BatchOutcome, Clock, Collected
from tidalog.keyed.rollback import update_without
from tidalog.keyed.routing import sub_batches
from tidalog.keyed.row_times import UpdateTimes, times_of_rows, times_of_updates
from tidalog.keyed.rule_edits import PlannedEdit, Refusal, plan_edits, refuse_violated, with_learnt
from tidalog.keyed.rules import EditRows, Rules, edits_in
from tidalog.keyed.window_states import NO_KEYS, NO_ROWS, KeyTimes
from tidalog.keyed.windows import KeyedPlan, KeyedWindows, WindowsRecord
from tidalog.maintain.transaction import PredicateDelta
from tidalog.model.facts import Facts, Ids
from tidalog.model.rule_edit import NO_EDIT, RuleEdit
from tidalog.model.update import EncodedUpdate
from tidalog.model.window_times import START
from tidalog.storage.diagnostics import damaged_state
from tidalog.storage.records import UNDECODABLE

Mask = npt.NDArray[np.bool_]
Delta = Mapping[str, PredicateDelta]


class Bucket:
    def __init__(self, config: BucketConfig) -> None:
        self.config = config
        self.keys = KeyTable.empty(config.text_labels)
        self.rules = Rules(config)
        self.database = self.rules.database()
        own_times = config.time_arguments, lambda ids: times_of(self.engine.dictionary, ids)
        self.windows = KeyedWindows(config.windows, config.late, own_times)
        self._acceptance = Acceptance(self)
        self._shared = config.shared_facts(self.engine.dictionary)
        self._uncertain: frozenset[str] = frozenset()
        """Predicates that depend on a rule that negates or aggregates."""

    def _note_uncertain(self) -> None:
        analysis = self.database.analysis
        self._uncertain = reached(analysis, uncertain_heads(analysis))

    # --- a batch ------------------------------------------------------------------------------------

    def apply(
        self,
        table: pa.Table,
        now: int,
        rules: pa.Table | None = None,
        doubtful: pa.Table | None = None,
        until: int | None = None,
    ) -> BatchOutcome:
        """Applies the valid rows of a batch: `key`, `op`, `predicate`, `arg1` …, and `update` if there are
        labels.  `now` is the time of the batch.  `rules` are rows about rules, which have no key.  `doubtful`
        rows, with their faults under BAD, are valid if a rule edit adds their predicates.  For windows, rows
        have times under TIME, and `until` is the time of the stream after the batch."""
        edit_rows = edits_in(rules, self.rules.label) if rules is not None else EditRows()
        changes = plan_edits(self.rules, edit_rows)
        table, bad = with_learnt(table, doubtful, self.rules)
        table, unfit = fitting_rows(table, self.config.declarations)
        bad = [*bad, *unfit]
        dictionary = self.engine.dictionary
        moves = until is not None and until > self.windows.now
        keys = dictionary.encode(table.column("key"), "string")
        moments = times_of_rows(table) if self.windows and self.config.labels is None else None
        labels = self._labels(table, keys, moments)
        new = self.keys.later(keys, labels) if table.num_rows else np.empty(0, np.bool_)
        order = self._order(keys, labels, new, changes)
        of_updates = labels.take(pa.array(order.rows[order.firsts]))
        work = Collected(KeyedChanges(self.config, dictionary, order, of_updates), of_updates)
        self.windows.begin(len(dictionary))
        self._note_uncertain()
        oldest, times = times_of_updates(table, keys, order, by_facts=bool(self.config.time_arguments))
        self._add_keys(np.unique(order.keys), work)
        changing = dict(zip(order.rule_edits.tolist(), changes, strict=True))
        for number, update in enumerate(sub_batches(table, keys, order, self.config, dictionary)):
            update, own = self._on_time(number, update, (oldest, times), order, work)
            if number in changing:
                self._apply_rule_edit(changing[number], number, update, own, order, work)
                self._note_uncertain()
            else:
                self._apply_facts(number, update, own, order, work)
        noted, last = order.last_updates()
        self.keys.note(noted, of_updates.take(pa.array(last)), np.full(len(noted), now, np.int64))
        if self.windows:
            self._advance(self.windows.now if until is None else max(until, self.windows.now), work)
        gone = self._expire(now, work)
        refused = [number for numbers, _ in work.refused for number in numbers.tolist()]
        with_rules = [number for number, change in changing.items() if change.why is not None]
        of_rows = order.update_of(keys[order.rows], order.sub_batch)
        late_rows = np.isin(of_rows, list(work.late))
        refused_rows = (np.isin(order.sub_batch, with_rules) | np.isin(of_rows, refused)) & ~late_rows
        late = of_rows[late_rows].tolist()
        now_of_late = [work.late[update] for update in late]
        bad += late_notes(table, order.rows[late_rows], oldest[late].tolist(), now_of_late)
        without = np.isin(order.sub_batches, with_rules)
        without[[*refused, *work.late]] = True
        done = int(np.count_nonzero(~without))
        return BatchOutcome(
            work.changes.table(),
            work.refusals(order, dictionary),
            work.overdue_of(self.keys, dictionary),
            self._record(
                noted,
                gone,
                work.applied,
                self.windows.taken_changes(),
                self.rules.header() if changes else {},
            ),
            table.num_rows - int(np.count_nonzero(late_rows)),
            done,
            order.skipped,
            int(refused_rows.sum()),
            len(gone),
            bad,
            bool(changes),
            (
                edit_rows.rows,
                edit_rows.skipped,
                sum(change.rows for change in changes if change.why is not None),
            ),
            work.refused_rules,
            work.changes.counts,
            work.changes.expired,
            moves,
            Clock(self.windows.now, self.windows.next_expiry) if self.windows else None,
        )

    def _order(self, keys: Ids, labels: pa.Array, new: Mask, changes: Sequence[PlannedEdit]) -> SubBatches:
        if not changes:
            return split_batch(keys, codes_of(labels), new)
        if self.config.labels is None:  # then the edit is part of the first update of each key in the batch
            last = pc.fill_null(self.keys.last_labels(keys), 0)
            return split_batch(keys, codes_of(pc.subtract(labels, last)), new, np.ones(1, np.int64))
        own = pa.array([change.label for change in changes], labels.type)
        codes = codes_of(pa.concat_arrays([labels, own]))
        return split_batch(keys, codes[: len(keys)], new, codes[len(keys) :])

    def _labels(self, table: pa.Table, keys: Ids, moments: Numbers | None) -> pa.Array:
        """Without labels, updates of a key are numbered: one for a batch, or for each of its times."""
        if self.config.labels is None:
            ranks = 1 if moments is None else pa.array(ranks_of(keys, moments))
            return pc.add(pc.fill_null(self.keys.last_labels(keys), 0), ranks)
        labels = table.column("update").combine_chunks()
        return labels.cast(pa.string() if self.config.text_labels else pa.int64())

    def _add_keys(self, keys: Ids, work: Collected) -> None:
        """New keys get the facts of the program, before their first update."""
        new = keys[self.keys.positions(keys) < 0]
        if not len(new):
            return
        first = EncodedUpdate(insertions=self.config.first_facts(new, self._shared))
        plan = self.windows.plan(first, self.windows.times_at(new, np.full(len(new), START)))
        work.changes.add_first(self.maintained(plan.update, work))
        self.windows.commit(plan)

    def _apply_facts(
        self, number: int, update: EncodedUpdate, times: KeyTimes, order: SubBatches, work: Collected
    ) -> None:
        plan = self.windows.plan(update, times)
        delta, plan, violated = self._acceptance.accepted(plan, update, work)
        self._refuse(number, *violated, order, work)
        work.changes.add(number, delta, self._expired(plan, delta))

    def _expired(self, plan: KeyedPlan, delta: Mapping[str, PredicateDelta] | None = None) -> ExpiredOfKeys:
        """What expires by a plan: derived facts too, except those of keys with deletions that their predicate
        depends on, unless a rule that it depends on negates or aggregates, or rules were changed."""
        if not plan.expired:
            return NOTHING_EXPIRED
        if delta is None:
            return ExpiredOfKeys(plan.expired)
        ended = {
            name: keys
            for name, change in delta.items()
            if len(keys := ended_keys(name, change, plan.expired))
        }
        others = np.unique(np.concatenate([np.empty(0, np.int32), *ended.values()]))
        return ExpiredOfKeys(plan.expired, others, reached(self.database.analysis, ended), self._uncertain)

    def _refuse(self, number: int, keys: Ids, names: Ids, order: SubBatches, work: Collected) -> None:
        """Refuses the updates of keys in a sub-batch, which violate the constraints with these names."""
        if len(keys):
            updates = order.update_of(keys, np.full(len(keys), number))
            work.refused.append((updates, plain_texts(self.engine.dictionary, names).to_pylist()))

    # --- rules --------------------------------------------------------------------------------------

    def _apply_rule_edit(
        self,
        change: PlannedEdit,
        number: int,
        update: EncodedUpdate,
        times: KeyTimes,
        order: SubBatches,
        work: Collected,
    ) -> None:
        """Applies a sub-batch in which rules change."""
        own = order.sub_batches == number
        own[list(work.late)] = False
        updated = order.keys[own]
        if change.why is not None:
            work.refused_rules.append(Refusal(None, change.label, change.why))
            keys = plain_texts(self.engine.dictionary, updated).to_pylist()
            labels = work.labels.take(pa.array(np.flatnonzero(own))).to_pylist()
            work.refused_rules += [
                Refusal(key, label, change.why) for key, label in zip(keys, labels, strict=True)
            ]
            return
        plan, judge = self.windows.plan(update, times), self._acceptance
        delta = self.maintained(plan.update, work, change.keyed.edit)
        keys, names = judge.violated_in(delta)
        if len(keys):
            mine = np.isin(keys, updated)
            # Undo everything and apply it again without the updates of these keys: that is the net change.
            self.maintain(inverse(delta), change.keyed.inverse)
            if times.move:
                work.applied.pop()
                self._pass(number, times, work)
                now = self.windows.times_at(times.keys, times.at)
                self._apply_rule_edit(change, number, update, now, order, work)
                return
            plan = judge.without(plan, update, np.unique(keys[mine]), work)
            delta = self.maintain(plan.update, change.keyed.edit)
            refuse_violated(self.engine.dictionary, *judge.violated_in(delta), change)
            self._refuse(number, keys[mine], names[mine], order, work)
        work.changes.add_change(number, delta, change.label, self.keys, self._expired(plan))
        self.windows.commit(plan)

    # --- windows ------------------------------------------------------------------------------------

    def _on_time(
        self, number: int, update: EncodedUpdate, found: UpdateTimes, order: SubBatches, work: Collected
    ) -> tuple[EncodedUpdate, KeyTimes]:
        """A sub-batch without the updates that come too late, and the times of the others."""
        own, (oldest, times) = np.flatnonzero(order.sub_batches == number), found
        if not self.windows:
            return update, NO_KEYS
        late = self.windows.late_among(order.keys[own], oldest[own])
        if late.any():
            update = update_without(update, order.keys[own[late]])
            now = self.windows.times_of(order.keys[own[late]])
            work.late |= dict(zip(own[late].tolist(), now.tolist(), strict=True))
            own = own[~late]
        return update, self.windows.times_at(order.keys[own], times[own])

    def _advance(self, until: int, work: Collected) -> None:
        """All keys move to the time of the stream."""
        windows = self.windows
        times = windows.times_after(self.keys.ids, until)
        plan = windows.plan(EncodedUpdate(), times)
        if plan.expired:
            delta = self.maintained(plan.update, work)
            work.overdue.append(self._acceptance.violated_in(delta))
            labels = self._at_least(self.keys.last_labels(times.keys))
            work.changes.add_last(delta, times.keys, labels, self._expired(plan, delta))
        windows.commit(plan)
        windows.end(until, self.keys.ids)

    def _pass(self, number: int, times: KeyTimes, work: Collected) -> None:
        """Keys move to the times that they have after an update, before it is applied."""
        plan = self.windows.plan(EncodedUpdate(), self.windows.alone(times))
        delta = self.maintained(plan.update, work)
        work.overdue.append(self._acceptance.violated_in(delta))
        work.changes.add(number, delta, self._expired(plan, delta))
        self.windows.commit(plan)

    # --- keys that expire ---------------------------------------------------------------------------

    def _expire(self, now: int, work: Collected) -> Ids:
        if self.config.ttl is None:
            return NO_ROWS
        gone = self.keys.expired(now - self.config.ttl)
        if len(gone):
            labels = self._at_least(self.keys.last_labels(gone))
            delta = self.maintained(EncodedUpdate(tuple(self._facts_of(gone)), ()), work)
            work.changes.add_last(delta, gone, labels)
            self.keys.forget(gone)
            self.windows.forget(gone)
        return gone

    def _at_least(self, labels: pa.Array) -> pa.Array:
        """The labels of keys, or that of the last rule edit if higher: it was an update of theirs too."""
        last = self.rules.label
        if last is None:
            return labels
        return pc.if_else(
            pc.greater(labels, pa.scalar(last, labels.type)), labels, pa.scalar(last, labels.type)
        )

    def _facts_of(self, keys: Ids) -> Iterator[Facts]:
        """All explicit facts of some keys."""
        for batch in self._explicit():
            mine = np.isin(batch.columns[0], keys)
            if mine.any():
                yield Facts(batch.predicate, [column[mine] for column in batch.columns], int(mine.sum()))

    def _explicit(self) -> Iterator[Facts]:
        return (facts for facts in explicit_rows(self.engine, self.database.analysis.triples) if facts.count)

    # --- the engine ---------------------------------------------------------------------------------

    def maintained(self, update: EncodedUpdate, work: Collected, edit: RuleEdit = NO_EDIT) -> Delta:
        work.applied.append(update)
        return self.maintain(update, edit)

    def maintain(self, update: EncodedUpdate, edit: RuleEdit = NO_EDIT) -> Delta:
        return self.database.apply([replace(update, rules=edit)]).changes

    @property
    def engine(self) -> EmbeddedEngine:
        return self.database.engine

    # --- records and snapshots -----------------------------------------------------------------------

    def _record(
        self,
        keys: Ids,
        gone: Ids,
        applied: list[EncodedUpdate],
        windows: WindowsRecord | None,
        rules: Mapping[str, object],
    ) -> bytes:
        """`keys` are those with updates, or all; `windows` and `rules` are what has changed of these."""
        positions = self.keys.positions(keys)
        known = positions >= 0
        keys, positions = keys[known], positions[known]
        noted = Noted(keys, self.keys.labels.take(pa.array(positions)), self.keys.seen[positions])
        return packed_record(noted, gone, applied, windows, rules, self.engine.dictionary)

    def snapshot(self, keys: Ids | None = None) -> bytes:
        """A record that restores this bucket from an empty one, or a bucket with some of its keys.

        Unlike the snapshot of a store it has explicit facts only: it must be small, for Spark copies it, and
        its keys may go to other buckets, whose ids are different.
        """
        batches = self._explicit() if keys is None else self._facts_of(keys)
        own = self.keys.ids if keys is None else keys
        facts = EncodedUpdate(insertions=list(batches))
        return self._record(own, NO_ROWS, [facts], self.windows.everything(keys), self.rules.header())

    def restore(self, record: bytes) -> None:
        """Applies what a batch did, or loads a snapshot."""
        database = self.database
        found = read_record(record, database.dictionary)
        updates = found.updates
        self.windows.forget(found.forgotten)
        if found.windows is not None:
            try:
                self.windows.load(*found.windows)
            except UNDECODABLE as error:
                raise damaged_state(f"windows of a record cannot be restored ({error})") from error
        edit = self.rules.restore(found.header)
        if database.run is None and not any(update.deletions for update in updates):
            facts = [facts for update in updates for facts in update.insertions]
            database.load(database.plan_insertion(facts))
            if edit:
                database.edit_rules(edit)
        elif updates or edit:
            self.maintain(net_update(updates), edit)
        noted = found.noted
        order = np.argsort(noted.keys)
        self.keys.forget(found.forgotten)
        self.keys.note(noted.keys[order], noted.labels.take(pa.array(order)), noted.seen[order])

    @property
    def garbage(self) -> float:
        """The share of terms that no explicit fact has."""
        used = np.zeros(len(self.engine.dictionary), np.bool_)
        for batch in self._explicit():
            for column in batch.columns:
                used[column] = True
        return 1.0 - float(used.mean()) if len(used) else 0.0
