"""Whether a store and its indexes agree with themselves, from their arrays alone, between two updates."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arrays_at import int32_at, uint64_at
from tidalog.engine import derivation_log as dl
from tidalog.engine import index_kernels as ix
from tidalog.engine.bits import EXPLICIT, LASTING, PRESENT, RECORDED
from tidalog.engine.derivation_counts import NO_DERIVATION, UNKNOWN
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.fact_kernels import (
    ARITY,
    COUNT,
    DEAD,
    ENTRIES,
    FIRST,
    GARBAGE,
    HEADER,
    LAST,
    NONE,
    TABLED,
    USED,
)
from tidalog.engine.hash_table import EMPTY, LOW32
from tidalog.engine.probe import find_rows, find_runs
from tidalog.engine.undo_log import MOVES, PAIRS, TOUCHES
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.maintainer import Maintainer
from tidalog.model.program import Program
from tidalog.reference.fact_sets import Fact, FactSet
from tidalog.reference.instances import Instance, NotPositive, PositiveProgram

Row = tuple[int, ...]


def live_facts(engine: EmbeddedEngine) -> dict[int, tuple[int, Row]]:
    """Id → predicate and arguments, as the rows say."""
    a = engine.store.arrays
    found = {}
    for fact in np.flatnonzero(a.status[: len(engine.store)] & PRESENT).tolist():
        at = int(a.offset[fact])
        predicate = int(a.arguments[at - 1])
        found[fact] = predicate, tuple(a.arguments[at : at + int(a.extent[predicate, ARITY])].tolist())
    return found


def check_store(engine: EmbeddedEngine) -> None:
    """Everything that holds between two updates."""
    facts = live_facts(engine)
    _check_facts(engine, facts)
    _check_table(engine, facts)
    _check_extents(engine, facts)
    _check_log(engine)
    for (predicate, columns), number in engine.indexes._numbers.items():
        _check_index(engine, facts, predicate, columns, number)
    _check_bytes(engine)


def _check_facts(engine: EmbeddedEngine, facts: dict[int, tuple[int, Row]]) -> None:
    a, end = engine.store.arrays, len(engine.store)
    assert not (a.status[:end] & ~LASTING).any(), "working bits are left"
    dead = [f for f in range(end) if f not in facts]
    assert not a.status[dead].any(), "a dead fact has bits"
    assert a.state[DEAD] == len(dead)
    assert engine.store.live == len(facts)
    assert len(set(facts.values())) == len(facts), "a fact has two ids"
    rows = sorted((int(a.offset[f]) - HEADER, len(row) + HEADER) for f, (_, row) in facts.items())
    for (start, size), (following, _) in pairwise([*rows, (int(a.state[USED]), 0)]):
        assert start + size <= following, "rows overlap"
    assert a.state[USED] - a.state[GARBAGE] == sum(size for _, size in rows)
    for fact, (predicate, row) in facts.items():
        assert a.arguments[int(a.offset[fact]) - HEADER] == fact
        assert 0 <= predicate < len(engine.names)
        assert len(row) == engine.arities[predicate]
        assert all(0 <= term < len(engine.dictionary) for term in row)


def _check_table(engine: EmbeddedEngine, facts: dict[int, tuple[int, Row]]) -> None:
    a = engine.store.arrays
    tabled = 0
    found = np.empty(1, np.int32)
    for fact, (predicate, row) in facts.items():
        is_tabled = fact < a.extent[predicate, TABLED]
        tabled += is_tabled
        find_rows(engine.store.at, predicate, np.array(row, np.int32).reshape(-1, 1), 1, found)
        assert found[0] == (fact if is_tabled else NONE), "the table does not find a fact under its id"
    assert a.state[ENTRIES] == tabled == int((a.slots != EMPTY).sum())


def _check_extents(engine: EmbeddedEngine, facts: dict[int, tuple[int, Row]]) -> None:
    of: dict[int, list[int]] = defaultdict(list)
    for fact, (predicate, _) in facts.items():
        of[predicate].append(fact)
    for number in range(len(engine.names)):
        extent, ids = engine.store.arrays.extent[number], of[number]
        assert extent[COUNT] == len(ids)
        assert extent[ARITY] == engine.arities[number]
        assert extent[TABLED] <= len(engine.store)
        if ids:
            assert extent[FIRST] <= ids[0]
            assert ids[-1] <= extent[LAST] < len(engine.store)
        assert engine.store.ids(number).tolist() == ids


def _check_log(engine: EmbeddedEngine) -> None:
    log = engine.log.arrays
    assert log.counts[TOUCHES] <= len(log.touched), "the log was written past its end"
    assert log.counts[MOVES] <= len(log.moved_from), "the log was written past its end"
    assert log.counts[PAIRS] <= len(log.pairs), "the log was written past its end"


def run_of(engine: EmbeddedEngine, number: int, key: Row) -> list[int]:
    """The facts that an index has for a key, as a probe finds them."""
    block = np.array([[0], *([value] for value in key)], np.int32)
    code = np.arange(1, len(key) + 2, dtype=np.int32)
    hashes, start, length = np.empty(1, np.uint64), np.empty(1, np.int32), np.empty(1, np.int32)
    meta = engine.indexes.meta[number]
    find_runs(engine.store.at, meta, block, 1, code, 0, hashes, start, length)
    if length[0] == 0:
        return []
    if start[0] < 0:
        return [-1 - int(start[0])]
    pool = int32_at(meta[ix.POOL], meta[ix.POOL_SIZE])
    return pool[start[0] : start[0] + length[0]].tolist()


def _check_bytes(engine: EmbeddedEngine) -> None:
    """Running totals are what a sum over all indexes gives."""
    indexes, meta = engine.indexes, engine.indexes.meta
    used = 4 * (meta[:, ix.POOL_USED] + meta[:, ix.RECORD_COUNT] * ix.RECORD)
    slots = sum(slots.nbytes for slots in indexes._slots)
    assert indexes.nbytes == int(used.sum()) + slots + meta.nbytes


def _check_index(
    engine: EmbeddedEngine,
    facts: dict[int, tuple[int, Row]],
    predicate: int,
    columns: tuple[int, ...],
    number: int,
) -> None:
    meta = engine.indexes.meta[number]
    assert meta[ix.PREDICATE] == predicate
    assert meta[ix.WIDTH] == len(columns)
    assert meta[ix.CAUGHT_UP] <= len(engine.store)
    wanted: dict[Row, list[int]] = defaultdict(list)
    for fact, (p, row) in facts.items():
        if p == predicate and fact < meta[ix.CAUGHT_UP]:
            wanted[tuple(row[c] for c in columns)].append(fact)
    for key, ids in wanted.items():
        run = run_of(engine, number, key)
        assert run == sorted(set(run)), "a run does not ascend"
        assert [f for f in run if f in facts] == ids, "a run does not hold the facts of its key"
    assert meta[ix.KEYS] == len(wanted)
    _check_runs(meta, facts, len(wanted))


def _check_runs(meta: np.ndarray, facts: dict[int, tuple[int, Row]], keys: int) -> None:
    """Slots, records and the pool account for each other; nothing is lost and nothing used twice."""
    slots = uint64_at(meta[ix.SLOTS], meta[ix.SIZE])
    records = int32_at(meta[ix.RECORDS], meta[ix.RECORD_SIZE] * ix.RECORD)
    pool = int32_at(meta[ix.POOL], meta[ix.POOL_SIZE])
    entries = slots[slots != EMPTY]
    assert len(entries) == keys
    used_records: list[int] = []
    runs: list[tuple[int, int]] = []
    for entry in entries:
        value = int(entry & LOW32)
        if not value & int(ix.IS_RECORD):
            assert value - 1 in facts
            continue
        record = value & int(ix.VALUE)
        used_records.append(record)
        start, length, capacity, _, gone = records[record * ix.RECORD : (record + 1) * ix.RECORD].tolist()
        runs.append((start, capacity))
        assert 0 < length <= capacity
        run = pool[start : start + length].tolist()
        assert sum(f not in facts for f in run) == gone
    free, record = int(meta[ix.FREE_RECORD]), 0
    while free:
        record = free - 1
        used_records.append(record)
        free = int(records[record * ix.RECORD + ix.START])
    assert sorted(used_records) == list(range(int(meta[ix.RECORD_COUNT])))
    for size_class in range(32):
        free = int(meta[ix.FREE + size_class])
        while free:
            runs.append((free - 1, 1 << size_class))
            free = int(pool[free - 1])
    at = 0
    for start, size in sorted(runs):
        assert start == at, "runs overlap, or memory of the pool is lost"
        at = start + size
    assert at == meta[ix.POOL_USED]


@dataclass
class _Instances:
    """What the reference says about the instances of components that are maintained by instances."""

    ids: dict[Fact, int]
    component: dict[str, int]
    program: PositiveProgram
    facts: FactSet

    def deriving(self, fact: Fact) -> list[Instance]:
        return list(self.program.deriving(self.facts, fact))

    def is_below(self, instance: Instance, head: Fact) -> bool:
        """Whether its body facts of the head's component all have smaller ids."""
        own = self.component[head[0]]
        return all(self.ids[b] < self.ids[head] for b in instance.body if self.component[b[0]] == own)


def _instances(maintainer: Maintainer, nodes: list[MaintainedComponent]) -> _Instances | None:
    engine = maintainer.engine
    rules = {id(r.origin): r.origin for node in nodes for r in node.rules if r.origin is not None}
    try:
        program = PositiveProgram(Program(rules=tuple(r for r in rules.values() if r.heads)))
    except NotPositive:
        return None
    numbers = {number: n for n, node in enumerate(nodes) for number in node.numbers}
    term = engine.dictionary.term
    ids = {
        (engine.names[predicate], tuple(map(term, row))): fact
        for fact, (predicate, row) in live_facts(engine).items()
    }
    all_facts = FactSet()
    for known in ids:
        all_facts.add(known)
    component = {name: numbers.get(number, -1) for number, name in enumerate(engine.names)}
    return _Instances(ids, component, program, all_facts)


def _is_positive(node: MaintainedComponent) -> bool:
    """Whether the reference knows its instances: plain rules over relations of the program."""
    read = {atom.predicate for rule in node.rules for atom in rule.atoms}
    return (
        node.incremental
        and node.stage.fold is None
        and not node.negated
        and not any(name.startswith("#") for name in read | node.predicates)
    )


def check_ranks(maintainer: Maintainer) -> None:
    """Every implicit fact of a component in rank order has an instance whose body facts of the component all
    have smaller ids, unless it is known to be unranked."""
    nodes = [node for node in maintainer.components if node.in_rank_order and _is_positive(node)]
    unranked = {fact for node in nodes for ids in node.unranked for fact in ids.tolist()}
    found = _instances(maintainer, nodes)
    if found is None:
        return
    status = maintainer.engine.store.arrays.status
    for known, fact in found.ids.items():
        if found.component[known[0]] < 0 or status[fact] & EXPLICIT or known[0].startswith("#"):
            continue
        if fact in unranked:
            continue
        assert any(found.is_below(instance, known) for instance in found.deriving(known)), (
            f"{known} has no proof of smaller ids"
        )


def check_derivation_log(maintainer: Maintainer) -> None:
    """A fact on record has every instance it takes part in on record; what has been counted is right."""
    engine = maintainer.engine
    derivation_log, status = engine.log.derivation_log, engine.store.arrays.status
    base = int(derivation_log.fields[dl.BASE])
    assert not (status[: min(base, len(engine.store))] & RECORDED).any(), "on record without a row"
    nodes = [node for node in maintainer.components if _is_positive(node)]
    found = _instances(maintainer, nodes)
    if not derivation_log.is_open or found is None:
        return
    derivation_log.ensure_capacity(len(engine.store), 0, 0)
    rows = derivation_log._rows[
        : (len(engine.store) - int(derivation_log.fields[dl.ORIGIN])) * dl.ROW
    ].reshape(-1, dl.ROW)
    on_record: dict[Fact, set[Fact]] = {fact: set() for fact, n in found.ids.items() if status[n] & RECORDED}
    for head, number in found.ids.items():
        if found.component[head[0]] < 0:
            continue
        instances = found.deriving(head)
        for instance in instances:
            for fact in instance.body:
                if fact in on_record:
                    on_record[fact].add(head)
        if (
            number >= base
            and derivation_log.fields[dl.EXACT]
            and rows[number - derivation_log.fields[dl.ORIGIN], dl.BELOW] >= 0
        ):
            _, below, total, *_ = rows[number - derivation_log.fields[dl.ORIGIN]].tolist()
            assert total == len(instances), f"{head} has {len(instances)} derivations, not {total}"
            assert below == sum(found.is_below(instance, head) for instance in instances), head
    fact_at = {int(engine.store.arrays.offset[number]): fact for fact, number in found.ids.items()}
    for fact, heads in on_record.items():
        link = int(rows[found.ids[fact] - derivation_log.fields[dl.ORIGIN], dl.CHAIN])
        noted = set()
        while link != dl.END:
            instance = derivation_log._instances[derivation_log._links[link] >> 32]
            if instance & dl.ALIVE:
                noted.add(fact_at.get(int(instance >> dl.HEAD_SHIFT)))
            link = int(derivation_log._links[link] & 0xFFFFFFFF)
        assert heads <= noted, f"{fact} lacks {heads - noted} on its record"


def check_counts(maintainer: Maintainer) -> int:
    """Derivation counts are right; returns the number of facts that have one.  Nothing is known
    about what is dead or not there yet."""
    engine = maintainer.engine
    end = len(engine.store)
    numbers = engine.counts.of(np.arange(end + 100, dtype=np.int32))
    live = live_facts(engine)
    assert all(fact in live for fact in np.flatnonzero(numbers).tolist()), "a number without a fact"
    found = _instances(
        maintainer, [node for node in maintainer.components if node.countable and _is_positive(node)]
    )
    if found is None:
        return 0
    countable = {number for node in maintainer.components if node.countable for number in node.numbers}
    known = 0
    for fact, id in found.ids.items():
        if numbers[id] == UNKNOWN or fact[0].startswith("#"):
            continue
        if found.component[fact[0]] < 0:
            continue  # of a component that the reference does not know
        assert engine.predicate(fact[0]) in countable, (
            f"{fact} is counted, and its component is not countable"
        )
        derivations = len(found.deriving(fact))
        assert numbers[id] == NO_DERIVATION + derivations, f"{fact}: counted {numbers[id] - 1}"
        known += 1
    return known
