"""Printing and parsing are inverse to each other, whatever the tree holds."""

from __future__ import annotations

import strategies
from hypothesis import HealthCheck, given, settings

from tidalog.lang import (
    format_text,
    parse,
    parse_fact,
    parse_query,
    parse_rule,
    print_fact,
    print_program,
    print_rule,
)
from tidalog.model.program import Atom, Fact, Program, Rule

several = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@several
@given(strategies.programs())
def test_parsing_what_was_printed_gives_the_program_back(program: Program) -> None:
    assert parse(print_program(program)) == program


@several
@given(strategies.rules)
def test_a_rule_survives_printing(rule: Rule) -> None:
    assert parse_rule(print_rule(rule)) == rule


@several
@given(strategies.facts)
def test_a_fact_survives_printing(fact: Fact) -> None:
    assert parse_fact(print_fact(fact)) == fact


@several
@given(strategies.programs())
def test_formatting_is_idempotent_and_keeps_the_meaning(program: Program) -> None:
    once = format_text(print_program(program))
    assert format_text(once) == once
    assert parse(once) == program


@several
@given(strategies.rules)
def test_a_query_survives_printing(rule: Rule) -> None:
    arguments = [argument for head in rule.heads for argument in head.arguments]
    if not rule.body or not arguments:
        return
    query = Rule((Atom("?", tuple(arguments)),), rule.body)
    assert parse_query(print_rule(query)) == query
