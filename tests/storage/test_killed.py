"""kill -9 at every point of an update's way: what was acknowledged is there, and nothing is there by half.

The writers are processes of their own that end themselves by SIGKILL (`killed`); the oracle is the same
stream on a knowledge base in memory.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from killed import PROGRAM, SOURCE, STORE, UPDATES, hand_out, updates
from stored import State, check_consistent
from stored import state as facts_of

import tidalog
from tidalog.storage.faults import POINTS

CASES = [
    f"{mode} {fsync} {time} {point}"
    for mode, fsync in (("apply", "batch"), ("apply", "off"), ("batch", "batch"), ("apply", "always"))
    for point in POINTS
    for time in ((1, 2, 3) if point.startswith(("snapshot", "manifest")) else (1, 2, 3, 7, 19, 33))
    if not (fsync == "off" and point == "log synced") and not (mode == "batch" and time == 33)
]


@dataclass
class Oracle:
    states: list[tuple[State, dict[str, str]]]
    """What is there after each update: facts, and rules by name."""
    refused: set[int]


def state(kb: tidalog.KnowledgeBase) -> tuple[State, dict[str, str]]:
    return {name: facts for name, facts in facts_of(kb).items() if any(facts)}, dict(kb.rules)


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    kb = tidalog.open()
    kb.load(PROGRAM)
    oracle = Oracle([state(kb)], set())
    for number, update in enumerate(updates(), 1):
        try:
            kb.apply(update)
        except (tidalog.RunError, tidalog.ProgramError):
            oracle.refused.add(number)
        oracle.states.append(state(kb))
    assert 3 < len(oracle.refused) < UPDATES // 2
    assert len({tuple(rules) for _, rules in oracle.states}) > 6
    return oracle


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of all writers."""
    folder = tmp_path_factory.mktemp("killed")
    command = [sys.executable, str(Path(__file__).parent / "killed.py"), str(folder)]
    subprocess.run(command, input="\n".join(CASES), text=True, check=True, timeout=500)
    return folder


def said_by(folder: Path) -> list[str]:
    said = (folder / "said").read_text().split()
    assert "end" not in said, "the writer was never killed"
    return said


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("apply")])
def test_an_acknowledged_update_survives(case: str, killed: Path, oracle: Oracle) -> None:
    said = said_by(killed / case)
    with tidalog.open(killed / case / STORE, snapshot_after=700) as kb:
        kb.load(PROGRAM)
        done = max(len(said) - 1, 0)
        found = state(kb)
        if found != oracle.states[done]:  # then the one that was under way is there, and whole
            done += 1
            assert found == oracle.states[done]
        check_consistent(kb)
        for update in list(updates())[done:]:
            with contextlib.suppress(tidalog.RunError, tidalog.ProgramError):
                kb.apply(update)
        assert state(kb) == oracle.states[UPDATES]
        check_consistent(kb)
    with tidalog.open(killed / case / STORE) as kb:
        assert state(kb) == oracle.states[UPDATES]


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("batch")])
def test_every_delta_of_a_batch_is_handed_out_until_it_is_acknowledged(
    case: str, killed: Path, oracle: Oracle
) -> None:
    confirmed = [int(word) for word in said_by(killed / case)[1:]]
    with tidalog.open(killed / case / STORE) as kb:
        kb.load(PROGRAM)
        waiting = [int(str(position.label)) for position in kb.pending]
        logged = int(str(kb.last_label(SOURCE) or 0))
        expected = [n for n in range(1, logged + 1) if n not in oracle.refused]
        again = [n for n in waiting if n not in oracle.refused]
        known = confirmed[:-1] if confirmed and confirmed[-1] in again else confirmed
        assert known + again == expected, "each once, but the last may be confirmed twice"
        applied = (waiting[0] if waiting else logged + 1) - 1
        assert state(kb) == oracle.states[applied]
        hand_out(kb, 0, confirmed.append)
        assert state(kb) == oracle.states[logged]
        check_consistent(kb)
        last = kb.last_batch(SOURCE)
        kb.log_updates(list(updates())[logged:], source=SOURCE, batch=0 if last is None else last + 1)
        hand_out(kb, 0, confirmed.append)
        assert state(kb) == oracle.states[UPDATES]
