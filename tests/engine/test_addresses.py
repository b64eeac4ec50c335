"""Kernels by address see the arrays of an engine as they are, however often these have been replaced."""

from __future__ import annotations

import numpy as np
import pytest

from tidalog.engine import update_kernels as steps
from tidalog.engine.addresses import EACH, block_of
from tidalog.engine.bits import EXPLICIT, NEW, PRESENT
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.finished_update import predicates_of
from tidalog.engine.kernel_object import KernelError


def test_a_block_names_every_array_by_place_and_shape() -> None:
    arrays = [np.zeros(3, np.int32), np.zeros((2, 5), np.int64), np.zeros((4, 1, 6), np.uint8)]
    block = block_of(arrays).reshape(-1, EACH)
    assert block[:, 0].tolist() == [array.ctypes.data for array in arrays]
    assert block[:, 1:].tolist() == [[3, 0, 0], [2, 5, 0], [4, 1, 6]]


def test_a_block_refuses_arrays_that_are_not_contiguous() -> None:
    table = np.zeros((3, 4), np.int32)
    for array in (table[:, 1], table.T, table[0, ::2]):
        with pytest.raises(KernelError, match="contiguous"):
            block_of([array])


def test_the_block_of_an_engine_follows_its_arrays_when_they_grow() -> None:
    engine = EmbeddedEngine()
    engine.predicate("p", 1)
    rows, begin = 100, 0
    while len(engine.store) < 20_000:
        before = engine.store.arrays
        engine.log.begin()
        engine.log.reserve(len(engine.store))
        table = np.arange(begin, begin + rows, dtype=np.int32).reshape(1, rows)
        absent = np.empty(rows, np.int64)
        assert steps.make_explicit(engine.shared, 0, table, absent) == (rows, 0)
        engine.store.ensure(rows, 1, 0)
        assert steps.put_rows(engine.shared, 0, table, int(EXPLICIT | PRESENT | NEW)) == rows
        out = np.full(rows, -1, np.int32)
        ids = np.arange(begin, begin + rows, dtype=np.int32)
        predicates_of(engine.shared, ids, out)
        assert not out.any()
        assert engine.store.column(ids, 0).tolist() == table[0].tolist()
        if engine.store.arrays is before:
            assert steps.make_explicit(engine.shared, 0, table, absent) == (0, rows)
        begin, rows = begin + rows, 2 * rows
