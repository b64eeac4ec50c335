"""Kernels of an update: what they change is in the undo log, and a savepoint undoes it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tidalog.engine as engine_package
from tidalog.engine import undo_log, update_kernels
from tidalog.engine.bits import EXPLICIT, MARKED, PRESENT, TOUCHED
from tidalog.engine.engine import EmbeddedEngine


def test_bits_that_are_cleared_come_back_with_undo_and_others_are_not_touched() -> None:
    engine = EmbeddedEngine()
    engine.insert("p", [np.arange(3, dtype=np.int32)], 3)
    status, given = engine.store.arrays.status, EXPLICIT | PRESENT
    status[0] |= MARKED
    engine.log.reserve(3)
    update_kernels.clear_bits_of(engine.store.at, engine.log.at, np.array([0, 1], np.int32), int(MARKED))
    assert status[:3].tolist() == [given | TOUCHED, given, given]
    assert engine.log.touched.tolist() == [0]
    undo_log.undo(engine.store.at, engine.log.at)
    assert status[:3].tolist() == [given | MARKED, given, given]


def test_a_savepoint_is_the_only_way_to_undo() -> None:
    """What restores a part of the engine is called by `engine.savepoint` alone."""
    parts = re.compile(r"\b(undo\(|undo_counts\(|counts\.undo\(|\.truncate\(|\.forget_predicates\()")
    package = Path(engine_package.__file__).parent.parent
    callers = {
        file.relative_to(package).as_posix()
        for folder in ("engine", "maintain", "api", "keyed")
        for file in (package / folder).rglob("*.py")
        if parts.search(re.sub(r"def \w+\(|self\.truncate\(", "", file.read_text()))
    }
    assert callers == {"engine/savepoint.py", "engine/derivation_counts.py"}


def test_one_savepoint_is_open_at_a_time() -> None:
    engine = EmbeddedEngine()
    with engine.savepoint() as savepoint:
        with pytest.raises(RuntimeError, match="open already"):
            engine.savepoint()
        assert savepoint.is_open
    assert engine.open_savepoint is None
    with pytest.raises(KeyError), engine.savepoint():
        engine.insert("p", [np.arange(3, dtype=np.int32)], 3)
        raise KeyError
    assert (engine.names, len(engine.store), engine.open_savepoint) == ([], 0, None)
