"""Keys have windows of their own: what a bucket holds is what a knowledge base for each key would hold that
gets its updates, and the time of the stream after each batch."""

from __future__ import annotations

import contextlib
import json
import random
from zlib import crc32

import numpy as np
import pytest
from keyed_oracle import changes_in
from keyed_windows import (
    LATE,
    PROGRAMS,
    RULES,
    SECOND,
    AloneWithWindows,
    TimedRow,
    random_batches,
    table_of,
    until_of,
)

import tidalog
from tidalog.analysis.keyed import keyed_program
from tidalog.keyed.bucket import Bucket
from tidalog.keyed.config import BucketConfig, config_of, facts_only
from tidalog.keyed.due_index import DueIndex
from tidalog.keyed.outcome import Clock
from tidalog.keyed.row_notes import KEY_OF_ROW
from tidalog.lang import parse
from tidalog.maintain.windows import stream_rows
from tidalog.model.window_times import NEVER

KEYS = tuple(f"farm {number}" for number in range(7))


def config_for(text: str, labels: str | None = "integer") -> BucketConfig:
    program = parse(text)
    with tidalog.open() as kb:
        kb.load(program)
        kb.materialise(progress=False)
        keyed = keyed_program(program)
        late = LATE * 1_000_000
        return config_of(keyed, kb, arguments=2, labels=labels, ttl=None, functions={}, late=late)


class Buckets:
    """Keys in several buckets, each of which may be rebuilt at any time, and moved to other buckets."""

    def __init__(self, text: str, count: int) -> None:
        self.config = config_for(text)
        self.buckets = [Bucket(self.config) for _ in range(count)]
        self.records: list[list[bytes]] = [[] for _ in range(count)]
        self.emitted: list[object] = []
        self.late: set[tuple[str, int]] = set()
        self.refused: list[tuple[str, int]] = []
        self.overdue: list[tuple[object, ...]] = []
        self.expired = 0

    @property
    def violated(self) -> set[tuple[str, str]]:
        """Keys, and the constraints that they violate."""
        found = set[tuple[str, str]]()
        for bucket in self.buckets:
            columns = bucket.engine.columns(bucket.config.violated)
            texts = [[bucket.engine.dictionary.term(n).value for n in c.tolist()] for c in columns]  # type: ignore[union-attr]
            found |= set(zip(*texts, strict=True))
        return found

    @property
    def clock(self) -> Clock:
        """The time of all buckets, and the next expiry in one of them."""
        (now,) = {bucket.windows.now for bucket in self.buckets}
        return Clock(now, min(bucket.windows.next_expiry for bucket in self.buckets))

    def apply(self, rows: list[TimedRow], until: int | None = None) -> None:
        until = until_of(rows) if until is None else until
        for number, bucket in enumerate(self.buckets):
            own = [row for row in rows if crc32(row.key.encode()) % len(self.buckets) == number]
            done = bucket.apply(table_of(own), 0, until=until)
            self.records[number].append(done.record)
            self.emitted += changes_in(done.changes, 2)
            self.refused += [(row["key"], row["update"]) for row in done.refused.to_pylist()]
            self.overdue += [tuple(row.values()) for row in done.overdue.to_pylist()]
            self.expired += done.expired_facts
            for note in map(json.loads, done.bad):
                assert note["fault"]["number"] == "T174"
                self.late.add((note["values"][KEY_OF_ROW], note["values"]["update"]))
            assert done.rows + len(done.bad) == len(own)

    def rebuild(self) -> None:
        for number, records in enumerate(self.records):
            self.buckets[number] = Bucket(self.config)
            for record in records:
                self.buckets[number].restore(record)

    def compact(self) -> None:
        self.records = [[bucket.snapshot()] for bucket in self.buckets]

    def reshard(self, count: int) -> None:
        """As `spark.keyed.resharding`: without rules and windows."""
        moved: list[list[bytes]] = [[] for _ in range(count)]
        for records in self.records:
            old = Bucket(facts_only("integer"))
            for record in records:
                old.restore(record)
            names = [old.engine.dictionary.term(int(key)).value for key in old.keys.ids]  # type: ignore[union-attr]
            targets = np.array([crc32(name.encode()) % count for name in names], np.int64)
            for number in range(count):
                moved[number].append(old.snapshot(old.keys.ids[targets == number]))
        self.buckets, self.records = [Bucket(self.config) for _ in range(count)], moved
        self.rebuild()


@pytest.mark.parametrize("seed", range(10))
def test_a_key_has_the_windows_of_a_knowledge_base_of_its_own(seed: int) -> None:
    program = PROGRAMS[sorted(PROGRAMS)[seed % len(PROGRAMS)]]
    alone, buckets = AloneWithWindows(program), Buckets(program, 1 + seed % 3)
    for number, rows in enumerate(random_batches(seed, KEYS, 9, 8)):
        alone.apply(rows)
        buckets.apply(rows)
        assert sorted(map(repr, buckets.emitted)) == sorted(map(repr, alone.emitted)), number
        assert buckets.late == alone.late
        assert set(buckets.refused) == set(alone.refused)
        if number % 2:
            buckets.rebuild()
        if number % 4 == 2:
            buckets.compact()
        if number == 5:
            buckets.reshard(4)
            buckets.rebuild()
    assert buckets.expired == sum(row[-1] == "expired" for row in alone.emitted)


@pytest.mark.parametrize("seed", range(10))
def test_time_alone_moves_every_key_and_the_next_expiry_is_known(seed: int) -> None:
    """Also of buckets that were rebuilt, and of keys in others."""
    name = sorted(PROGRAMS)[seed % len(PROGRAMS)]
    alone, buckets = AloneWithWindows(PROGRAMS[name]), Buckets(PROGRAMS[name], 1 + seed % 3)
    moved = 0
    for number, rows in enumerate(random_batches(seed, KEYS, 7, 6)):
        alone.apply(rows)
        buckets.apply(rows)
        for _ in range(seed % 4):
            due, expired = buckets.clock.due, buckets.expired
            if due == NEVER:
                break
            assert due > buckets.clock.now
            buckets.apply([], due - 1)
            assert (buckets.clock, buckets.expired) == (Clock(due - 1, due), expired)
            buckets.apply([], due)
            alone.advance(due // SECOND)
            assert buckets.expired > expired or name == "must stay"
            assert sorted(map(repr, buckets.emitted)) == sorted(map(repr, alone.emitted)), number
            moved += 1
        if number % 3 == 1:
            before = buckets.clock
            (buckets.rebuild if seed % 2 else lambda: buckets.reshard(4))()
            assert buckets.clock == before
    assert moved or seed % 4 == 0 or name == "count"


def test_time_passes_for_a_key_whose_constraint_it_violates() -> None:
    """It violates the constraint from then on, and its updates are not refused for that."""
    alone, buckets = AloneWithWindows(PROGRAMS["must stay"]), Buckets(PROGRAMS["must stay"], 1)
    rows = [
        TimedRow("a", 1, "+", "node", ("n2",), 98),
        TimedRow("a", 2, "+", "node", ("n1",), 100),
        TimedRow("a", 2, "+", "edge", ("n1", "n4"), 100),
    ]
    later = [[TimedRow("b", label, "+", "node", ("n1",), at)] for label, at in ((1, 108), (2, 105), (3, 109))]
    for batch in (rows, *later, [TimedRow("a", 3, "+", "node", ("n3",), 109)]):
        alone.apply(batch)
        buckets.apply(batch)
        assert sorted(map(repr, buckets.emitted)) == sorted(map(repr, alone.emitted))
        assert buckets.violated == alone.violated
    assert not buckets.refused and [key for key, *_ in buckets.overdue] == ["a"]
    assert sum(key == "a" and kind == "expired" for key, *_, kind in buckets.emitted) == 4


@pytest.mark.parametrize("seed", range(200, 212))
def test_constraints_refuse_what_those_of_a_knowledge_base_refuse(seed: int) -> None:
    """Whatever time violates, in the middle of an update or between updates, and after a restart."""
    program = "@window node :- range 4s . :- edge(_, n4), ~node(_) . :- edge(?x, n3), ~node(?x) ." + RULES
    alone, buckets = AloneWithWindows(program), Buckets(program, 1 + seed % 2)
    for number, rows in enumerate(random_batches(seed, KEYS, 12, 10)):
        alone.apply(rows)
        buckets.apply(rows)
        assert sorted(map(repr, buckets.emitted)) == sorted(map(repr, alone.emitted)), number
        assert set(buckets.refused) == set(alone.refused)
        assert buckets.violated == alone.violated
        if number % 3 == 1:
            buckets.rebuild()


def test_an_arrival_after_a_restart_is_newer_than_a_late_one_before() -> None:
    """It got the number of an earlier one that the window does not hold."""
    program = "@window node :- count 1 . known(?x) :- node(?x) ."
    alone, buckets = AloneWithWindows(program), Buckets(program, 1)
    for label, name, at in ((1, "n1", 106), (2, "n2", 104), (3, "n0", 104), (4, "n0", 110)):
        rows = [TimedRow("a", label, "+", "node", (name,), at)]
        alone.apply(rows)
        buckets.apply(rows)
        assert sorted(map(repr, buckets.emitted)) == sorted(map(repr, alone.emitted))
        if label == 3:
            buckets.compact()
            buckets.rebuild()


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_without_labels_each_time_of_a_key_is_an_update(program: str) -> None:
    """As if times were labels."""
    text, chance, now = PROGRAMS[program], random.Random(7), 100
    plain, labelled = Bucket(config_for(text, None)), Bucket(config_for(text))
    for batch in range(8):
        now += 6
        rows: list[TimedRow] = []
        for _ in range(12):
            time, predicate = now - chance.randrange(12), chance.choice(["edge", "node"])
            names = tuple(f"n{chance.randrange(5)}" for _ in range(1 + (predicate == "edge")))
            key, label = chance.choice(KEYS[:2]), 1000 * batch + time
            rows.append(TimedRow(key, label, chance.choice("+++-"), predicate, names, time))
        table = table_of(rows)
        without = plain.apply(table.drop_columns(["update"]), 0, until=until_of(rows))
        given = labelled.apply(table, 0, until=until_of(rows))
        assert held_by(plain) == held_by(labelled)
        assert (without.updates, len(without.bad)) == (given.updates, len(given.bad))


def held_by(bucket: Bucket) -> set[tuple[str, ...]]:
    """The explicit facts of a bucket."""
    terms = bucket.engine.dictionary.term
    return {
        (facts.predicate, *(str(terms(int(value))) for value in row))
        for facts in bucket._explicit()
        for row in zip(*(column.tolist() for column in facts.columns), strict=True)
    }


def test_rows_are_found_when_they_are_due() -> None:
    """Every third row is of no interest: its entries may be removed before they are due."""
    chance, index, wanted = np.random.default_rng(1), DueIndex(), dict[int, int]()
    for step in range(60):
        rows = np.arange(step * 7, step * 7 + chance.integers(0, 7), dtype=np.int32)
        expiry = chance.integers(0, 80, len(rows)) + step
        index.add(rows, expiry)
        wanted |= {row: time for row, time in zip(rows.tolist(), expiry.tolist(), strict=True) if row % 3}
        due = {row for row, time in wanted.items() if time <= step}
        assert {row for row in index.due(step).tolist() if row % 3} == due
        later = min((time for time in wanted.values() if time > step), default=NEVER)
        assert index.next_after(step, lambda rows, times: rows % 3 != 0) == later
        if step % 5 == 0:
            index.drop(step)
            wanted = {row: time for row, time in wanted.items() if row not in due}


def test_rows_that_are_in_no_window_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_rows, "_UNUSED", 4)
    alone, buckets = AloneWithWindows(PROGRAMS["two"]), Buckets(PROGRAMS["two"], 1)
    batches = random_batches(3, KEYS, 12, 8)
    for label in (1, 2, 3):
        batches.append([TimedRow("late", label, "+", "edge", ("n2", "n3"), 1000 * label)])
    for number, rows in enumerate(batches):
        alone.apply(rows)
        buckets.apply(rows)
        assert sorted(map(repr, buckets.emitted)) == sorted(map(repr, alone.emitted))
        if number % 4 == 3:
            buckets.rebuild()
    came = {(row.key, row.arguments) for rows in batches for row in rows if row.predicate == "edge"}
    assert len(buckets.buckets[0].windows.streams["edge"].rows) < len(came) / 2


@pytest.mark.parametrize("labels", ["integer", None])
def test_facts_of_a_key_come_at_the_times_that_they_have(labels: str | None) -> None:
    """As in a knowledge base of its own: an update with a label is as late as the oldest of its facts."""
    text = """
    @declare reading(x: integer, at: dateTime) . @window reading :- range 10s, time at .
    @window last :- reading, count 2, time at . seen(?x) :- reading(?x, _) .
    """
    bucket, alone = Bucket(config_for(text, labels)), tidalog.open(late=LATE)
    alone.load(text)
    for label, times in enumerate([[100], [110, 98, 105], [104, 112], [109, 120, 113], [99, 111, 118]], 1):
        moments = [f"1970-01-01T00:{at // 60:02}:{at % 60:02}Z" for at in times]
        rows = [
            TimedRow("k", label, "+", "reading", (str(at), moment), at)
            for at, moment in zip(times, moments, strict=True)
        ]
        table = table_of(rows)
        bucket.apply(table if labels else table.drop_columns(["update"]), 0, until=until_of(rows))
        for part in [rows] if labels else [[row] for row in sorted(rows, key=lambda row: row.time or 0)]:
            facts = [(int(row.arguments[0]), row.arguments[1]) for row in part]
            with contextlib.suppress(tidalog.UsageError):
                alone.insert("reading", facts)
        if alone.now is not None:
            alone.advance(max(alone.now.timestamp(), *times))
        for name in ("reading", "last"):
            held = {fact[2] for fact in held_by(bucket) if fact[0] == name}
            assert held == {str(term) for term, _ in alone.facts(name).to_terms()}, (label, name)
