"""What can be wrong with a store: T090–T109."""

from __future__ import annotations

from pathlib import Path

from tidalog.model.errors import Diagnostic, StoreError


class NotAStore(Diagnostic):
    number = "T090"
    title = "{path} is not a store"
    reason = "{why}"
    hint = "{hint}"


class StoreInUse(Diagnostic):
    number = "T091"
    title = "{path} is being written to"
    reason = "{who}"
    hint = "wait until that process closes it, or open it with read_only=True"


class NewerFormat(Diagnostic):
    number = "T092"
    title = "{path} was written by a newer version"
    reason = "its format is {found}, and this version knows formats up to {known}"
    hint = "install the version that wrote it: {writer}"


class DamagedLog(Diagnostic):
    number = "T093"
    title = "{path} is damaged at byte {offset:,}"
    reason = "{why}, and it is not an incomplete record at the end of the log"
    hint = "nothing was changed; restore this file from a copy of the store"


class DamagedStore(Diagnostic):
    number = "T094"
    title = "{path} {problem}"
    reason = "{why}"
    hint = "restore {what} from a copy{of}"


def damaged(path: Path, why: str, problem: str = "is damaged") -> StoreError:
    return StoreError(DamagedStore(path=path, problem=problem, why=why, what="the file", of=" of the store"))


def damaged_state(why: str) -> StoreError:
    """The state of a keyed stream, which Spark keeps."""
    where = "the state of a bucket"
    return StoreError(DamagedStore(path=where, problem="is damaged", why=why, what="the checkpoint", of=""))


class ReadOnlyStore(Diagnostic):
    number = "T095"
    title = "{path} is open for reading only"
    reason = "{what} would change it"
    hint = "open it without read_only=True"


class OtherProgram(Diagnostic):
    number = "T096"
    title = "{path} has another program"
    reason = "its facts were derived by the rules it was created with, and by those that were added since"
    hint = "{hint}"


class StoreNotWritable(Diagnostic):
    number = "T097"
    title = "{path} cannot be written"
    reason = "{why}; {state}"
    hint = "{hint}"


def not_writable(path: Path, error: OSError, state: str, hint: str) -> StoreError:
    why = error.strerror or str(error)
    return StoreError(StoreNotWritable(path=path, why=why, state=state, hint=hint))


class UpdatesWaiting(Diagnostic):
    number = "T098"
    title = "{what} cannot be done now"
    reason = "{why}"
    hint = "{hint}"


class NotReplayed(Diagnostic):
    number = "T099"
    title = "change {number:,} of the log of {path} cannot be applied"
    reason = "{why}"
    hint = "{hint}"
