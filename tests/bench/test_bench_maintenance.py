"""Suites of maintenance on small inputs: counts are the paper's, strategies agree, tables come out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bench.__main__ import _choose, _parser
from bench.incremental import closure, equilibrium, locality, marking, sustained
from bench.incremental.driver import STRATEGIES, Kept, as_rows, drive
from bench.incremental.jobs import run_job
from bench.papers.figures import SEQ, TRANS
from bench.papers.programs import P_MAP, P_SEQ, P_TRANS
from bench.papers.short_lived import short_lived_ways
from bench.papers.streams import synthetic
from bench.peers_incremental.task import closure_size
from bench.process import ERROR, OK, Limits
from bench.report import Section, last_stored, store
from bench.suites import maintenance, maintenance_sizes, papers
from bench.suites.options import Options as Asked

from tidalog.maintain.choose import Options

EDGES = as_rows([(0, 1), (1, 2), (2, 0), (2, 3)])


def test_a_kept_program_counts_its_facts_and_times_its_updates() -> None:
    kept = Kept(closure.PROGRAM, {"edge": EDGES}, Options("ranked"))
    whole = kept.facts
    assert whole == len(EDGES) + closure_size([(0, 1), (1, 2), (2, 0), (2, 3)])
    outcome, seconds = kept.timed(kept.update("edge", deleted=EDGES[3:]))
    assert outcome is not None
    assert seconds > 0
    assert kept.facts == whole - 4
    kept.timed(kept.update("edge", inserted=EDGES[3:]))
    assert kept.facts == whole


def test_rows_of_nothing_are_an_update_of_nothing() -> None:
    kept = Kept(closure.PROGRAM, {"edge": EDGES}, Options())
    update = kept.update("edge", as_rows([]), as_rows([]))
    assert (update.deletions, update.insertions) == ((), ())


def test_insertions_and_explicit_marks_are_the_papers() -> None:
    for family, program, figures in (("trans", P_TRANS, TRANS), ("seq", P_SEQ, SEQ)):
        found = [
            drive(program, synthetic(family, seed, 10), marking.TABLE_VARIANTS["linked"])[0]
            for seed in (1, 2, 3)
        ]
        assert round(sum(one.insertions for one in found) / 3) == figures[10].insertions
        assert round(sum(one.marks_explicit for one in found) / 3) == figures[10].marks_explicit


def test_the_first_update_is_carried_out_before_another_is_read() -> None:
    stream = short_lived_ways(4, updates=2)
    assert drive(P_MAP, stream, Options("bf", "complete"))[0].marks_explicit == sum(
        len(set(update.deleted)) for update in stream.updates[2:]
    )


def test_strategies_delete_the_same_facts() -> None:
    for data in equilibrium.datasets(60).values():
        found = equilibrium._measured(data, 20, equilibrium.STRATEGIES, 1, 60.0)
        assert set(found) == set(equilibrium.STRATEGIES)
        assert len({one["implicit_deleted"] for one in found.values()}) == 1


def test_a_strategy_that_takes_too_long_is_stopped_with_the_state_as_before() -> None:
    found = closure.pairs(300, 600, 2, ("dred", "ranked"), 1e-6, 1)["strategies"]
    assert found["dred"]["status"] == "> 1e-06 s"
    assert found["dred"]["delete_cpu_seconds"] == []
    assert found["dred"]["facts_after"] == found["ranked"]["facts_after"]


def test_pairs_leave_the_closure_as_it_was() -> None:
    found = closure.pairs(30, 60, 4, STRATEGIES, 60.0, 1)
    assert found["facts"] == 60 + closure_size(closure.edges_of(30, 60))
    for one in found["strategies"].values():
        assert one["facts_after"] == found["facts"]
        assert len(one["delete_cpu_seconds"]) == len(one["insert_cpu_seconds"]) == 4


def test_an_enduring_store_ends_where_it_began() -> None:
    found = closure.endurance(30, 60, 10, 3, 60.0)
    assert found["pairs"] == len(found["pair_cpu_seconds"]) == 10
    assert set(found["facts"]) == {found["facts"][0]}
    assert closure.endurance(30, 60, 10, 3, 1e-9)["pairs"] < 10


def test_counters_do_not_depend_on_what_an_update_does_not_concern() -> None:
    for by_size in locality.run([1_000, 4_000], 2)["strategies"].values():
        small, large = by_size.values()
        assert small["counters"] == large["counters"]
        assert large["facts"] > 3 * small["facts"]


def test_a_journey_ends_with_nothing() -> None:
    present: set[tuple[int, ...]] = set()
    for update in sustained.journey(1):
        present = (present - set(update.deleted)) | set(update.inserted)
    assert present == set()


def test_a_job_that_fails_says_why() -> None:
    done = run_job("locality", {"no_such_thing": 1}, Limits())
    assert done.status == ERROR
    assert "no_such_thing" in done.detail


def found_variants(**changed: int) -> dict[str, dict[str, float]]:
    """A row of Table 2 as the paper has it, but for what is changed."""
    paper = SEQ[10]
    old = {"deletions": paper.deletions.old, "marks_explicit": 0, "marks_implicit": 0}
    new = {
        "deletions": paper.deletions.new,
        "marks_explicit": paper.marks_explicit,
        "marks_implicit": paper.marks_implicit,
    }
    common = {"backward": 0, "forward": 0, "insertions": paper.insertions, "cpu_seconds": 0.01}
    names = (*papers._SHOWN, *(name for pair in papers._COMPARED for name in pair))
    rows = {name: {**common, **(old if name == papers._OLD else new)} for name in names}
    rows["linked"].update(changed)
    return rows


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, 0),
        ({"insertions": 1}, 2),
        ({"marks_explicit": 1}, 2),
        ({"marks_implicit": 1}, 1),
        ({"cpu_seconds": 1}, 1),
    ],
)
def test_a_count_or_a_time_that_is_not_the_papers_misses_its_target(
    changed: dict[str, int], missed: int
) -> None:
    section = Section("Table 2", papers._COLUMNS)
    rows = [("10", found_variants(**changed), SEQ[10])]
    papers._add_rows(section, *rows[0])
    papers._add_count_targets(section, "seq", rows)
    papers._add_time_targets(section, rows)
    assert sum(not target.met for target in section.targets) == missed, section.targets


def test_the_last_stored_run_of_a_peer_is_found(tmp_path: Path) -> None:
    graph = {"nodes": 20, "edges": 40}
    section = Section("Pairs", ("a", "b"))
    section.records.append({"peer": "pathway", **graph, "status": "not installed", "detail": ""})
    good = {"peer": "pathway", **graph, "system": "Pathway 1", "status": OK, "delete_seconds": [0.5]}
    section.records.append(good)
    store([section], {}, tmp_path)
    figures = maintenance._stored("pathway", graph, tmp_path)
    assert figures is not None
    assert (figures.system, figures.delete_seconds) == ("Pathway 1", (0.5,))
    assert maintenance._stored("pathway", {"nodes": 21, "edges": 40}, tmp_path) is None
    assert last_stored(tmp_path, lambda record: record.get("peer") == "swi") is None


def test_locality_and_endurance_print_their_tables() -> None:
    asked = Asked(quick=True, repeat=1, limits=Limits(900.0))
    for section in (maintenance_sizes.locality(asked), maintenance._endurance(asked)):
        assert section.problems == []
        assert section.rows
        assert json.dumps(section.records)


def test_a_suite_and_one_of_its_workloads_are_that_workload() -> None:
    chosen = _choose(_parser(), ["papers", "marking"], quick=True)
    assert [(suite.name, names) for suite, names in chosen] == [("papers", ["marking"])]
    chosen = _choose(_parser(), ["maintenance"], quick=True)
    assert [(suite.name, names) for suite, names in chosen] == [("maintenance", [])]


def test_datasets_have_as_many_links_as_asked_for() -> None:
    for data in equilibrium.datasets(600).values():
        assert len(np.unique(data.links, axis=0)) == len(data.links) == 600
