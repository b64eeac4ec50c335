"""Ctrl-C at any line of a change: what is in memory is what the log says, and the next change finds it so."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Final

import pytest
from stored import CLOSURE, check_consistent, edges, reopened, state

import tidalog
from tidalog.api.stored import StoredKnowledgeBase

PACKAGE: Final = Path(tidalog.__file__).parent
TRACED: Final = tuple(
    str(PACKAGE / name)
    for name in ("api", "storage", "engine/interrupts", "maintain/maintainer", "maintain/transaction")
)
"""Where changes are applied and logged; what derives facts has safe points."""
MANY: Final = 300
"""Facts that are stored and not maintained."""
Change = Callable[[StoredKnowledgeBase, int], object]


class CtrlC:
    """Presses Ctrl-C before one of the lines that are traced; `lines` counts them."""

    def __init__(self, at: int = 0) -> None:
        self._at = at
        self.lines = 0

    def __enter__(self) -> CtrlC:
        sys.settrace(self._trace)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, _: object) -> object:
        if not frame.f_code.co_filename.startswith(TRACED):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self._at:
                signal.raise_signal(signal.SIGINT)
        return self._trace


def pending(kb: StoredKnowledgeBase, number: int) -> None:
    updates = [edges(("c", number)), edges(("d", number))]
    kb.log_updates(updates, source="q", batch=number)
    list(kb.apply_pending(latest_only=number % 2 == 0))


def maintained(kb: StoredKnowledgeBase, number: int) -> None:
    insertions, deletions = {"edge": [("a", number)]}, {"edge": [("a", number - 2)]}
    kb.apply(tidalog.Update(insertions=insertions, deletions=deletions))


CHANGES: Final[dict[str, tuple[Change, int]]] = {
    "maintained": (maintained, 1),
    "of a new predicate": (lambda kb, n: kb.insert(f"new{n}", [(1,)]), 7),
    "stored": (lambda kb, n: kb.insert("edge", [(n, -1)] * MANY), 1),
    "deleted": (lambda kb, n: kb.delete("edge", [(n % 20, -1)] * MANY), 1),
    "rules": (lambda kb, n: kb.rules.add(f"c{n}: p{n}(?x) :- edge(?x, ?y)."), 1),
    "batches": (pending, 1),
}
"""Changes, and how many lines lie between two tries."""


@pytest.fixture(autouse=True)
def usual_handler() -> Iterator[None]:
    """An interrupted test ends by itself, and Ctrl-C works as in any program."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("kind", CHANGES)
def test_after_ctrl_c_at_any_line_memory_and_log_agree(kind: str, tmp_path: Path) -> None:
    change, step = CHANGES[kind]
    kb = tidalog.open(tmp_path / "s.tidalog", fsync="off")
    kb.load(CLOSURE)
    kb.insert("edge", [(0, n) for n in range(20)])
    kb.materialise()
    change(kb, 1)  # builds what only the first one builds
    at = 1
    while True:
        pressed = CtrlC(at)
        with suppress(KeyboardInterrupt, tidalog.RunError), pressed:
            change(kb, 1 + at)
        list(kb.apply_pending())
        if pressed.lines < at:
            break
        at += step
    held = state(kb)
    check_consistent(kb)
    kb = reopened(kb)
    assert state(kb) == held
    check_consistent(kb)
    kb.close()
