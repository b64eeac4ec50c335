"""Components, strata and their order; graphs as large as programs come."""

from __future__ import annotations

from itertools import product

import pytest
from analysis_programs import analysed, names
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalog.analysis import analyse
from tidalog.analysis.scc import natural_key, strongly_connected, topological_order
from tidalog.lang import parse
from tidalog.model.errors import ProgramError
from tidalog.model.program import Atom, Program, Rule, Variable

graphs = st.integers(1, 8).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=4), min_size=n, max_size=n)
)


@given(successors=graphs)
@settings(max_examples=200, deadline=None)
def test_components_are_the_classes_of_mutual_reachability(successors: list[list[int]]) -> None:
    nodes = range(len(successors))
    reach = [[a == b or b in successors[a] for b in nodes] for a in nodes]
    for via, a, b in product(nodes, nodes, nodes):
        reach[a][b] = reach[a][b] or (reach[a][via] and reach[via][b])
    expected = {tuple(b for b in nodes if reach[a][b] and reach[b][a]) for a in nodes}
    assert {tuple(component) for component in strongly_connected(successors)} == expected


@given(successors=graphs)
@settings(max_examples=200, deadline=None)
def test_topological_order_puts_every_source_before_its_targets(successors: list[list[int]]) -> None:
    upwards = [[target for target in targets if target > node] for node, targets in enumerate(successors)]
    order = topological_order(upwards, lambda node: (0, natural_key(str(-node))))
    place = {node: at for at, node in enumerate(order)}
    assert sorted(order) == list(range(len(upwards)))
    assert all(place[a] < place[b] for a, targets in enumerate(upwards) for b in targets)


def test_numbers_in_names_sort_as_numbers() -> None:
    assert sorted(["p10", "p2", "p", "q1"], key=natural_key) == ["p", "p2", "p10", "q1"]


def test_mutual_recursion_is_one_component_and_a_plain_copy_is_another() -> None:
    analysis = analysed("p(?x) :- q(?x). q(?x) :- p(?x). q(?x) :- e(?x). r(?x) :- p(?x).")
    assert names(analysis) == [("e",), ("p", "q"), ("r",)]
    assert [component.recursive for component in analysis.components] == [False, True, False]
    assert analysis.components[1].positive == {0}
    assert analysis.component_of["q"] == 1


def test_negation_and_aggregation_start_a_new_stratum() -> None:
    analysis = analysed(
        "a(?x) :- e(?x). b(?x) :- e(?x), ~a(?x). c(#count(?x)) :- b(?x). d(?x) :- e(?x), c(?x)."
    )
    stratum = {p: component.stratum for component in analysis.components for p in component.predicates}
    assert stratum == {"e": 0, "a": 0, "b": 1, "c": 2, "d": 2}
    assert [len(members) for members in analysis.strata] == [2, 1, 2]


def test_every_component_depends_on_earlier_ones_only() -> None:
    analysis = analysed("z(?x) :- y(?x). y(?x) :- x(?x), ~w(?x). w(?x) :- v(?x). a(?x) :- z(?x), w(?x).")
    for component in analysis.components:
        assert all(index < component.index for index in component.depends_on)


def test_explicit_and_derived_may_both_be_true_of_a_predicate() -> None:
    analysis = analysed("p(a). p(?x) :- q(?x). r(?x) :- p(?x).")
    described = {
        info.name: (info.arity, info.explicit, info.derived) for info in analysis.predicates.values()
    }
    assert described == {"p": (1, True, True), "q": (1, True, False), "r": (1, False, True)}


def test_the_cycle_that_is_printed_is_a_shortest_one() -> None:
    text = """
    a(?x) :- b(?x). b(?x) :- c(?x). c(?x) :- a(?x), ~b(?x). c(?x) :- e(?x), ~c(?x).
    """
    with pytest.raises(ProgramError) as refused:
        analyse(parse(text))
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.message == "negation in a cycle: c → ~c"


def _chain(length: int, closed: bool) -> Program:
    x = (Variable("x"),)
    rules = [Rule((Atom(f"p{n + 1}", x),), (Atom(f"p{n}", x),)) for n in range(length)]
    if closed:
        rules.append(Rule((Atom("p0", x),), (Atom(f"p{length}", x),)))
    return Program(rules=tuple(rules))


def test_ten_thousand_rules_in_a_row_are_ten_thousand_components() -> None:
    analysis = analyse(_chain(10_000, closed=False))
    assert len(analysis.components) == 10_001
    assert len(analysis.hyper_nodes) == 10_000
    assert analysis.hyper_nodes[-1].rules == ("r10000",)


def test_ten_thousand_rules_in_a_ring_are_one_component() -> None:
    analysis = analyse(_chain(10_000, closed=True))
    assert len(analysis.components) == len(analysis.hyper_nodes) == 1


def test_many_rules_for_one_recursive_predicate_do_not_build_their_quadratic_graph() -> None:
    x = (Variable("x"),)
    rules = tuple(Rule((Atom("p", x),), (Atom("p", x), Atom(f"e{n}", x))) for n in range(5_000))
    (node,) = analyse(Program(rules=rules)).hyper_nodes
    assert len(node.rules) == 5_000
