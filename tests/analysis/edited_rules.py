"""Streams of rule changes for the tests of edited programs, and what a graph must be after each."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from hypothesis import strategies as st

from tidalog.analysis import Analysis, analyse
from tidalog.analysis.components import read_predicates
from tidalog.analysis.edited_program import EditedProgram
from tidalog.analysis.hypernodes import hyper_nodes, rule_edges
from tidalog.model.errors import ProgramError
from tidalog.model.program import Aggregate, Atom, BodyLiteral, Negation, Program, Rule, Variable
from tidalog.model.terms import IRI

PREDICATES = [f"p{number}" for number in range(7)]
X, Y, Z = Variable("x"), Variable("y"), Variable("z")


@dataclass(frozen=True)
class Step:
    """Rules to add, and which of the rules that are there to remove, by position."""

    added: tuple[Rule, ...]
    removed: tuple[int, ...]

    def names(self, edited: EditedProgram) -> list[str]:
        names = list(edited.rules)
        return [names[at % len(names)] for at in self.removed] if names else []


def _atom(predicate: str, *arguments: Variable) -> Atom:
    return Atom(predicate, arguments or (X, Y))


_names = st.sampled_from(PREDICATES)


@st.composite
def edited_rules(draw: st.DrawFn) -> Rule:
    """Mostly a safe rule over a few predicates of arity 2; one in ten is wrong in itself."""
    body: list[BodyLiteral] = [
        _atom(predicate, *draw(st.sampled_from([(X, Y), (Y, X)])))
        for predicate in draw(st.lists(_names, min_size=1, max_size=2))
    ]
    head = _atom(draw(_names))
    kind = draw(st.integers(0, 19))
    if kind < 4:
        body.append(Negation(_atom(draw(_names))))
    elif kind < 7:
        head = Atom(head.predicate, (X, Aggregate("count", (Y,))))
    elif kind < 8:
        return Rule((), tuple(body))
    elif kind < 10:
        return Rule((head, _atom(draw(_names))), tuple(body))
    elif kind < 11:
        head = Atom(head.predicate, (X, Z))
    elif kind < 12:
        head = Atom(head.predicate, (X,))
    name = draw(st.none() | st.sampled_from(["a", "b", "r2", "r5"]))
    return Rule((head,), tuple(body), name)


@st.composite
def triple_rules(draw: st.DrawFn) -> Rule:
    """Rules over triples: properties and classes by name and by variable."""
    kinds = [
        Atom("triple", (X, IRI("http://e.org/p"), Y)),
        Atom("triple", (X, IRI("http://e.org/q"), Y)),
        Atom("triple", (X, Z, Y)),
        Atom("http://e.org/p", (Y, X)),
        Atom("http://e.org/C", (X,)),
        Atom("plain", (X, Y)),
    ]
    base = Atom("base", (X, Z, Y))
    body: list[BodyLiteral] = [base, draw(st.sampled_from(kinds))]
    if draw(st.integers(0, 3)) == 0:
        body.append(Negation(draw(st.sampled_from(kinds))))
    return Rule((draw(st.sampled_from(kinds)),), tuple(body))


def steps(rules: st.SearchStrategy[Rule]) -> st.SearchStrategy[Step]:
    some = st.lists(rules, max_size=3).map(tuple)
    return st.builds(Step, some, st.lists(st.integers(0, 30), max_size=2).map(tuple))


def without_warnings(analysis: Analysis) -> list[object]:
    return [
        analysis.rules,
        dict(analysis.predicates),
        analysis.components,
        analysis.hyper_nodes,
        analysis.triples,
        tuple(analysis.facts),
    ]


def same_as_from_scratch(edited: EditedProgram) -> Analysis:
    """The edited program is what analysis makes of its text and of the layout of its triples, and its graph
    is that of its rules.  A program is accepted whatever that layout is."""
    analyse(edited.program)
    fresh = analyse(edited.program, kept=edited.analysis.triples)
    assert without_warnings(edited.analysis) == without_warnings(fresh)
    graph = edited.graph
    nodes = hyper_nodes(fresh.rules)
    assert {frozenset(graph.rules_of_node(n)) for n in graph.node_numbers()} == {
        frozenset(node.rules) for node in nodes
    }
    for node in nodes:
        number = graph.node_of(node.rules[0])
        fed = {graph.node_of(nodes[at].rules[0]) for at in node.positive | node.negative}
        assert graph.node_feeds(number) == fed
    for component in fresh.components:
        number = graph.component_of(component.predicates[0])
        assert graph.predicates_of_component(number) == component.predicates
        assert {rule.name for rule in graph.rules_of_component(number)} == {r.name for r in component.rules}
        assert graph.is_recursive(number) == component.recursive
    assert graph.rule_edges() == rule_edges(fresh.rules)
    place = {number: at for at, number in enumerate(graph.components_in_order())}
    assert len(place) == len(fresh.components)
    for rule in fresh.rules:
        for predicate in read_predicates(rule):
            if rule.head is not None:
                below, own = (graph.component_of(p) for p in (predicate, rule.head.predicate))
                assert below == own or place[below] < place[own]
    return fresh


def accepted(rules: Sequence[Rule]) -> EditedProgram:
    """A edited program with those of the rules that are accepted, one after the other."""
    edited = EditedProgram(analyse(Program()))
    for rule in rules:
        with suppress(ProgramError):
            edited.change([rule])
    return edited


def shape(edited: EditedProgram) -> list[object]:
    """Everything about the graphs but the order of rules."""
    analysis = edited.analysis
    components: list[object] = [
        (c.predicates, {rule.name for rule in c.rules}, c.recursive, c.positive, c.negative, c.stratum)
        for c in analysis.components
    ]
    return [*components, *analysis.hyper_nodes]


def random_rule(chance: random.Random, predicates: int) -> Rule:
    """A safe rule, with a negation or an aggregate now and then."""

    def atom() -> Atom:
        return _atom(f"p{chance.randrange(predicates)}", *chance.choice([(X, Y), (Y, X)]))

    body: list[BodyLiteral] = [atom() for _ in range(chance.choice([1, 1, 2]))]
    head = atom()
    kind = chance.randrange(12)
    if kind == 0:
        body.append(Negation(atom()))
    elif kind == 1:
        head = Atom(head.predicate, (X, Aggregate("sum", (Y,))))
    elif kind == 2:
        return Rule((head, atom()), tuple(body))
    elif kind == 3:
        return Rule((), tuple(body))
    return Rule((head,), tuple(body))
