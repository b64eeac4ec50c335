"""Damage: what was cut short is cut off and reported; any other damage is an error with a number, or is made
good by what is left.  Never a wrong fact, never a traceback."""

from __future__ import annotations

import json
import logging
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from stored import NO_CIRCLE, State, edges, state

import tidalog
from tidalog.storage.frames import Frames
from tidalog.storage.manifest import read_manifest

UPDATES = 6


def number_of(error: pytest.ExceptionInfo[tidalog.TidalogError]) -> str:
    return error.value.diagnostics[0].number


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[State]]:
    """A store that is a log alone, and what it held after each change."""
    path = tmp_path_factory.mktemp("made") / "s.tidalog"
    with tidalog.open(path) as kb:
        states = [state(kb)]
        kb.load(NO_CIRCLE)
        states.append(state(kb))
        for number in range(UPDATES):
            kb.apply(edges(("a", f"name {number}"), (number, number + 0.5)))
            states.append(state(kb))
    return path, states


@pytest.fixture(scope="module")
def with_snapshots(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, State]:
    """A store with two snapshots and some more of the log behind them."""
    path = tmp_path_factory.mktemp("made") / "s.tidalog"
    with tidalog.open(path) as kb:
        kb.load(NO_CIRCLE)
        for number in range(UPDATES):
            kb.apply(edges(("a", f"name {number}"), (number, number + 0.5)))
            if number in (1, 3):
                kb.snapshot()
        held = state(kb)
    return path, held


@pytest.fixture
def copy(made: tuple[Path, list[State]], tmp_path: Path) -> Path:
    return shutil.copytree(made[0], tmp_path / "copy.tidalog")


@pytest.fixture
def snapshot_copy(with_snapshots: tuple[Path, State], tmp_path: Path) -> Path:
    return shutil.copytree(with_snapshots[0], tmp_path / "copy.tidalog")


def log_of(store: Path) -> Path:
    return store / read_manifest(store).segments[-1]


def records(store: Path) -> list[tuple[int, int]]:
    """Start and end of the records of a log."""
    return [(frame.start, frame.end) for frame in Frames(memoryview(log_of(store).read_bytes()))]


def changed(path: Path, at: int, bits: int = 0x40) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= bits
    path.write_bytes(data)


# --- the log ------------------------------------------------------------------------------------------------


def test_a_log_cut_at_any_byte_of_its_end_loses_nothing_else(
    made: tuple[Path, list[State]], copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The last change and the mark behind it."""
    log, whole = log_of(copy), log_of(copy).read_bytes()
    (begin, end), (mark, last) = records(copy)[-2:]
    assert (end, last) == (mark, len(whole))
    for cut in range(begin, len(whole)):
        log.write_bytes(whole[:cut])
        caplog.clear()
        with tidalog.open(copy, fsync="off") as kb:
            assert state(kb) == made[1][-1 if cut >= end else -2], f"cut at byte {cut}"
            torn = cut - (end if cut >= end else begin)
            assert kb.recovery.truncated == torn
            assert ("cut off" in caplog.text) == (torn > 0)
            kb.apply(edges("xy"))
        with tidalog.open(copy, fsync="off") as kb:
            assert kb.recovery.truncated == 0
            assert (tidalog.String("x"), tidalog.String("y")) in state(kb)["edge"][0]


def test_a_changed_byte_is_found_wherever_it_is(made: tuple[Path, list[State]], copy: Path) -> None:
    log, whole = log_of(copy), log_of(copy).read_bytes()
    frames = records(copy)
    last_mark = frames[-1][0]
    for at in range(0, len(whole), 7):
        log.write_bytes(whole)
        changed(log, at)
        if at >= last_mark:
            with tidalog.open(copy, read_only=True) as kb:
                assert state(kb) == made[1][-1]
            continue
        with pytest.raises(tidalog.StoreError) as error:
            tidalog.open(copy)
        assert number_of(error) == "T093", f"byte {at}"
        start = next(begin for begin, end in frames if begin <= at < end)
        assert f"byte {start:,}" in str(error.value)


def test_rubbish_at_the_end_is_cut_off(made: tuple[Path, list[State]], copy: Path) -> None:
    for rubbish in (b"\0" * 4096, b"TdLg" * 100, bytes(range(256))):
        with log_of(copy).open("ab") as file:
            file.write(rubbish)
        with tidalog.open(copy) as kb:
            assert kb.recovery.truncated == len(rubbish)
            assert state(kb) == made[1][-1]


def test_a_missing_log_is_named(copy: Path) -> None:
    log_of(copy).unlink()
    with pytest.raises(tidalog.StoreError, match=r"log-0+1\.wal is missing") as error:
        tidalog.open(copy)
    assert number_of(error) == "T094"


def test_a_gap_between_two_logs_is_found(snapshot_copy: Path) -> None:
    """Needed if the newest snapshot is damaged."""
    shutil.rmtree(snapshot_copy / read_manifest(snapshot_copy).snapshots[0].folder)
    log = snapshot_copy / read_manifest(snapshot_copy).segments[0]
    whole = log.read_bytes()
    frames = [(f.start, f.end) for f in Frames(memoryview(whole))]
    log.write_bytes(whole[: frames[-2][0]])
    with pytest.raises(tidalog.StoreError) as error:
        tidalog.open(snapshot_copy)
    assert error.value.diagnostics[-1].number == "T093"


def test_a_log_that_ends_before_its_snapshot_does_is_damaged(snapshot_copy: Path) -> None:
    log = log_of(snapshot_copy)
    log.write_bytes(log.read_bytes()[:20])
    with pytest.raises(tidalog.StoreError) as error:
        tidalog.open(snapshot_copy)
    assert number_of(error) == "T093"


def test_a_log_whose_beginning_is_missing_is_damaged(snapshot_copy: Path) -> None:
    """All records are whole, but the first ones behind the snapshot are gone."""
    newest = read_manifest(snapshot_copy).snapshots[0]
    log = snapshot_copy / newest.segment
    whole = log.read_bytes()
    ends = [frame.end for frame in Frames(memoryview(whole), newest.offset)]
    log.write_bytes(whole[: newest.offset] + whole[ends[1] :])
    with pytest.raises(tidalog.StoreError) as error:
        tidalog.open(snapshot_copy)
    assert number_of(error) == "T093"


# --- snapshots and the manifest -----------------------------------------------------------------------------


def snapshot_files(store: Path) -> Iterator[tuple[int, Path]]:
    for age, entry in enumerate(read_manifest(store).snapshots):
        for file in entry.files:
            yield age, store / entry.folder / file.name


@pytest.mark.parametrize("how", ["changed", "missing", "cut"])
def test_a_damaged_snapshot_is_made_good_by_the_one_before_and_the_log(
    how: str, with_snapshots: tuple[Path, State], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number, (age, file) in enumerate(snapshot_files(with_snapshots[0])):
        store = shutil.copytree(with_snapshots[0], tmp_path / f"{number}.tidalog")
        newest, before = read_manifest(store).snapshots
        target = store / file.relative_to(with_snapshots[0])
        if how == "changed":
            changed(target, target.stat().st_size // 2)
        elif how == "missing":
            target.unlink()
        else:
            target.write_bytes(target.read_bytes()[:-1])
        caplog.clear()
        with tidalog.open(store, read_only=True) as kb:
            assert state(kb) == with_snapshots[1]
        with tidalog.open(store) as kb:
            assert state(kb) == with_snapshots[1]
            assert kb.recovery.snapshot == (newest if age else before).number
            assert bool(kb.recovery.damaged) == (age == 0) == (file.name in caplog.text)
            kb.apply(edges("xy"))
            kb.snapshot()
        with tidalog.open(store) as kb:
            assert (kb.recovery.replayed, kb.recovery.damaged) == (0, ())
        shutil.rmtree(store)


def test_without_snapshots_the_whole_log_is_read_as_long_as_it_is_there(
    snapshot_copy: Path, with_snapshots: tuple[Path, State]
) -> None:
    """Two snapshots damaged: the log goes back to the first of them alone."""
    for _, file in list(snapshot_files(snapshot_copy)):
        file.write_bytes(b"")
    with pytest.raises(tidalog.StoreError, match="does not go back to the first change") as error:
        tidalog.open(snapshot_copy)
    assert number_of(error) == "T094"
    assert "meta.json" in str(error.value), "what is wrong with the snapshots is said too"


def test_a_first_snapshot_that_is_damaged_is_made_good_by_the_log(tmp_path: Path) -> None:
    path = tmp_path / "s.tidalog"
    with tidalog.open(path) as kb:
        kb.load(NO_CIRCLE)
        kb.apply(edges("ab"))
        kb.snapshot()
        held = state(kb)
    for _, file in list(snapshot_files(path)):
        file.unlink()
    with tidalog.open(path) as kb:
        assert state(kb) == held
        assert kb.recovery.snapshot is None


def test_a_changed_manifest_is_found(copy: Path) -> None:
    manifest = copy / "MANIFEST"
    whole = manifest.read_bytes()
    for at in range(len(whole) - 1):
        manifest.write_bytes(whole)
        changed(manifest, at, 0x01)
        with pytest.raises(tidalog.StoreError) as error:
            tidalog.open(copy)
        assert number_of(error) == "T094", f"byte {at}"
        assert log_of_any(copy).exists()


def log_of_any(store: Path) -> Path:
    return next(store.glob("log-*.wal"))


def test_a_store_without_its_manifest_is_not_taken_for_a_new_one(copy: Path) -> None:
    (copy / "MANIFEST").unlink()
    size = log_of_any(copy).stat().st_size
    for options in ({}, {"read_only": True}):
        with pytest.raises(tidalog.StoreError) as error:
            tidalog.open(copy, **options)  # type: ignore[call-overload]
        assert number_of(error) == "T094"
    assert log_of_any(copy).stat().st_size == size


def test_a_newer_format_is_named_with_its_writer(copy: Path) -> None:
    content = json.loads((copy / "MANIFEST").read_text().splitlines()[0])
    line = json.dumps({**content, "format": 99, "writer": "99.1"}).encode()
    (copy / "MANIFEST").write_bytes(b"%s\n%08x\n" % (line, zlib.crc32(line)))
    with pytest.raises(tidalog.StoreError, match=r"99\.1") as error:
        tidalog.open(copy)
    assert number_of(error) == "T092"


# --- places -------------------------------------------------------------------------------------------------


def test_other_places_are_no_stores(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("p(a).")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "other.txt").write_text("")
    for place, why in (("file", "a file"), ("folder", "other.txt"), ("no/such", "does not exist")):
        with pytest.raises(tidalog.StoreError, match=why) as error:
            tidalog.open(tmp_path / place)
        assert number_of(error) == "T090"
    with pytest.raises(tidalog.StoreError) as error:
        tidalog.open(tmp_path / "nothing", read_only=True)
    assert number_of(error) == "T090"
    assert not (tmp_path / "nothing").exists()


def test_an_empty_folder_becomes_a_store_and_so_does_one_that_was_begun(tmp_path: Path) -> None:
    with tidalog.open(tmp_path):
        pass
    (tmp_path / "MANIFEST").rename(tmp_path / "MANIFEST.part")  # as if killed while it was made
    with tidalog.open(tmp_path) as kb:
        kb.load("p(a).")
    with tidalog.open(tmp_path) as kb:
        assert kb.count("p") == 1


def test_a_torn_tail_is_a_warning(copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    log_of(copy).write_bytes(log_of(copy).read_bytes()[:-3])
    with caplog.at_level(logging.WARNING, "tidalog"), tidalog.open(copy):
        pass
    assert "never finished" in caplog.text
