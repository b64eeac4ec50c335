"""Rule dependency graph and hyper-nodes of the rule sets of Xu and Curé, "ZodiacEdge" (2023).

Rule r5 of its Fig. 1 is not safe as printed: X of the head occurs in a negated atom only.  The graph looks
at predicates alone, so it can be had for the printed rule and for a repaired one.
"""

from __future__ import annotations

import pytest
from analysis_programs import analysed, errors_of

from tidalog.analysis import EditImpact, NodeState, NormalRule, RuleGraph, analyse
from tidalog.analysis.draft import WorkingRule
from tidalog.analysis.edit_impact import impact_of_edit
from tidalog.analysis.hypernodes import hyper_nodes, rule_edges
from tidalog.analysis.normalise import normal_rule
from tidalog.analysis.scc import natural_key
from tidalog.lang import parse

FIG_1 = """
r1: p1(?X, ?Y) :- p0(?X, ?Y).
r2: p2(?X, ?Z) :- p1(?X, ?Y), p3(?Y, ?Z).
r3: p3(?X, ?Y) :- p4(?X, ?Y).
r4: p4(?X, ?Y) :- p2(?X, ?Y).
r5: p5(?X, ?Y) :- p6(?Y, ?Z), ~p2(?X, ?Z).
r6: p6(?X, ?Y) :- p5(?X, ?Y).
r7: p7(?X, ?Z) :- p3(?X, ?Y), p5(?Y, ?Z).
"""
REPAIRED = FIG_1.replace("p6(?Y, ?Z), ~p2(?X, ?Z)", "p6(?Y, ?X), ~p2(?X, ?Y)")

RS1 = """
r1: hasNeighbour(?X, ?Y) :- hasNeighbour(?Y, ?X).
r2: hasNeighbour(?X, ?Y) :- hasNeighbour(?X, ?Z), hasNeighbour(?Z, ?Y), ?X != ?Y.
r3: measurements(?X, #count(?T, ?Y)) :- hasNeighbour(?X, ?Y), temperature(?Y, ?T).
r4: median(?X, #median(?T, ?Y)) :- hasNeighbour(?X, ?Y), temperature(?Y, ?T).
r5: moreThan3Neighbours(?X) :- measurements(?X, ?N), ?N >= 3.
r6: anomaly(?X) :- median(?X, ?M), moreThan3Neighbours(?X), temperature(?X, ?T), ?D = ABS(?T - ?M), ?D > 5.
"""
RS2 = """
r1: p11(?X, ?Y) :- p1(?X, ?Y).
r2: p11(?X, ?Y) :- p11(?Y, ?X).
r3: p11(?X, ?Y) :- p11(?X, ?Z), p11(?Z, ?Y), ?X != ?Y.
r4: p12(?X, ?Y) :- p2(?X, ?Y).
r5: p12(?X, ?Y) :- p12(?X, ?Z), p12(?Z, ?Y), ?X != ?Y.
r6: p13(?X, ?Y) :- p3(?X, ?Y).
r7: p14(?X, ?Y) :- p13(?X, ?Y).
r8: p13(?X, ?Y) :- p14(?Y, ?X).
r9: p20(?X, ?Y) :- p11(?X, ?Y).
r10: p20(?X, ?Y) :- p12(?X, ?Y).
r11: p20(?X, ?Y) :- p13(?X, ?Y).
r12: p21(?X, ?Y) :- p20(?X, ?Y).
r13: p22(?X, ?Y) :- p21(?X, ?Y).
r14: p20(?X, ?Y) :- p22(?X, ?Y).
r15: p25(?X, ?Z) :- p11(?X, ?Y), p12(?Y, ?Z), ~p5(?Y, ?Z).
r16: p26(?X, ?Z) :- p12(?X, ?Y), p13(?Z, ?Y), ~p5(?Z, ?Y).
r17: p30(?X, ?Z) :- p22(?X, ?Y), p21(?Y, ?Z).
r18: p31(?X, ?Y) :- p25(?X, ?Y), p26(?Y, ?Z).
"""
RS3 = RS2.replace("r10: p20(?X, ?Y) :- p12(?X, ?Y).", "r10: p20(?X, ?Y) :- p12(?X, ?Y), ~p13(?Y, ?Z).")


def normal_rules(text: str) -> list[NormalRule]:
    """Rules in normal form, safe or not."""
    return [normal_rule(WorkingRule(rule.name or "", rule, rule)) for rule in parse(text).rules]


def test_fig_1_as_printed_is_refused_because_r5_is_not_safe() -> None:
    assert errors_of(FIG_1) == ["T012"]


@pytest.mark.parametrize("text", [FIG_1, REPAIRED], ids=["as printed", "repaired"])
def test_fig_1_gives_the_graphs_of_fig_2_and_fig_3a(text: str) -> None:
    rules = normal_rules(text)
    edges = rule_edges(rules)
    assert edges.positive == {
        ("r1", "r2"), ("r2", "r4"), ("r4", "r3"), ("r3", "r2"), ("r3", "r7"),
        ("r5", "r6"), ("r6", "r5"), ("r5", "r7"),
    }  # fmt: skip
    assert edges.negative == {("r2", "r5")}
    nodes = hyper_nodes(rules)
    assert {node.name: set(node.rules) for node in nodes} == {
        "hn1": {"r1"},
        "hn2": {"r2", "r3", "r4"},
        "hn3": {"r5", "r6"},
        "hn4": {"r7"},
    }
    name = [node.name for node in nodes]
    assert {(n.name, name[t]) for n in nodes for t in n.positive} == {
        ("hn1", "hn2"), ("hn2", "hn4"), ("hn3", "hn4"),
    }  # fmt: skip
    assert {(n.name, name[t]) for n in nodes for t in n.negative} == {("hn2", "hn3")}


def test_the_repaired_program_is_accepted_with_the_same_hyper_nodes() -> None:
    analysis = analysed(REPAIRED)
    assert [node.rules for node in analysis.hyper_nodes] == [
        ("r1",),
        ("r2", "r3", "r4"),
        ("r5", "r6"),
        ("r7",),
    ]
    assert [component.stratum for component in analysis.components] == [0, 0, 0, 1, 1]


def test_rule_set_1_in_its_own_dialect_has_the_same_hyper_nodes() -> None:
    text = """
    r1: hasNeighbour(X, Y) :- hasNeighbour(Y, X).
    r2: hasNeighbour(X, Y) :- hasNeighbour(X, Z) ∧ hasNeighbour(Z, Y) ∧ COMP(X, !=, Y).
    r3: measurements(X, Z) :- aggregate(hasNeighbour(X, Y) ∧ temperature(Y, T)) on X with count(T) as Z.
    r4: median(X, Z) :- aggregate(hasNeighbour(X, Y) ∧ temperature(Y, T)) on X with Med(T) as Z.
    r5: MoreThan3Neighbours(X) :- measurements(X, N) ∧ Comp(N, >=, 3).
    r6: Anomaly(X) :- median(X, M) ∧ MoreThan3Neighbours(X) ∧ temperature(X, T) and bind(abs(T-M) as D)
        ∧ Comp(D, >, 5).
    """
    analysis = analyse(parse(text, dialect="zodiac"))
    own = analysed(RS1)
    assert [node.rules for node in analysis.hyper_nodes] == [node.rules for node in own.hyper_nodes]


@pytest.mark.parametrize(("text", "count"), [(RS1, 5), (RS2, 14), (RS3, 14)], ids=["RS1", "RS2", "RS3"])
def test_rule_sets_have_as_many_hyper_nodes_as_table_1_says(text: str, count: int) -> None:
    assert len(analysed(text).hyper_nodes) == count


# --- rules that come and go: the examples in the text, with the numbers it has for hyper-nodes -------

R8 = "r8: p2(?X, ?Z) :- p3(?X, ?Y), p2(?Y, ?Z)."
FIG_5 = """
r1: p1(?X, ?Y) :- p0(?X, ?Y).
r2: p2(?X, ?Y) :- p1(?X, ?Y), p3(?X, ?Y).
r3: p3(?X, ?Y) :- p2(?X, ?Y).
r7: p2(?X, ?Z) :- p3(?X, ?Y), p3(?Y, ?Z).
r4: p4(?X, ?Y) :- p2(?X, ?Y).
"""
"""The figure is a picture whose rules are not printed; these are three hyper-nodes in a row, of which the
second stays whole without r7."""


def changed(graph: RuleGraph, text: str, *removed: str) -> EditImpact:
    return impact_of_edit(graph, graph.change(normal_rules(text), removed))


def named(nodes: tuple[NodeState, ...]) -> list[str]:
    return [node.name for node in nodes]


@pytest.mark.parametrize("text", [FIG_1, REPAIRED], ids=["as printed", "repaired"])
def test_inserting_r8_merges_it_into_hn2_which_alone_is_directly_impacted(text: str) -> None:
    graph = RuleGraph(normal_rules(text))
    change = changed(graph, R8)
    assert set(graph.rules_of_node(2)) == {"r2", "r3", "r4", "r8"}
    assert len(graph.node_numbers()) == 4
    assert named(change.directly_impacted) == ["hn2"]
    assert named(change.plan) == ["hn2", "hn3", "hn4"]
    assert graph.rule_edges() == rule_edges(normal_rules(text + R8))


@pytest.mark.parametrize("text", [FIG_1, REPAIRED], ids=["as printed", "repaired"])
def test_deleting_r4_after_that_splits_hn2_into_hn2_hn5_and_hn6(text: str) -> None:
    graph = RuleGraph(normal_rules(text))
    changed(graph, R8)
    change = changed(graph, "", "r4")
    assert named(change.dirty) == ["hn2"]
    assert [named(split.after) for split in change.splits] == [["hn2", "hn5", "hn6"]]
    assert named(change.directly_impacted) == ["hn2", "hn3", "hn4", "hn5", "hn6"]
    assert [node.rules for node in change.plan] == [("r3",), ("r2",), ("r8",), ("r5", "r6"), ("r7",)]
    assert {n: graph.node_feeds(n) for n in graph.node_numbers()} == {
        1: {2}, 5: {2, 6, 4}, 2: {6, 3}, 6: {3}, 3: {4}, 4: set(),
    }  # fmt: skip


def test_deleting_r7_of_fig_5_impacts_hn2_and_reaches_hn3() -> None:
    graph = RuleGraph(normal_rules(FIG_5))
    assert [set(graph.rules_of_node(n)) for n in (1, 2, 3)] == [{"r1"}, {"r2", "r3", "r7"}, {"r4"}]
    before = {n: graph.node_feeds(n) for n in graph.node_numbers()}
    change = changed(graph, "", "r7")
    assert {n: graph.node_feeds(n) for n in graph.node_numbers()} == before
    assert (named(change.directly_impacted), named(change.plan)) == (["hn2"], ["hn2", "hn3"])


def test_hyper_nodes_that_lose_all_their_rules_ask_for_no_work() -> None:
    graph = RuleGraph(normal_rules(FIG_1))
    change = changed(graph, "", "r5", "r6", "r7")
    assert named(change.dropped) == ["hn3", "hn4"]
    assert (change.directly_impacted, change.plan, change.visits) == ((), (), ())
    assert change.without_rules == ("p5", "p6", "p7")


@pytest.mark.parametrize("text", [RS1, RS2, RS3], ids=["RS1", "RS2", "RS3"])
def test_taking_any_rule_of_a_rule_set_out_and_back_in_gives_its_graph_again(text: str) -> None:
    rules = normal_rules(text)
    graph = RuleGraph(rules)
    nodes = {node.rules for node in hyper_nodes(rules)}
    for rule in rules:
        graph.change([], [rule.name])
        rest = [other for other in rules if other is not rule]
        assert held(graph) == {node.rules for node in hyper_nodes(rest)}
        graph.change([rule], [])
        assert held(graph) == nodes


def held(graph: RuleGraph) -> set[tuple[str, ...]]:
    return {tuple(sorted(graph.rules_of_node(n), key=natural_key)) for n in graph.node_numbers()}
