"""Where engines live: a worker that is given the bucket of another one's engine sends the batch there.

Spark hands idle Python workers out in turn, so a bucket rarely comes to the worker that had it last.  To
catch up would double the work of every batch.  Instead each worker answers on a socket of its own, also while
Spark has nothing for it, and a file for each bucket says which process had it last:

    <local folder of the executor>/tidalog-engines/<process>.socket
                                                   <query>-<bucket>      the number of that process

All this is only a way to save time.  Whoever does a step says by its token which content it began with, so an
answer is right or there is none: a home that is gone, busy with errors or behind is passed over, and the
bucket gets an engine where it is.
"""

from __future__ import annotations

import json
import os
import threading
from functools import cache
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Final

from tidalog.keyed.engines import ENGINES, Asked, Step, advance

_FOLDER: Final = "tidalog-engines"
_UNKNOWN: Final = b""


def ask(asked: Asked) -> Step | None:
    """The step, done by the process that has the engine; None if that is this one, or nobody."""
    folder = _folder()
    if folder is None or not asked.token:
        return None
    try:
        home = int(_file(folder, asked.query, asked.number).read_text())
        if home == os.getpid():
            return None
        with Client(str(_socket(folder, home)), "AF_UNIX") as connection:
            _send_asked(connection, asked)
            return _received_step(connection)
    except (OSError, EOFError, ValueError):
        return None


def settle(query: str, number: int) -> None:
    """This process has the engine of a bucket from now on."""
    folder = _answering()
    if folder is None:
        return
    path = _file(folder, query, number)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(str(os.getpid()))
    part.replace(path)


def _folder() -> Path | None:
    """Spark removes it when the executor ends."""
    local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return Path(local) / _FOLDER if local else None


def _file(folder: Path, query: str, number: int) -> Path:
    return folder / f"{query}-{number}"


def _socket(folder: Path, process: int) -> Path:
    return folder / f"{process}.socket"


@cache
def _answering() -> Path | None:
    """Begins to answer.  A system without such sockets, or whose folders have names too long for them, does
    without: engines catch up then."""
    folder = _folder()
    if folder is None:
        return None
    path = _socket(folder, os.getpid())
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        path.unlink(missing_ok=True)  # of a process that had the same number
        listener = Listener(str(path), "AF_UNIX", backlog=64)
    except (OSError, ValueError):
        return None
    threading.Thread(target=_listen, args=(listener,), name="tidalog-engines", daemon=True).start()
    return folder


def _listen(listener: Listener) -> None:
    while True:
        try:
            connection = listener.accept()
        except OSError:
            continue  # whoever asked is gone already
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: Connection) -> None:
    """Does a step for another process, which hears nothing if it fails: then that one does it, and says why
    it cannot be done."""
    with connection:
        try:
            asked = _received_asked(connection)
            with ENGINES.lock:
                kept = ENGINES.take(asked.query, asked.number)
                if kept is None or kept.token != asked.token:
                    connection.send_bytes(_UNKNOWN)
                    return
                step = advance(kept, asked)
                ENGINES.put(asked.query, asked.number, kept)
            _send_step(connection, step)
        except Exception:
            return


# --- messages: a head in JSON, and what it counts as bytes --------------------------------------------------


def _send_asked(connection: Connection, asked: Asked) -> None:
    sizes = (asked.log_size, asked.snapshot_size)
    head = [asked.query, asked.number, asked.token.hex(), *sizes, len(asked.payloads)]
    _send(connection, head, asked.payloads)


def _received_asked(connection: Connection) -> Asked:
    query, number, token, log_size, snapshot_size, count = json.loads(connection.recv_bytes())
    payloads = [connection.recv_bytes() for _ in range(count)]
    return Asked(query, number, bytes.fromhex(token), log_size, snapshot_size, payloads)


def _send_step(connection: Connection, step: Step) -> None:
    head = [step.token.hex(), step.holds, step.counts, len(step.changes)]
    _send(connection, head, [step.record, step.snapshot, step.others, *step.changes])


def _received_step(connection: Connection) -> Step | None:
    said = connection.recv_bytes()
    if said == _UNKNOWN:
        return None
    token, holds, counts, count = json.loads(said)
    record, snapshot, others, *changes = [connection.recv_bytes() for _ in range(3 + count)]
    return Step(bytes.fromhex(token), holds, record, snapshot, counts, others, changes)


def _send(connection: Connection, head: list[object], parts: list[bytes]) -> None:
    connection.send_bytes(json.dumps(head).encode())
    for part in parts:
        connection.send_bytes(part)
