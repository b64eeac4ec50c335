"""Analysis keeps the meaning: the rules of the normal form, read as a program again, have the same model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from generators import programs
from golden_data import FOLDERS, imported_facts
from tidalog.analysis import NormalAtom, NormalRule, analyse
from tidalog.lang import parse_file
from tidalog.model.errors import ProgramError
from tidalog.model.program import Aggregate, Atom, Call, Condition, Expression, Negation, Program, Rule
from tidalog.model.terms import Term
from tidalog.rdf.quads import with_union
from tidalog.reference import evaluate
from tidalog.reference.clauses import declared_row

Row = tuple[Term, ...]
Model = dict[str, set[Row]]


def model_of_normal_form(program: Program, data: Model) -> Model:
    """What the reference says of the normal rules, with triples put together again."""
    analysis = analyse(program)
    triples = analysis.triples
    facts: Model = {}
    for fact in analysis.facts:
        facts.setdefault(_plain(fact.predicate), set()).add(declared_row(program, fact))
    for predicate, rows in data.items():
        for row in rows:
            routed = predicate == "triple" and triples.active
            relation, arguments = triples.route(*row) if routed else (predicate, row)
            facts.setdefault(_plain(relation), set()).add(arguments)
    rules = tuple(_rule(rule) for rule in analysis.rules if rule.head is not None)
    model = evaluate(Program(rules=rules), facts)
    result: Model = {}
    visible = {name for name in analysis.predicates if not name.startswith(("?fold", "?union"))}
    for relation in {*visible, *data}:
        rows = set(model.get(_plain(relation), ()))
        if relation.startswith("triple:"):
            rows = {triples.restore(relation, row) for row in rows}
            relation = "triple"
        result.setdefault(relation, set()).update(rows)
    return result


def _plain(relation: str) -> str:
    """A name under which the reference sees no RDF."""
    return relation.replace(":", "|") if relation != "triple" else "triple|"


def _rule(rule: NormalRule) -> Rule:
    assert rule.head is not None
    arguments: list[Expression | Aggregate] = list(rule.head.arguments)
    for column in rule.aggregates:
        arguments[column.position] = Aggregate(column.operator, column.arguments)
    computations = [Call("=", (c.variable, c.expression)) for c in rule.computations]
    body = (
        *map(_atom, rule.atoms),
        *(Negation(_atom(atom)) for atom in rule.negations),
        *(Condition(expression) for expression in (*computations, *rule.tests)),
    )
    return Rule((Atom(_plain(rule.head.predicate), tuple(arguments)),), body)


def _atom(atom: NormalAtom) -> Atom:
    return Atom(_plain(atom.predicate), atom.arguments)


def without_empty(model: Mapping[str, Collection[Row]]) -> Model:
    return {predicate: set(rows) for predicate, rows in model.items() if rows}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_of_golden_programs(folder: Path) -> None:
    program = parse_file(folder / "program.rls")
    refused = folder / "expected" / "refused.txt"
    if refused.exists():
        with pytest.raises(ProgramError) as error:
            analyse(program)
        assert [d.number for d in error.value.diagnostics] == [refused.read_text().strip()]
        return
    if program.equalities:
        return  # the rules for equality are no part of the normal form
    data = imported_facts(folder, program)
    program = with_union(program, program.facts)
    assert without_empty(model_of_normal_form(program, data)) == without_empty(evaluate(program, data))


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(programs())
def test_of_generated_programs(program: Program) -> None:
    assert without_empty(model_of_normal_form(program, {})) == without_empty(evaluate(program))
