"""Rule sets that change, on small data: facts are as many as closed formulas say, from scratch and after each
change; tables and pictures come out."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.incremental import rules as job
from bench.papers import rule_figures, rule_sets
from bench.report import Section, store
from bench.suites import papers
from bench.suites import rules as suite

from bench import plots
from tidalog.lang import parse_file
from tidalog.model.terms import Integer
from tidalog.reference.naive import evaluate

N = 8
GRAPHS = Path(__file__).resolve().parents[1] / "analysis" / "rule_changes"
SVG = "{http://www.w3.org/2000/svg}"


def world(name: str, *without: str, n: int = N) -> job.World:
    facts = rule_sets.turbines(n) if name == "RS1" else rule_sets.chains(n)
    return job.World(name, frozenset(without), facts, job.Timing())


def go_to(kept: job.World, *without: str) -> int:
    """Derived facts that a change of rules retracts."""
    outcome = kept.go_to(frozenset(without), job.Timing())
    return sum(part.deleted_rows for part in outcome.delta.values())


def change(kept: job.World, deleted: job.Facts, inserted: job.Facts) -> None:
    kept.change(deleted, inserted, job.Timing())


@pytest.mark.parametrize(
    ("name", "golden"),
    [("RS1", "rs1_symmetric_and_transitive"), ("RS2", "rs2_three_rules"), ("RS3", "rs3_tables_2_and_3")],
)
def test_the_rule_sets_are_those_whose_graphs_are_checked(name: str, golden: str) -> None:
    assert rule_sets.program(name).rules == parse_file(GRAPHS / golden / "program.rules").rules


def test_the_papers_counts_are_those_of_the_formulas() -> None:
    assert rule_sets.derived("RS1", 400) == rule_figures.FACTS["RS1"] == 160_800
    assert rule_sets.derived("RS2", 200) == rule_figures.FACTS["RS2"] == 424_300
    assert rule_sets.derived("RS3", 200) == rule_figures.FACTS["RS3"] == 423_101
    assert rule_sets.derived("RS3", 200, ["r6"]) == 381_501
    assert rule_sets.derived("RS3", 200, ["r10new"]) == 303_900


@pytest.mark.parametrize("n", [5, N])
@pytest.mark.parametrize(
    ("name", "without"),
    [("RS1", []), ("RS2", []), ("RS3", []), ("RS3", ["r6"]), ("RS3", ["r10new"])],
)
def test_formulas_hold_from_scratch_and_for_the_reference(name: str, without: list[str], n: int) -> None:
    right = rule_sets.derived(name, n, without)
    assert world(name, *without, n=n).derived == right
    facts = rule_sets.turbines(n) if name == "RS1" else rule_sets.chains(n)
    given = {p: {tuple(map(Integer, row)) for row in rows.tolist()} for p, rows in facts.items()}
    found = evaluate(rule_sets.program(name, frozenset(without)), given)
    assert sum(len(found.get(predicate, ())) for predicate in rule_sets.heads(name)) == right


@pytest.mark.parametrize("rule", ["r6", "r10new"])
def test_rules_of_rule_set_3_go_and_come_back(rule: str) -> None:
    kept = world("RS3")
    go_to(kept, rule)
    assert kept.derived == rule_sets.derived("RS3", N, [rule])
    assert kept.differences(world("RS3", rule)) == []
    retracted = go_to(kept)
    assert kept.derived == rule_sets.derived("RS3", N)
    assert kept.differences(world("RS3")) == []
    assert retracted == (rule_sets.retracted_by_r6(N) if rule == "r6" else 0)


def test_adding_r6_retracts_what_its_facts_negate() -> None:
    assert go_to(world("RS3", "r6")) == 5 * N - 1


@pytest.mark.parametrize("n", [5, N])
def test_the_fact_of_p5_takes_twice_n_from_rule_set_2(n: int) -> None:
    kept = world("RS2", n=n)
    extra = {rule_sets.EXTRA: rule_sets.extra_fact(n)}
    change(kept, {}, extra)
    assert kept.derived == rule_sets.derived("RS2", n, extra=True) == rule_sets.derived("RS2", n) - 2 * n
    change(kept, extra, {})
    assert kept.derived == rule_sets.derived("RS2", n)
    assert kept.differences(world("RS2", n=n)) == []


def test_rule_set_2_becomes_rule_set_3_and_back_by_one_rule() -> None:
    """The two differ in r10 alone: without it they are one program."""
    two, three = world("RS2"), world("RS3")
    go_to(two, "r10")
    go_to(three, "r10new")
    assert two.derived == three.derived == rule_sets.derived("RS3", N, ["r10new"])
    assert two.differences(three) == []


@pytest.mark.parametrize(
    "left_out", [*rule_figures.RULES_OF_FIGURES, *((rule.name,) for rule in rule_sets.program("RS2").rules)]
)
def test_every_set_of_rules_of_rule_set_2_is_added_and_deleted_rightly(left_out: tuple[str, ...]) -> None:
    pair = job.rule_pair(job.Base("RS2", rule_sets.chains(N)), left_out, 1)
    assert pair.differences == []
    assert pair.counts["add"] == pair.counts["scratch_with"] == rule_sets.derived("RS2", N)
    assert pair.counts["delete"] == pair.counts["scratch_without"]
    assert (pair.counts["delete"] == pair.counts["add"]) == (left_out == ("r14",)), "r14 derives nothing new"


def test_neighbours_come_and_go_with_triples_turbines_and_rules() -> None:
    found = job.symmetric_transitive([N], 1)["sizes"][str(N)]
    assert [pair["differences"] for pair in found.values()] == [[]] * 4
    assert {found[rule]["counts"]["add"] for rule in ("r1", "r2")} == {rule_sets.derived("RS1", N)}
    assert found["triple"]["counts"]["delete"] == rule_sets.derived("RS1", N)
    more = job.more_turbines(N, [25, 50], 1)["percents"]
    assert [pair["differences"] for pair in more.values()] == [[], []]
    assert [pair["counts"]["add"] for pair in more.values()] == [
        rule_sets.derived("RS1", n) for n in (N + N // 4, N + N // 2)
    ]


def test_a_world_differs_from_one_with_other_facts() -> None:
    assert world("RS2").differences(world("RS2", "r18")) == ["p31"]
    other = world("RS1")
    change(other, {rule_sets.TEMPERATURE: rule_sets.turbines(1)[rule_sets.TEMPERATURE]}, {})
    assert rule_sets.TEMPERATURE in world("RS1").differences(other)


def test_nothing_reads_the_facts_of_leaves() -> None:
    for leaf in rule_sets.LEAVES:
        kept = world("RS2")
        before = kept.derived
        (head,) = {h.predicate for r in rule_sets.program("RS2").rules if r.name == leaf for h in r.heads}
        facts = kept.engine.count(head)
        assert go_to(kept, leaf) == facts > 0
        assert kept.derived == before - facts


def test_a_rule_that_is_not_there_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match="RS2 has no rule r10new"):
        rule_sets.program("RS2", frozenset({"r10new"}))


def test_more_turbines_and_the_first_ones_are_one_chain() -> None:
    first, more, whole = rule_sets.turbines(5), rule_sets.turbines(N, 6), rule_sets.turbines(N)
    for predicate, rows in whole.items():
        assert rows.tolist() == [*first[predicate].tolist(), *more[predicate].tolist()]


# --- tables and pictures ------------------------------------------------------------------------------------


def timing(seconds: float) -> dict[str, object]:
    return {"cpu_seconds": seconds, "wall_seconds": seconds}


def pair_of(name: str, rule: str, adding: float, deleting: float, **counts: int) -> dict[str, object]:
    """A pair as a job gives it, right but for what is changed."""
    with_it, without = rule_sets.derived(name, 200), rule_sets.derived(name, 200, [rule])
    right = {"scratch_with": with_it, "add": with_it, "scratch_without": without, "delete": without}
    retracted = {"add_retracts": rule_sets.retracted_by_r6(200) if rule == "r6" else 0, "delete_retracts": 0}
    times = {"scratch_with": timing(0.4), "scratch_without": timing(0.4)}
    times |= {"add": timing(adding), "delete": timing(deleting)}
    return {**times, "counts": {**right, **retracted, **counts}, "differences": []}


def tables_of(r6: dict[str, object]) -> Section:
    whole = rule_sets.derived("RS3", 200)
    counts = {"scratch_with": whole - 400, "add": whole - 400, "scratch_without": whole, "delete": whole}
    extra = {**pair_of("RS3", "r6", 0.01, 0.01), "counts": counts}
    sets = {"r6": r6, "r10new": pair_of("RS3", "r10new", 0.05, 0.05)}
    return suite.tables("Tables 2 and 3", {"n": 200, "sets": sets, "extra": extra})


@pytest.mark.parametrize(
    ("r6", "missed"),
    [
        (pair_of("RS3", "r6", 0.01, 0.1), []),
        (pair_of("RS3", "r6", 0.03, 0.1), ["incremental: at least 10 times"]),
        (pair_of("RS3", "r6", 0.01, 0.5), ["incremental is never slower"]),
        (pair_of("RS3", "r6", 0.01, 0.1, add=1), ["derived facts are those"]),
        (pair_of("RS3", "r6", 0.01, 0.1, add_retracts=0), ["adding r6 retracts 999"]),
        ({**pair_of("RS3", "r6", 0.01, 0.1), "differences": ["add: p20"]}, ["after every operation"]),
    ],
)
def test_a_time_or_a_fact_that_is_not_as_promised_misses_its_target(
    r6: dict[str, object], missed: list[str]
) -> None:
    section = tables_of(r6)
    shown = [target.text for target in section.targets if not target.met]
    assert len(shown) == len(missed), shown
    assert all(text.startswith(start) for text, start in zip(shown, missed, strict=True))
    wrong_facts = [start for start in missed if "times" not in start and "slower" not in start]
    assert len(section.problems) == len(wrong_facts), "wrong facts are a failure, times are none"


def test_each_part_makes_its_table_and_its_pictures(tmp_path: Path) -> None:
    chains = job.chains("RS2", rule_figures.RULES_OF_FIGURES, N, 1)
    sections = [
        tables_of(pair_of("RS3", "r6", 0.01, 0.1)),
        suite.sets_of_rules("Fig. 7 and 8", chains),
        suite.sizes("Fig. 9", job.symmetric_transitive([N, N + 1], 1)),
        suite.turbines("Fig. 10", job.more_turbines(N, [25, 50], 1)),
    ]
    assert [section.problems for section in sections] == [[]] * 4
    stored = store(sections, {}, tmp_path)
    text = stored.read_text()
    names = [plot.name for section in sections for plot in section.plots]
    assert names == ["tables-2-and-3", "figure-7", "figure-8", "figure-9", "figure-10"]
    for name in names:
        picture = tmp_path / f"{stored.stem}-{name}.svg"
        assert f"({picture.name})" in text
        assert ElementTree.fromstring(picture.read_text()).tag == f"{SVG}svg"
    assert all(section.rows and json.dumps(section.records) for section in sections)


def test_bars_are_as_long_as_the_logarithms_of_their_values() -> None:
    drawn = plots.bars("name", "A < B", "ms", ["one", "two"], {"a": [1.0, 10.0], "b": [100.0, None]})
    root = ElementTree.fromstring(drawn.svg)
    assert root.findtext(f"{SVG}title") == "A < B"
    rects = [one for one in root.iter(f"{SVG}rect") if one.get("height") == "10.0"]
    widths = [float(one.attrib["width"]) for one in rects]
    assert widths == [1.0, plots._PLOT, plots._PLOT / 2]


def test_lines_go_through_their_values() -> None:
    drawn = plots.lines("name", "Times", "ms", ["50", "100", "150"], {"a": [1.0, 10.0, 100.0]})
    (line,) = ElementTree.fromstring(drawn.svg).iter(f"{SVG}polyline")
    heights = [float(point.split(",")[1]) for point in line.attrib["points"].split()]
    assert heights[0] - heights[1] == heights[1] - heights[2] > 0


def test_the_suite_names_its_parts() -> None:
    assert {suite.WHOLE, *suite.PARTS} <= set(papers.NAMES)
    assert len(set(papers.NAMES)) == len(papers.NAMES)
