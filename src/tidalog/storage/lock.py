"""The lock of a store: one writer at a time, and who it is.

The system releases the lock when the process ends, however it ends.  The content of the file is for people.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import socket
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tidalog.model.errors import StoreError
from tidalog.storage.diagnostics import StoreInUse

NAME: Final = "LOCK"
_PATIENCE: Final = 0.5
"""Seconds within which a reader that only tests for a writer releases the lock."""
_PAUSE: Final = 0.02


class StoreLock:
    """Held until `release`."""

    def __init__(self, folder: Path) -> None:
        path = folder / NAME
        self._number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        deadline = time.monotonic() + _PATIENCE
        while not _locked(self._number, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                os.close(self._number)
                raise StoreError(StoreInUse(path=folder, who=_holder(path)))
            time.sleep(_PAUSE)
        os.ftruncate(self._number, 0)
        os.pwrite(self._number, _description(), 0)

    def release(self) -> None:
        """A second time does nothing."""
        if self._number >= 0:
            os.ftruncate(self._number, 0)
            os.close(self._number)
            self._number = -1


def is_locked(folder: Path) -> bool:
    """Whether a process is writing to a store."""
    try:
        number = os.open(folder / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _locked(number, fcntl.LOCK_SH)
    finally:
        os.close(number)


def _locked(number: int, how: int) -> bool:
    try:
        fcntl.flock(number, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _description() -> bytes:
    about = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(sys.orig_argv),
    }
    return json.dumps(about, indent=1).encode() + b"\n"


def _holder(path: Path) -> str:
    try:
        about = json.loads(path.read_text())
        command = str(about["command"])
        shown = command if len(command) <= _SHOWN else f"{command[:_SHOWN]} …"
        return f"by process {about['pid']} on {about['host']} since {about['since']}: {shown}"
    except (OSError, ValueError, KeyError, TypeError):
        return "by another process that has just started"


_SHOWN: Final = 200
