"""`with kb.update() as u:`: an update that is applied when its block ends without an exception."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from tidalog.api.delta import Delta
from tidalog.api.diagnostics import NotApplied, UpdateEnded
from tidalog.api.update import Known, Update
from tidalog.model.errors import UsageError
from tidalog.model.update import Label


class OpenUpdate(Update):
    """Leaving the block applies it; an exception inside leaves everything as it was."""

    def __init__(
        self,
        apply: Callable[[Update], Delta],
        known: Callable[[str], Known],
        label: Label | None = None,
        time: object = None,
    ) -> None:
        super().__init__(label=label, time=time)
        self._apply, self._known_of = apply, known
        self._delta: Delta | None = None
        self._why = "its block has not ended yet"
        self._has_ended = False

    @property
    def delta(self) -> Delta:
        """What it changed."""
        if self._delta is None:
            raise UsageError(NotApplied(why=self._why))
        return self._delta

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._why = "its block ended by an exception, so it was not applied"
        self._has_ended = True
        if kind is None:
            self._delta = self._apply(self)

    def _check_open(self) -> None:
        if self._has_ended:
            name = "this update" if self.label is None else f"update {self.label}"
            raise UsageError(UpdateEnded(update=name))

    def _known(self, predicate: str) -> Known:
        return self._known_of(predicate)
