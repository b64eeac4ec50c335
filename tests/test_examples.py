"""The examples say what a reader who works them out by hand expects them to say."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

import tidalog
from tidalog.cli.app import run as cli
from tidalog.model.term_text import term_text

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def rows(text: str) -> set[tuple[str, ...]]:
    """One row a line, fields separated by blanks."""
    return {tuple(line.split()) for line in text.strip().splitlines()}


def pairs(left: str, right: str) -> set[tuple[str, ...]]:
    """Every ordered pair of two different names."""
    return {(a, b) for a in left.split() for b in right.split() if a != b}


EXPECTED: dict[str, dict[str, set[tuple[str, ...]]]] = {
    "access/access.rls": {
        "mayRead": rows("""
            ann payroll
            ann budget
            ann roadmap
            ann handbook
            ben budget
            ben roadmap
            ben handbook
            cho handbook
            dia roadmap
        """),
        "readers": rows("payroll 1\nbudget 2\nroadmap 3\nhandbook 3"),
        "lockedOut": rows("eli"),
    },
    "fraud/fraud.rls": {
        "ring": rows("acc1 acc1\nacc1 acc2\nacc1 acc3\nacc6 acc6\nacc6 acc7"),
        "ringSize": rows("acc1 3\nacc6 2"),
        "turnover": rows("acc1 2550.0\nacc6 160.0"),
        "watch": rows("acc1\nacc2\nacc3"),
    },
    "family/family.rls": {
        "descendants": rows("ada 8\nbea 3\ncarl 3\ndora 1\nfinn 1"),
        "sameGeneration": pairs("bea carl", "bea carl")
        | pairs("dora emil finn greta", "dora emil finn greta")
        | pairs("hugo ida", "hugo ida"),
        "cousin": pairs("dora emil", "finn greta")
        | pairs("finn greta", "dora emil")
        | pairs("hugo ida", "hugo ida"),
    },
    "turbines/turbines.rules": {
        "hasNeighbour": pairs("wt1 wt2 wt3 wt4 wt5", "wt1 wt2 wt3 wt4 wt5") | pairs("wt8 wt9", "wt8 wt9"),
        "moreThan3Neighbours": rows("wt1\nwt2\nwt3\nwt4\nwt5"),
        "sensorAnomalyWindTurbine": rows("wt5"),
    },
    "rdf/museums.rls": {
        "attractions": {
            (f"<http://example.org/museum/{place}>", count)
            for place, count in (("harbour", "2"), ("market", "1"), ("oldTown", "3"))
        },
        "free": {("<http://example.org/museum/oldPump>",)},
    },
}


def test_rules_of_the_family_change() -> None:
    young = {("carl", "dora"), ("carl", "emil"), ("bea", "finn"), ("bea", "greta")}
    by_parents = young | {("emil", "hugo"), ("greta", "ida")}
    by_ancestors = by_parents | {("carl", "hugo"), ("bea", "ida"), ("greta", "jon"), ("bea", "jon")}
    with tidalog.open() as kb:
        kb.load(EXAMPLES / "family" / "family.rls")
        states = [set(kb.facts("elder")) for _ in kb.stream(EXAMPLES / "family" / "rules.upd")]
    assert states == [by_parents, by_ancestors]


def derived(program: Path, predicate: str) -> set[tuple[str, ...]]:
    with tidalog.open() as kb:
        kb.load(program)
        return {tuple(term_text(term) for term in row) for row in kb.facts(predicate).to_terms()}


@pytest.mark.parametrize(
    ("program", "predicate"),
    [(program, predicate) for program in EXPECTED for predicate in EXPECTED[program]],
)
def test_an_example_derives_what_a_reader_expects(program: str, predicate: str) -> None:
    assert derived(EXAMPLES / program, predicate) == EXPECTED[program][predicate]


def closure(edges: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """The transitive closure by a search from every node."""
    following = defaultdict(set)
    for start, end in edges:
        following[start].add(end)
    found = set()
    for start in list(following):
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = following[waiting.pop()] - seen
            seen |= new
            waiting.extend(new)
        found.update((start, end) for end in seen)
    return found


def test_ways_of_the_map_are_connected_if_they_share_nodes_along_a_chain() -> None:
    ways_at = defaultdict(set)
    for line in (EXAMPLES / "map" / "nextInWay.csv").read_text().splitlines()[1:]:
        node, following, way = line.split(",")
        ways_at[node].add(way)
        ways_at[following].add(way)
    touching = {(a, b) for ways in ways_at.values() for a in ways for b in ways if a != b}
    assert derived(EXAMPLES / "map" / "map.rls", "connection") == closure(touching)


def test_every_example_is_in_the_list_of_examples() -> None:
    text = (EXAMPLES / "README.md").read_text()
    programs = [path for end in ("rls", "rules", "jrules") for path in EXAMPLES.glob(f"*/*.{end}")]
    assert len(programs) >= 6
    for program in programs:
        name = re.escape(f" examples/{program.relative_to(EXAMPLES)}")
        assert re.search(f"tidalog (run|stream|apply){name}", text), name


def test_the_map_on_a_stream_has_the_rules_of_the_map() -> None:
    programs = [tidalog.open(), tidalog.open()]
    for kb, name in zip(programs, ("map", "track"), strict=True):
        kb.load(EXAMPLES / "map" / f"{name}.rls")
    first, second = ([str(rule) for rule in kb.program.rules] for kb in programs)
    assert first == second


def test_travellers_are_found_by_continuous_queries(tmp_path: Path) -> None:
    folder = EXAMPLES / "mobility"
    files = [str(folder / name) for name in ("mobility.rls", "positions.csv")]
    queries = ["--queries", str(folder / "queries.csparql"), "--out", str(tmp_path)]
    assert cli(["apply", *files, *queries, "-q"]) == 0

    def emitted(name: str) -> list[tuple[str, ...]]:
        lines = (tmp_path / f"{name}.csv").read_text().replace("<http://example/", "").replace(">", "")
        return [tuple(line.split(",")) for line in lines.splitlines()[1:]]

    assert emitted("cities") == [
        ("3", "+", "cities", "ada", "milano", "implicit"),
        ("8", "-", "cities", "ada", "milano", "implicit"),
    ]
    rows = emitted("TotalAmountPerBroker")
    assert {row[0] for row in rows if row[1] == "empty"} == {"11", "14"}
    where = {(row[0], row[3], row[4], row[5]) for row in rows if row[1] == "+"}
    in_train = {(time, "ada", "Train", "train7") for time in "12346"}
    in_milano = {
        (time, "ada", kind, place)
        for time in "346"
        for kind, place in (("Station", "garibaldi"), ("City", "milano"))
    }
    assert where == in_train | in_milano
    assert {row[3:5] for row in emitted("places") if row[0] == "14"} == {
        *(("train7", "1"), ("garibaldi", "1"), ("milano", "1"), ("lombardia", "1")),
        *(("brignole", "1"), ("genova", "1"), ("liguria", "1")),
    }
