"""Facts modulo equality are what the rules for equality derive, and so is every change.

Two judges: the reference, and a knowledge base that has the rules for equality, is maintained by the same
updates and so also says what an update changes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from equality_streams import PLAIN, TRIPLES, Language, Oracle, Row, Step, generated, steps

import tidalog
from tidalog import KnowledgeBase
from tidalog.api import equal_changes, equality
from tidalog.api.delta import Delta
from tidalog.api.results import Result
from tidalog.maintain.registry import STRATEGY_OPTIONS

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


def filled(kb: KnowledgeBase, oracle: Oracle) -> None:
    for name, given in oracle.given.items():
        if given:
            kb.insert(name, sorted(given, key=str))


def opened(oracle: Oracle, strategy: str = "auto") -> KnowledgeBase:
    kb = tidalog.open(strategy=strategy)
    kb.load(oracle.language.program(oracle.rules))
    filled(kb, oracle)
    return kb


def by_rules(oracle: Oracle) -> KnowledgeBase:
    """A knowledge base with the rules for equality."""
    kb = tidalog.open()
    kb.load(oracle.language.by_rules(oracle.rules))
    filled(kb, oracle)
    return kb


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


def check_same(kb: KnowledgeBase, other: KnowledgeBase, language: Language) -> None:
    for name in language.arities:
        for kind in KINDS:
            assert rows(kb.facts(name, explicit=kind)) == rows(other.facts(name, explicit=kind)), (name, kind)
        assert kb.count(name) == other.count(name)


def check_delta(found: Delta, wanted: Delta, language: Language) -> None:
    for name in language.arities:
        for kind in CHANGES:
            assert rows(getattr(found[name], kind)) == rows(getattr(wanted[name], kind)), (name, kind)
    assert found.explicit_facts == wanted.explicit_facts
    assert found.implicit_facts == wanted.implicit_facts
    assert set(found) == set(wanted)


def checked(language: Language, seed: int, count: int, strategy: str = "auto") -> Iterator[KnowledgeBase]:
    """A knowledge base after every step, which agrees with one that has the rules for equality."""
    rng = random.Random(seed)
    oracle = generated(rng, language)
    kb, other = opened(oracle, strategy), by_rules(oracle)
    check_same(kb, other, language)
    for step in steps(rng, oracle, count):
        check_delta(applied(kb, step), applied(other, step), language)
        check_same(kb, other, language)
        yield kb


@pytest.mark.parametrize("strategy", STRATEGY_OPTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_every_change_is_the_one_of_the_rules_for_equality(strategy: str, seed: int) -> None:
    assert sum(1 for _ in checked(PLAIN, seed, 50, strategy)) == 50


@pytest.mark.parametrize("strategy", STRATEGY_OPTIONS)
@pytest.mark.parametrize("seed", range(2))
def test_every_change_of_triples_is_the_one_of_the_rules_for_equality(strategy: str, seed: int) -> None:
    assert sum(1 for _ in checked(TRIPLES, seed, 40, strategy)) == 40


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("language", (PLAIN, TRIPLES), ids=("plain", "triples"))
def test_many_equal_terms_are_merged_as_few_are(
    language: Language, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((equality, "_FEW"), (equality, "_FROM_SCRATCH"), (equal_changes, "_AT_ONCE")):
        monkeypatch.setattr(module, name, 0)
    assert sum(1 for _ in checked(language, seed + 600, 40)) == 40


def test_the_generated_updates_merge_classes_and_let_them_fall_apart() -> None:
    classes = [classes_of(kb) for seed in (100, 101, 102) for kb in checked(PLAIN, seed, 30)]
    assert sum(one != other for one, other in pairwise(classes)) > 15
    assert sum(bool(before - after) for before, after in pairwise(classes)) > 8, "classes fall apart"
    assert any(len(one) > 1 for one in classes), "there are several classes at a time"


def classes_of(kb: KnowledgeBase) -> set[frozenset[Row]]:
    """The classes of several terms, by what is equal."""
    found: dict[object, set[Row]] = {}
    for one, other in rows(kb.facts("same")):
        found.setdefault(one, set()).add((other,))
    return {frozenset(terms) for terms in found.values() if len(terms) > 1}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("language", (PLAIN, TRIPLES), ids=("plain", "triples"))
def test_the_facts_are_those_of_the_reference(language: Language, seed: int) -> None:
    rng = random.Random(seed + 100)
    oracle = generated(rng, language)
    kb = opened(oracle)
    for step in steps(rng, oracle, 12):
        applied(kb, step)
    wanted = oracle.true()
    for name in language.arities:
        assert rows(kb.facts(name)) == wanted[name], name
        assert rows(kb.facts(name, explicit=True)) == oracle.given.get(name, set()), name


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("language", (PLAIN, TRIPLES), ids=("plain", "triples"))
def test_queries_have_the_answers_of_the_rules_for_equality(language: Language, seed: int) -> None:
    rng = random.Random(seed + 200)
    oracle = generated(rng, language)
    kb, other = opened(oracle), by_rules(oracle)
    for step in steps(rng, oracle, 8):
        applied(kb, step)
        applied(other, step)
        for query in language.queries:
            assert rows(kb.query(query)) == rows(other.query(query)), query


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("language", (PLAIN, TRIPLES), ids=("plain", "triples"))
def test_a_store_has_the_same_after_it_was_opened_again(
    language: Language, seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed + 300)
    oracle = generated(rng, language)
    kb, other = tidalog.open(tmp_path / "store"), by_rules(oracle)
    kb.load(language.program(oracle.rules))
    filled(kb, oracle)
    for number, step in enumerate(steps(rng, oracle, 24)):
        check_delta(applied(kb, step), applied(other, step), language)
        if number % 5 == 2:
            kb.snapshot()
        if number % 4 == 3:
            kb.close()
            kb = tidalog.open(tmp_path / "store")
            check_same(kb, other, language)
    kb.close()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("language", (PLAIN, TRIPLES), ids=("plain", "triples"))
def test_facts_that_come_and_go_before_anything_is_derived(language: Language, seed: int) -> None:
    rng = random.Random(seed + 400)
    oracle = generated(rng, language)
    kb, other = opened(oracle), by_rules(oracle)
    for number, step in enumerate(steps(rng, oracle, 16, edits=False)):
        for one in (kb, other):
            for name, row in step.deletions:
                one.delete(name, [row])
            for name, row in step.insertions:
                one.insert(name, [row])
        if number % 3 == 0:
            check_same(kb, other, language)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("language", (PLAIN, TRIPLES), ids=("plain", "triples"))
def test_what_is_true_does_not_depend_on_the_order_of_updates(language: Language, seed: int) -> None:
    rng = random.Random(seed + 500)
    oracle = generated(rng, language)
    kb = opened(oracle)
    for step in steps(rng, oracle, 20, edits=False):
        applied(kb, step)
    at_once = opened(oracle)
    for name in language.arities:
        for expand in (True, False):
            assert rows(kb.facts(name, expand=expand)) == rows(at_once.facts(name, expand=expand)), name
