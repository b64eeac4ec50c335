"""The derivation log: instances of short-lived facts, kept so that their deletion needs no rule.

A fact that is RECORDED has a chain of links, one for every instance that it takes part in.  An instance is
ALIVE until the first of its facts is deleted; then it is removed, and its head has a derivation less.

Every fact with an id from BASE on has been counted, too: TOTAL, its instances that are alive, and BELOW,
those whose facts of its own component all have smaller ids (its rank proofs).  The counts are exact unless
BELOW is negative: then an instance was removed in a way that the log does not see.

Rows of the log are by id, counted from ORIGIN; heads of instances are named by their offsets in the store,
which a new id does not change.  The row of a fact that gets a new id is copied to it.

The log lasts for a few updates.  Whatever it cannot follow (a component derived from scratch, compacted ids,
an update that failed) ends it: no fact is RECORDED then and BASE is beyond every id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.array_types import Int32s, Int64s, int64
from tidalog.engine.bits import NEW, RECORDED
from tidalog.engine.fact_kernels import FACTS, HEADER, Facts
from tidalog.engine.jit import compiled, entry, inlined, int32_at, int64_at

if TYPE_CHECKING:
    from tidalog.engine.facts import FactStore

# Fields of the derivation log.
ORIGIN: Final = 0  # id of the first row
BASE: Final = 1  # ids from here on have rows
CAPACITY: Final = 2  # of rows
ROWS: Final = 3  # address
INSTANCES: Final = 4  # how many
INSTANCE_CAPACITY: Final = 5
INSTANCES_AT: Final = 6  # address
LINKS: Final = 7  # how many, the one that ends every chain included
LINK_CAPACITY: Final = 8
LINKS_AT: Final = 9  # address
EXACT: Final = 10  # whether counts are kept
FIELDS: Final = 11

# Fields of a row.
CHAIN: Final = 0  # the first link, or END
BELOW: Final = 1
TOTAL: Final = 2
RENEWED: Final = 3  # instances there were when it got its id: those of them that are alive are below it
LAST: Final = 4  # the last link, if there is one
ROW: Final = 5

END: Final = 0
NO_BASE: Final = 1 << 60
UNCOUNTED: Final = -(1 << 30)

# An instance: offset of its head << HEAD_SHIFT | bits.
ALIVE: Final = 1
IS_BELOW: Final = 2
HEAD_SHIFT: Final = 2

_FIRST_CAPACITY: Final = 1024
_LARGER: Final = 5  # capacity after compaction, in times what is kept; half of it may be used before the next
_MOST_KEPT: Final = 1 << 18  # numbers of rows that are kept when nothing is on record

# A link: instance << 32 | next link.
_NEXT: Final = 0xFFFFFFFF
_INSTANCE: Final = 32


class DerivationLog:
    """Owns the arrays; `fields` has their addresses for compiled code.  Rows that no fact has are zeros."""

    def __init__(self) -> None:
        self.fields = np.zeros(FIELDS, np.int64)
        self.fields[BASE] = NO_BASE
        self._rows: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._instances: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._links: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._spare: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] = self._instances, self._links
        """What instances and links are copied to: memory that has been touched before."""
        self._asked = 0

    @property
    def is_open(self) -> bool:
        return bool(self.fields[BASE] != NO_BASE)

    def new_instances(self) -> int:
        """Instances recorded since the last call."""
        now = int(self.fields[INSTANCES])
        new, self._asked = now - self._asked, now
        return new

    def open(self, begin: int) -> None:
        """Starts recording with the facts from an id on."""
        fields = self.fields
        if fields[BASE] == NO_BASE:
            fields[ORIGIN] = fields[BASE] = begin
            fields[INSTANCES], fields[LINKS], fields[EXACT] = 0, 1, 1
            fields[CAPACITY] = len(self._rows) // ROW
            self._asked = 0

    def end(self, facts: Facts) -> None:
        """Ends recording."""
        fields = self.fields
        if fields[BASE] == NO_BASE:
            return
        self.forget(facts, int(facts.state[FACTS]))
        if len(self._rows) > _MOST_KEPT:
            self._rows = np.zeros(0, np.int32)
        self._rows[:] = 0
        fields[BASE], fields[CAPACITY], fields[INSTANCES] = NO_BASE, 0, 0

    def forget(self, facts: Facts, below: int) -> None:
        """Facts with smaller ids are no longer recorded."""
        begin = int(self.fields[BASE])
        if begin < below:
            facts.status[begin:below] &= ~RECORDED
            self.fields[BASE] = below

    def uncount(self, begin: int, end: int) -> None:
        """Facts with these ids were derived unseen."""
        if begin < end and self.is_open:
            first = int(self.fields[ORIGIN])
            self.ensure_capacity(end, 0, 0)
            self._rows[(begin - first) * ROW + BELOW : (end - first) * ROW : ROW] = UNCOUNTED

    def stop_counting(self) -> None:
        """From here on instances are removed unseen."""
        self.fields[EXACT] = 0

    def ensure_capacity(self, ids: int, instances: int, links: int) -> None:
        """Capacity for ids up to this one, and for this many more instances and links."""
        fields = self.fields
        if not self.is_open:
            return
        rows = (ids - int(fields[ORIGIN])) * ROW
        if rows > len(self._rows):
            self._rows = _grown(self._rows, rows)
            fields[CAPACITY], fields[ROWS] = len(self._rows) // ROW, self._rows.ctypes.data
        if fields[INSTANCES] + instances > len(self._instances):
            self._put_instances(_grown(self._instances, int(fields[INSTANCES]) + instances))
        if fields[LINKS] + links > len(self._links):
            self._put_links(_grown(self._links, int(fields[LINKS]) + links))

    def _put_instances(self, instances: npt.NDArray[np.int64]) -> None:
        self._instances = instances
        self.fields[INSTANCE_CAPACITY], self.fields[INSTANCES_AT] = len(instances), instances.ctypes.data

    def _put_links(self, links: npt.NDArray[np.int64]) -> None:
        self._links = links
        self.fields[LINK_CAPACITY], self.fields[LINKS_AT] = len(links), links.ctypes.data

    def compact(self, store: FactStore) -> None:
        """Drops what is dead once it may be most of the log."""
        fields = self.fields
        if not self.is_open:
            return
        origin, base, end = int(fields[ORIGIN]), int(fields[BASE]), len(store)
        few = 2 * fields[INSTANCES] < len(self._instances) and 2 * fields[LINKS] < len(self._links)
        if few and base - origin < 2 * (end - base) + _FIRST_CAPACITY:
            return
        self.ensure_capacity(end, 0, 0)
        # The capacity left is such that as many new entries pay for the copy of an old one.
        instances, links = self._spare
        if len(instances) < len(self._instances):
            instances = np.empty_like(self._instances)
        if len(links) < len(self._links):
            links = np.empty_like(self._links)
        rows, size = self._rows, (end - base) * ROW
        rows[:size] = rows[(base - origin) * ROW : (end - origin) * ROW]
        rows[size : (end - origin) * ROW] = 0
        moved = np.full(int(fields[INSTANCES]), -1, np.int64)
        kept = copy_alive(store.at, self._instances, self._links, base, rows[:size], instances, links, moved)
        self._spare = self._instances, self._links
        self._put_instances(instances)
        self._put_links(links)
        fields[ORIGIN] = base
        fields[INSTANCES], fields[LINKS] = kept
        self._asked = int(kept[0])
        self.ensure_capacity(end, _LARGER * int(kept[0]), _LARGER * int(kept[1]))


def _grown(array: npt.NDArray[np.generic], needed: int) -> npt.NDArray:  # type: ignore[type-arg]
    result = np.zeros(max(needed, 2 * len(array), _FIRST_CAPACITY), array.dtype)
    result[: len(array)] = array
    return result


# --- compiled ---------------------------------------------------------------------------------------


@inlined
def rows_of(log: np.ndarray) -> np.ndarray:
    return int32_at(log[ROWS], log[CAPACITY] * ROW)


@inlined
def instances_of(log: np.ndarray) -> np.ndarray:
    return int64_at(log[INSTANCES_AT], log[INSTANCE_CAPACITY])


@inlined
def links_of(log: np.ndarray) -> np.ndarray:
    return int64_at(log[LINKS_AT], log[LINK_CAPACITY])


@compiled
def has_capacity(log: np.ndarray, ids: int, instances: int, links: int) -> bool:
    return bool(
        log[BASE] == NO_BASE
        or (
            ids - log[ORIGIN] <= log[CAPACITY]
            and log[INSTANCES] + instances <= log[INSTANCE_CAPACITY]
            and log[LINKS] + links <= log[LINK_CAPACITY]
        )
    )


@inlined
def move_row(log: np.ndarray, old: int, new: int) -> None:
    """Copies the row of a fact to its new id, the largest so far.  The facts of its live instances all have
    smaller ids, so all these instances are rank proofs from now on."""
    if new >= log[BASE]:
        rows = rows_of(log)
        to = (new - log[ORIGIN]) * ROW
        if old >= log[BASE]:
            at = (old - log[ORIGIN]) * ROW
            rows[to + CHAIN], rows[to + LAST] = rows[at + CHAIN], rows[at + LAST]
            rows[to + TOTAL] = rows[at + TOTAL]
            rows[to + RENEWED] = log[INSTANCES]
            rows[to + BELOW] = rows[at + TOTAL] if rows[at + BELOW] >= 0 else UNCOUNTED
        else:
            rows[to + BELOW] = UNCOUNTED


@compiled
def derivations_below(log: np.ndarray, fact: int) -> int:
    """How many rank proofs a fact has, or -1 if that is not known."""
    if log[EXACT] == 0 or fact < log[BASE]:
        return int64(-1)
    return max(int64(rows_of(log)[(fact - log[ORIGIN]) * ROW + BELOW]), int64(-1))


@compiled
def derivations_of(log: np.ndarray, fact: int) -> int:
    """How many instances derive a fact, or -1 if that is not known."""
    if derivations_below(log, fact) < 0:
        return int64(-1)
    return int64(rows_of(log)[(fact - log[ORIGIN]) * ROW + TOTAL])


@inlined
def none_is_left(log: np.ndarray, fact: int) -> bool:
    """Whether it is known that no instance derives a fact.  Where counts are not exact they are too large."""
    at = (fact - log[ORIGIN]) * ROW
    return bool(fact >= log[BASE] and rows_of(log)[at + TOTAL] == 0 and rows_of(log)[at + BELOW] >= 0)


@inlined
def forget_count(log: np.ndarray, fact: int) -> None:
    """An instance that derives a fact is removed, and it is not known whether the log has it."""
    if fact >= log[BASE]:
        rows_of(log)[(fact - log[ORIGIN]) * ROW + BELOW] = UNCOUNTED


@inlined
def chain_of(log: np.ndarray, fact: int) -> int:
    """The first link of a fact that is RECORDED."""
    return int64(rows_of(log)[(fact - log[ORIGIN]) * ROW + CHAIN])


@inlined
def next_link(log: np.ndarray, link: int) -> int:
    return int64(links_of(log)[link] & _NEXT)


@inlined
def head_of_link(log: np.ndarray, link: int) -> int:
    """The offset of the head of an instance that is alive, or -1."""
    entry = instances_of(log)[links_of(log)[link] >> _INSTANCE]
    return entry >> HEAD_SHIFT if entry & ALIVE else int64(-1)


@inlined
def remove_instance(log: np.ndarray, link: int, head: int) -> int:
    """Removes the instance of a link; how many rank proofs its head has left, or -1 if that is not known."""
    instances = instances_of(log)
    instance = links_of(log)[link] >> _INSTANCE
    entry = instances[instance]
    instances[instance] = entry & ~ALIVE
    left = int64(-1)
    if head >= log[BASE]:
        rows, at = rows_of(log), (head - log[ORIGIN]) * ROW
        rows[at + TOTAL] -= 1
        if rows[at + BELOW] >= 0:
            if entry & IS_BELOW or instance < rows[at + RENEWED]:
                rows[at + BELOW] -= 1
            if log[EXACT] != 0:
                left = int64(rows[at + BELOW])
    return left


@inlined
def add_link(rows: np.ndarray, links: np.ndarray, row: int, link: int, instance: int) -> None:
    """Appends a link to the chain of a row."""
    links[link] = instance << _INSTANCE
    if rows[row + CHAIN] == END:
        rows[row + CHAIN] = link
    else:
        links[rows[row + LAST]] |= link
    rows[row + LAST] = link


@compiled
def record_instances(
    facts: Facts,
    log: np.ndarray,
    code: np.ndarray,
    at: int,
    block: np.ndarray,
    rows: int,
    heads: np.ndarray,
    created: np.ndarray,
) -> None:
    """Counts instances with their heads, and records those with a RECORDED fact; a new head of such an
    instance is RECORDED too, for every instance that it takes part in is found from now on."""
    status, offset = facts.status, facts.offset
    table, origin, base = rows_of(log), log[ORIGIN], log[BASE]
    instances, links = instances_of(log), links_of(log)
    instance_count, link_count = log[INSTANCES], log[LINKS]
    atoms = code[at]
    for i in range(rows):
        head = int64(heads[i])
        below = True
        recorded = False
        for j in range(atoms):
            fact = int64(block[code[at + 1 + j], i])
            below = below and (code[at + 1 + atoms + j] == 0 or fact < head)
            if status[fact] & RECORDED:
                recorded = True
                add_link(table, links, (fact - origin) * ROW, link_count, instance_count)
                link_count += 1
        if head >= base:
            row = (head - origin) * ROW
            table[row + TOTAL] += 1
            table[row + BELOW] += below
        if recorded:
            instances[instance_count] = int64(offset[head]) << HEAD_SHIFT | below << 1 | ALIVE
            instance_count += 1
            if created[i] != 0 and status[head] & NEW:
                status[head] |= RECORDED
    log[INSTANCES], log[LINKS] = instance_count, link_count


@entry
def copy_alive(
    facts: Facts,
    instances: Int64s,
    links: Int64s,
    base: int,
    rows: Int32s,
    new_instances: Int64s,
    new_links: Int64s,
    moved: Int64s,
) -> tuple[int, int]:
    """Copies the chains of RECORDED facts without what is dead; `rows` begin with the id `base`.  How many
    instances and links."""
    instance_count, link_count = 0, 1
    for i in range(len(rows) // ROW):
        link = int64(rows[i * ROW + CHAIN])
        rows[i * ROW + CHAIN] = END
        if facts.status[base + i] & RECORDED:
            while link != END:
                instance = links[link] >> _INSTANCE
                entry = instances[instance]
                if entry & ALIVE:
                    if moved[instance] < 0:
                        head = facts.arguments[(entry >> HEAD_SHIFT) - HEADER] - base
                        if head >= 0 and instance < rows[head * ROW + RENEWED]:
                            entry |= IS_BELOW
                        moved[instance] = instance_count
                        new_instances[instance_count] = entry
                        instance_count += 1
                    add_link(rows, new_links, i * ROW, link_count, moved[instance])
                    link_count += 1
                link = links[link] & _NEXT
    for i in range(len(rows) // ROW):
        rows[i * ROW + RENEWED] = 0
    return instance_count, link_count
