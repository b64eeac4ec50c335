"""Recovery of a stored knowledge base: changes of the log, applied again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from tidalog.api.change import Change
from tidalog.api.database import Database
from tidalog.api.sources import ReadProgram, joined
from tidalog.lang import parse
from tidalog.maintain.materialise import Violated
from tidalog.model.errors import ProgramError, RunError, StoreError, TidalogError
from tidalog.storage import records
from tidalog.storage.diagnostics import NotReplayed
from tidalog.storage.manifest import FORMAT
from tidalog.storage.recovery import Redo

EARLIER: Final = "earlier format: "
"""Begins the digest of a program that was loaded in an earlier format."""
Unfinished = Literal["apply", "reject"]
"""What becomes of a change that was being applied when the writer ended."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What opening a store did."""

    snapshot: int | None = None
    """The last change in the snapshot that was read."""
    replayed: int = 0
    """Changes of the log that were applied again."""
    migrated: int | None = None
    """The earlier format that the store had; what it holds is the same in the format of today."""
    truncated: int = 0
    """Bytes of an incomplete record at the end of the log, which are cut off."""
    damaged: tuple[str, ...] = ()
    """Errors of snapshots that could not be read; an earlier one and more of the log was."""
    seconds: float = 0.0


def change_of(redo: Redo, database: Database) -> Change:
    """The change that a record logs."""
    record = redo.record
    if record.has_updates:
        return Change(records.UPDATES, redo.updates)
    (update,) = redo.updates
    if record.kind == records.INSERT:
        return Change(record.kind, redo.updates, database.plan_insertion(update.insertions))
    if record.kind != records.LOAD:
        return Change(record.kind, redo.updates)
    read = ReadProgram(parse(record.text("text"), record.text("name")), (), Path(record.text("folder")))
    names, environment = record.sequence("parameters"), database.environment
    given = dict(records.terms_of(names, record, database.dictionary))
    environment = replace(environment, parameters={**environment.parameters, **given})
    load = database.plan_load(joined(database.program, read.program), environment)
    for facts in update.insertions:
        load.add(facts)
    return Change(record.kind, redo.updates, load, read, known_digest(record.text("digest"), record.format))


def known_digest(digest: str, format: int) -> str:
    """The digest of a program in a store.  In an earlier format it was that of a text with another meaning,
    and is marked."""
    return digest if format == FORMAT or digest.startswith(EARLIER) else EARLIER + digest


def is_refusal(error: TidalogError, redo: Redo) -> bool:
    """Whether the writer would have refused a change for this error."""
    if isinstance(error, ProgramError):
        may_edit_rules = redo.record.has_updates or redo.record.kind == records.RULES
        return may_edit_rules and all(found.number != "T018" for found in error.diagnostics)
    return isinstance(error, RunError) and all(isinstance(found, Violated) for found in error.diagnostics)


def not_redone(path: Path, number: int, is_done: bool, error: TidalogError) -> StoreError:
    """The error of a change that cannot be applied again, with what to do about it."""
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
    return StoreError(NotReplayed(path=path, number=number, why=found.message, hint=hint))
