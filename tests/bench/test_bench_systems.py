"""Every system computes the same contents from the same job."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from bench.closures import (
    left_closure,
    nonlinear_closure,
    right_closure,
    same_generation,
    symmetric_closure,
)
from bench.digest import Content, agree, of_columns, of_rows
from bench.generators import integer_pairs, random_digraph, string_pairs
from bench.measure import Stopwatch
from bench.staging import Job, columns_of, stage, write_files
from bench.stratified import network, shop
from bench.systems import SYSTEMS
from bench.workload import Workload

from tidalog.lang import parse
from tidalog.model.terms import Integer, Term
from tidalog.reference.naive import evaluate

EDGES = partial(random_digraph, 40, 60)
TINY = [
    left_closure("left", "", EDGES),
    right_closure("right", "", EDGES),
    nonlinear_closure("nonlinear", "", EDGES),
    symmetric_closure("symmetric", 12),
    same_generation("same", 4),
    shop("shop", 60, 1_300),
    network("network", 50, 80),
]
MODULES = {"tidalog": "tidalog", "duckdb": "duckdb", "clingo": "clingo", "egglog": "egglog", "cozo": "pycozo"}


def contents(system: str, job: Job, folder: Path) -> dict[str, Content]:
    if find_spec(MODULES[system]) is None:
        pytest.skip(f"{system} is not installed")
    return SYSTEMS[system].runner()(job, folder, 1, Stopwatch())


@pytest.mark.parametrize("system", ["tidalog", "clingo", "egglog", "cozo"])
@pytest.mark.parametrize("workload", TINY, ids=lambda workload: workload.name)
def test_a_system_agrees_with_duckdb(workload: Workload, system: str, tmp_path: Path) -> None:
    if system != "tidalog" and system not in workload.scripts:
        pytest.skip(f"{system} cannot say it")
    job = stage(workload, tmp_path)
    theirs = contents("duckdb", job, tmp_path)
    ours = contents(system, job, tmp_path)
    assert ours == theirs
    assert all(content.count > 0 for content in theirs.values()), "an empty result checks nothing"


@pytest.mark.parametrize("workload", TINY, ids=lambda workload: workload.name)
def test_expected_counts_are_those_of_duckdb(workload: Workload, tmp_path: Path) -> None:
    job = stage(workload, tmp_path)
    found = contents("duckdb", job, tmp_path)
    assert set(found) == set(workload.results)
    for predicate, count in (workload.expected or {}).items():
        assert found[predicate].count == count


@pytest.mark.parametrize("workload", TINY, ids=lambda workload: workload.name)
def test_the_tidalog_program_says_what_the_sql_says(workload: Workload, tmp_path: Path) -> None:
    facts = {
        name: {tuple(Integer(v) for v in row.values()) for row in table.to_pylist()}
        for name, table in workload.facts().items()
    }
    model = evaluate(parse(workload.program), facts)
    said = {
        name: of_rows([_number(term) for term in row] for row in model[name]) for name in workload.results
    }
    assert said == contents("duckdb", stage(workload, tmp_path), tmp_path)


def _number(term: Term) -> int:
    assert isinstance(term, Integer)
    return term.value


@pytest.mark.parametrize("system", list(MODULES))
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
@pytest.mark.parametrize("generate", [integer_pairs, string_pairs], ids=["integers", "strings"])
def test_loading_keeps_every_pair(system: str, file_format: str, generate, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    if file_format not in SYSTEMS[system].formats:
        pytest.skip(f"{system} does not read {file_format}")
    table = generate(500, 60)
    write_files({"link": table}, tmp_path)
    job = Job(f"load-{file_format}", "pairs", "", {}, {"link": 2}, columns_of({"link": table}))
    assert contents(system, job, tmp_path)["link"].count == 500


def test_a_job_survives_being_written(tmp_path: Path) -> None:
    job = stage(TINY[0], tmp_path)
    assert Job.read(tmp_path) == job


def test_a_digest_sees_columns_swapped_and_a_row_changed_but_not_order() -> None:
    rows = [(1, 2), (3, 4), (5, 6)]
    assert of_rows(rows) == of_rows(rows[::-1])
    assert of_rows(rows) != of_rows([(b, a) for a, b in rows])
    assert of_rows(rows) != of_rows([(1, 2), (3, 4), (5, 7)])


def test_a_digest_is_the_same_by_rows_and_by_columns() -> None:
    table = integer_pairs(200, 30)
    columns = [column.to_numpy() for column in table.columns]
    assert of_columns(columns) == of_rows(list(zip(*(c.tolist() for c in columns), strict=True)))


def test_contents_without_a_digest_agree_by_count() -> None:
    assert agree(Content(3, 17), Content(3))
    assert not agree(Content(3, 17), Content(3, 18))
    assert not agree(Content(3), Content(4))
