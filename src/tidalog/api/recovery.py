"""Recovery of a stored knowledge base: the changes of the log, applied again."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from tidalog.api.change import Change, perform
from tidalog.api.change_records import change_of
from tidalog.api.database import Database
from tidalog.api.evaluations import Evaluations
from tidalog.maintain.choose import Options
from tidalog.maintain.materialise import Violated
from tidalog.model.errors import ProgramError, RunError, StoreError, TidalogError
from tidalog.storage import records
from tidalog.storage.diagnostics import NotReplayed
from tidalog.storage.recovery import Redo
from tidalog.storage.wal import WriteAheadLog

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


def apply_again(
    redo: Redo,
    log: WriteAheadLog,
    database: Database,
    options: Options,
    unfinished: Unfinished,
    evaluations: Evaluations,
) -> Change | None:
    """Applies a change that ended well, or was being applied when the writer ended: then it may be refused,
    and None is returned."""
    first, number = log.logged_to + 1, redo.number
    log.read_to(number)
    if not redo.is_done and (redo.record.in_block or (unfinished == "reject" and log.store is not None)):
        log.reject(first, number, RuntimeError("the writer ended before it was applied"))
        return None
    is_refusal = partial(_is_refusal, redo)
    try:
        with log.outcome_of(first, number, is_refusal):
            return _applied(redo, database, options, evaluations)
    except StoreError:  # of the log itself
        raise
    except TidalogError as error:
        if is_refusal(error):
            return None
        raise not_redone(log.path, number, redo.is_done, error) from error


def _applied(redo: Redo, database: Database, options: Options, evaluations: Evaluations) -> Change:
    change = change_of(redo, database)
    for update in change.updates if redo.is_done else ():
        update.accepted = True  # whatever `late` is now
    if change.load is not None:
        change.load.accepted = redo.is_done
    # What ended well was checked then; only what was never finished may be refused now.
    checked = change.load is not None and change.load.is_checked
    now = evaluations.follow_changes or (not redo.is_done and (checked or database.is_checked))
    with (
        evaluations.delivering() if redo.record.source is not None else nullcontext(),
        evaluations.suspended() if redo.record.in_block else nullcontext(),
    ):
        perform(database, change, (), options, now=now, evaluations=evaluations)
    if redo.record.in_block and evaluations.follow_changes:
        evaluations.changed()
    return change


def _is_refusal(redo: Redo, error: BaseException) -> bool:
    """Whether the writer would have refused a change for this error."""
    if redo.is_done:
        return False
    if isinstance(error, ProgramError):
        may_edit_rules = redo.record.has_updates or redo.record.kind == records.RULES
        return may_edit_rules and all(found.number != "T018" for found in error.diagnostics)
    return isinstance(error, RunError) and all(isinstance(found, Violated) for found in error.diagnostics)


def not_redone(path: Path, number: int, is_done: bool, error: TidalogError) -> StoreError:
    """The error of a change that cannot be applied again, with what to do about it."""
    found = error.diagnostics[0]
    drop = "" if is_done else 'unfinished="reject" to drop this change, which was never finished'
    if isinstance(error, RunError):
        hint = "open the store with higher limits" + (f", or with {drop}" if drop else "")
    elif found.number == "T018":
        hint = "its rules call Python functions: tidalog.open(path, functions={name: function})"
        hint += f", or {drop}" if drop else ""
    else:
        hint = "open the store with the version that wrote it"
    return StoreError(NotReplayed(path=path, number=number, why=found.message, hint=hint))
