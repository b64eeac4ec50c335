"""The stateful processor, which Spark calls for each bucket of a batch: rows in, changes out, state in
between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from tidalog.keyed.config import BucketConfig
from tidalog.keyed.engines import (
    ENGINE_CACHE,
    BatchRequest,
    BatchResult,
    CachedEngine,
    apply_batch,
    load_record,
)
from tidalog.keyed.packing import CHANGE, OTHER
from tidalog.spark.keyed.state import BucketState, Head
from tidalog.spark.keyed.worker_rpc import call_owner, register

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues


class KeyedProcessor(StatefulProcessor):
    """`query` is a unique name."""

    def __init__(self, config: BucketConfig, query: str) -> None:
        self._config = config
        self._query = query

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = BucketState(handle, self._config)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        """Rows are packed, in and out."""
        head, request = self._request(key, [bytes(row["payload"]) for row in rows])
        result = call_owner(request)
        if result is None:
            result = self._apply_here(head, request, apply_batch)
            register(request.query, request.number)
        self._state.write(head, result)
        if result.counts:
            yield Row(row=OTHER, counts=result.counts, payload=result.others or None)
        for payload in result.changes:
            yield Row(row=CHANGE, counts=None, payload=payload)

    def handleInitialState(self, key: Any, initialState: Row, timerValues: TimerValues) -> None:
        """A record from an earlier run; a bucket may get several."""
        head, request = self._request(key, [bytes(initialState["record"])])
        self._state.write(head, self._apply_here(head, request, load_record))

    def close(self) -> None:
        pass

    def _request(self, key: Any, payloads: list[bytes]) -> tuple[Head, BatchRequest]:
        head = self._state.head()
        sizes = (head.log_size, head.snapshot_size)
        return head, BatchRequest(self._query, int(key[0]), head.token, *sizes, payloads)

    def _apply_here(
        self, head: Head, request: BatchRequest, apply: Callable[[CachedEngine, BatchRequest], BatchResult]
    ) -> BatchResult:
        with ENGINE_CACHE.lock:
            cached = self._state.restored(head, ENGINE_CACHE.take(request.query, request.number))
            result = apply(cached, request)
            ENGINE_CACHE.put(request.query, request.number, cached)
        return result
