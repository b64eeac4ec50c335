"""Updates in files: scripts (`.upd`), RDF Patch (`.rdfp`), update tables, folders of them, or several of
these."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Final

from tidalog.api.encoded_update import (
    declared_script,
    encoded_script,
    encoded_updates,
    refuse_literals,
)
from tidalog.api.timed_changes import read_time
from tidalog.engine.dictionary import Dictionary
from tidalog.io.diagnostics import FileNotReadable, Position
from tidalog.io.files import find_files
from tidalog.io.rdf_patch import ENDING, is_patch, read_patch
from tidalog.io.result import BadRow, BadRowLog, BadRows, OnError, Progress
from tidalog.io.update_tables import read_update_table
from tidalog.io.update_times import Clock, late_at
from tidalog.lang.updates import ScriptUpdate, parse_updates
from tidalog.model.errors import DataError
from tidalog.model.program import Program
from tidalog.model.rule_edit import NO_EDIT
from tidalog.model.update import EncodedUpdate
from tidalog.model.window_times import START

UpdatePath = str | os.PathLike[str]
SCRIPT: Final = ".upd"


class UpdateList(list[EncodedUpdate]):
    """Updates read from files for one knowledge base, and the rows that were rejected."""

    bad: BadRows = BadRows()

    def __init__(self) -> None:
        super().__init__()
        self.prefixes: dict[str, str] = {}
        """What patches declare."""


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
    updates, log = UpdateList(), BadRowLog(on_error, quarantine)
    prefixes, declared = program.prefixes, program.declared
    scripts = 0
    try:
        for kind, group in groupby(_expanded(paths), key=_kind):
            new: list[EncodedUpdate] = []
            if kind == ENDING:
                for path in group:
                    patch, found = read_patch(Path(path), dictionary, log)
                    updates.prefixes |= found
                    for one in patch:
                        scripts += 1
                        refuse_literals(one.insertions, dictionary)
                        new.append(EncodedUpdate(one.deletions, one.insertions, NO_EDIT, scripts, dictionary))
            elif kind == SCRIPT:
                for path in group:
                    written = declared_script(parse_updates(_text(path), str(path), prefixes), declared)
                    script = encoded_script(written, dictionary, scripts + 1)
                    scripts += len(script)
                    if clock is not None and on_error == "skip":
                        script = _on_time(script, written, program, dictionary, log, clock)
                    new += script
            else:
                table = read_update_table(
                    list(group),
                    quarantine=quarantine,
                    progress=progress,
                    prefixes=prefixes,
                    declared=declared,
                    clock=clock,
                    log=log,
                )
                new = encoded_updates(table, dictionary, prefixes)
            if clock is not None:
                clock = _later(clock, new, program, dictionary)
            updates += new
        updates.bad = log.finish()
    except BaseException:
        log.abandon()
        raise
    for update in updates:
        update.declarations = program.declarations
    return updates


def _on_time(
    script: Sequence[EncodedUpdate],
    written: Sequence[ScriptUpdate],
    program: Program,
    dictionary: Dictionary,
    log: BadRowLog,
    clock: Clock,
) -> list[EncodedUpdate]:
    """The updates of a script that are not too late; the others are logged."""
    kept: list[EncodedUpdate] = []
    for update, text in zip(script, written, strict=True):
        read_time(update, program, dictionary)
        oldest = update.oldest
        if oldest is not None and clock.now != START and oldest < clock.now - clock.late:
            assert text.span is not None
            source = text.span.source
            line = source.text.count("\n", 0, text.span.start) + 1
            why = late_at(Position(source.name, line), oldest, clock.now, clock.late)
            log.add([BadRow(why, None, " ".join(source.text[text.span.start : text.span.end].split()))], 1)
        else:
            clock = _later(clock, [update], program, dictionary)
            kept.append(update)
    return kept


def _later(clock: Clock, updates: Iterable[EncodedUpdate], program: Program, dictionary: Dictionary) -> Clock:
    """The time after updates."""
    now = clock.now
    for update in updates:
        read_time(update, program, dictionary)
        now = now if update.time is None else max(now, update.time)
    return replace(clock, now=now)


def _kind(path: UpdatePath) -> str:
    """The ending of scripts, that of patches, or none."""
    if os.fspath(path).lower().endswith(SCRIPT):
        return SCRIPT
    return ENDING if is_patch(Path(path)) else ""


def _expanded(paths: Iterable[UpdatePath]) -> Iterator[UpdatePath]:
    """The paths, with the scripts or patches of each folder that has some, by name."""
    for path in paths:
        folder = Path(path).expanduser()
        kinds = set(map(_kind, folder.iterdir())) if folder.is_dir() else {_kind(path)}
        if endings := sorted(kinds - {""}):
            yield from find_files(path, Path(), endings)
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
