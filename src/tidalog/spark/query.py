"""A running stream: Spark's streaming query and the pipeline that it feeds.

A stream ends by itself (everything available is applied), by `stop`, or by an error.  In each case updates
that wait are applied if possible, and the store is closed.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from tidalog.model.errors import TidalogError
from tidalog.spark.diagnostics import SparkError, StreamFailed
from tidalog.spark.internals import no_callback_log
from tidalog.spark.pipeline import StreamClosed
from tidalog.spark.progress import Totals

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_OTHER_FOLDER: Final = "Wrong basePath"
"""In Spark's message about a checkpoint whose files are in another folder."""
_WORKER_ERROR: Final = re.compile(r"\b\w+Error: error\[(T\d+)\]: (.+)")
"""In Spark's message about a worker that raised one of our errors."""
_LOOKS: Final = 40
_BETWEEN_LOOKS: Final = 0.005


def has_more(query: StreamingQuery) -> bool:
    """Whether a query is in a trigger, or has not started.

    A trigger may be about to find data.  No listener helps: Spark has no event for the start of a trigger,
    and `onQueryIdle` is called at most every 10 s.  Triggers without data follow each other closely, so the
    status is read several times, until it shows a gap between them.
    """
    for _ in range(_LOOKS):
        status = query.status
        if not status["isTriggerActive"] and not status["message"].startswith("Initializing"):
            return bool(status["isDataAvailable"])
        time.sleep(_BETWEEN_LOOKS)
    return True


class Work(Protocol):
    """The pipeline that a query feeds."""

    @property
    def totals(self) -> Totals: ...
    @property
    def error(self) -> BaseException | None: ...
    @property
    def stopped(self) -> bool: ...

    on_failure: Callable[[], None]
    """Called when something fails outside of `foreachBatch`."""

    def drain(self) -> None: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...


def start_query(
    writer: DataStreamWriter, pipeline: Work, finish: Callable[[], None], name: str | None
) -> MaintenanceQuery:
    """Starts the query of a writer; `finish` is called once it has ended."""
    restore_log = no_callback_log(TidalogError, StreamClosed)

    def ended() -> None:
        restore_log()
        finish()

    try:
        query = (writer.queryName(name) if name is not None else writer).start()
    except BaseException:
        restore_log()
        raise
    return MaintenanceQuery(query, pipeline, ended)


class MaintenanceQuery:
    """A running stream.  Its methods have the names of those of Spark's `StreamingQuery`."""

    def __init__(self, query: StreamingQuery, pipeline: Work, finish: Callable[[], None]) -> None:
        self.query = query
        """Spark's own query."""
        self._pipeline = pipeline
        self._finish = finish
        self._ended = threading.Event()
        self._error: BaseException | None = None
        pipeline.on_failure = query.stop
        self._watch = threading.Thread(target=self._watched, name="tidalog-stream", daemon=True)
        self._watch.start()
        if pipeline.error is not None:  # it failed before on_failure was set
            query.stop()

    @property
    def id(self) -> str:
        return str(self.query.id)

    @property
    def isActive(self) -> bool:
        """Whether it has not ended."""
        return not self._ended.is_set()

    @property
    def totals(self) -> Totals:
        """Counts since the start."""
        return self._pipeline.totals

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        """Spark's report on the last batch."""
        progress = self.query.lastProgress
        return dict(progress) if progress is not None else None

    def stop(self) -> None:
        """Ends the stream after the current batch, and waits for the end."""
        self._pipeline.stop()
        self.query.stop()
        self._ended.wait()

    def awaitTermination(self, timeout: float | None = None) -> bool:
        """Waits for the end, at most `timeout` seconds; returns whether the stream has ended.  Raises the
        error that ended it."""
        if not self._ended.wait(timeout):
            return False
        if self._error is not None:
            raise self._error
        return True

    def processAllAvailable(self) -> None:
        """Waits until everything available now is applied, or logged and waiting."""
        try:
            self.query.processAllAvailable()
            self._pipeline.drain()
        except Exception:
            self.awaitTermination()
            raise

    def exception(self) -> BaseException | None:
        """The error that ended the stream."""
        return self._error

    def _watched(self) -> None:
        failed: Exception | None = None
        try:
            self.query.awaitTermination()
        except Exception as error:
            failed = error
        try:
            self._pipeline.close()
        except Exception as error:
            failed = failed or error
        own = self._pipeline.error
        if isinstance(own, TidalogError):
            self._error = own
        elif (cause := own or failed) is not None and not self._pipeline.stopped:
            # After an error in our own thread, the query is stopped and ends without an error.
            self._error = SparkError(self._diagnostic(cause))
            self._error.__cause__ = cause
        try:
            self._finish()
        finally:
            self._ended.set()

    def _diagnostic(self, error: BaseException) -> StreamFailed:
        last = self.totals.last
        lines = [line for line in str(error).strip().splitlines() if line.strip()] or [type(error).__name__]
        hint = "start again, which continues with this batch"
        if _OTHER_FOLDER in str(error):
            hint = "its checkpoint is of another folder of updates: name one for this, --checkpoint FOLDER"
        own = _WORKER_ERROR.search(str(error))
        if own is not None:
            lines = [f"{own[2]} ({own[1]})"]
        return StreamFailed(batch=last.batch + 1 if last is not None else 0, why=lines[0][:300], hint=hint)
