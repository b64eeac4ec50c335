"""The output of `tidalog apply --queries FILE --out FOLDER`: what each continuous query emits, as
`FOLDER/NAME.csv`, a change feed whose updates are times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from tidalog.api.query_sinks import Answered, AnswerFeed
from tidalog.io.files import free_name, writing

if TYPE_CHECKING:
    from tidalog.api.continuous import ContinuousQuery

_TAKEN: Final = {"changes", "rules", "materialised"}


class QueryFiles:
    """Collects what queries emit.  `write` writes it, so that the caller gets the error."""

    def __init__(self, queries: Sequence[ContinuousQuery], folder: Path, format: str) -> None:
        with writing(folder, "name another folder"):
            folder.mkdir(parents=True, exist_ok=True)
        names = set(_TAKEN)
        self._feeds: dict[str, AnswerFeed] = {}
        self._waiting: list[Answered] = []
        for query in queries:
            name = free_name(query.name, names)
            names.add(name)
            self._feeds[query.name] = AnswerFeed(folder, name, len(query.columns), format, append=False)
            query.listen(_Collected(self._waiting))

    @property
    def paths(self) -> list[Path]:
        return [feed.path for feed in self._feeds.values()]

    def write(self) -> None:
        for answered in self._waiting:
            self._feeds[answered.name].write(answered)
        self._waiting.clear()

    def __enter__(self) -> Self:
        for feed in self._feeds.values():
            feed.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for feed in self._feeds.values():
            feed.close()


class _Collected:
    def __init__(self, found: list[Answered]) -> None:
        self._found = found

    def write(self, answered: Answered, /) -> None:
        self._found.append(answered)
