"""Streams of updates: from Python, from files, from a source that others fill."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Final, Protocol, TypeGuard, runtime_checkable

from tidalog.api.core import bar_for
from tidalog.api.diagnostics import BadArgument
from tidalog.api.encoded_update import encoded_updates
from tidalog.api.lock import in_turn
from tidalog.api.maintenance import checked_options
from tidalog.api.naming import check_on_error
from tidalog.api.ruling import Ruling
from tidalog.api.update import Delta, Update
from tidalog.api.update_files import UpdateList, UpdatePath, read_updates
from tidalog.api.updating import AnyUpdate
from tidalog.engine.limits import ProgressCallback
from tidalog.io.result import OnError
from tidalog.io.update_tables import UpdateTable
from tidalog.maintain.choose import Options
from tidalog.model.errors import UsageError
from tidalog.model.update import EncodedUpdate
from tidalog.stream import IteratorSource, ListSource, Source

Updates = (
    Iterable[AnyUpdate] | Source[AnyUpdate] | Source[Update] | Source[EncodedUpdate] | UpdatePath | Update
)
_MANY: Final = 1 << 20
"""Waiting updates that are made one at most."""


@runtime_checkable
class _IsSource(Protocol):
    def next(self) -> object: ...

    def peek(self, count: int) -> object: ...

    def wait(self, seconds: float, count: int = 1) -> None: ...


class Streaming(Ruling):
    @in_turn
    def read_updates(
        self,
        paths: UpdatePath | Sequence[UpdatePath],
        *,
        on_error: OnError = "error",
        quarantine: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> UpdateList:
        """The updates of scripts (`.upd`), update tables, folders of them, or several of these, for this
        knowledge base to apply.  Nothing is applied yet.

        Rows of tables that say nothing right are an error, or with `on_error="skip"` are counted and written
        to the file `quarantine`.
        """
        check_on_error(on_error)
        contents = self._open()
        with bar_for(progress) as bar:
            return read_updates(
                [paths] if isinstance(paths, str | os.PathLike) else paths,
                contents.engine.dictionary,
                contents.program.prefixes,
                on_error=on_error,
                quarantine=Path(quarantine) if quarantine is not None else None,
                progress=bar.on_read("updates"),
            )

    @in_turn
    def prepare_updates(self, table: UpdateTable) -> list[EncodedUpdate]:
        """The updates of a table in memory, for this knowledge base to apply.  Nothing is applied yet."""
        contents = self._open()
        return encoded_updates(table, contents.engine.dictionary, contents.program.prefixes)

    def stream(
        self,
        updates: Updates | Sequence[UpdatePath],
        *,
        look_ahead: int = 1,
        look_ahead_wait: float = 0.0,
        latest_only: bool = False,
        strategy: str | None = None,
        marking: str | None = None,
        order: str | None = None,
        on_error: OnError = "error",
        quarantine: str | os.PathLike[str] | None = None,
        progress: ProgressCallback | None = None,
    ) -> Iterator[Delta]:
        """Applies updates one after the other and gives the delta of each, as far as it is asked for.

        `updates` are updates, the path of a script or an update table, several paths, a folder, or a
        `tidalog.stream.Source`.  Up to `look_ahead` updates that are waiting already are looked at while one
        is applied, which saves work; they are waited for only if `look_ahead_wait` says how many seconds.
        With `latest_only` all that wait are applied as one, up to the next that changes rules: the state
        afterwards is the same.

        An update that fails raises, all as it was before this update, and the stream ends.  `strategy`,
        `marking` and `order` are those of `tidalog.open` unless they are given; `progress` is called while an
        update is at work.
        """
        usual = self._options
        options = checked_options(
            strategy if strategy is not None else usual.strategy,
            marking if marking is not None else usual.marking,
            order if order is not None else usual.order,
            look_ahead,
        )
        source = self._source(updates, on_error, quarantine)
        return self._streamed(source, options, look_ahead_wait, latest_only, progress)

    def _source(
        self,
        updates: Updates | Sequence[UpdatePath],
        on_error: OnError,
        quarantine: str | os.PathLike[str] | None,
    ) -> Source[AnyUpdate]:
        self._open()
        if isinstance(updates, Update | EncodedUpdate):
            return ListSource([updates])
        if isinstance(updates, str | os.PathLike) or _are_paths(updates):
            return ListSource(self.read_updates(updates, on_error=on_error, quarantine=quarantine))
        if quarantine is not None or on_error != "error":
            problem = "on_error and quarantine have no meaning here"
            raise UsageError(BadArgument(problem=problem, why="they are about files of updates", hint=""))
        if _is_source(updates):
            return updates
        if isinstance(updates, Sequence):
            return ListSource(updates)
        if isinstance(updates, Iterable):
            return IteratorSource(updates)
        problem = f"a {type(updates).__name__} is no stream of updates"
        hint = "pass updates, a path, or a Source"
        raise UsageError(BadArgument(problem=problem, why="nothing can be taken from it", hint=hint))

    def _streamed(
        self,
        source: Source[AnyUpdate],
        options: Options,
        wait: float,
        latest_only: bool,
        progress: ProgressCallback | None,
    ) -> Iterator[Delta]:
        """Waiting for an update is outside a turn: whoever brings it may need one."""
        ready: dict[int, tuple[AnyUpdate, EncodedUpdate]] = {}
        try:
            while (update := source.next()) is not None:
                taken = [update]
                if latest_only and not update.changes_rules:
                    facts_alone = list(takewhile(lambda late: not late.changes_rules, source.peek(_MANY)))
                    taken += [late for _ in facts_alone if (late := source.next()) is not None]
                if wait > 0 and options.look_ahead:
                    source.wait(wait, options.look_ahead)
                yield self._step(taken, source.peek(options.look_ahead), options, ready, progress)
        finally:
            if isinstance(source, IteratorSource):
                source.close()

    @in_turn
    def _step(
        self,
        taken: Sequence[AnyUpdate],
        following: Sequence[AnyUpdate],
        options: Options,
        ready: dict[int, tuple[AnyUpdate, EncodedUpdate]],
        progress: ProgressCallback | None,
    ) -> Delta:
        """`ready` holds what has been prepared while it was looked at."""

        def prepared(update: AnyUpdate) -> EncodedUpdate:
            if isinstance(update, EncodedUpdate):
                return self._prepared(update)
            known = ready.get(id(update))
            if known is None:
                known = ready[id(update)] = update, self._prepared(update)
            return known[1]

        now = [prepared(update) for update in taken]
        for update in taken:
            ready.pop(id(update), None)
        return self._maintained(now, self._prepared_upcoming(following, prepared), options, progress)


def _are_paths(updates: object) -> TypeGuard[Sequence[UpdatePath]]:
    return (
        isinstance(updates, Sequence)
        and len(updates) > 0
        and all(isinstance(one, str | os.PathLike) for one in updates)
    )


def _is_source(updates: object) -> TypeGuard[Source[AnyUpdate]]:
    return isinstance(updates, _IsSource)
