"""Laws of programs whose rules come and go: a graph that was changed is the graph built from scratch."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from algorithms_of_paper004 import algorithm_2, algorithm_3, algorithm_4, is_in_order
from analysis_programs import verdict
from edited_rules import (
    Step,
    accepted,
    edited_rules,
    random_rule,
    same_as_from_scratch,
    shape,
    steps,
    triple_rules,
    without_warnings,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalog.analysis import Analysis, EditedProgram, EditImpact, NodeState, RuleDiff, analyse
from tidalog.analysis.component_diff import ComponentDiff, diff_of_analyses
from tidalog.analysis.components import read_predicates
from tidalog.analysis.rewrite import map_leaves
from tidalog.model.errors import ProgramError
from tidalog.model.program import Expression, Program, Rule, Variable


def empty() -> EditedProgram:
    return EditedProgram(analyse(Program()))


def walk(edited: EditedProgram, stream: list[Step]) -> None:
    """Makes the changes; each leaves the program that a fresh analysis accepts, or is refused like there and
    changes nothing."""
    for step in stream:
        before, nodes, known = edited.program, node_numbers(edited), edited.analysis
        names = step.names(edited)
        staying = tuple(rule for rule in before.rules if rule.name not in names)
        try:
            change = edited.change(step.added, names)
        except ProgramError as refused:
            assert (edited.program, node_numbers(edited)) == (before, nodes)
            same_as_from_scratch(edited)
            wanted = verdict(replace(before, rules=(*staying, *step.added)))
            assert {d.number for d in refused.diagnostics} <= set(wanted)
        else:
            same_as_from_scratch(edited)
            diff_is_right(known, edited.analysis, change.components)
            assert edited.program.rules == (
                *(rule for rule in before.rules if rule not in change.removed),
                *change.added,
            )
            assert len(step.added) == len(change.added) + len(change.already_there)


def diff_is_right(before: Analysis, after: Analysis, diff: ComponentDiff) -> None:
    """A component that the diff does not affect is the one from before; those that it lists are the ones
    from after; and its order is topological."""
    was = {c.predicates: c for c in before.components}
    now = {c.predicates: c for c in after.components}
    listed = {group.predicates for group in diff.components}
    for predicates, component in now.items():
        if predicates not in listed:
            assert not diff.affected.intersection(predicates)
            assert set(was[predicates].rules) == set(component.rules)
    for group in diff.components:
        found = now[group.predicates]
        assert (group.rules, group.recursive) == (found.rules, found.recursive)
    assert diff.affected >= {p for c in was.values() for p in c.predicates} - after.predicates.keys()
    had, have = ({r.name: r for r in a.constraints} for a in (before, after))
    added = {rule.name: rule for rule in diff.constraints_added}
    removed = {rule.name for rule in diff.constraints_removed}
    assert {**{name: r for name, r in had.items() if name not in removed}, **added} == have
    for component in after.components:
        for rule in component.rules:
            for predicate in read_predicates(rule):
                own = diff.order(component.predicates[0])
                assert predicate in component.predicates or diff.order(predicate) < own
    whole = diff_of_analyses(before, after)
    assert {g.predicates for g in whole.components} <= listed
    assert whole.affected <= diff.affected


def node_numbers(edited: EditedProgram) -> dict[str, int]:
    return {name: edited.graph.node_of(name) for name in edited.graph.rules}


@given(stream=st.lists(steps(edited_rules()), min_size=1, max_size=12))
@settings(max_examples=400, deadline=None)
def test_after_every_change_the_graph_is_the_one_built_from_scratch(stream: list[Step]) -> None:
    walk(empty(), stream)


@given(stream=st.lists(steps(triple_rules()), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_rules_over_triples_move_the_relations_that_hold_them(stream: list[Step]) -> None:
    walk(empty(), stream)


@pytest.mark.parametrize("seed", range(4))
def test_a_long_stream_merges_and_splits_and_never_strays(seed: int) -> None:
    chance = random.Random(seed)
    edited = empty()
    seen: Counter[str] = Counter()
    for _ in range(700):
        names = list(edited.rules)
        size = len(names)
        added = [random_rule(chance, 10) for _ in range(chance.choice([0, 1, 1, 2]) if size < 22 else 0)]
        removed = chance.sample(names, chance.choice([0, 1, 2])) if size > 8 else []
        try:
            change = edited.change(added, removed)
        except ProgramError as refused:
            seen.update(d.number for d in refused.diagnostics)
        else:
            seen["merges"] += len(change.impact.merges)
            seen["splits"] += len(change.impact.splits)
            seen["component merges"] += sum(visit.merged for visit in change.impact.visits)
            seen["component splits"] += sum(visit.split for visit in change.impact.visits)
            follows_the_algorithms(edited, change)
        same_as_from_scratch(edited)
    for event in ("merges", "splits", "component merges", "component splits", "T020", "T021"):
        assert seen[event] >= 10, seen


def follows_the_algorithms(edited: EditedProgram, change: RuleDiff) -> None:
    """Dirty, DIHN and plan of a change that only adds or only removes are those of the paper."""
    after = dict(edited.graph.rules)
    added, removed = change.impact.added, change.impact.removed
    before = {name: rule for name, rule in after.items() if name not in {r.name for r in added}}
    before |= {rule.name: rule for rule in removed}
    impacted = as_sets(change.impact.directly_impacted)
    if not removed:
        assert impacted == algorithm_2(before, after)
        assert not change.impact.dirty
    elif not added:
        dirty, dihn = algorithm_3(before, after)
        assert (as_sets(change.impact.dirty), impacted) == (dirty, dihn)
    plan = [frozenset(node.rules) for node in change.impact.plan]
    assert set(plan) == set(algorithm_4(after, impacted))
    assert is_in_order(after, plan)
    visits_are_right(edited, change.impact)


def as_sets(nodes: tuple[NodeState, ...]) -> set[frozenset[str]]:
    return {frozenset(node.rules) for node in nodes}


def visits_are_right(edited: EditedProgram, change: EditImpact) -> None:
    """Visited are the components with a changed rule or other predicates than before and all that reads them,
    in order; each says where its predicates and rules come from."""
    components = edited.analysis.components
    own = {p: frozenset(component.predicates) for component in components for p in component.predicates}
    visits = {frozenset(visit.predicates): visit for visit in change.visits}
    changed = {r.head.predicate for r in (*change.added, *change.removed) if r.head is not None}
    start = {own[p] for p in changed if p in own} | {n for n, v in visits.items() if v.merged or v.split}
    wanted, stack = set(start), list(start)
    while stack:
        group = stack.pop()
        for component in components:
            reading = frozenset(component.predicates)
            sources = {frozenset(components[at].predicates) for at in component.depends_on}
            if group in sources and reading not in wanted:
                wanted.add(reading)
                stack.append(reading)
    assert wanted <= set(visits)
    assert all(visits[group].is_new for group in visits.keys() - wanted)
    order = [frozenset(visit.predicates) for visit in change.visits]
    for component in components:
        if frozenset(component.predicates) in visits:
            for at in component.depends_on:
                below = frozenset(components[at].predicates)
                if below in visits:
                    assert order.index(below) < order.index(frozenset(component.predicates))
    for name, names in (("rules_added", change.added), ("rules_removed", change.removed)):
        reported = [rule for visit in change.visits for rule in getattr(visit, name)]
        known = [r.name for r in names if r.head is not None and r.head.predicate in own]
        assert sorted(reported) == sorted(known)
    derived = {r.head.predicate for r in edited.graph.rules.values() if r.head is not None}
    lost = {r.head.predicate for r in change.removed if r.head is not None} - derived
    assert set(change.without_rules) == lost


# --- laws -------------------------------------------------------------------------------------------


@given(rules=st.lists(edited_rules(), max_size=8), step=steps(edited_rules()))
@settings(max_examples=300, deadline=None)
def test_a_change_that_is_taken_back_leaves_no_trace(rules: list[Rule], step: Step) -> None:
    edited = accepted(rules)
    before = without_warnings(edited.analysis), node_numbers(edited), edited.program
    try:
        change = edited.change(step.added, step.names(edited))
    except ProgramError:
        pass
    else:
        edited.undo_edit(change)
    assert (without_warnings(edited.analysis), node_numbers(edited), edited.program) == before
    same_as_from_scratch(edited)


@given(rules=st.lists(edited_rules(), max_size=8), more=edited_rules())
@settings(max_examples=300, deadline=None)
def test_adding_a_rule_and_removing_it_is_the_identity(rules: list[Rule], more: Rule) -> None:
    edited = accepted(rules)
    before = without_warnings(edited.analysis)
    try:
        change = edited.change([more])
    except ProgramError:
        return
    edited.change([], [rule.name for rule in change.added if rule.name is not None])
    assert without_warnings(edited.analysis) == before


@given(rules=st.lists(edited_rules(), max_size=8), seed=st.integers(0, 99))
@settings(max_examples=200, deadline=None)
def test_the_order_in_which_rules_came_does_not_matter(rules: list[Rule], seed: int) -> None:
    edited = accepted(rules)
    mixed = list(edited.program.rules)
    random.Random(seed).shuffle(mixed)
    together = empty()
    together.change(mixed)
    one_by_one = empty()
    for rule in mixed:
        one_by_one.change([rule])
    assert shape(edited) == shape(together) == shape(one_by_one)


@given(rules=st.lists(edited_rules(), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_a_rule_that_is_there_under_other_names_of_variables_is_not_added(rules: list[Rule]) -> None:
    edited = accepted(rules)
    before = without_warnings(edited.analysis)
    for rule in edited.program.rules:
        again = map_leaves(rule, _other_variable)
        change = edited.change([replace(again, name=None)])
        assert not change
        assert [same.name for same in change.already_there] == [rule.name]
    assert without_warnings(edited.analysis) == before


def _other_variable(leaf: Expression) -> Expression:
    return Variable(f"other_{leaf.name}") if isinstance(leaf, Variable) else leaf
