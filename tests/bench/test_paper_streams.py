"""The paper's streams are made here as its authors made them, and agree with its tables."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from bench.papers import figures, programs
from bench.papers.java import HashSet, Random, string_hash
from bench.papers.short_lived import LONGEST_LIFE, short_lived_edges, short_lived_ways
from bench.papers.streams import (
    FIRST_INSERTIONS,
    SIZES,
    TRACKS,
    UPDATES,
    Row,
    Stream,
    stored_digests,
    synthetic,
    synthetic_name,
    track,
)

from tidalog.lang import parse
from tidalog.model.terms import Integer
from tidalog.reference.naive import evaluate

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
made = cache(synthetic)


def test_random_numbers_are_those_of_java() -> None:
    random = Random(42)
    assert [random.next_int(100) for _ in range(8)] == [30, 63, 48, 84, 70, 25, 5, 18]
    coins = [random.next_boolean() for _ in range(8)]
    assert coins == [True, False, True, False, False, False, False, True]
    assert [random.next_int(64) for _ in range(4)] == [29, 48, 50, 63], "powers of two take other bits"
    rejecting = Random(-8530167300591734801)
    assert [rejecting.next_int(2**30 + 1) for _ in range(3)] == [145511041, 545962654, 620997178]


def test_hashes_of_text_are_those_of_java() -> None:
    assert string_hash("hello") == 99162322
    assert string_hash("[edge, 14, 12]") == -1592017255 % 2**32


def test_a_set_has_the_order_of_java() -> None:
    edges: HashSet[str] = HashSet(string_hash)
    for number in range(14):
        edges.add(f"[edge, {number}, {number * 7 % 20}]")
    edges.remove("[edge, 3, 1]")
    edges.add("[edge, 40, 41]")
    edges.add("[edge, 3, 1]")
    numbers = [6, 3, 8, 11, 5, 4, 0, 12, 2, 10, 1, 7, 13, 9]
    assert list(edges) == [f"[edge, {n}, {n * 7 % 20}]" for n in numbers] + ["[edge, 40, 41]"]


def test_a_crowded_bucket_has_the_order_of_java() -> None:
    crowded: HashSet[int] = HashSet(lambda number: number)
    keys = [number * 37 % 64 * 256 + number % 2 for number in range(40)]
    for key in keys:
        crowded.add(key)
    # fmt: off
    assert list(crowded) == [
        7680, 2560, 0, 5120, 10240, 11776, 10752, 9216, 8192, 12800, 15360, 15872, 14336, 13312, 1536, 512,
        4096, 3072, 6656, 5632, 8449, 9473, 8961, 12033, 14593, 16129, 15105, 769, 2305, 1281, 3329, 5889,
        7425, 6401, 4865, 3841, 11009, 9985, 13569, 12545,
    ]
    for key in keys[::3]:
        crowded.remove(key)
    assert list(crowded) == [
        8192, 2560, 5120, 10240, 11776, 10752, 9216, 12800, 15872, 1536, 512, 4096, 3072, 8449, 9473, 14593,
        16129, 15105, 769, 5889, 7425, 6401, 4865, 3841, 13569, 12545,
    ]
    # fmt: on
    for key in keys[:36]:
        crowded.remove(key)
    assert list(crowded) == [15872, 6401]


@pytest.mark.parametrize("family", ["trans", "seq"])
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("size", SIZES)
def test_a_synthetic_stream_is_that_of_the_paper(family: str, seed: int, size: int) -> None:
    assert made(family, seed, size).digest() == stored_digests()[synthetic_name(family, seed, size)]


@pytest.mark.parametrize("name", TRACKS)
def test_a_track_is_that_of_the_paper(name: str) -> None:
    assert track(name).digest() == stored_digests()[name]


def test_the_tracks_have_the_sizes_that_the_paper_gives() -> None:
    tracks = [track(name) for name in TRACKS]
    assert [len(stream.updates) for stream in tracks] == [55, 83, 114]
    largest = [
        (max(len(u.inserted) for u in stream.updates), max(len(u.deleted) for u in stream.updates))
        for stream in tracks
    ]
    assert largest == [(172, 114), (152, 167), (65, 74)]


def test_digests_do_not_see_the_order_within_an_update_but_all_else() -> None:
    stream = short_lived_edges(5, 4)
    (first, second, *others) = stream.updates
    turned = type(first)(first.deleted[::-1], first.inserted[::-1])
    assert Stream("other", "edge", (turned, second, *others)).digest() == stream.digest()
    assert Stream("other", "edge", (second, first, *others)).digest() != stream.digest()
    assert Stream("other", "path", stream.updates).digest() != stream.digest()


def assert_updates_fit(stream: Stream) -> None:
    facts: frozenset[Row] = frozenset()
    for update, after in zip(stream.updates, stream.states(), strict=True):
        assert facts.issuperset(update.deleted)
        assert facts.isdisjoint(update.inserted)
        assert len(set(update.deleted)) == len(update.deleted)
        assert len(set(update.inserted)) == len(update.inserted)
        facts = after


@pytest.mark.parametrize(
    "stream",
    [
        synthetic("trans", 1, 80),
        synthetic("seq", 1, 20),
        *map(track, TRACKS),
        short_lived_edges(30),
        short_lived_ways(40),
    ],
    ids=lambda stream: stream.name,
)
def test_deletions_are_of_facts_that_are_there_and_insertions_of_new_ones(stream: Stream) -> None:
    assert_updates_fit(stream)


def average(family: str, size: int, count: str, first: int = 0) -> int:
    """Facts inserted or deleted from update number `first` on, over the three seeds."""
    streams = [made(family, seed, size) for seed in (1, 2, 3)]
    assert all(len(stream.updates) == UPDATES for stream in streams)
    return round(sum(len(getattr(u, count)) for stream in streams for u in stream.updates[first:]) / 3)


@pytest.mark.parametrize("size", SIZES)
def test_explicit_marks_of_the_tables_are_deletions_after_the_second_update(size: int) -> None:
    """The first update was done before any other was looked at: what the second deletes is never marked."""
    assert average("trans", size, "deleted", 2) == figures.TRANS[size].marks_explicit
    assert average("seq", size, "deleted", 2) == figures.SEQ[size].marks_explicit


@pytest.mark.parametrize("size", SIZES)
def test_rule_applications_of_seq_are_four_for_every_edge(size: int) -> None:
    row = figures.SEQ[size]
    streams = [made("seq", seed, size) for seed in (1, 2, 3)]
    assert round(4 * sum(stream.insertions for stream in streams) / 3) == row.insertions
    assert round(4 * sum(stream.deletions for stream in streams) / 3) == row.deletions.old
    assert abs(row.deletions.old - row.marks_implicit - row.deletions.new) <= 1, "each is a rounded average"


def test_reductions_of_the_tables_follow_from_their_times() -> None:
    for row in (*figures.TRANS.values(), *figures.SEQ.values(), *figures.REAL.values()):
        reduction = 100 * (1 - row.seconds_new / row.seconds_old)
        assert abs(reduction - row.reduction_percent) < 0.11


def test_the_map_program_is_that_of_the_example() -> None:
    assert parse(programs.P_MAP).rules == parse((EXAMPLES / "map" / "map.rls").read_text()).rules


def test_the_programs_say_what_the_paper_says() -> None:
    edges = made("seq", 1, 10).updates[0].inserted
    assert len(edges) == FIRST_INSERTIONS
    facts = {"edge": {tuple(map(Integer, row)) for row in edges[:40]}}
    renamed = evaluate(parse(programs.P_SEQ), facts)
    assert all(renamed[f"edge{number}"] == facts["edge"] for number in (1, 2, 3, 4))
    chain = {"edge": {(Integer(n), Integer(n + 1)) for n in range(6)}}
    assert len(evaluate(parse(programs.P_TRANS), chain)["path"]) == 6 * 7 // 2
    ways = [(1, 2, 10), (2, 3, 11), (4, 3, 12), (8, 9, 13)]
    roads = evaluate(parse(programs.P_MAP), {"nextInWay": {tuple(map(Integer, row)) for row in ways}})
    met = {tuple(map(Integer, pair)) for pair in [(a, b) for a in (10, 11, 12) for b in (10, 11, 12)]}
    assert roads["connection"] == met


@pytest.mark.parametrize("make", [short_lived_edges, short_lived_ways])
def test_short_lived_facts_live_one_to_three_updates(make) -> None:  # type: ignore[no-untyped-def]
    stream = make(12, 20, seed=5)
    assert stream == make(12, 20, seed=5)
    assert stream != make(12, 20, seed=6)
    born: dict[Row, int] = {}
    lives = set()
    for number, update in enumerate(stream.updates):
        lives |= {number - born.pop(row) for row in update.deleted}
        born |= dict.fromkeys(update.inserted, number)
        assert len(update.inserted) == (12 if number < 20 else 0)
    assert not born, "nothing is left"
    assert lives == set(range(1, LONGEST_LIFE + 1))


def test_short_lived_streams_need_room() -> None:
    with pytest.raises(ValueError, match="too few edges"):
        short_lived_edges(30, nodes=10)
