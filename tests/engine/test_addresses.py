"""A block of addresses names the arrays of its owner as they are, however often these have been replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from tidalog.engine import update_kernels as kernels
from tidalog.engine.addresses import Owner, block_of
from tidalog.engine.array_types import EACH, Int32s, Int64Table, Uint8s
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


class Inner(NamedTuple):
    ids: Int32s
    bits: Uint8s


class Outer(NamedTuple):
    table: Int64Table
    inner: Inner


def outer(length: int) -> Outer:
    return Outer(np.zeros((length, 2), np.int64), Inner(np.zeros(length, np.int32), np.zeros(1, np.uint8)))


def numbers(block: object) -> list[int]:
    assert isinstance(block, np.ndarray)
    result: list[int] = block.tolist()
    return result


def test_an_owner_keeps_one_block_that_names_its_arrays_as_they_are() -> None:
    before, now = outer(3), outer(4)
    owner = Owner(before)
    block = owner.at
    for arrays in (
        before._replace(table=now.table),
        before._replace(inner=now.inner),
        before._replace(inner=before.inner._replace(bits=now.inner.bits)),
        now,
    ):
        owner.replace(arrays)
        assert owner.arrays is arrays
        assert owner.at is block
        assert numbers(block) == block_of([arrays.table, *arrays.inner]).tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda right: right._replace(table=np.zeros((3, 2), np.int32)),
        lambda right: right._replace(table=np.zeros(6, np.int64)),
        lambda right: right._replace(table=np.zeros((2, 3), np.int64).T),
        lambda right: right._replace(inner=right.inner._replace(bits=np.zeros(1, np.int8))),
    ],
)
def test_an_owner_refuses_arrays_of_another_kind(wrong: Callable[[Outer], Outer]) -> None:
    right = outer(3)
    owner = Owner(right)
    block = numbers(owner.at)
    with pytest.raises(KernelError):
        Owner(wrong(right))
    with pytest.raises(KernelError):
        owner.replace(wrong(right))
    assert numbers(owner.at) == block
    assert owner.arrays is right


def test_an_entry_refuses_what_is_no_block_of_its_tuple() -> None:
    engine, out = EmbeddedEngine(), np.empty(0, np.int32)
    for wrong in (engine.store.arrays, engine.log.at, engine.store, None):
        with pytest.raises(KernelError, match="facts"):
            predicates_of(wrong, out, out)  # type: ignore[arg-type]


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
        assert kernels.make_explicit(engine.store.at, engine.log.at, 0, table, absent) == (rows, 0)
        engine.store.ensure(rows, 1, 0)
        status = int(EXPLICIT | PRESENT | NEW)
        assert kernels.put_rows(engine.store.at, engine.log.at, 0, table, status) == rows
        out = np.full(rows, -1, np.int32)
        ids = np.arange(begin, begin + rows, dtype=np.int32)
        predicates_of(engine.store.at, ids, out)
        assert not out.any()
        assert engine.store.column(ids, 0).tolist() == table[0].tolist()
        if engine.store.arrays is before:
            assert kernels.make_explicit(engine.store.at, engine.log.at, 0, table, absent) == (0, rows)
        begin, rows = begin + rows, 2 * rows
