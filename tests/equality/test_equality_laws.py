"""Facts modulo equality are what the rules for equality derive, and so is every change."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from equality_streams import ARITIES, RULES, SAME, Oracle, Row, Step, facts, program, steps

import tidalog
from tidalog import KnowledgeBase
from tidalog.api.delta import Delta
from tidalog.api.results import Result
from tidalog.lang import parse
from tidalog.maintain.registry import STRATEGY_OPTIONS
from tidalog.reference.equality import with_equality_rules

KINDS = (None, True, False)
CHANGES = (
    "inserted_explicit",
    "inserted_implicit",
    "deleted_explicit",
    "deleted_implicit",
    "became_explicit",
    "became_implicit",
)


def rows(result: Result) -> set[Row]:
    found = result.to_terms()
    assert len(found) == len(set(found)), "no fact occurs twice"
    return set(found)


def generated(rng: random.Random, rules: int = 7) -> Oracle:
    chosen = rng.sample(RULES, rules)
    if not any(rule.startswith(SAME) for rule in chosen):
        chosen.append(RULES[0])
    oracle = Oracle({f"r{number}": text for number, text in enumerate(chosen)})
    for name, row in facts(rng, 10):
        oracle.given.setdefault(name, set()).add(row)
    return oracle


def filled(kb: KnowledgeBase, oracle: Oracle) -> None:
    for name, given in oracle.given.items():
        if given:
            kb.insert(name, sorted(given, key=str))


def applied(kb: KnowledgeBase, step: Step) -> Delta:
    with kb.update() as update:
        for name, row in step.deletions:
            update.delete(name, [row])
        for name, row in step.insertions:
            update.insert(name, [row])
        for name in step.removed:
            update.remove_rule(name)
        for name, text in step.added:
            update.add_rule(f"{name}: {text}")
    return update.delta


def by_rules(oracle: Oracle) -> KnowledgeBase:
    """A knowledge base with the rules for equality."""
    kb = tidalog.open()
    kb.load(with_equality_rules(parse(program(oracle.rules)), ARITIES.items()))
    filled(kb, oracle)
    return kb


def check_same(kb: KnowledgeBase, other: KnowledgeBase) -> None:
    for name in ARITIES:
        for kind in KINDS:
            assert rows(kb.facts(name, explicit=kind)) == rows(other.facts(name, explicit=kind)), (name, kind)
        assert kb.count(name) == other.count(name)


def check_delta(found: Delta, wanted: Delta) -> None:
    for name in ARITIES:
        for kind in CHANGES:
            assert rows(getattr(found[name], kind)) == rows(getattr(wanted[name], kind)), (name, kind)
    assert (found.explicit_facts, found.implicit_facts) == (wanted.explicit_facts, wanted.implicit_facts)
    assert set(found) == set(wanted)


def checked(seed: int, count: int, strategy: str, *, edits: bool = True) -> Iterator[KnowledgeBase]:
    """A knowledge base after every step, which agrees with one that has the rules for equality."""
    rng = random.Random(seed)
    oracle = generated(rng)
    kb = tidalog.open(strategy=strategy)
    kb.load(program(oracle.rules))
    filled(kb, oracle)
    other = by_rules(oracle)
    check_same(kb, other)
    for step in steps(rng, oracle, count, edits=edits):
        check_delta(applied(kb, step), applied(other, step))
        check_same(kb, other)
        yield kb


@pytest.mark.parametrize("strategy", STRATEGY_OPTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_every_change_is_the_one_of_the_rules_for_equality(strategy: str, seed: int) -> None:
    assert sum(1 for _ in checked(seed, 60, strategy)) == 60
