"""Kernels of an update: what they change is in the undo log."""

from __future__ import annotations

import numpy as np

from tidalog.engine import undo_log, update_kernels
from tidalog.engine.bits import EXPLICIT, MARKED, PRESENT, TOUCHED
from tidalog.engine.engine import EmbeddedEngine


def test_bits_that_are_cleared_come_back_with_undo_and_others_are_not_touched() -> None:
    engine = EmbeddedEngine()
    engine.insert("p", [np.arange(3, dtype=np.int32)], 3)
    status, given = engine.store.arrays.status, EXPLICIT | PRESENT
    status[0] |= MARKED
    engine.log.begin(3)
    update_kernels.clear_bits_of(engine.shared, np.array([0, 1], np.int32), int(MARKED))
    assert status[:3].tolist() == [given | TOUCHED, given, given]
    assert engine.log.touched.tolist() == [0]
    undo_log.undo(engine.store.arrays, engine.log.arrays)
    assert status[:3].tolist() == [given | MARKED, given, given]
