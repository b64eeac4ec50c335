"""The evaluation of the paper on B/F: its data, and that all strategies leave the same facts."""

from __future__ import annotations

import pytest
from bench.incremental.considered import STRATEGIES, Deletions
from bench.papers.bf_data import Data, datasets
from bench.papers.bf_figures import TABLE
from bench.suites.considered import section

DATA = list(datasets(1))


@pytest.mark.parametrize("data", DATA, ids=lambda data: data.name)
def test_every_strategy_leaves_the_same_facts(data: Data) -> None:
    by = Deletions(data).measured(500, STRATEGIES, 1, 600.0)
    assert set(by) == set(STRATEGIES)
    assert len({figures["implicit"] for figures in by.values()}) == 1
    assert by["bf"]["checked"] < by["dred"]["deletions"]


def test_facts_have_many_derivations_where_people_come_from_towns() -> None:
    few, _, many = (Deletions(data) for data in DATA)
    assert few.derivations < 2 * few.facts
    assert many.derivations > 10 * many.facts


def test_the_printed_figures_are_read() -> None:
    worst = TABLE["UOBM-1k-Uo"][0]
    assert (worst.dred, worst.bf, worst.checked) == (8797.6, 5.4, 800)
    assert TABLE["Claros-LE"][-1].backward == 723e6


def test_a_row_stands_beside_the_papers_and_different_results_are_problems() -> None:
    figures = {"cpu_seconds": 1.0, "implicit": 3, "checked": 10, "deletions": 20}
    by = {name: dict(figures) for name in STRATEGIES}
    by["bf"] |= {"cpu_seconds": 0.5, "implicit": 4}
    found = {
        "paper": "UOBM-1k-Uo",
        "explicit": 100,
        "facts": 200,
        "scratch": 1.0,
        "derivations": 300,
        "equilibrium": {"low": 10, "high": 20},
        "sizes": [{"label": "5,000", "size": 5_000, "by": by}],
    }
    made = section("UOBM-like", found)
    assert made.rows[0][-3:] == ("2 (121)", "2 (338)", "2 (16,997)")
    assert made.problems and "different facts" in made.problems[0]
    assert [target.met for target in made.targets] == [True, True, True, False, True]
