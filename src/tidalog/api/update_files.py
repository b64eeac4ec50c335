"""Updates in files: scripts (`.upd`), update tables, folders of either, or several of these."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from tidalog.api.encoded_update import declared_script, encoded_script, encoded_updates
from tidalog.engine.dictionary import Dictionary
from tidalog.io.diagnostics import FileNotReadable
from tidalog.io.files import find_files
from tidalog.io.result import BadRows, OnError, Progress
from tidalog.io.update_tables import read_update_table
from tidalog.io.update_times import Clock
from tidalog.lang.updates import parse_updates
from tidalog.model.errors import DataError
from tidalog.model.program import Program
from tidalog.model.update import EncodedUpdate

UpdatePath = str | os.PathLike[str]
SCRIPT: Final = ".upd"


class UpdateList(list[EncodedUpdate]):
    """Updates read from files for one knowledge base, and the rows that were rejected."""

    bad: BadRows = BadRows()


def read_updates(
    paths: Iterable[UpdatePath],
    dictionary: Dictionary,
    program: Program,
    *,
    on_error: OnError = "error",
    quarantine: Path | None = None,
    progress: Progress | None = None,
    clock: Clock | None = None,
) -> UpdateList:
    """The updates of files in the order given, which fit the declarations of a program.  Consecutive tables
    are read as one."""
    updates = UpdateList()
    prefixes, declared = program.prefixes, program.declared
    scripts = 0
    for is_script, group in groupby(_expanded(paths), key=_is_script):
        if is_script:
            for path in group:
                written = declared_script(parse_updates(_text(path), str(path), prefixes), declared)
                script = encoded_script(written, dictionary, scripts + 1)
                scripts += len(script)
                updates += script
        else:
            table = read_update_table(
                list(group),
                on_error=on_error,
                quarantine=quarantine,
                progress=progress,
                prefixes=prefixes,
                declared=declared,
                clock=clock,
            )
            updates += encoded_updates(table, dictionary, prefixes)
            updates.bad = table.bad
    for update in updates:
        update.declarations = program.declarations
    return updates


def _is_script(path: UpdatePath) -> bool:
    return os.fspath(path).lower().endswith(SCRIPT)


def _expanded(paths: Iterable[UpdatePath]) -> Iterator[UpdatePath]:
    """The paths, with the scripts of each folder that has some, by name."""
    for path in paths:
        folder = Path(path).expanduser()
        if folder.is_dir() and any(_is_script(child) for child in folder.iterdir()):
            yield from find_files(folder, Path(), [SCRIPT])
        elif _is_script(path):
            yield from find_files(path, Path(), [SCRIPT])
        else:
            yield path


def _text(path: UpdatePath) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        why = error.strerror or str(error)
    except UnicodeDecodeError as error:
        why = f"the byte at offset {error.start:,} is not UTF-8"
    raise DataError(FileNotReadable(path=path, why=why, hint="a script is a file of UTF-8 text"))
