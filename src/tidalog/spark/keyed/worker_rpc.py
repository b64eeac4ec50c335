"""Worker RPC: a worker sends the batch of a bucket to the worker process that has the bucket's engine.

Spark assigns idle Python workers in turn, so a bucket rarely reaches the worker that had it last.
Restoring its engine from state would double the work of every batch.  Instead each worker serves a socket,
even while Spark has no work for it, and a file for each bucket names the process that had it last:

    <local folder of the executor>/tidalog-engines/<process>.socket
                                                   <query>-<bucket>      the number of that process

Invariant.  A call returns the correct result or None; then the caller restores the engine from state.  The
result is correct because the request names the expected content by a token, and a worker with another content
refuses.

A call never blocks forever.  The server sends a heartbeat every `HEARTBEAT` seconds while it works, so work
may take as long as it needs; a worker that sends nothing for `IDLE` seconds is given up, and this process
does not call it again.  Every failure is logged.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

from tidalog.keyed.engines import ENGINE_CACHE, BatchRequest, BatchResult, apply_batch

HEARTBEAT = 1.0
IDLE = 20.0
_LOG: Final = logging.getLogger(__name__)
_FOLDER: Final = "tidalog-engines"
_FRAME: Final = struct.Struct("!BQ")
"""A frame starts with its kind and the number of bytes that follow."""
_ALIVE, _PART, _REFUSED = 0, 1, 2
_CHUNK: Final = 1 << 20
_BACKLOG: Final = 64
_silent: set[int] = set()
"""Workers that this process has given up."""


def call_owner(request: BatchRequest) -> BatchResult | None:
    """The result from the process that has the engine; None if this process has it, or if the call fails."""
    folder = _folder()
    worker = None if folder is None or not request.token else _owner(folder, request.query, request.number)
    if folder is None or worker is None or worker == os.getpid() or worker in _silent:
        return None
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(IDLE)
            connection.connect(str(_socket(folder, worker)))
            _send_request(connection, request)
            return _receive_result(connection)
    except TimeoutError:
        _silent.add(worker)
        text = "worker %d has sent nothing for %g s; bucket %d is restored from state"
        _LOG.warning(text, worker, IDLE, request.number)
    except _Refused as refusal:
        _LOG.info("worker %d refused bucket %d, which is restored: %s", worker, request.number, refusal)
    except (FileNotFoundError, ConnectionError):
        _LOG.info("worker %d is gone; bucket %d is restored from state", worker, request.number)
    except (OSError, ValueError) as error:
        text = "worker %d cannot be called (%s); bucket %d is restored from state"
        _LOG.warning(text, worker, error, request.number)
    return None


def register(query: str, number: int) -> None:
    """Registers this process as the owner of a bucket's engine."""
    folder = _serving(os.getpid())
    if folder is None:
        return
    path = _file(folder, query, number)
    part = path.with_suffix(f".{os.getpid()}")
    try:
        part.write_text(str(os.getpid()))
        part.replace(path)
    except OSError as error:
        _LOG.warning("bucket %d cannot be registered, and others restore it: %s", number, error)


def _folder() -> Path | None:
    """Spark removes it when the executor ends."""
    local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return Path(local) / _FOLDER if local else None


def _file(folder: Path, query: str, number: int) -> Path:
    return folder / f"{query}-{number}"


def _socket(folder: Path, process: int) -> Path:
    return folder / f"{process}.socket"


def _owner(folder: Path, query: str, number: int) -> int | None:
    try:
        return int(_file(folder, query, number).read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        _LOG.warning("the owner of bucket %d cannot be read: %s", number, error)
        return None


# --- serving ------------------------------------------------------------------------------------------------


@cache
def _serving(process: int) -> Path | None:
    """Starts the server, once per process.  If the system has no such sockets, or the folder's name is too
    long for them, engines are restored from state."""
    folder = _folder()
    if folder is None:
        return None
    path = _socket(folder, process)
    listener = socket.socket(socket.AF_UNIX)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        path.unlink(missing_ok=True)  # of a process that had the same number
        listener.bind(str(path))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        _LOG.warning("engines of this worker are not shared: %s: %s", path, error)
        return None
    threading.Thread(target=_accept, args=(listener,), name="tidalog-engines", daemon=True).start()
    return folder


def _accept(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except ConnectionError:
            continue  # the caller is gone
        except OSError:
            _LOG.exception("this worker no longer shares its engines")
            listener.close()
            return
        threading.Thread(target=_serve, args=(connection,), daemon=True).start()


def _serve(connection: socket.socket) -> None:
    """Applies a batch for another process.  If that fails, the caller applies it and raises the error."""
    with connection:
        connection.settimeout(IDLE)
        try:
            request = _receive_request(connection)
            with _heartbeats(connection):
                result = _applied(request)
            if result is None:
                _send_frame(connection, _REFUSED, b"it has another content, or none")
            else:
                _send_result(connection, result)
        except OSError as error:
            _LOG.warning("a call from another worker was not answered: %s", error)
        except Exception as error:
            _LOG.warning("a batch of another worker could not be applied", exc_info=True)
            with suppress(OSError):
                _send_frame(connection, _REFUSED, f"{type(error).__name__}: {error}".encode())


def _applied(request: BatchRequest) -> BatchResult | None:
    with ENGINE_CACHE.lock:
        cached = ENGINE_CACHE.take(request.query, request.number)
        if cached is None or cached.token != request.token:
            return None
        result = apply_batch(cached, request)
        ENGINE_CACHE.put(request.query, request.number, cached)
        return result


@contextmanager
def _heartbeats(connection: socket.socket) -> Iterator[None]:
    """Sends heartbeats to the caller; kernels run without the GIL, so they do not block this thread."""
    done = threading.Event()

    def beat() -> None:
        with suppress(OSError):  # the caller is gone
            while not done.wait(HEARTBEAT):
                _send_frame(connection, _ALIVE, b"")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


# --- messages: a head in JSON, and the parts that it counts -------------------------------------------------


class _Refused(Exception):
    """The worker has no result; the message says why."""


def _send_request(connection: socket.socket, request: BatchRequest) -> None:
    sizes = (request.log_size, request.snapshot_size)
    head = [request.query, request.number, request.token.hex(), *sizes, len(request.payloads)]
    _send(connection, head, request.payloads)


def _receive_request(connection: socket.socket) -> BatchRequest:
    query, number, token, log_size, snapshot_size, count = json.loads(_receive(connection))
    payloads = [_receive(connection) for _ in range(count)]
    return BatchRequest(query, number, bytes.fromhex(token), log_size, snapshot_size, payloads)


def _send_result(connection: socket.socket, result: BatchResult) -> None:
    head = [result.token.hex(), result.holds, result.counts, len(result.changes)]
    _send(connection, head, [result.record, result.snapshot, result.others, *result.changes])


def _receive_result(connection: socket.socket) -> BatchResult:
    token, holds, counts, count = json.loads(_receive(connection))
    record, snapshot, others, *changes = [_receive(connection) for _ in range(3 + count)]
    return BatchResult(bytes.fromhex(token), holds, record, snapshot, counts, others, changes)


def _send(connection: socket.socket, head: list[object], parts: list[bytes]) -> None:
    for part in (json.dumps(head).encode(), *parts):
        _send_frame(connection, _PART, part)


def _send_frame(connection: socket.socket, kind: int, content: bytes) -> None:
    """Sends in pieces, because the timeout of `sendall` covers everything it sends."""
    connection.sendall(_FRAME.pack(kind, len(content)))
    rest = memoryview(content)
    while rest:
        rest = rest[connection.send(rest[:_CHUNK]) :]


def _receive(connection: socket.socket) -> bytes:
    """The next part.  Raises `_Refused`, and `TimeoutError` if nothing arrives."""
    while True:
        kind, size = _FRAME.unpack(_exactly(connection, _FRAME.size))
        content = _exactly(connection, size)
        if kind == _REFUSED:
            raise _Refused(content.decode())
        if kind == _PART:
            return content


def _exactly(connection: socket.socket, size: int) -> bytes:
    content = bytearray(size)
    rest = memoryview(content)
    while rest:
        count = connection.recv_into(rest)
        if not count:
            raise ConnectionResetError("the connection was closed")
        rest = rest[count:]
    return bytes(content)
