"""Streams of updates: from Python, from files, from a source that another thread fills."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, Final, Protocol, TypeGuard, runtime_checkable

from tidalog.api.diagnostics import OtherKnowledgeBase, ReadBeforeDeclared, bad_argument
from tidalog.api.encoded_update import encoded_update
from tidalog.api.update import Update
from tidalog.api.update_files import UpdateList, UpdatePath
from tidalog.engine.dictionary import Dictionary
from tidalog.io.result import OnError
from tidalog.model.amounts import article
from tidalog.model.errors import TidalogError, UsageError
from tidalog.model.program import Program
from tidalog.model.update import EncodedUpdate
from tidalog.stream import IteratorSource, ListSource, Source

AnyUpdate = Update | EncodedUpdate
Updates = (
    Iterable[AnyUpdate] | Source[AnyUpdate] | Source[Update] | Source[EncodedUpdate] | UpdatePath | Update
)
_MANY: Final = 1 << 20
"""The most updates that are applied as one."""


@runtime_checkable
class _IsSource(Protocol):
    def next(self) -> object: ...

    def peek(self, count: int) -> object: ...

    def wait(self, seconds: float, count: int = 1) -> None: ...


def source_of(
    updates: Updates | Sequence[UpdatePath],
    read: Callable[..., UpdateList],
    on_error: OnError,
    quarantine: str | os.PathLike[str] | None,
) -> Source[AnyUpdate]:
    """Updates as a source; `read` reads files."""
    if isinstance(updates, Update | EncodedUpdate):
        return ListSource([updates])
    if isinstance(updates, str | os.PathLike) or _are_paths(updates):
        return ListSource(read(updates, on_error=on_error, quarantine=quarantine))
    if quarantine is not None or on_error != "error":
        problem = "on_error and quarantine have no meaning here"
        raise bad_argument(problem, "they are about files of updates")
    if _is_source(updates):
        return updates
    if isinstance(updates, UpdateList) or (isinstance(updates, Sequence) and None not in updates):
        return ListSource(updates)
    if isinstance(updates, Iterable):
        return IteratorSource(_without_none(updates))
    problem = f"{article(type(updates).__name__)} is not a stream of updates"
    hint = "pass updates, a path, or a Source"
    raise bad_argument(problem, "no update can be read from it", hint)


def _without_none(updates: Iterable[Any]) -> Iterator[AnyUpdate]:
    """Raises `UsageError` for None, which a source takes for the end of the stream."""
    for number, update in enumerate(updates, 1):
        if update is None:
            problem, why = f"update {number:,} of the stream is None", "an update is an Update"
            raise bad_argument(problem, why, "leave it out: a stream ends with its last update")
        yield update


def taken_from(
    source: Source[AnyUpdate], look_ahead: int, wait: float, latest_only: bool
) -> Iterator[tuple[list[AnyUpdate], Sequence[AnyUpdate]]]:
    """The updates to apply as one, and those that follow, until the source ends.  Runs outside the lock: the
    thread that fills the source may need it."""
    try:
        while (update := source.next()) is not None:
            taken = [update]
            if latest_only and not update.changes_rules:
                facts_only = list(takewhile(lambda late: not late.changes_rules, source.peek(_MANY)))
                taken += [late for _ in facts_only if (late := source.next()) is not None]
            if wait > 0 and look_ahead:
                source.wait(wait, look_ahead)
            yield taken, source.peek(look_ahead)
    finally:
        if isinstance(source, IteratorSource):
            source.close()


def prepared(update: AnyUpdate, dictionary: Dictionary, program: Program) -> EncodedUpdate:
    """An update as ids of a dictionary.  Raises `UsageError` for one of another knowledge base."""
    if isinstance(update, Update):
        return encoded_update(update, dictionary, program)
    if not isinstance(update, EncodedUpdate):
        problem = f"{article(type(update).__name__)} is not an update"
        hint = "write tidalog.Update(insertions={…}, deletions={…}, add_rules=[…], remove_rules=[…])"
        raise bad_argument(problem, "an update is an Update", hint)
    if update.dictionary is not dictionary:
        raise UsageError(OtherKnowledgeBase())
    if update.declarations is not None and update.declarations is not program.declarations:
        new = {d.predicate for d in program.declarations if d.is_typed and d not in update.declarations}
        for facts in (*update.deletions, *update.insertions):
            if facts.predicate in new:
                raise UsageError(ReadBeforeDeclared(predicate=facts.predicate))
    return update


class Encoder:
    """Encodes each update of a stream once, though it is looked at before it is applied."""

    def __init__(self, encode: Callable[[AnyUpdate], EncodedUpdate]) -> None:
        self._encode = encode
        self._known: dict[int, tuple[AnyUpdate, EncodedUpdate]] = {}

    def taken(self, updates: Sequence[AnyUpdate]) -> list[EncodedUpdate]:
        """Updates that are applied now."""
        encoded = [self._encoded(update) for update in updates]
        for update in updates:
            self._known.pop(id(update), None)
        return encoded

    def upcoming(self, updates: Sequence[AnyUpdate]) -> list[EncodedUpdate]:
        """Updates before the first with an error, which is raised when that one is applied."""
        found: list[EncodedUpdate] = []
        for update in updates:
            try:
                found.append(self._encoded(update))
            except TidalogError:
                break
        return found

    def _encoded(self, update: AnyUpdate) -> EncodedUpdate:
        if isinstance(update, EncodedUpdate):
            return self._encode(update)
        known = self._known.get(id(update))
        if known is None:
            known = self._known[id(update)] = update, self._encode(update)
        return known[1]


def _are_paths(updates: object) -> TypeGuard[Sequence[UpdatePath]]:
    return (
        isinstance(updates, Sequence)
        and len(updates) > 0
        and all(isinstance(one, str | os.PathLike) for one in updates)
    )


def _is_source(updates: object) -> TypeGuard[Source[AnyUpdate]]:
    return isinstance(updates, _IsSource)
