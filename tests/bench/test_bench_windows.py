"""Windows on small data: all variants have the same result, tables and pictures come out."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from bench.__main__ import main
from bench.incremental.__main__ import JOBS
from bench.incremental.jobs import Done, run_job
from bench.peers_incremental.contest import WRONG
from bench.process import OK, Limits
from bench.suites import window_queries, window_shares, window_slides
from bench.suites import windows as suite
from bench.windows import memory, shares, slides
from bench.windows.join_task import HALF, JoinTask, expected
from bench.windows.naive_closure import NaiveClosure
from bench.windows.peers import OURS as OWN
from bench.windows.peers import PEERS, Peer, joined
from bench.windows.streams import SHAPES, heartbeats, tree_pool, trees, trees_beside
from bench.windows.variants import BARE, IMARS, NAMES, OURS, PROGRAMS, VOLZ, Imars, Slid, Volz, longest

from tidalog.maintain.choose import STRATEGIES

Edge = tuple[int, int]


def some_edges(count: int, nodes: int, seed: int) -> list[Edge]:
    draw = random.Random(seed)
    return [(draw.randrange(nodes), draw.randrange(nodes)) for _ in range(count)]


def paths(edges: list[Edge]) -> set[Edge]:
    found = set(edges)
    while more := {(x, z) for x, y in found for w, z in edges if w == y} - found:
        found |= more
    return found


def test_trees_have_one_parent_for_each_node_but_the_root() -> None:
    pool = tree_pool(4, 3)
    assert len(pool) == 3 * (2**5 - 2)
    assert len(set(pool[:, 0].tolist())) == len(pool)
    levels = {(x, z) for x, z in paths([(x, y) for x, y in pool.tolist()])}
    assert len(levels) == 3 * sum(level * 2**level for level in range(1, 5))


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_stream_brings_its_rows_over_and_over(shape: str) -> None:
    stream = SHAPES[shape](100, 20)
    assert stream.seconds == 5
    later = 3 * len(stream.arrivals)
    came = [row for number in range(later) for row in stream.entering(number).tolist()]
    assert len(came) == 20 * later
    assert came[: 20 * len(stream.arrivals)] == 20 * stream.arrivals.tolist()
    assert stream.content(7).tolist() == came[60:160]
    assert stream.content(2).tolist() == came[:60]
    assert max(stream.background.max(initial=0), stream.arrivals.max()) < stream.nodes


def test_heartbeats_come_again_before_they_expire() -> None:
    stream = heartbeats(100, 10)
    contents = [{tuple(row) for row in stream.content(number).tolist()} for number in range(10, 60)]
    assert all(content == contents[0] for content in contents)
    assert len(contents[0]) == 50


def test_the_background_beside_a_stream_does_not_change_it() -> None:
    few, many = trees_beside(100, 10, 5), trees_beside(100, 10, 500)
    assert few.arrivals.tolist() == many.arrivals.tolist()
    assert (len(few.background), len(many.background)) == (5, 500)
    assert many.background.min() > many.arrivals.max()


def test_a_window_slides_by_a_part_of_itself() -> None:
    with pytest.raises(ValueError, match="does not slide by 30"):
        trees(100, 30)


@pytest.mark.parametrize("nodes", [2, 9, 60])
def test_the_bare_kernel_finds_all_paths(nodes: int) -> None:
    closure = NaiveClosure(nodes)
    for seed in range(4):
        edges = some_edges(3 * nodes, nodes, seed)
        x, y = np.array(edges, np.int64).T
        count = closure.run(np.ascontiguousarray(x), np.ascontiguousarray(y))
        right = paths(edges)
        assert count == len(right)
        assert set(closure.codes.tolist()) == {x * nodes + y for x, y in right}


def test_the_longest_expiry_is_that_of_the_best_path() -> None:
    draw = random.Random(5)
    edges = {edge: draw.randrange(1, 9) for edge in some_edges(14, 7, 5)}
    found = longest(edges)
    for least in range(1, 10):
        lasting = paths([edge for edge, expiry in edges.items() if expiry >= least])
        assert {path for path, expiry in found.items() if expiry >= least} == lasting


@pytest.mark.parametrize(("program", "shape"), [("closure", "heartbeats"), ("R", "dense")])
def test_all_variants_have_the_same_result(program: str, shape: str) -> None:
    (found,) = shares.run(program, shape, 50, [10], NAMES, 2, 1, 600.0)["steps"].values()  # type: ignore[attr-defined]
    assert found["facts"]
    assert set(found["variants"]) == set(NAMES)
    for name, one in found["variants"].items():
        assert (one["status"], one["wrong"], len(one["seconds"])) == ("", [], 2), name


def test_every_strategy_of_this_version_that_the_targets_name_is_there() -> None:
    assert set(OURS) <= set(STRATEGIES)
    assert {"auto", "ranked", "bf", "dred", "recompute"} <= set(OURS)
    assert ("expire" in OURS) == ("expire" in STRATEGIES)


def test_a_wrong_result_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Slid, "codes", lambda self: np.array([1], np.int64))
    done = shares.run("closure", "trees", 20, [10], ["auto"], 1, 1, 600.0)
    assert done["steps"]["10"]["variants"]["auto"]["wrong"]  # type: ignore[index]


def test_a_variant_that_takes_too_long_is_not_stepped_again() -> None:
    done = shares.run("closure", "dense", 200, [20], [BARE, VOLZ, IMARS, "dred"], 2, 1, 1e-9)
    variants = done["steps"]["20"]["variants"]  # type: ignore[index]
    assert {name for name, one in variants.items() if one["status"]} == {VOLZ, IMARS, "dred"}
    assert len(variants[BARE]["seconds"]) == 1


def test_printed_programs_start_with_what_they_would_have_themselves() -> None:
    """The state that is made by other means is the one to which steps from an empty window lead."""
    rules, stream = PROGRAMS["closure"], trees(40, 10, 3)
    for one, other in (
        (Volz(rules, stream, 60.0), Volz(rules, stream, 60.0)),
        (Imars(rules, stream, 60.0, 9), Imars(rules, stream, 60.0, 9)),
    ):
        one.start(0)
        other.start(6)
        for number in range(1, 7):
            one.step(number)
        assert {name: sorted(codes) for name, codes in one.state.items()} == {
            name: sorted(codes) for name, codes in other.state.items()
        }


def test_slides_are_counted_alike_whatever_the_background() -> None:
    few, many = (slides.run("ranked", 200, size, 20, 3, 2) for size in (10, 400))
    assert few["counters"] == many["counters"]
    assert not few["wrong"] and not many["wrong"]
    assert not slides.run(slides.USERS, 200, 10, 20, 3, 1)["wrong"]


def test_a_window_holds_what_plain_updates_leave() -> None:
    windowed, plain = (memory.run(200, 20, one) for one in (True, False))
    assert windowed["facts"] == plain["facts"]


@pytest.mark.parametrize(
    ("ours", "share"),
    [
        ([1.0, 2.0, 4.0], None),
        ([1.0, 10.0, 100.0], 10.0),
        ([20.0, 30.0, 40.0], 1.0),
        ([1.0, None, 100.0], 10.0),
    ],
)
def test_the_share_from_which_on_starting_over_wins(ours: list[float | None], share: float | None) -> None:
    found = window_shares.break_even([1.0, 10.0, 100.0], ours, [10.0, 10.0, 10.0])
    assert found == share or (share is not None and found is not None and math.isclose(found, share))


def figures_of(row: window_shares.Row, **slower: float) -> dict[str, object]:
    """What a job gives: ours a tenth of all others, but for what is `slower`."""
    variants = {
        name: {
            "seconds": [1e-3 * slower.get(name, 0.01 if name == window_shares.BEST else 2)],
            "status": "",
            "wrong": [],
        }
        for name in row.variants
    }
    return {"steps": {"10": {"facts": 5, "variants": variants}, "200": {"facts": 5, "variants": variants}}}


@pytest.mark.parametrize(
    ("slower", "missed"),
    [
        ({}, []),
        ({"bare kernel": 0.5}, ["at 0.1 %"]),
        ({"bare kernel": 0.02}, ["at 2 %", "at 0.1 %"]),
        ({"recompute": 0.005}, ["beats recompute", "auto takes"]),
    ],
)
def test_targets_are_missed_where_they_are(slower: dict[str, float], missed: list[str]) -> None:
    row = window_shares.ROWS[0]
    given = {"auto": 0.01} | slower
    section = window_shares.shares_section(row, "Trees", {10: 0.1, 200: 2.0}, figures_of(row, **given))
    found = [target.text for target in section.targets if not target.met]
    assert len(found) == len(missed) and all(
        part in text for part, text in zip(missed, found, strict=True)
    ), found
    assert [plot.name for plot in section.plots] == ["windows-closure-trees-10000"]


def test_the_quick_suite_runs_and_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_here(job: str, request: Mapping[str, object], limits: Limits) -> Done:
        return Done(OK, figures=json.loads(json.dumps(JOBS[job](**request))))

    monkeypatch.setattr("bench.__main__._RESULTS", tmp_path)
    for module in (window_queries, window_shares, window_slides):
        monkeypatch.setattr(module, "run_job", run_here)
    monkeypatch.setattr(suite, "compile_all", lambda limits, job: Done(OK))
    parts = ["window-shares", "window-slides", "window-memory", "window-queries"]
    assert main(["papers", *parts, "--quick", "--repeat", "1"]) == 0
    (stored,) = tmp_path.glob("*.json")
    sections = json.loads(stored.read_text())["sections"]
    assert [section["problems"] for section in sections] == [[]] * 5
    assert len(list(tmp_path.glob("*.svg"))) == 2


def test_matches_are_all_pairs_that_are_in_their_windows_at_one_time() -> None:
    task = JoinTask(5, 3, 6)
    rows = [task.entering(number) for number in range(task.steps)]
    found = expected(task)
    for last in range(task.steps):
        codes = [
            (x << HALF) + z
            for now, (left, _) in enumerate(rows[: last + 1])
            for then, (_, right) in enumerate(rows[: last + 1])
            for x, y in left.tolist()
            for w, z in right.tolist()
            if w == y and abs(now - then) < task.seconds
        ]
        assert found[last] == [len(codes), sum(codes)]
    assert found[-1][0]


@pytest.mark.parametrize("peer", [OWN, PEERS[0]], ids=lambda peer: peer.key)
def test_a_peer_finds_the_matches_of_every_step(peer: Peer) -> None:
    if peer.interpreter() is None:
        pytest.skip(f"{peer.label} is not installed")
    task = JoinTask(8, 3, 6)
    found = joined(peer, task, expected(task), Limits(300.0))
    assert (found.status, found.detail) == (OK, "")
    assert len(found.wall) == len(found.cpu) == task.steps
    assert joined(peer, task, expected(JoinTask(8, 2, 6)), Limits(300.0)).status == WRONG


def test_shares_run_as_a_job() -> None:
    request = {"program": "R", "shape": "trees", "window": 50, "steps": [5], "variants": [BARE, "auto"]}
    done = run_job("window-shares", {**request, "blocks": 1, "each": 1, "cap": 60.0}, Limits(900.0))
    assert done.status == OK, done.problem
