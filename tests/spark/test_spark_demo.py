"""`make demo` ends by itself, with the connections that a run from scratch derives and a plot of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_demo_streams_the_whole_track_and_ends(tmp_path: Path) -> None:
    assert "examples/map/demo.py" in (ROOT / "Makefile").read_text()
    ended = subprocess.run(
        [sys.executable, "examples/map/demo.py", str(tmp_path / "demo"), "0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "55 updates in" in ended.stdout
    assert re.search(r"connection │ +\+4,636 │ +−4,498 │ +138 │", ended.stdout), ended.stdout
    assert "A run from scratch derives the same connections." in ended.stdout
    assert (tmp_path / "demo" / "connections.svg").read_text().count("<rect") == 55
