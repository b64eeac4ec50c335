"""Laws: the order of rules and literals and the names of variables change nothing that analysis says."""

from __future__ import annotations

import gc
import random
from contextlib import suppress
from dataclasses import replace

from analysis_programs import any_programs, verdict
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalog.analysis import Analysis, analyse
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.rewrite import map_leaves
from tidalog.lang import parse
from tidalog.model.errors import ProgramError
from tidalog.model.program import Expression, Program, Variable
from tidalog.model.program import variables as variables_of


def shuffled(program: Program, seed: int) -> Program:
    chance = random.Random(seed)
    rules = list(program.rules)
    chance.shuffle(rules)
    mixed = []
    for rule in rules:
        body = list(rule.body)
        chance.shuffle(body)
        mixed.append(replace(rule, body=tuple(body)))
    return replace(program, rules=tuple(mixed))


def renamed(program: Program) -> Program:
    new = {"x": "w", "y": "longer", "z": "x", "w": "a1"}

    def rename(leaf: Expression) -> Expression:
        return Variable(new.get(leaf.name, leaf.name)) if isinstance(leaf, Variable) else leaf

    return replace(program, rules=tuple(map_leaves(rule, rename) for rule in program.rules))


def shape(analysis: Analysis) -> list[object]:
    """Everything about components but the order of rules within them."""
    components: list[object] = [
        (c.predicates, {rule.name for rule in c.rules}, c.recursive, c.positive, c.negative, c.stratum)
        for c in analysis.components
    ]
    return [*components, *((n.rules, n.predicates, n.positive, n.negative) for n in analysis.hyper_nodes)]


def computed(rule: NormalRule) -> set[object]:
    """What computes each variable that the author named."""
    return {(c.variable, c.expression) for c in rule.computations if not c.variable.name.startswith("@")}


@given(program=any_programs(), seed=st.integers(0, 2**16))
@settings(max_examples=250, deadline=None)
def test_order_of_rules_and_literals_changes_no_verdict_and_no_component(program: Program, seed: int) -> None:
    other = shuffled(program, seed)
    assert verdict(other) == verdict(program)
    if not verdict(program):
        assert shape(analyse(other)) == shape(analyse(program))


@given(program=any_programs(), seed=st.integers(0, 2**16))
@settings(max_examples=250, deadline=None)
def test_order_of_literals_does_not_change_which_condition_computes_a_variable(
    program: Program, seed: int
) -> None:
    if verdict(program):
        return
    before = {rule.name: computed(rule) for rule in analyse(program).rules}
    after = {rule.name: computed(rule) for rule in analyse(shuffled(program, seed)).rules}
    for name, computations in before.items():
        if len(after[name] ^ computations) > 0:
            # Only variables that the rule itself cannot tell apart may trade places.
            assert sorted(map(anonymous, computations)) == sorted(map(anonymous, after[name]))


def anonymous(pair: object) -> str:
    assert isinstance(pair, tuple)
    text = repr(pair[1])
    for name in "xyzw":
        text = text.replace(f"Variable(name='{name}')", "?")
    return text


@given(program=any_programs())
@settings(max_examples=250, deadline=None)
def test_names_of_variables_change_no_verdict_and_no_component(program: Program) -> None:
    other = renamed(program)
    assert verdict(other) == verdict(program)
    if not verdict(program):
        assert shape(analyse(other)) == shape(analyse(program))


@given(program=any_programs())
@settings(max_examples=300, deadline=None)
def test_an_accepted_program_is_in_normal_form(program: Program) -> None:
    """The invariants at the top of `normal`, checked from their words alone."""
    if verdict(program):
        return
    for rule in analyse(program).rules:
        bound = {variable for atom in rule.atoms for variable in atom.variables}
        in_atoms = set(bound)
        for computation in rule.computations:
            assert bound.issuperset(variables_of(computation.expression))
            assert computation.variable not in bound
            bound.add(computation.variable)
        assert not in_atoms & {c.variable for c in rule.computations}
        for test in rule.tests:
            assert bound.issuperset(variables_of(test))
        assert rule.head is not None
        assert rule.head.variables <= bound
        for number, atom in enumerate(rule.negations):
            elsewhere = {v for n, other in enumerate(rule.negations) if n != number for v in other.variables}
            assert not (atom.variables & elsewhere) - bound


def test_the_garbage_collector_is_as_it_was_after_an_analysis() -> None:
    for text in ("p(?x) :- q(?x) .", "p(?y) :- q(?x) ."):
        for enabled in (False, True):
            (gc.enable if enabled else gc.disable)()
            try:
                with suppress(ProgramError):
                    analyse(parse(text))
                assert gc.isenabled() == enabled
            finally:
                gc.enable()
