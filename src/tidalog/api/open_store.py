"""Opens the knowledge base of a store, for writing or for reading."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tidalog.api.arguments import check_choice, check_count
from tidalog.api.recovery import Unfinished
from tidalog.api.stored import StoredKnowledgeBase
from tidalog.builtins import PythonFunction
from tidalog.engine.limits import Limits
from tidalog.maintain.choose import Options
from tidalog.model.errors import StoreError
from tidalog.storage.manifest import NAME as MANIFEST
from tidalog.storage.segments import FSYNCS, Fsync
from tidalog.storage.store import Store, StoreReader

_UNFINISHED: Final = ("apply", "reject")
_ATTEMPTS: Final = 5


def open_store(
    path: Path,
    limits: Limits,
    options: Options,
    *,
    fsync: Fsync,
    read_only: bool,
    snapshot_after: int,
    functions: Mapping[str, PythonFunction],
    unfinished: Unfinished,
    late: int = 0,
) -> StoredKnowledgeBase:
    """The knowledge base of a store, which is created if there is none."""
    check_choice("fsync", fsync, FSYNCS)
    check_choice("unfinished", unfinished, _UNFINISHED)
    what, hint = "a size of the log in bytes", "leave it out for the default"
    check_count("snapshot_after", snapshot_after, what, hint, least=1)
    if read_only:
        return _for_reading(path, limits, options, functions, unfinished)  # time moves for writers only
    store = Store(path, fsync)
    try:
        kb = StoredKnowledgeBase(limits, options, path, store, snapshot_after)
        kb._open().windows.late = late
        kb._recover(store, functions, unfinished)
    except BaseException:
        store.close()
        raise
    return kb


def _for_reading(
    path: Path,
    limits: Limits,
    options: Options,
    functions: Mapping[str, PythonFunction],
    unfinished: Unfinished,
) -> StoredKnowledgeBase:
    """Tries again if a writer has replaced files in the meantime."""
    for attempt in range(_ATTEMPTS):
        reader = StoreReader(path)
        kb = StoredKnowledgeBase(limits, options, path, None, 1)
        try:
            kb._recover(reader, functions, unfinished)
        except StoreError:
            if attempt + 1 < _ATTEMPTS and reader.has_moved():
                continue
            raise
        return kb
    raise AssertionError


def is_store(folder: Path) -> bool:
    """Whether a folder is a store."""
    return (folder / MANIFEST).exists()
