"""Every format that was ever written can be read."""

from __future__ import annotations

import shutil
from pathlib import Path

import format_content as content
import pytest
from consistency import check_store
from stored import State, state

import tidalog
from tidalog.storage.manifest import FORMAT, read_manifest

FORMATS = sorted((Path(__file__).parent / "formats").iterdir())


def expected(updates: int) -> State:
    kb = tidalog.open()
    for part in (content.begin, content.go_on, content.end):
        part(kb)
    for update in [update for batch in content.BATCHES for update in batch][:updates]:
        kb.apply(update)
    return state(kb)


def test_the_format_of_today_is_among_them() -> None:
    assert f"format-{FORMAT}" in [path.name for path in FORMATS]


@pytest.mark.parametrize("format", FORMATS, ids=lambda path: path.name)
@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "without its newest snapshot"])
def test_a_store_of_this_format_is_read_and_goes_on(format: Path, damaged: bool, tmp_path: Path) -> None:
    store = shutil.copytree(format, tmp_path / "s.tidalog")
    if damaged:
        shutil.rmtree(store / read_manifest(store).snapshots[0].folder)
    with tidalog.open(store, read_only=True) as kb:
        assert state(kb) == expected(1)
    with tidalog.open(store) as kb:
        assert state(kb) == expected(1)
        assert [(p.source, p.batch, p.index, p.label) for p in kb.pending] == [
            (content.SOURCE, 0, 1, "q-r"),
            (content.SOURCE, 1, 0, "r-s"),
        ]
        assert (kb.last_batch(content.SOURCE), kb.last_applied(content.SOURCE)) == (1, None)
        kb.load(content.PROGRAM, parameters={"limit": 2})
        list(kb.apply_pending())
        check_store(kb._open().engine)
        kb.snapshot()
    with tidalog.open(store) as kb:
        assert (kb.recovery.replayed, state(kb)) == (0, expected(3))
