"""What Spark calls for each bucket: rows in, changes out, state in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from tidalog.keyed.config import Setting
from tidalog.keyed.engines import ENGINES, Asked, Kept, Step, advance, take_in
from tidalog.keyed.packing import CHANGE, OTHER
from tidalog.spark.keyed.state import BucketState, Head
from tidalog.spark.keyed.worker_rpc import ask, settle

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues


class KeyedProcessor(StatefulProcessor):
    """`query` is any name that no other query has."""

    def __init__(self, setting: Setting, query: str) -> None:
        self._setting = setting
        self._query = query

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = BucketState(handle, self._setting)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        """`rows` are packed, in and out."""
        head, asked = self._asked(key, [bytes(row["payload"]) for row in rows])
        step = ask(asked)
        if step is None:
            step = self._done_here(head, asked, advance)
            settle(asked.query, asked.number)
        self._state.write(head, step)
        if step.counts:
            yield Row(row=OTHER, counts=step.counts, payload=step.others or None)
        for payload in step.changes:
            yield Row(row=CHANGE, counts=None, payload=payload)

    def handleInitialState(self, key: Any, initialState: Row, timerValues: TimerValues) -> None:
        """A part of what another run has left; there may be several for a bucket."""
        head, asked = self._asked(key, [bytes(initialState["record"])])
        self._state.write(head, self._done_here(head, asked, take_in))

    def close(self) -> None:
        pass

    def _asked(self, key: Any, payloads: list[bytes]) -> tuple[Head, Asked]:
        head = self._state.head()
        sizes = (head.log_size, head.snapshot_size)
        return head, Asked(self._query, int(key[0]), head.token, *sizes, payloads)

    def _done_here(self, head: Head, asked: Asked, what: Callable[[Kept, Asked], Step]) -> Step:
        with ENGINES.lock:
            kept = self._state.caught_up(head, ENGINES.take(asked.query, asked.number))
            step = what(kept, asked)
            ENGINES.put(asked.query, asked.number, kept)
        return step
