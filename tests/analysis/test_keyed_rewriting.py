"""Laws of the rewriting by key: each key has what the original has alone, and sees nothing of the others."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine_harness import evaluate_engine
from generators import EVERYTHING, programs, triple_programs
from tidalog.analysis.keyed import KeyedProgram, keyed_program
from tidalog.analysis.passes import table_predicates
from tidalog.analysis.rewrite import canonical_rule
from tidalog.cli.app import run
from tidalog.lang import parse, print_program
from tidalog.model.program import Atom, Condition, Fact, Program, Rule
from tidalog.model.terms import IRI, RDF_TYPE, String, Term
from tidalog.rdf.shorthand import lower_fact
from tidalog.reference import Model, evaluate, violations

ROUNDS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
KEYS = (String("1"), String("a"), String(""))


def shares(program: Program, seed: int) -> dict[Term, tuple[Fact, ...]]:
    """For each key some of the facts."""
    chance = random.Random(seed)
    return {key: tuple(f for f in program.facts if chance.random() < 0.6) for key in KEYS}


def keyed_facts(keyed: KeyedProgram, program: Program, own: dict[Term, tuple[Fact, ...]]) -> list[Fact]:
    known = [Fact(keyed.key, (key,)) for key in own]
    return known + [keyed_fact(keyed, program, key, fact) for key, mine in own.items() for fact in mine]


def keyed_fact(keyed: KeyedProgram, program: Program, key: Term, fact: Fact) -> Fact:
    relation, arguments = fact.predicate, fact.arguments
    if keyed.layout.active:
        lowered = lower_fact(fact, table_predicates(program))
        relation, arguments = lowered.predicate, lowered.arguments
        if relation == "triple" and len(arguments) == 3:
            relation, arguments = keyed.layout.route(*arguments)
    return Fact(keyed.name(relation), (key, *arguments))


def by_key(keyed: KeyedProgram, model: Model) -> dict[Term, Model]:
    """What holds for each key, by the predicates of the original; triples put together again."""
    original = {name: relation for relation, name in keyed.names.items()}
    found: dict[Term, dict[str, set[tuple[Term, ...]]]] = {key: {} for key in KEYS}
    for name, rows in model.items():
        relation = original.get(name, name)
        if name in (keyed.key, keyed.violated) or relation.startswith("?"):
            continue
        is_triple = relation == "triple" or relation.startswith("triple:")
        for key, *arguments in rows:
            row = tuple(arguments)
            if keyed.layout.active and is_triple:
                found[key].setdefault("triple", set()).add(keyed.layout.restore(relation, row))
            else:
                found[key].setdefault(relation, set()).add(row)
    return {key: {name: frozenset(rows) for name, rows in own.items()} for key, own in found.items()}


def alone(program: Program, facts: tuple[Fact, ...]) -> Model:
    return {name: rows for name, rows in evaluate(replace(program, facts=facts)).items() if rows}


def check_law(program: Program, seed: int) -> None:
    keyed, own = keyed_program(program), shares(program, seed)
    whole = replace(keyed.program, facts=tuple(keyed_facts(keyed, program, own)))
    wanted = {key: alone(program, facts) for key, facts in own.items()}
    assert by_key(keyed, {name: rows for name, rows in evaluate(whole).items() if rows}) == wanted
    assert by_key(keyed, evaluate_engine(whole)[0]) == wanted


@settings(ROUNDS, max_examples=300)
@given(programs(EVERYTHING), st.integers(0, 2**16))
def test_each_key_has_what_the_original_has_alone(program: Program, seed: int) -> None:
    check_law(program, seed)


@ROUNDS
@given(triple_programs(), st.integers(0, 2**16))
def test_triples_are_keyed_in_the_relations_that_hold_them(program: Program, seed: int) -> None:
    check_law(program, seed)


@ROUNDS
@given(programs(EVERYTHING), st.integers(0, 2**16), st.integers(0, 2**16))
def test_a_key_violates_a_constraint_exactly_if_it_does_alone(program: Program, seed: int, pick: int) -> None:
    """A body of the program, made a constraint."""
    rule = random.Random(pick).choice(program.rules)
    program = replace(program, rules=(*program.rules, Rule((), rule.body, "forbidden")))
    keyed, own = keyed_program(program), shares(program, seed)
    whole = replace(keyed.program, facts=tuple(keyed_facts(keyed, program, own)))
    wanted = {
        (key, String("forbidden"))
        for key, facts in own.items()
        if violations(program, evaluate(replace(program, facts=facts)))
    }
    assert evaluate(whole).get(keyed.violated, frozenset()) == wanted


@ROUNDS
@given(st.one_of(programs(EVERYTHING), triple_programs()))
def test_the_rewritten_program_can_be_written_down(program: Program) -> None:
    keyed = keyed_program(program).program
    written = parse(print_program(keyed)).rules
    assert [canonical_rule(rule) for rule in written] == [canonical_rule(rule) for rule in keyed.rules]


def test_a_rule_without_positive_literals_holds_for_every_known_key() -> None:
    keyed = keyed_program(parse("dry :- ~rain(_) . n(?x) :- ?x = 2 + 1 ."))
    first, second = keyed.program.rules
    assert [literal.predicate for literal in first.body if isinstance(literal, Atom)] == [keyed.key]
    assert [isinstance(literal, Condition) for literal in second.body] == [False, True]


def test_names_of_the_program_stay_free() -> None:
    text = "<keyed:key>(?key) :- <keyed:violated>(?key, ?key_) . triple(?x, ?y) :- p(?y, ?x) ."
    keyed = keyed_program(parse(text))
    assert keyed.key not in ("keyed:key", "keyed:violated")
    assert not keyed.layout.active
    check_law(parse(f"{text} <keyed:violated>(a, b) . p(a, b) ."), 3)


def test_a_class_and_a_property_may_have_one_name() -> None:
    check_law(
        parse("@prefix ex: <http://e/> . ex:p(?x) :- ex:p(?x, ?y), ~ex:q(?x, ?y) . triple(ex:a, ex:p, b) ."),
        5,
    )
    keyed = keyed_program(parse(f"n(?x) :- triple(?x, <{RDF_TYPE}>, <http://e/p>) ."))
    assert keyed.layout.restore(keyed.layout.classes["http://e/p"], (IRI("a"),))[2] == IRI("http://e/p")


def test_check_shows_the_rewritten_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rules.rls"
    path.write_text("r: path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .  c: :- path(?x, ?x) .")
    assert run(["check", str(path), "--keyed"]) == 0
    assert parse(capsys.readouterr().out).rules == keyed_program(parse(path.read_text())).program.rules
