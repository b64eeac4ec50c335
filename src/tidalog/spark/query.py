"""A pipeline at work: the streaming query of Spark, and what becomes of it.

It ends by itself (all that is available is applied), by `stop`, or by an error.  However it ends, what is
held back is applied if it can be, and the store is let go of.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from tidalog.model.errors import TidalogError
from tidalog.spark.diagnostics import SparkError, StreamFailed
from tidalog.spark.pipeline import StreamClosed
from tidalog.spark.progress import Totals

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


def tell_once() -> None:
    """PySpark logs what a batch raises, with all frames.  What Tidalog raises on purpose is told by whoever
    waits for the stream."""
    logger = logging.getLogger("py4j.clientserver")
    if not any(isinstance(known, _OnPurpose) for known in logger.filters):
        logger.addFilter(_OnPurpose())


class _OnPurpose(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, TidalogError | StreamClosed)


_OTHER_FOLDER: Final = "Wrong basePath"
_OF_A_WORKER: Final = re.compile(r"\b\w+Error: error\[(T\d+)\]: (.+)")
"""What Spark says of a checkpoint that speaks of files in another folder."""


_LOOKS: Final = 40
_BETWEEN_LOOKS: Final = 0.005


def has_more(query: StreamingQuery) -> bool:
    """Whether a query is at work on a trigger, or has not begun.  Triggers that find nothing follow each
    other closely, so that one must look more than once to see none."""
    for _ in range(_LOOKS):
        status = query.status
        if not status["isTriggerActive"] and not status["message"].startswith("Initializing"):
            return bool(status["isDataAvailable"])
        time.sleep(_BETWEEN_LOOKS)
    return True


class Work(Protocol):
    """What a query feeds."""

    @property
    def totals(self) -> Totals: ...
    @property
    def error(self) -> BaseException | None: ...
    @property
    def stopped(self) -> bool: ...

    on_failure: Callable[[], None]
    """Called when something fails while Spark waits for nothing."""

    def settle(self) -> None: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...


class MaintenanceQuery:
    """What `start` gives.  Its names are those of Spark's StreamingQuery."""

    def __init__(self, query: StreamingQuery, pipeline: Work, finish: Callable[[], None]) -> None:
        self.query = query
        """The query of Spark."""
        self._pipeline = pipeline
        self._finish = finish
        self._ended = threading.Event()
        self._error: BaseException | None = None
        pipeline.on_failure = query.stop
        self._watch = threading.Thread(target=self._watched, name="tidalog-stream", daemon=True)
        self._watch.start()
        if pipeline.error is not None:  # before anybody could be told
            query.stop()

    @property
    def id(self) -> str:
        return str(self.query.id)

    @property
    def isActive(self) -> bool:
        """Whether it goes on."""
        return not self._ended.is_set()

    @property
    def totals(self) -> Totals:
        """What was done since it was started."""
        return self._pipeline.totals

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        """What Spark says of the last batch."""
        progress = self.query.lastProgress
        return dict(progress) if progress is not None else None

    def stop(self) -> None:
        """Ends the stream behind the batch that is at work, if there is one; waits for that."""
        self._pipeline.stop()
        self.query.stop()
        self._ended.wait()

    def awaitTermination(self, timeout: float | None = None) -> bool:
        """Waits for the end, `timeout` seconds at most, and gives whether it has come.  Raises what ended the
        stream, if that was an error."""
        if not self._ended.wait(timeout):
            return False
        if self._error is not None:
            raise self._error
        return True

    def processAllAvailable(self) -> None:
        """Waits until everything that is there now is applied, or logged and held back."""
        try:
            self.query.processAllAvailable()
            self._pipeline.settle()
        except Exception:
            self.awaitTermination()
            raise

    def exception(self) -> BaseException | None:
        """What ended the stream."""
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
            # What fails in a thread of our own stops the query, which then knows of no error.
            self._error = SparkError(self._diagnostic(cause))
            self._error.__cause__ = cause
        try:
            self._finish()
        finally:
            self._ended.set()

    def _diagnostic(self, error: BaseException) -> StreamFailed:
        last = self.totals.last
        lines = [line for line in str(error).strip().splitlines() if line.strip()] or [type(error).__name__]
        hint = "start again, which goes on with this batch"
        if _OTHER_FOLDER in str(error):
            hint = "its checkpoint is of another folder of updates: name one for this, --checkpoint FOLDER"
        own = _OF_A_WORKER.search(str(error))
        if own is not None:
            lines = [f"{own[2]} ({own[1]})"]
        return StreamFailed(batch=last.batch + 1 if last is not None else 0, why=lines[0][:300], hint=hint)
