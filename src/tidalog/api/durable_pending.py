"""Batches of updates that are logged first and applied later, and who has been told of them.

An update of a batch is *logged*, then *applied*, then *acknowledged*: whoever wanted to know what it changed
has dealt with that.  A store that is opened again applies what was acknowledged and leaves the rest waiting,
so that its deltas are handed out once more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import overload

from tidalog.api.diagnostics import BadArgument
from tidalog.api.durable_labels import Content, Seen
from tidalog.api.durable_log import Logging, Position, SourceState, Waiting, as_one, checked_batch
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.api.lock import in_turn
from tidalog.api.maintenance import checked_options
from tidalog.api.update import Delta
from tidalog.api.updating import AnyUpdate
from tidalog.engine.limits import ProgressCallback
from tidalog.maintain.choose import Options
from tidalog.maintain.runner import Interrupted
from tidalog.model.errors import TidalogError, UsageError
from tidalog.model.update import EncodedUpdate, Label
from tidalog.storage import faults, records


class PendingUpdates(Sequence[Position]):
    """The updates that wait, in order, as they are when they are looked at."""

    def __init__(self, waiting: deque[Waiting]) -> None:
        self._waiting = waiting

    def __len__(self) -> int:
        return len(self._waiting)

    @overload
    def __getitem__(self, place: int, /) -> Position: ...
    @overload
    def __getitem__(self, place: slice, /) -> list[Position]: ...
    def __getitem__(self, place: int | slice, /) -> Position | list[Position]:
        if isinstance(place, slice):
            return [waiting.position for waiting in self._waiting][place]
        return self._waiting[place].position

    def __iter__(self) -> Iterator[Position]:
        return (waiting.position for waiting in self._waiting)

    def __repr__(self) -> str:
        return f"<{len(self):,} pending updates>"


class Pending(Logging):
    @in_turn
    def log_updates(
        self,
        updates: Iterable[AnyUpdate],
        *,
        source: str,
        batch: int,
        goes_on: bool = False,
        contents: Sequence[Content] | None = None,
    ) -> int | None:
        """Makes a batch of updates durable without applying it, and gives their number.

        `source` names where batches come from, such as the id of a streaming query; `batch` is the number of
        the batch, and numbers of a source ascend.  A batch that is there already, or is older than one that
        is, is a duplicate: nothing is logged, and None is given.

        With `goes_on` the first of them is no update of its own, but more of the last one that waits: they
        are applied as one.  `contents` tell the updates of a batch from others with the same labels, for
        `seen`.
        """
        checked_batch(source, batch)
        store = self._writable("a batch of updates")
        last = self.last_batch(source)
        if last is not None and batch <= last:
            return None
        prepared = [self._prepared(update) for update in updates]
        first = self._logged_to + 1
        header: dict[str, object] = {
            "kind": records.UPDATES,
            "number": first,
            "source": source,
            "batch": batch,
        }
        if goes_on:
            self._check_goes_on(prepared)
            header["goes on"] = True
        if contents is not None:
            header["contents"] = contents
        dictionary = self._open().engine.dictionary
        place = store.place
        labels = [update.label for update in prepared]
        record = records.changes_packed(header, prepared, dictionary)
        try:
            store.append([record], "now")
        finally:
            if store.place != place:  # it is in the log, whatever has come in between
                for number, update in enumerate(prepared, first):
                    position = Position(number, source, batch, number - first, update.label)
                    self._wait_for(position, update, place, number, goes_on and number == first)
                self._only_loaded = False
                self._note_batch(source, batch, self._logged_to, labels, contents)
        return len(prepared)

    def _check_goes_on(self, prepared: Sequence[EncodedUpdate]) -> None:
        last = self._waiting[-1] if self._waiting else None
        if last is None or last.until != last.position.number or not prepared:
            problem = "an update cannot go on"
            why = "there is no update that waits" if last is None else "it is being applied, or there is none"
            raise UsageError(BadArgument(problem=problem, why=why, hint="log it as an update of its own"))

    def _wait_for(
        self, position: Position, update: EncodedUpdate, place: tuple[str, int], until: int, goes_on: bool
    ) -> None:
        """An update that is in the log waits; one that goes on waits with what there is of it."""
        if goes_on and self._waiting:
            self._waiting.append(self._waiting.pop().going_on(position, update))
            self._waiting[-1].until = until
        else:
            self._waiting.append(Waiting(position, update, position.number, place, until))
        self._logged_to = position.number

    def _note_batch(
        self,
        source: str,
        batch: int,
        last: int,
        labels: Sequence[Label | None],
        contents: Sequence[Content] | None,
    ) -> None:
        self.last_applied(source)  # which forgets of batches what is not needed any more
        state = self._sources.setdefault(source, SourceState(batch))
        state.logged = batch
        state.open.append((batch, last))
        for place, label in enumerate(labels):
            if label is not None:
                state.label = self._last_label = label
                self._known_labels.note(label, contents[place] if contents is not None else None)

    # --- what is known of sources -------------------------------------------------------------------

    @property
    @in_turn
    def pending(self) -> PendingUpdates:
        """The updates that are logged and not applied, in order."""
        self._open()
        return PendingUpdates(self._waiting)

    @property
    @in_turn
    def pending_rules(self) -> list[str]:
        """The texts of rules that these updates add."""
        self._open()
        return [text for waiting in self._waiting for text, _ in records.edit_packed(waiting.update.rules)[0]]

    @in_turn
    def last_batch(self, source: str) -> int | None:
        """The last batch of a source that is logged."""
        self._open()
        state = self._sources.get(source)
        return state.logged if state is not None else None

    @in_turn
    def last_applied(self, source: str) -> int | None:
        """The last batch of a source all of whose updates are applied or were refused."""
        self._open()
        state = self._sources.get(source)
        if state is None:
            return None
        while state.open and state.open[0][1] <= self._applied_to:
            state.applied = state.open.popleft()[0]
        return state.applied

    @in_turn
    def last_label(self, source: str | None = None) -> Label | None:
        """The label of the last update of a source, or of all sources, that is logged and has one."""
        self._open()
        if source is None:
            return self._last_label
        state = self._sources.get(source)
        return state.label if state is not None else None

    @in_turn
    def seen(self, label: Label, content: Content) -> Seen | None:
        """Whether an update with this label has come in a batch, and with this content; None if nobody knows
        any more, for labels are not remembered for ever."""
        self._open()
        return self._known_labels.seen(label, content)

    @property
    @in_turn
    def sources(self) -> tuple[str, ...]:
        """Where batches have come from."""
        self._open()
        return tuple(self._sources)

    @property
    @in_turn
    def applied_number(self) -> int:
        """The number of the last change that is carried out, or was refused."""
        self._open()
        return self._applied_to

    # --- applying -----------------------------------------------------------------------------------

    def apply_pending(
        self,
        *,
        keep: int = 0,
        look_ahead: int = 1,
        latest_only: bool = False,
        acknowledge: bool = True,
        strategy: str | None = None,
        marking: str | None = None,
        order: str | None = None,
        progress: ProgressCallback | None = None,
    ) -> Iterator[tuple[Position, Delta]]:
        """Applies updates that wait, in order, and gives the position and the delta of each as far as it is
        asked for.

        The last `keep` of them stay, to be looked at in advance when more have come.  `look_ahead`,
        `latest_only`, `strategy`, `marking`, `order` and `progress` are those of `stream`; of updates that
        are applied as one, the position is that of the last.

        With `acknowledge=False` an update counts as done only when `acknowledge` says so; until then it waits
        again after the store is opened anew.  An update that violates a constraint or goes beyond a limit
        raises, is refused for good, and the next call goes on behind it; one that was interrupted waits
        still.
        """
        usual = self._options
        options = checked_options(
            strategy if strategy is not None else usual.strategy,
            marking if marking is not None else usual.marking,
            order if order is not None else usual.order,
            look_ahead,
        )
        if isinstance(keep, bool) or not isinstance(keep, int) or keep < 0:
            problem = f"keep={keep!r} is no number of updates"
            raise UsageError(BadArgument(problem=problem, why="it is 0 or more", hint="write keep=1"))
        self._writable("applying updates")
        return self._all_pending(keep, options, latest_only, acknowledge, progress)

    def _all_pending(
        self,
        keep: int,
        options: Options,
        latest_only: bool,
        acknowledge: bool,
        progress: ProgressCallback | None,
    ) -> Iterator[tuple[Position, Delta]]:
        while (done := self._apply_next(keep, options, latest_only, acknowledge, progress)) is not None:
            yield done

    @in_turn
    def _apply_next(
        self,
        keep: int,
        options: Options,
        latest_only: bool,
        acknowledge: bool,
        progress: ProgressCallback | None,
    ) -> tuple[Position, Delta] | None:
        store = self._writable("applying updates")
        count = self._next_count(keep, latest_only)
        if not count:
            return None
        in_sight = list(islice(self._waiting, count + options.look_ahead))
        taken, following = in_sight[:count], in_sight[count:]
        first, last = taken[0].first, taken[-1].position
        if count > 1 and taken[0].until != last.number:
            # Before it is applied: after a crash the same updates are to be one change again.
            store.append([as_one(first, last.number)], "now")
            for waiting in taken:
                waiting.until = last.number
        try:
            delta = KnowledgeBase._made(
                self,
                [waiting.update for waiting in taken],
                [waiting.update for waiting in following],
                options,
                progress,
            )
        except TidalogError as error:
            if not any(isinstance(diagnostic, Interrupted) for diagnostic in error.diagnostics):
                self._reject(first, last.number, error)
                self._drop(count)
                if not self._handed:
                    self._mark_done()
            raise
        faults.at("applied")
        self._drop(count)
        self._applied_to = last.number
        if acknowledge and not self._handed:
            self._mark_done()
        else:
            self._handed.append((first, last.number))
        self._subscriptions.tell(delta)
        return last, delta

    def _next_count(self, keep: int, latest_only: bool) -> int:
        """How many updates are applied next, as one."""
        free = len(self._waiting) - keep
        if free <= 0:
            return 0
        first = self._waiting[0]
        if first.until != first.position.number:  # once begun as one, they stay one
            return sum(waiting.position.number <= first.until for waiting in self._waiting)
        if not latest_only or first.update.changes_rules:
            return 1
        facts_alone = takewhile(lambda waiting: not waiting.update.changes_rules, self._waiting)
        return min(free, sum(1 for _ in facts_alone))

    def _drop(self, count: int) -> None:
        for _ in range(count):
            self._waiting.popleft()

    @in_turn
    def acknowledge(self, position: Position | None = None) -> None:
        """What updates up to a position changed, or all that were handed out, has been dealt with: they will
        not be handed out again."""
        self._writable("an acknowledgement")
        number = self._applied_to if position is None else position.number
        if number > self._applied_to:
            problem = f"update {number:,} cannot be acknowledged"
            hint = "acknowledge positions that kb.apply_pending has given"
            raise UsageError(BadArgument(problem=problem, why="it is not applied yet", hint=hint))
        if self._handed and self._handed[0][1] <= number:
            while self._handed and self._handed[0][1] <= number:
                self._handed.popleft()
            self._mark_done()
