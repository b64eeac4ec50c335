"""The folder for what is computed once on a machine: compiled code and the tables of grammars.

What lies there is executed, so it belongs to the user who runs Tidalog.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Below `NUMBA_CACHE_DIR`, or below the user's folder for caches."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        base = Path(chosen)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "tidalog"


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file that another process sees whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_bytes(content)
    part.replace(path)
