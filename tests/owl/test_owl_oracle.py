"""Compiled and generic rules derive what the oracle derives, also while axioms and data change together."""

from __future__ import annotations

import pytest
from ontology_generator import CLASSES, INDIVIDUALS, PROPERTIES, Generator
from ontology_oracle import contradictions, meaning, shown, triples_of, visible
from ontology_steps import steps

import tidalog
from tidalog.owl.vocabulary import Triple, is_axiom

Law = tuple[str, bool]
LAWS: list[Law] = [("rdfs", False), ("rdfs-plus", True), ("owl2-rl", False), ("owl2-rl", True)]
"""Profiles, and whether things can be the same."""


def has_equality(kb: tidalog.KnowledgeBase) -> bool:
    return any(" eq-sym" in name for name in kb.rules)


def check(kb: tidalog.KnowledgeBase, triples: set[Triple], profile: str, *, compiled: bool) -> int:
    """Compares a state with the oracle; returns how many triples are derived."""
    wanted, found = meaning(triples, profile, equality=has_equality(kb)), triples_of(kb)
    if compiled:
        wanted, found = visible(wanted), visible(found)
    assert found == wanted, (shown(wanted - found), shown(found - wanted))
    return len(found - triples)


def of_individuals(triples: set[Triple]) -> set[Triple]:
    return {triple for triple in triples if triple[0] in INDIVIDUALS and triple[1] != triple[2]}


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "generic"])
@pytest.mark.parametrize(("profile", "equality"), LAWS)
def test_steps_of_axioms_and_data_equal_the_oracle(profile: str, equality: bool, compiled: bool) -> None:
    derived = sum(run_steps(profile, equality, compiled, seed, 14) for seed in (1, 2, 3))
    assert derived > 25


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_thousands_of_steps_of_axioms_and_data_equal_the_oracle(seed: int) -> None:
    for profile, equality in LAWS:
        run_steps(profile, equality, True, 100 + seed, 40)


def run_steps(profile: str, equality: bool, compiled: bool, seed: int, count: int) -> int:
    """Returns how many triples the states derive."""
    generator = Generator(seed, profile=profile, equality=equality)
    kb = tidalog.open()
    ontology = kb.ontology(profile=profile, compiled=compiled)
    kb.insert("triple", [generator.fact() for _ in range(5)])
    kb.materialise()
    triples, derived = triples_of(kb, explicit=True), 0
    for step in steps(generator, count, equality=equality):
        with kb.update() as update:
            if step.deleted:
                update.delete("triple", step.deleted)
            if step.inserted:
                update.insert("triple", step.inserted)
        triples = (triples - set(step.deleted)) | set(step.inserted)
        assert set(ontology.axioms) == set(filter(is_axiom, triples))
        derived += check(kb, triples, profile, compiled=compiled)
    return derived


@pytest.mark.parametrize("seed", range(12))
def test_ontologies_installed_at_once_equal_the_oracle(seed: int) -> None:
    generator = Generator(1000 + seed)
    triples = {triple for _ in range(6) for triple in generator.axiom()}
    triples |= {generator.fact() for _ in range(12)}
    kb = tidalog.open()
    kb.insert("triple", list(triples))
    ontology = kb.ontology()
    kb.materialise()
    check(kb, triples, "owl2-rl", compiled=True)
    found = {one.rule for one in ontology.inconsistencies()}
    assert found == {rule for rule in contradictions(triples, "owl2-rl") if not is_of_reflexive(rule, kb)}


def is_of_reflexive(rule: str, kb: tidalog.KnowledgeBase) -> bool:
    """Whether a contradiction comes from x owl:sameAs x, which is not derived if nothing can be the same."""
    return rule == "eq-diff1" and not has_equality(kb)


@pytest.mark.parametrize("seed", range(8))
def test_deleting_any_triple_or_axiom_and_inserting_it_again_is_the_identity(seed: int) -> None:
    generator = Generator(2000 + seed, equality=seed % 2 == 0)
    triples = {triple for _ in range(4) for triple in generator.axiom()}
    triples |= {generator.fact() for _ in range(8)}
    kb = tidalog.open()
    kb.ontology()
    kb.insert("triple", list(triples))
    kb.materialise()
    before = triples_of(kb)
    for triple in sorted(triples, key=str):
        with kb.update() as update:
            update.delete("triple", [triple])
        with kb.update() as update:
            update.insert("triple", [triple])
        assert triples_of(kb) == before, triple


def test_generated_ontologies_use_all_rules_and_derive_something() -> None:
    """Guards the generator: templates of the compiler get values, and individuals types and pairs."""
    used: set[str] = set()
    types = pairs = 0
    for seed in range(30):
        generator = Generator(3000 + seed)
        triples = {triple for _ in range(12) for triple in generator.axiom()}
        triples |= {generator.fact() for _ in range(10)}
        kb = tidalog.open()
        kb.insert("triple", list(triples))
        kb.ontology()
        used |= {name.split(" ")[1] for name in kb.rules}
        kb.materialise()
        derived = of_individuals(triples_of(kb) - triples)
        types += sum(triple[2] in CLASSES for triple in derived)
        pairs += sum(triple[1] in PROPERTIES for triple in derived)
    families = {name.split("-")[0] for name in used}
    assert {"prp", "cls", "cax", "scm", "eq", "dt", "member"} <= families
    needed = "prp-spo2 prp-key cls-int1 cls-svf1 cls-svf2 cls-avf cls-hv1 cls-hv2 cls-oo cax-sco"
    missing = set(needed.split()) - used
    assert not missing
    assert types > 40 and pairs > 40
