"""Facts and their indexes against Python's lists and dicts, through insertions, growth, going back, updates
that are finished or undone, and closing up, in any order."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from arrays_at import int32_at
from tidalog.engine import finished_update as ended
from tidalog.engine import hash_table as table
from tidalog.engine import memory
from tidalog.engine import undo_log as changes
from tidalog.engine.bits import DELETED, EXPLICIT, STATUS_DERIVED, STATUS_EXPLICIT, STATUS_NEW
from tidalog.engine.compaction import compact_ids, compact_rows
from tidalog.engine.derivation_counts import DerivationCounts
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.fact_kernels import HEADER, NONE, append_rows
from tidalog.engine.facts import FactStore
from tidalog.engine.index import Indexes
from tidalog.engine.index_kernels import POOL, POOL_SIZE
from tidalog.engine.probe import find_rows, find_runs
from tidalog.engine.undo_log import UndoLog
from tidalog.engine.update_kernels import set_bits_of

Row = tuple[int, ...]
ARITIES = (2, 1, 3, 0, 2, 8)
PREDICATES = st.integers(0, len(ARITIES) - 1)
INDEXES = (
    *((0, (0,)), (0, (1,)), (0, (0, 1)), (0, ()), (1, (0,)), (1, ()), (2, (0, 2)), (2, (1,)), (2, (0, 1, 2))),
    *((3, ()), (4, (0,)), (5, (7,)), (5, (0, 3, 5)), (5, tuple(range(8)))),
)


def columns(rows: list[Row], arity: int) -> list[np.ndarray]:
    return [np.array([row[c] for row in rows], np.int32) for c in range(arity)]


def find(store: FactStore, predicate: int, row: Row) -> int:
    store.add_to_table(predicate)
    found = np.empty(1, np.int32)
    find_rows(store.at, predicate, np.array(row, np.int32).reshape(-1, 1), 1, found)
    return int(found[0])


def run(store: FactStore, indexes: Indexes, number: int, keys: list[Row]) -> list[list[int]]:
    """The facts that an index has for each key, as a probe finds them."""
    width = len(keys[0])
    block = np.empty((width + 1, len(keys)), np.int32)
    for c in range(width):
        block[c + 1] = [key[c] for key in keys]
    code = np.arange(1, width + 2, dtype=np.int32)
    hashes = np.empty(len(keys), np.uint64)
    start, length = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
    meta = indexes.meta[number]
    find_runs(store.at, meta, block, len(keys), code, 0, hashes, start, length)
    pool = int32_at(meta[POOL], meta[POOL_SIZE])
    return [
        [] if n == 0 else [-1 - s] if s < 0 else pool[s : s + n].tolist()
        for s, n in zip(start.tolist(), length.tolist(), strict=True)
    ]


class Store(RuleBasedStateMachine):
    """`facts[i]` is what the store should hold under id i: predicate and row, or None; beside it its status.
    Below `floor` nothing can be gone back to: an update has been there."""

    def __init__(self) -> None:
        super().__init__()
        self.store, self.dictionary = FactStore(capacity=8), Dictionary()
        for predicate, arity in enumerate(ARITIES):
            self.store.add_predicate(predicate, arity)
        self.indexes = Indexes()
        self.log = UndoLog()
        self.floor, self.floor_used = 0, 0
        self.facts: list[tuple[int, Row] | None] = []
        self.status: list[int] = []
        self.ids: dict[tuple[int, Row], int] = {}

    @initialize(data=st.data())
    def make_indexes(self, data: st.DataObject) -> None:
        wanted = data.draw(st.lists(st.sampled_from(INDEXES), unique=True))
        self.keys = {self.indexes.number(p, key): (p, key) for p, key in wanted}

    def rows(self, data: st.DataObject, predicate: int) -> list[Row]:
        """A few drawn rows, or a stretch of many."""
        arity = ARITIES[predicate]
        if arity and data.draw(st.integers(0, 4)) == 4:
            count, step = (
                data.draw(st.sampled_from((300, 1500, 5000))),
                data.draw(st.sampled_from((1, 7, 64))),
            )
            first = data.draw(st.integers(0, 1000))
            return [tuple((first + i) // (step if c % 2 else 1) for c in range(arity)) for i in range(count)]
        value = st.one_of(st.integers(0, 3), st.integers(0, 2**31 - 1))
        return data.draw(st.lists(st.tuples(*[value] * arity), max_size=20))

    def remember(self, predicate: int, row: Row, status: int) -> bool:
        known = self.ids.get((predicate, row))
        if known is None:
            self.ids[predicate, row] = len(self.facts)
            self.facts.append((predicate, row))
            self.status.append(status)
            return True
        self.status[known] |= status
        return False

    @rule(data=st.data(), predicate=PREDICATES, status=st.sampled_from((STATUS_EXPLICIT, STATUS_DERIVED)))
    def insert(self, data: st.DataObject, predicate: int, status: int) -> None:
        rows = self.rows(data, predicate)
        new = self.store.insert(predicate, columns(rows, ARITIES[predicate]), len(rows), status)
        assert new == sum([self.remember(predicate, row, status) for row in rows])

    @rule(data=st.data(), predicate=PREDICATES)
    def append_what_is_new(self, data: st.DataObject, predicate: int) -> None:
        """Facts that go past the table."""
        drawn = dict.fromkeys(self.rows(data, predicate))
        rows = [row for row in drawn if (predicate, row) not in self.ids]
        self.store.ensure(len(rows), ARITIES[predicate])
        table = np.array(rows, np.int32).reshape(len(rows), ARITIES[predicate]).T.copy()
        append_rows(self.store.at, predicate, table, len(rows), STATUS_DERIVED)
        for row in rows:
            assert self.remember(predicate, row, STATUS_DERIVED)

    @precondition(lambda self: self.facts)
    @rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        n = len(self.facts)
        length = data.draw(st.one_of(st.integers(max(self.floor, n - 5), n), st.integers(self.floor, n)))
        self.indexes.truncate(self.store, length, len(self.indexes))
        added = (fact for fact in self.facts[self.floor : length] if fact is not None)
        self.store.truncate(length, self.floor_used + sum(ARITIES[p] + HEADER for p, _ in added))
        self.forget_from(length)

    def forget_from(self, length: int) -> None:
        for fact in self.facts[length:]:
            if fact is not None:
                del self.ids[fact]
        del self.facts[length:], self.status[length:]

    @property
    def live(self) -> list[tuple[int, int, Row]]:
        return [(i, *fact) for i, fact in enumerate(self.facts) if fact is not None]

    def maybe_catch_up(self, data: st.DataObject) -> None:
        if self.keys:
            for number in data.draw(st.lists(st.sampled_from(sorted(self.keys)), max_size=3)):
                self.indexes.catch_up(number, self.store)

    @precondition(lambda self: self.facts)
    @rule(data=st.data(), predicate=PREDICATES, succeeds=st.booleans())
    def update(self, data: st.DataObject, predicate: int, succeeds: bool) -> None:
        """Some facts are deleted, some of these come back, other rows come; then it holds or it never was."""
        begin, used = len(self.store), self.store.used
        before = list(self.facts), list(self.status), dict(self.ids)
        self.log.begin()
        self.log.reserve(begin)
        for p in range(len(ARITIES)):
            self.store.add_to_table(p)
        live = [i for i, _, _ in self.live]
        some = st.lists(st.sampled_from(live), unique=True, max_size=40) if live else st.just([])
        if data.draw(st.booleans()):
            step = data.draw(st.sampled_from((1, 2, 9)))
            deleted = live[: data.draw(st.sampled_from((100, 1500, 4000))) : step]
        else:
            deleted = data.draw(some)
        ids = np.array(deleted, np.int32)
        set_bits_of(self.store.at, self.log.at, ids, int(DELETED))
        self.maybe_catch_up(data)
        revived = deleted[:: data.draw(st.sampled_from((2, 3, 50)))]
        self.store.ensure(len(revived), 0)
        changes.revive(self.store.at, self.log.at, np.array(revived, np.int32), len(revived))
        for fact in revived:
            self.move(fact)
        self.maybe_catch_up(data)
        self.insert_in_update(data, predicate, set(deleted))
        self.maybe_catch_up(data)
        if succeeds:
            gone = [f for f in deleted if self.facts[f] is not None]
            dead = np.empty(len(gone) + len(self.log.moved_from), np.int32)
            kinds = np.full(len(gone), ended.DELETED_EXPLICIT, np.int8)
            ids, moved = np.array(gone, np.int32), self.log.moved_from.tolist()
            starts, rows = np.zeros(len(gone), np.int64), np.empty(max(ARITIES), np.int32)
            assert ended.finish(self.store.at, self.log.at, begin, ids, kinds, starts, rows, dead) == len(
                gone
            )
            assert dead.tolist() == [*gone, *moved]
            self.remove_from_indexes(dead)
            for fact in gone:
                known = self.facts[fact]
                assert known is not None
                del self.ids[known]
                self.facts[fact], self.status[fact] = None, 0
            self.floor, self.floor_used = len(self.store), self.store.used
        else:
            changes.undo(self.store.at, self.log.at)
            self.indexes.truncate(self.store, begin, len(self.indexes))
            self.store.truncate(begin, used)
            self.facts, self.status, self.ids = before

    def remove_from_indexes(self, dead: np.ndarray) -> None:
        predicates = np.empty(len(dead), np.int32)
        ended.predicates_of(self.store.at, dead, predicates)
        for predicate in np.unique(predicates).tolist():
            mine = dead[predicates == predicate]
            numbers = self.indexes.indexes_to_update(self.store.arrays, predicate, len(mine))
            whole = np.zeros(len(numbers), np.int64), np.full(len(numbers), len(mine))
            ended.remove_from_indexes(
                self.store.at, self.indexes.meta, np.array(numbers, np.int64), *whole, mine
            )

    def move(self, fact: int) -> None:
        """A fact that was deleted has a new id."""
        known = self.facts[fact]
        assert known is not None
        self.ids[known] = len(self.facts)
        self.facts.append(known)
        self.status.append(self.status[fact])
        self.facts[fact], self.status[fact] = None, 0

    def insert_in_update(self, data: st.DataObject, predicate: int, deleted: set[int]) -> None:
        known = [row for i, p, row in self.live if p == predicate and i in deleted]
        rows = [*known[::3], *self.rows(data, predicate)]
        count = len(rows)
        self.store.ensure(count, ARITIES[predicate], predicate)
        given = np.array(rows, np.int32).reshape(count, ARITIES[predicate]).T.copy()
        hashes, out, created = (
            np.empty(count, np.uint64),
            np.empty(count, np.int32),
            np.empty(count, np.int32),
        )
        changes.insert_changes(
            self.store.at, self.log.at, predicate, given, count, hashes, STATUS_NEW, out, created
        )
        for row, fact, new in zip(rows, out.tolist(), created.tolist(), strict=True):
            there = self.ids.get((predicate, row))
            if there is not None and there in deleted:
                self.move(there)
            assert bool(new) == (there is None or there in deleted)
            self.remember(predicate, row, STATUS_DERIVED)
            assert fact == self.ids[predicate, row]

    @rule(rows_too=st.booleans())
    def close_gaps(self, rows_too: bool) -> None:
        compact_ids(self.store, self.indexes, DerivationCounts(), lambda _: None)
        if rows_too:
            compact_rows(self.store)
        live = [i for i, _, _ in self.live]
        self.status = [self.status[i] for i in live]
        self.facts = [self.facts[i] for i in live]
        self.ids = {fact: i for i, fact in enumerate(self.facts) if fact is not None}
        self.floor, self.floor_used = len(self.store), self.store.used

    @rule(data=st.data(), predicate=PREDICATES)
    def look_up(self, data: st.DataObject, predicate: int) -> None:
        stored = [row for _, p, row in self.live if p == predicate]
        asked = stored[:: max(1, len(stored) // 20)]
        value = st.integers(0, 3)
        asked += data.draw(st.lists(st.tuples(*[value] * ARITIES[predicate]), max_size=5))
        for row in asked:
            assert find(self.store, predicate, row) == self.ids.get((predicate, row), NONE)

    @precondition(lambda self: self.keys)
    @rule(data=st.data())
    def probe(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.keys)))
        predicate, key = self.keys[number]
        self.indexes.catch_up(number, self.store)
        wanted: dict[Row, list[int]] = defaultdict(list)
        for fact, p, row in self.live:
            if p == predicate:
                wanted[tuple(row[c] for c in key)].append(fact)
        groups = self.indexes.groups(number, self.store).tolist()
        assert groups == sorted(facts[0] for facts in wanted.values())
        keys = [
            *wanted,
            *data.draw(st.lists(st.tuples(*[st.integers(0, 3)] * len(key)), min_size=1, max_size=3)),
        ]
        runs = run(self.store, self.indexes, number, keys)
        assert all(ids == sorted(set(ids)) for ids in runs)
        present = [[f for f in ids if self.facts[f] is not None] for ids in runs]
        assert present == [wanted.get(k, []) for k in keys]

    @invariant()
    def counts_agree(self) -> None:
        assert len(self.store) == len(self.facts)
        assert self.store.live == len(self.ids)
        kept = sum(ARITIES[p] + HEADER for _, p, _ in self.live)
        assert self.store.used - self.store.garbage == kept
        for predicate in range(len(ARITIES)):
            assert self.store.count(predicate) == sum(p == predicate for _, p, _ in self.live)

    @rule(predicate=PREDICATES, begin=st.integers(0, 50))
    def read(self, predicate: int, begin: int) -> None:
        ids = self.store.ids(predicate, begin)
        expected = [(i, row) for i, p, row in self.live if p == predicate and i >= begin]
        assert ids.tolist() == [i for i, _ in expected]
        for c in range(ARITIES[predicate]):
            assert self.store.column(ids, c).tolist() == [row[c] for _, row in expected]
        explicit = self.store.ids(predicate, 0, int(EXPLICIT), int(EXPLICIT)).tolist()
        all_of = [i for i, p, _ in self.live if p == predicate]
        assert explicit == [i for i in all_of if self.status[i] & EXPLICIT]

    def teardown(self) -> None:
        for predicate in range(len(ARITIES)):
            self.read(predicate, 0)
            for fact, p, row in self.live[:200]:
                if p == predicate:
                    assert find(self.store, predicate, row) == fact


TestStore = Store.TestCase
TestStore.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("reserved", [True, False], ids=["in place", "copied"])
def test_a_store_of_many_facts_finds_each_one_and_goes_back(
    reserved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large enough for arrays that grow in place, where the system grants that; ids go by arrival."""
    if not reserved:
        for module in (memory, table):
            monkeypatch.setattr(module, "reserve", lambda dtype, length: None)
    store, rows = FactStore(), 300_000
    store.add_predicate(0, 2)
    store.add_predicate(1, 1)
    numbers = np.arange(rows, dtype=np.int32)
    mixed = ((np.arange(rows) * 7919) % rows).astype(np.int32)
    assert store.insert(0, [numbers // 3, mixed], rows, STATUS_EXPLICIT) == rows
    assert store.insert(1, [mixed], rows, STATUS_EXPLICIT) == rows
    assert store.insert(0, [numbers // 3, mixed], rows, STATUS_DERIVED) == 0
    assert store.insert(1, [numbers], rows, STATUS_DERIVED) == 0
    for i in range(0, rows, 997):
        assert find(store, 0, (i // 3, mixed[i])) == i
        assert find(store, 1, (mixed[i],)) == rows + i
    store.truncate(100_000, 100_000 * (2 + HEADER))
    assert (store.count(0), store.count(1)) == (100_000, 0)
    for i in range(0, rows, 997):
        expected = i if i < 100_000 else NONE
        assert find(store, 0, (i // 3, mixed[i])) == expected
    assert store.insert(0, [numbers // 3, mixed], rows, STATUS_EXPLICIT) == 200_000
    assert np.array_equal(store.ids(0), numbers)


@pytest.mark.parametrize("rows", [1, 255, 256, 257, 4095, 4096, 4097, (1 << 18) - 1, 1 << 18, (1 << 18) + 1])
def test_duplicates_within_one_insertion_count_once(rows: int) -> None:
    """Around the sizes in which rows are looked ahead, blocked and inserted."""
    numbers = np.arange(rows, dtype=np.int32) // 2
    for arity in (1, 2, 3):
        store = FactStore()
        assert store.insert(0, [numbers] * arity, rows, STATUS_EXPLICIT) == (rows + 1) // 2
        assert np.array_equal(store.column(store.ids(0), arity - 1), np.arange((rows + 1) // 2))


def test_a_fact_without_arguments_is_there_once() -> None:
    store = FactStore()
    assert store.insert(0, [], 5, STATUS_EXPLICIT) == 1
    assert store.insert(0, [], 1, STATUS_DERIVED) == 0
    assert store.insert(1, [], 1, STATUS_DERIVED) == 1
    assert store.ids(0).tolist() == [0]


def test_predicates_with_the_same_rows_do_not_mix() -> None:
    store = FactStore()
    for predicate in range(1000):
        store.add_predicate(predicate, 2)
        assert store.insert(predicate, columns([(1, 2), (2, 1)], 2), 2, STATUS_EXPLICIT) == 2
    for predicate in range(1000):
        assert store.ids(predicate).tolist() == [2 * predicate, 2 * predicate + 1]


def test_a_skewed_index_has_one_long_run_and_many_short_ones() -> None:
    store, indexes, rows = FactStore(), Indexes(), 100_000
    store.add_predicate(0, 2)
    keys = np.where(np.arange(rows) % 2 == 0, 0, np.arange(rows)).astype(np.int32)
    store.insert(0, [keys, np.arange(rows, dtype=np.int32)], rows, STATUS_EXPLICIT)
    number = indexes.number(0, (0,))
    indexes.catch_up(number, store)
    found = run(store, indexes, number, [(0,), (1,), (99_999,), (2,)])
    assert found == [list(range(0, rows, 2)), [1], [99_999], []]
    indexes.truncate(store, 3, len(indexes))
    store.truncate(3, 3 * (2 + HEADER))
    assert run(store, indexes, number, [(0,), (1,), (99_999,)]) == [[0, 2], [1], []]
    assert indexes.groups(number, store).tolist() == [0, 1]
