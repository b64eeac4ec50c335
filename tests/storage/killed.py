"""Writers that end themselves by SIGKILL at a named point: `python killed.py FOLDER`, with cases on stdin.

A case is a line `MODE FSYNC TIME POINT`: the writer is killed when it passes the point for that time.  Each
is a process of its own and has a folder of that name with a store; it works through a fixed stream and writes
to the file `said` what is confirmed: `load`, then the number of every update.  `MODE` is `apply`,
or `batch` for updates that are logged three at a time, handed out, and acknowledged once they are said.  At
the end of a writer that was not killed, `said` says `end`.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import tidalog
from tidalog.storage import faults

PROGRAM = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
:- path(?x, ?x), fixed(?x) .
edge(0, 1). fixed(0).
"""
UPDATES = 42
SOURCE = "stream"
STORE = "s.tidalog"
Say = Callable[[object], None]


def updates() -> Iterator[tidalog.Update]:
    """Some of them close a circle through 0 and are refused; some add and remove rules, and some of these are
    refused too."""
    chance = random.Random(5)
    for label in range(1, UPDATES + 1):
        update = tidalog.Update(label=label)
        for change in (update.insert, update.delete):
            change("edge", [(chance.randrange(6), chance.randrange(6)) for _ in range(3)])
        if label % 4 == 0:
            update.add_rule(f"n{label}: near(?x, {label // 12}) :- edge({label % 6}, ?x)")
        if label % 8 == 7:
            update.remove_rule(f"n{label - 3}")  # which is not there if that update was refused
        if label % 14 == 9:
            update.add_rule("edge(?x, ?x) :- path(?x)")  # another number of arguments
        if label in (18, 26):
            update.remove_rule("r2")
        if label in (22, 30):
            update.add_rule("r2: path(?x, ?z) :- path(?x, ?y), edge(?y, ?z)")
        yield update


def write(folder: Path, mode: str, fsync: str, say: Say) -> None:
    with tidalog.open(folder / STORE, fsync=fsync, snapshot_after=700) as kb:  # type: ignore[call-overload]
        kb.load(PROGRAM)
        say("load")
        kb.materialise()
        if mode == "apply":
            for update in updates():
                with contextlib.suppress(tidalog.RunError, tidalog.ProgramError):
                    kb.apply(update)
                say(update.label)
                confirm(kb, update.label)
            return
        stream = list(updates())
        for number in range(0, UPDATES, 3):
            kb.log_updates(stream[number : number + 3], source=SOURCE, batch=number)
            hand_out(kb, 1, say)
        hand_out(kb, 0, say)


def hand_out(kb: tidalog.StoredKnowledgeBase, keep: int, say: Say) -> None:
    while len(kb.pending) > keep:
        with contextlib.suppress(tidalog.RunError, tidalog.ProgramError):
            for position, _ in kb.apply_pending(keep=keep, acknowledge=False):
                say(position.label)
                kb.acknowledge(position)
                confirm(kb, position.label)


def confirm(kb: tidalog.StoredKnowledgeBase, label: object) -> None:
    """Now and then a snapshot is waited for, so that there are several however slow the disk is."""
    if int(str(label)) % 3 == 0:
        kb._snapshotter.wait()


def run(folder: Path, mode: str, fsync: str, time: int, point: str) -> None:
    """One writer, in this process."""
    folder.mkdir()
    said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT)
    passed = 0

    def say(word: object) -> None:
        os.write(said, f"{word}\n".encode())

    def at(name: str) -> None:
        nonlocal passed
        passed += name == point
        if name == point and passed == time:
            os.kill(os.getpid(), signal.SIGKILL)

    faults.at = at
    write(folder, mode, fsync, say)
    say("end")


def main(folder: Path) -> None:
    warm = folder / "warm"
    warm.mkdir()
    write(warm, "apply", "off", lambda _: None)  # so that writers need not compile or import anything
    for line in sys.stdin:
        mode, fsync, time, point = line.rstrip("\n").split(" ", 3)
        child = os.fork()
        if child == 0:
            try:
                run(folder / line.rstrip("\n"), mode, fsync, int(time), point)
            finally:
                os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
