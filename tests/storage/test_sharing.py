"""Who may do what with a store: one writer, any number of readers, and a disk that may be full."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from stored import CLOSURE, NO_CIRCLE, edges, reopened, state

import tidalog

RULES = NO_CIRCLE + "edge(a, b).\n"
WRITER = """
import sys, tidalog
kb = tidalog.open(sys.argv[1])
kb.load(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
"""


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    path = tmp_path / "s.tidalog"
    command = [sys.executable, "-c", WRITER, str(path), RULES]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        with pytest.raises(tidalog.StoreError, match="T091") as error:
            tidalog.open(path)
        assert re.search(rf"process {writer.pid} on \S+ since 20\d\d-\S+: .*-c", str(error.value))
        with tidalog.open(path, read_only=True) as kb:
            assert kb.count("path") == 1
        writer.kill()
    with tidalog.open(path) as kb:
        assert kb.count("path") == 1


def test_a_second_writer_in_the_same_process_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "s.tidalog"
    with tidalog.open(path), pytest.raises(tidalog.StoreError, match=f"process {os.getpid()}"):
        tidalog.open(path)
    with tidalog.open(path):
        pass


def test_an_error_while_opening_lets_go_of_the_store(tmp_path: Path) -> None:
    path = tmp_path / "s.tidalog"
    with tidalog.open(path, functions={"one": lambda: 1}) as kb:
        kb.load("p(ONE()) :- q(_) . q(a).")
        kb.materialise()
    for _ in range(2):
        with pytest.raises(tidalog.StoreError, match="T099"):
            tidalog.open(path)


def test_a_reader_refuses_every_change_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.tidalog"
    with tidalog.open(path) as kb:
        kb.load(RULES)
        kb.log_updates([edges("bc")], source="q", batch=0)
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    kb = tidalog.open(path, read_only=True)
    kb.load(RULES)
    for change in (
        lambda: kb.load("p(a)."),
        lambda: kb.insert("edge", [("x", "y")]),
        lambda: kb.insert("edge", [(n, n) for n in range(5000)]),
        lambda: kb.delete("edge", [("a", "b")]),
        lambda: kb.delete("edge", [(n, n) for n in range(5000)]),
        lambda: kb.apply(edges("xy")),
        lambda: list(kb.stream([edges("xy")])),
        lambda: kb.log_updates([edges("xy")], source="q", batch=1),
        lambda: kb.apply_pending(),
        lambda: kb.acknowledge(),
        lambda: kb.snapshot(),
    ):
        with pytest.raises(tidalog.StoreError, match="T095"):
            change()
    assert (len(kb.pending), kb.last_batch("q"), kb.count("path")) == (1, 0, 1)
    kb.close()
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def test_readers_beside_a_writer_see_states_that_were(tmp_path: Path) -> None:
    """Each sees the chain up to some edge, never less than one that looked before; files come and go."""
    path = tmp_path / "s.tidalog"
    kb = tidalog.open(path, fsync="off", snapshot_after=1)
    kb.load(NO_CIRCLE)
    kb.materialise()
    seen: list[int] = []
    problems: list[BaseException] = []
    begun, stop = threading.Event(), threading.Event()

    def look() -> None:
        try:
            while not stop.is_set():
                with tidalog.open(path, read_only=True) as reader:
                    count = len(reader.facts("edge", explicit=True)) if "edge" in reader.predicates else 0
                    assert reader.count("path") == count * (count + 1) // 2
                    seen.append(count)
                begun.set()
        except BaseException as error:
            problems.append(error)
            begun.set()

    thread = threading.Thread(target=look)
    thread.start()
    begun.wait(60)
    for number in range(60):
        kb.apply(edges((number, number + 1)))
    stop.set()
    thread.join(60)
    kb.close()
    assert not problems
    assert seen == sorted(seen)


# --- disks --------------------------------------------------------------------------------------------------

FULL = """
import resource, shutil, sys, tidalog
path, limit, fsync = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def work(path, is_full):
    kb = tidalog.open(path, fsync=fsync)
    if is_full:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    done, numbers = 0, []
    try:
        for number in range(1000 if is_full else 40):
            before = kb.count("edge")
            kb.apply(tidalog.Update(insertions={"edge": [(number, "x" * number)]}))
            done += 1
    except tidalog.StoreError as error:
        assert kb.count("edge") == before, "an update that was not logged was applied"
        numbers.append(error.diagnostics[0].number)
    for call in (kb.snapshot, lambda: kb.apply(tidalog.Update(insertions={"edge": [("y" * limit, 0)]}))):
        try:
            call()
        except tidalog.StoreError as error:
            numbers.append(error.diagnostics[0].number)
    kb.close()
    return done, *numbers


# A rehearsal first: what is compiled goes to a cache, which must not meet the limit.
shutil.copytree(path, path + ".rehearsal")
work(path + ".rehearsal", False)
print(*work(path, True))
"""


@pytest.mark.parametrize("fsync", ["batch", "off"])
@pytest.mark.parametrize("limit", [3000, 3001, 3050, 3171, 5000])
def test_a_full_disk_is_an_error_with_a_number_and_the_store_is_whole(
    limit: int, fsync: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.tidalog"
    with tidalog.open(path) as kb:
        kb.load(NO_CIRCLE)
        kb.insert("edge", [("a", "long " * 2000)])
        kb.snapshot()
    result = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(limit), fsync],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    done, *numbers = result.stdout.split()
    assert numbers == ["T097", "T097", "T097"]
    with tidalog.open(path) as kb:
        assert kb.recovery.truncated == 0
        assert kb.count("edge") == int(done) + 1
        kb.apply(edges("xy"))
        kb.snapshot()
    with tidalog.open(path) as kb:
        assert (kb.recovery.replayed, kb.count("edge")) == (0, int(done) + 2)


def test_a_snapshot_that_fails_in_the_background_leaves_the_store_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the snapshot should go there is a file that cannot be replaced by a folder."""
    path = tmp_path / "s.tidalog"
    kb = tidalog.open(path, snapshot_after=1)
    kb.load(CLOSURE + "edge(a, b).")
    kb.materialise()
    (path / "snapshot-0000000000000002").write_text("in the way")
    kb.apply(edges("bc"))
    kb._snapshotter.wait()
    assert "no snapshot was written" in caplog.text
    kb.apply(edges("cd"))
    kb._snapshotter.wait()
    held = state(kb)
    kb = reopened(kb)
    assert state(kb) == held
    kb.close()


def test_closing_twice_is_closing_once_and_nothing_works_behind_it(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog")
    kb.load(RULES)
    kb.close()
    kb.close()
    for use in (
        lambda: kb.count("path"),
        lambda: kb.apply(edges("xy")),
        lambda: kb.log_updates([], source="q", batch=0),
        lambda: kb.pending,
        lambda: kb.snapshot(),
    ):
        with pytest.raises(tidalog.UsageError, match="T075"):
            use()


@pytest.mark.parametrize(
    "options", [{"fsync": "never"}, {"unfinished": "keep"}, {"snapshot_after": 0}, {"snapshot_after": "1 MB"}]
)
def test_an_option_that_there_is_not_is_named(options: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(tidalog.UsageError, match="T076"):
        tidalog.open(tmp_path / "s.tidalog", **options)  # type: ignore[call-overload]
    assert not (tmp_path / "s.tidalog").exists()
