"""The public interface: `open`, the knowledge base, updates and deltas.

The engine is imported when the first knowledge base is opened, so that what needs no engine starts at once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase
    from tidalog.api.stored import StoredKnowledgeBase
    from tidalog.builtins import PythonFunction


@overload
def open(
    path: None = None,
    *,
    functions: Mapping[str, PythonFunction] | None = None,
    max_facts: int | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    strict: bool = False,
    strategy: str = "auto",
    marking: str = "auto",
    order: str = "ours",
    late: object = 0,
) -> KnowledgeBase: ...
@overload
def open(
    path: str | os.PathLike[str],
    *,
    fsync: Literal["always", "batch", "off"] = "batch",
    read_only: bool = False,
    snapshot_after: int = 64 * 2**20,
    unfinished: Literal["apply", "reject"] = "apply",
    functions: Mapping[str, PythonFunction] | None = None,
    max_facts: int | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    strict: bool = False,
    strategy: str = "auto",
    marking: str = "auto",
    order: str = "ours",
    late: object = 0,
) -> StoredKnowledgeBase: ...
def open(
    path: str | os.PathLike[str] | None = None,
    *,
    fsync: Literal["always", "batch", "off"] = "batch",
    read_only: bool = False,
    snapshot_after: int = 64 * 2**20,
    unfinished: Literal["apply", "reject"] = "apply",
    functions: Mapping[str, PythonFunction] | None = None,
    max_facts: int | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    strict: bool = False,
    strategy: str = "auto",
    marking: str = "auto",
    order: str = "ours",
    late: object = 0,
) -> KnowledgeBase:
    """A knowledge base: an empty one in memory, or the one in a folder, which is created if need be.

    The limits hold for every materialisation, update and query: facts in all, seconds of a run, bytes of the
    engine.  `strict` makes a built-in that cannot be computed an error instead of a literal that is false.
    `strategy`, `marking` and `order` say how updates are maintained, unless an update stream says otherwise.
    `functions` are Python functions that rules call, by name, as `register` takes them.  `late` is how much
    older than the time of its windows an update may be: "5s", a timedelta or a number of seconds.

    A folder is a store: what it holds is there without loading anything, and every change is on disk before
    it is applied.  `fsync` says when a change is synced: `always` before it is applied; `batch`, the default,
    the same, but a stream is synced ten times a second and when it ends; `off` never, so that it survives a
    crash of the process but not of the machine.  One process writes to a store; `read_only=True` reads it,
    also while that process writes.  A snapshot is written in the background whenever the log has grown by
    `snapshot_after` bytes, and by half of the last snapshot.  A change that was being applied when the writer
    ended is applied again, or dropped with `unfinished="reject"`.
    """
    from tidalog.api.arguments import checked_limits, checked_options
    from tidalog.api.knowledge_base import KnowledgeBase
    from tidalog.api.times import checked_duration

    limits = checked_limits(max_facts, max_seconds, max_memory, strict)
    options = checked_options(strategy, marking, order, look_ahead=1)
    allowed = checked_duration("late", late)
    if path is None:
        kb = KnowledgeBase(limits, options)
        kb._open().windows.late = allowed
        for name, function in (functions or {}).items():
            kb.register(name, function)
        return kb
    from tidalog.api.open_store import open_store

    return open_store(
        Path(path).expanduser(),
        limits,
        options,
        fsync=fsync,
        read_only=read_only,
        snapshot_after=snapshot_after,
        functions=functions or {},
        unfinished=unfinished,
        late=allowed,
    )


__all__ = ["open"]
