"""A batch has the same result wherever it is applied, and a worker that cannot answer is given up."""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pyarrow as pa
import pytest
from keyed_oracle import changes_in, config_for, row, table_of

from tidalog.keyed.bucket import Bucket
from tidalog.keyed.engines import ENGINE_CACHE, BatchRequest, BatchResult, CachedEngine, apply_batch
from tidalog.keyed.packing import BAD, arrow_stream, unpacked_rows
from tidalog.lang import parse
from tidalog.model.program import Fact
from tidalog.model.terms import IRI
from tidalog.spark.keyed import worker_rpc

PROGRAM = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
QUERY, NUMBER = "query", 3
LOGGER = "tidalog.spark.keyed.worker_rpc"


def batch(label: int, *edges: str) -> list[bytes]:
    table = table_of([row("k", label, "+", Fact("edge", tuple(map(IRI, edge)))) for edge in edges], 2)
    return [arrow_stream(table.append_column(BAD, pa.nulls(len(edges), pa.string())))]


FIRST = BatchRequest(QUERY, NUMBER, b"", 0, 0, batch(1, "ab"))


def owner(pipe: Connection) -> None:
    """A process that has had the first batch, and keeps the engine until it is asked to end."""
    cached = CachedEngine(Bucket(config_for(parse(PROGRAM))))
    with ENGINE_CACHE.lock:
        result = apply_batch(cached, FIRST)
        ENGINE_CACHE.put(QUERY, NUMBER, cached)
    worker_rpc.register(QUERY, NUMBER)
    pipe.send_bytes(result.token)
    pipe.recv_bytes()


def slow_owner(pipe: Connection) -> None:
    """The same, and a batch takes until the test has seen more heartbeats than fit into the idle time."""
    worker_rpc.HEARTBEAT = 0.05
    beats = threading.Semaphore(0)
    send, apply = worker_rpc._send_frame, worker_rpc.apply_batch

    def counted(connection: object, kind: int, content: bytes) -> None:
        send(connection, kind, content)  # type: ignore[arg-type]
        if kind == worker_rpc._ALIVE:
            beats.release()

    def slow(cached: CachedEngine, request: BatchRequest) -> BatchResult:
        for _ in range(60):
            beats.acquire()
        return apply(cached, request)

    worker_rpc._send_frame, worker_rpc.apply_batch = counted, slow  # type: ignore[assignment]
    owner(pipe)


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """With a short name, for it is part of the names of sockets."""
    path = Path(tempfile.mkdtemp(prefix="t"))
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(path))
    yield path
    worker_rpc._silent.clear()
    shutil.rmtree(path)


@contextmanager
def other_worker(
    target: Callable[[Connection], None] = owner,
) -> Iterator[tuple[bytes, multiprocessing.process.BaseProcess]]:
    """The token of the content that another process has, and that process."""
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    process = context.Process(target=target, args=(other,), daemon=True)
    process.start()
    assert pipe.poll(240)
    yield pipe.recv_bytes(), process
    process.kill()
    process.join()


def request(token: bytes, *, label: int = 2, edges: tuple[str, ...] = ("bc",)) -> BatchRequest:
    return BatchRequest(QUERY, NUMBER, token, 0, 0, batch(label, *edges))


def content_of(result: BatchResult) -> list[tuple[object, ...]]:
    return sorted(changes_in(unpacked_rows(result.changes), 2))


def test_a_batch_applied_elsewhere_has_the_result_that_it_has_here() -> None:
    here = CachedEngine(Bucket(config_for(parse(PROGRAM))))
    apply_batch(here, FIRST)
    with other_worker() as (token, _):
        for label, edges in ((2, ("bc", "cd")), (3, ("de",))):
            asked = request(token, label=label, edges=edges)
            there = worker_rpc.call_owner(asked)
            assert there is not None
            mine = apply_batch(here, asked)
            assert content_of(there) == content_of(mine)
            assert (there.counts, there.holds, len(there.record)) == (mine.counts, True, len(mine.record))
            assert there.token not in (token, mine.token)
            token = there.token


def test_a_worker_refuses_another_content_and_drops_the_engine_that_has_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with other_worker() as (token, _), caplog.at_level(logging.INFO, LOGGER):
        asked = request(b"something")
        assert worker_rpc.call_owner(asked) is None
        assert worker_rpc.call_owner(replace(asked, token=token)) is None
    assert sum("refused" in line for line in caplog.messages) == 2


def test_a_worker_that_fails_says_why_and_the_caller_restores_the_engine(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with other_worker() as (token, _), caplog.at_level(logging.INFO, LOGGER):
        assert worker_rpc.call_owner(replace(request(token), payloads=[b"no Arrow"])) is None
    (line,) = caplog.messages
    assert "ArrowInvalid" in line


def test_a_dead_worker_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    with other_worker() as (token, process), caplog.at_level(logging.INFO, LOGGER):
        process.kill()
        process.join()
        assert worker_rpc.call_owner(request(token)) is None
    assert "is gone" in caplog.text


def test_a_stopped_worker_is_given_up_and_not_called_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The kernel still takes connections for it; without a time limit the call would never return."""
    monkeypatch.setattr(worker_rpc, "IDLE", 0.5)
    with other_worker() as (token, process):
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        large = replace(request(token), payloads=[bytes(1 << 24)])  # more than the socket's buffer holds
        for asked in (request(token), large):
            worker_rpc._silent.clear()
            assert worker_rpc.call_owner(asked) is None
        monkeypatch.setattr(worker_rpc, "_receive_result", None)
        assert worker_rpc.call_owner(request(token)) is None
        os.kill(process.pid, signal.SIGCONT)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert f"worker {process.pid} has sent nothing for 0.5 s; bucket 3 is restored" in caplog.text


def test_a_slow_worker_is_waited_for_as_long_as_its_heart_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_rpc, "IDLE", 1.5)
    with other_worker(slow_owner) as (token, _):
        assert worker_rpc.call_owner(request(token)) is not None


def test_without_folders_of_spark_no_worker_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    assert worker_rpc.call_owner(request(b"token")) is None
