"""The paper's update streams: 48 synthetic ones, made here, and three real ones from `bench/data/marking`.

The recipe of a synthetic stream (section 5 of the paper and the generator that its authors published):

* the first update inserts 100 draws of an edge, from nothing; each later one first draws `size` edges that
  are not there (loops are edges, a draw that repeats another of the same update is the same edge);
* then it goes through the edges from before these insertions, in the order of the set that holds them, and
  deletes each on the toss of a coin until `size` are chosen or the edges are at an end.

Numbers are those of `java.Random(seed)`; the set is a `java.HashSet` of facts whose hash is that of their
text, `[edge, 3, 14]`.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.papers.java import HashSet, Random, string_hash

DATA = Path(__file__).resolve().parent.parent / "data" / "marking"

Row = tuple[int, ...]
Edge = tuple[int, int]

SIZES = (10, 20, 30, 40, 50, 60, 70, 80)
UPDATES = 50
FIRST_INSERTIONS = 100


@dataclass(frozen=True)
class Family:
    """Streams for one program: how many nodes their graphs have at most, and the authors' seeds."""

    name: str
    nodes: int
    seeds: tuple[int, int, int]


TRANS = Family("trans", 20, (-8530167300591734801, -7052395318707035129, -1747236591629776228))
SEQ = Family("seq", 100, (-1286130758052520077, 1844037384923181921, -7987291794494113099))
FAMILIES = {family.name: family for family in (TRANS, SEQ)}
TRACKS = ("track_0", "track_1", "track_2")


@dataclass(frozen=True)
class Update:
    """Deletions are of facts that are there before the update, insertions of facts that are not."""

    deleted: tuple[Row, ...]
    inserted: tuple[Row, ...]


@dataclass(frozen=True)
class Stream:
    """Updates of one predicate, from an empty set of facts."""

    name: str
    predicate: str
    updates: tuple[Update, ...]

    @property
    def insertions(self) -> int:
        return sum(len(update.inserted) for update in self.updates)

    @property
    def deletions(self) -> int:
        return sum(len(update.deleted) for update in self.updates)

    def states(self) -> Iterator[frozenset[Row]]:
        """The facts that are there after each update."""
        facts: frozenset[Row] = frozenset()
        for update in self.updates:
            facts = facts.difference(update.deleted).union(update.inserted)
            yield facts

    def digest(self) -> str:
        """SHA-256 of the updates as CSV rows, deletions first, sorted: order within an update is nothing."""
        text = hashlib.sha256()
        for number, update in enumerate(self.updates, 1):
            for sign, rows in (("-", update.deleted), ("+", update.inserted)):
                for row in sorted(rows):
                    arguments = ",".join(map(str, row))
                    text.update(f"{number},{sign},{self.predicate},{arguments}\n".encode())
        return text.hexdigest()


def synthetic(family: str, seed: int, size: int) -> Stream:
    """Stream `seed` (1, 2 or 3) of `trans` or `seq`; the paper's sizes are `SIZES`."""
    chosen = FAMILIES[family]
    updates = tuple(_updates(chosen.nodes, chosen.seeds[seed - 1], size))
    return Stream(synthetic_name(family, seed, size), "edge", updates)


def synthetic_name(family: str, seed: int, size: int) -> str:
    return f"{family}_seed{seed}_size{size}"


def all_synthetic(sizes: Sequence[int] = SIZES) -> Iterator[Stream]:
    """All streams of the given sizes, in the order of the digests file."""
    for family in sorted(FAMILIES):
        for seed in (1, 2, 3):
            for size in sizes:
                yield synthetic(family, seed, size)


def track(name: str) -> Stream:
    """One of `TRACKS`: map ways around the positions of a GPS track, as `nextInWay(node, node, way)`."""
    return read_stream(DATA / f"{name}.csv")


def read_stream(path: Path) -> Stream:
    """A stream of one predicate from a CSV file with the columns update, op, predicate, arg1, arg2 …"""
    found: dict[int, tuple[list[Row], list[Row]]] = {}
    with path.open(newline="") as file:
        rows = csv.reader(file)
        next(rows)
        predicate = ""
        for number, sign, predicate, *arguments in rows:  # noqa: B007 (one predicate a file)
            deleted, inserted = found.setdefault(int(number), ([], []))
            (deleted if sign == "-" else inserted).append(tuple(map(int, arguments)))
    numbers = range(1, max(found) + 1)
    empty: tuple[list[Row], list[Row]] = ([], [])
    pairs: Iterable[tuple[list[Row], list[Row]]] = (found.get(number, empty) for number in numbers)
    return Stream(path.stem, predicate, tuple(Update(tuple(gone), tuple(new)) for gone, new in pairs))


def stored_digests() -> dict[str, str]:
    """Digest of every stream of the evaluation, by name."""
    lines = (DATA / "SHA256").read_text().split("\n")
    return {name: digest for digest, name in (line.split() for line in lines if line)}


def _updates(nodes: int, seed: int, size: int) -> Iterator[Update]:
    random = Random(seed)
    present: HashSet[Edge] = HashSet(_fact_hash)
    for number in range(UPDATES):
        inserted = _draw(random, nodes, present, size if number else FIRST_INSERTIONS)
        deleted = _choose(random, present, size)
        for edge in inserted:
            present.add(edge)
        for edge in deleted:
            present.remove(edge)
        yield Update(deleted, inserted)


def _draw(random: Random, nodes: int, present: HashSet[Edge], count: int) -> tuple[Edge, ...]:
    drawn: HashSet[Edge] = HashSet(_fact_hash)
    for _ in range(count):
        edge = (random.next_int(nodes), random.next_int(nodes))
        while edge in present:
            edge = (random.next_int(nodes), random.next_int(nodes))
        drawn.add(edge)
    return tuple(drawn)


def _choose(random: Random, present: HashSet[Edge], count: int) -> tuple[Edge, ...]:
    chosen: HashSet[Edge] = HashSet(_fact_hash)
    for edge in present:
        if random.next_boolean():
            chosen.add(edge)
        if len(chosen) == count:
            break
    return tuple(chosen)


@cache
def _fact_hash(edge: Edge) -> int:
    return string_hash(f"[edge, {edge[0]}, {edge[1]}]")
