"""Naive evaluation of normal rules, component by component: what the planner and the engine will do, in
the plainest way, so that the normal form can be judged without them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tidalog.analysis import Analysis, NormalAtom, NormalRule
from tidalog.builtins import CannotCompute, aggregate, evaluate_all, holds
from tidalog.model.program import Expression, Variable
from tidalog.model.terms import Integer, Term

Row = tuple[Term, ...]
Model = dict[str, set[Row]]
Binding = dict[Variable, Term]


def evaluated(analysis: Analysis, limit: int = 100_000) -> Model:
    model: Model = defaultdict(set)
    for fact in analysis.facts:
        model[fact.predicate].add(fact.arguments)
    for component in analysis.components:
        run(component.rules, model, limit)
    return model


def run(rules: Sequence[NormalRule], model: Model, limit: int = 100_000) -> None:
    changed = True
    while changed:
        changed = False
        for rule in rules:
            assert rule.head is not None
            new = set(rows(rule, model)) - model[rule.head.predicate]
            model[rule.head.predicate] |= new
            changed |= bool(new)
            assert len(model[rule.head.predicate]) < limit


def rows(rule: NormalRule, model: Model) -> Iterator[Row]:
    assert rule.head is not None
    bindings = list(matches(rule, model))
    if not rule.aggregates:
        for binding in bindings:
            yield tuple(value(a, binding) for a in rule.head.arguments)
        return
    places = {column.position for column in rule.aggregates}
    groups: dict[Row, list[Binding]] = {}
    for binding in bindings:
        key = tuple(value(a, binding) for n, a in enumerate(rule.head.arguments) if n not in places)
        groups.setdefault(key, []).append(binding)
    for key, members in groups.items():
        group = iter(key)
        results: dict[int, Term] = {}
        try:
            for column in rule.aggregates:
                distinct = {tuple(value(a, binding) for a in column.arguments) for binding in members}
                results[column.position] = aggregate(column.operator, distinct)
        except CannotCompute:
            continue
        yield tuple(results[n] if n in places else next(group) for n in range(len(rule.head.arguments)))


def matches(rule: NormalRule, model: Model) -> Iterator[Binding]:
    bindings: list[Binding] = [{}]
    for atom in rule.atoms:
        extended = [extension(atom, row, old) for old in bindings for row in model[atom.predicate]]
        bindings = [binding for binding in extended if binding is not None]
    for joined in bindings:
        for binding in computed(rule, joined):
            if not any(present(atom, binding, model) for atom in rule.negations):
                yield binding


def extension(atom: NormalAtom, row: Row, binding: Binding) -> Binding | None:
    """The binding under which the atom is the row, if there is one."""
    new = dict(binding)
    for argument, term in zip(atom.arguments, row, strict=True):
        wanted = new.setdefault(argument, term) if isinstance(argument, Variable) else argument
        if wanted != term:
            return None
    return new


def computed(rule: NormalRule, joined: Binding) -> list[Binding]:
    """The bindings with what the rule computes, where everything can be computed and every test holds."""
    bindings = [joined]
    for computation in rule.computations:
        bindings = [
            {**binding, computation.variable: Integer(found) if isinstance(found, int) else found}
            for binding in bindings
            for found in values(computation.expression, binding)
        ]
    return [binding for binding in bindings if all(holds(test, binding) for test in rule.tests)]


def values(expression: Expression, binding: Binding) -> range | tuple[Term, ...]:
    try:
        return evaluate_all(expression, binding)
    except CannotCompute:
        return ()


def present(atom: NormalAtom, binding: Binding, model: Model) -> bool:
    return any(extension(atom, row, binding) is not None for row in model[atom.predicate])


def value(argument: Variable | Term, binding: Binding) -> Term:
    return binding[argument] if isinstance(argument, Variable) else argument
