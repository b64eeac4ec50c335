"""`tidalog stream` as a person runs it: one command, a clean end, figures that add up."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from update_streams import PROGRAM, consequences, fed, random_stream, write_files

import tidalog

COMMAND = [sys.executable, "-m", "tidalog", "stream", "rules.rls", "in", "--master", "local[2]"]


def prepared(folder: Path, seed: int) -> set[tuple[str, ...]]:
    stream = random_stream(seed)
    write_files(folder / "in", stream.parts(3), "csv")
    (folder / "rules.rls").write_text(PROGRAM)
    return stream.explicit


def held(store: Path) -> dict[str, set[Any]]:
    with tidalog.open(store, read_only=True) as kb:
        return {name: set(kb.facts(name).to_rows()) for name in kb.predicates}


def test_a_folder_becomes_a_store_a_feed_and_files(tmp_path: Path) -> None:
    explicit = prepared(tmp_path, 41)
    (tmp_path / "in" / "part-9.csv").write_text("update,op,predicate,arg1,arg2\n99,!,edge,a,b\n")
    more = "--store s.tidalog --changes feed --materialised all --trigger available-now --stats stats --json"
    ended = subprocess.run(
        [*COMMAND, *more.split(), "--quarantine", "bad"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    said = json.loads(ended.stdout)
    totals = said["totals"]
    assert totals["rows"] == totals["applied"] + totals["quarantined"]
    assert totals["quarantined"] == 1
    assert len(list((tmp_path / "bad").iterdir())) == 1
    wanted = consequences(explicit)
    assert held(tmp_path / "s.tidalog") == fed(tmp_path / "feed") == wanted
    assert totals["predicates"]["path"]["now"] == len(wanted["path"])
    assert len(list((tmp_path / "all" / "current").iterdir())) == len(wanted)
    *batches, last = [json.loads(line) for line in (tmp_path / "stats").read_text().splitlines()]
    assert sum(batch["rows"] for batch in batches) == last["totals"]["rows"]
    assert min(last["totals"]["memory"].values()) > 0


def test_ctrl_c_ends_it_behind_the_batch_at_work(tmp_path: Path) -> None:
    explicit = prepared(tmp_path, 42)
    more = ["--store", "s.tidalog", "--changes", "feed", "--stats", "stats", "--look-ahead-wait", "600"]
    os.mkfifo(tmp_path / "stats")
    stats = os.open(tmp_path / "stats", os.O_RDONLY | os.O_NONBLOCK)
    running = subprocess.Popen(
        [*COMMAND, *more], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    first_batch, _, _ = select.select([stats], [], [], 150)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    os.close(stats)
    assert first_batch, err
    assert (running.returncode, err) == (0, "")
    assert "rows: " in out
    assert held(tmp_path / "s.tidalog") == fed(tmp_path / "feed") == consequences(explicit)
