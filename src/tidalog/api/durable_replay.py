"""What the log says, done again.

Every change up to the last one that is done is carried out or passed over as it was then.  Behind that there
is at most one change that was being carried out when the writer ended, or updates of batches, which wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from tidalog.api.durable_log import Position, together
from tidalog.api.durable_pending import Pending
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.api.sources import joined
from tidalog.lang import parse
from tidalog.maintain.materialise import Violated
from tidalog.model.errors import ProgramError, RunError, StoreError, TidalogError
from tidalog.model.update import EncodedUpdate
from tidalog.storage import records
from tidalog.storage.diagnostics import NotReplayed
from tidalog.storage.records import Record
from tidalog.storage.wal import Entry

Unfinished = Literal["apply", "reject"]


@dataclass
class Marks:
    """What the log says about changes."""

    done: int = 0
    rejected: set[int] = field(default_factory=set)
    last_of: dict[int, int] = field(default_factory=dict)
    """The last update of those that an update is one change with."""

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Marks:
        marks = cls()
        begun: dict[int, int] = {}
        """The first part of an update that goes on, by the number of its last."""
        for entry in entries:
            record = entry.record
            if record.goes_on:
                first = begun.pop(record.first - 1, record.first - 1)
                begun[record.first] = first
                marks.last_of.update(dict.fromkeys(range(first, record.first + 1), record.first))
            if record.kind == records.DONE:
                marks.done = max(marks.done, record.integer("number"))
            elif record.kind == records.REJECTED:
                marks.rejected.update(range(record.integer("first"), record.integer("last") + 1))
            elif record.kind == records.AS_ONE:
                first, last = record.integer("first"), record.integer("last")
                marks.last_of.update(dict.fromkeys(range(first, last + 1), last))
        return marks


class Replaying(Pending):
    def _replay(self, entries: Sequence[Entry], unfinished: Unfinished, has_writer: bool) -> int:
        """Carries out what the log says behind `_applied_to` and gives the number of changes.  With a
        writer at work, a change that is not done is its business."""
        marks = Marks.of(entries)
        gathered: list[EncodedUpdate] = []
        count = 0
        for entry in entries:
            record = entry.record
            if record.kind not in records.CHANGES:
                continue
            if record.source is not None:
                known = self.last_batch(record.source)
                if known is None or record.batch > known:
                    self._note_batch(record.source, record.batch, record.last, record.labels, record.contents)
            if record.last <= self._applied_to:
                continue
            changes = records.changes_of(record, self._open().engine.dictionary)
            if not record.has_updates:
                if record.first in marks.rejected:
                    self._applied_to = self._logged_to = record.first
                    continue
                if record.first > marks.done and has_writer:
                    break
                carry_out = partial(self._redo, record, changes[0])
                self._again(record.first, marks, unfinished, carry_out, record.kind == records.RULES)
                count += 1
                continue
            for index, change in enumerate(changes):
                number = record.first + index
                if number <= self._applied_to:
                    continue
                if number in marks.rejected:
                    self._applied_to = self._logged_to = number
                    continue
                last = marks.last_of.get(number, number)
                if record.source is not None and last > marks.done:
                    self._wait(entry, index, change, last)
                    continue
                if last > marks.done and has_writer:
                    return count
                update = change
                if record.goes_on and index == 0 and gathered:
                    gathered[-1] = together(gathered[-1], update)
                else:
                    gathered.append(update)
                if number < last:
                    continue
                now, gathered = gathered, []
                self._again(number, marks, unfinished, partial(self._apply_again, now), True)
                count += len(now)
        return count

    def _wait(self, entry: Entry, index: int, change: EncodedUpdate, last: int) -> None:
        record = entry.record
        assert record.source is not None
        position = Position(record.first + index, record.source, record.batch, index, change.label)
        place = entry.segment, entry.offset
        self._wait_for(position, change, place, last, record.goes_on and index == 0)
        self._only_loaded = False

    # --- one change ---------------------------------------------------------------------------------

    def _again(
        self,
        number: int,
        marks: Marks,
        unfinished: Unfinished,
        carry_out: Callable[[], None],
        changes_rules: bool,
    ) -> None:
        """Carries a change out that ended well, or was being carried out when the writer ended.  If it may
        change rules, the writer may have been about to refuse them."""
        is_done = number <= marks.done
        first = self._logged_to + 1
        self._logged_to = number
        if not is_done and unfinished == "reject" and self._store is not None:
            self._reject(first, number, RuntimeError("the writer ended before it was carried out"))
            return
        try:
            carry_out()
        except TidalogError as error:
            if isinstance(error, ProgramError):
                refused = changes_rules and all(found.number != "T018" for found in error.diagnostics)
            else:
                refused = isinstance(error, RunError) and all(
                    isinstance(found, Violated) for found in error.diagnostics
                )
            if is_done or not refused:
                raise self._not_replayed(number, is_done, error) from error
            if self._store is not None:
                self._reject(first, number, error)
        self._applied_to = number

    def _not_replayed(self, number: int, is_done: bool, error: TidalogError) -> StoreError:
        found = error.diagnostics[0]
        if isinstance(error, RunError):
            hint = "open the store with higher limits"
            if not is_done:
                hint += ', or with unfinished="reject" if this change, which was never finished, is to go'
        elif found.number == "T018":
            hint = "its rules call Python functions: tidalog.open(path, functions={name: function})"
            if not is_done:
                hint += ', or unfinished="reject" if this change, which was never finished, is to go'
        else:
            hint = "open the store with the version that wrote it"
        return StoreError(NotReplayed(path=self.path, number=number, why=found.message, hint=hint))

    def _apply_again(self, updates: Sequence[EncodedUpdate]) -> None:
        KnowledgeBase._made(self, updates, (), self._options, None)
        self._only_loaded = False

    def _redo(self, record: Record, change: EncodedUpdate) -> None:
        if record.kind == records.LOAD:
            self._load_again(record, change)
            return
        if record.kind == records.INSERT:
            contents = self._open()
            taken = contents.change(contents.program, contents.setting)
            for facts in change.insertions:
                taken.add_rows(facts)
            _, outdated = contents.take(taken)
            if outdated:
                self._outdate()
        elif record.kind == records.RULES:
            self._take_in_rules(change.rules)
        else:
            KnowledgeBase._taken_away(self, change.deletions)
        self._only_loaded = False

    def _load_again(self, record: Record, change: EncodedUpdate) -> None:
        contents = self._open()
        program = parse(record.text("text"), record.text("name"))
        given = dict(
            records.terms_of(record.sequence("parameters"), record.arrays, contents.engine.dictionary)
        )
        setting = replace(contents.setting, parameters={**contents.setting.parameters, **given})
        taken = contents.change(joined(contents.program, program), setting)
        for facts in change.insertions:
            taken.add_rows(facts)
        _, outdated = contents.take(taken)
        if outdated:
            self._outdate()
        folder = Path(record.text("folder"))
        bound = [(binding, folder) for binding in program.exports]
        self._exports += [export for export in bound if export not in self._exports]
        self._programs.append(record.text("digest"))
