"""Ctrl-C for a stream: stops the query after its current batch; a second Ctrl-C interrupts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidalog.spark.query import MaintenanceQuery


class Interrupt:
    """Stops a query on Ctrl-C.

    PySpark's own handler would cancel the batch, by a call to Spark in the middle of another call.  Here a
    thread stops the query, while the main thread waits for its end.
    """

    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce = announce
        self._query: MaintenanceQuery | None = None
        self._requested = False
        self._stopping: threading.Thread | None = None

    def watch(self, query: MaintenanceQuery) -> None:
        """Sets the query to stop; stops it at once if Ctrl-C came while it started."""
        self._query = query
        if self._requested:
            self._stop(query)

    def handle(self, number: int, frame: object) -> None:
        if self._requested:
            raise KeyboardInterrupt
        self._requested = True
        if self._query is not None:
            self._stop(self._query)

    def _stop(self, query: MaintenanceQuery) -> None:
        def stop() -> None:
            self._announce()
            query.stop()

        self._stopping = threading.Thread(target=stop, name="tidalog-stop", daemon=True)
        self._stopping.start()

    def wait(self) -> None:
        """Until the query is stopped, if that has begun: a session must not end in the middle of it."""
        if self._stopping is not None:
            self._stopping.join()


@contextmanager
def stop_on_interrupt(announce: Callable[[], None]) -> Iterator[Interrupt]:
    """Handles Ctrl-C until the end of the block, if this is the main thread: only that one can."""
    interrupt = Interrupt(announce)
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = signal.signal(signal.SIGINT, interrupt.handle)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
    interrupt.wait()
