"""Triples are one predicate to a user, however many relations hold them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import tidalog
from tidalog.model.terms import IRI, RDF_TYPE, Term

EX = "http://example.org/"
TYPE = IRI(RDF_TYPE)
DATA = [
    ("rex", "a", "Dog"),
    ("tom", "a", "Cat"),
    ("rex", "chases", "tom"),
    ("tom", "name", "Tom"),
]
RULES = [
    "ex:Animal(?x) :- ex:Dog(?x) . ex:Animal(?x) :- ex:Cat(?x) .",
    "ex:fears(?y, ?x) :- ex:chases(?x, ?y) .",
    "used(?p) :- triple(_, ?p, _) .",
    "triple(?x, rdf:type, ?d) :- triple(?x, rdf:type, ?c), triple(?c, rdfs:subClassOf, ?d) .",
]
PREFIX = f"@prefix ex: <{EX}> . "


def term(name: str) -> Term:
    return TYPE if name == "a" else IRI(EX + name)


def triple(subject: str, predicate: str, object_: str) -> tuple[Term, Term, Term]:
    return term(subject), term(predicate), term(object_)


EXPLICIT = {triple(*row) for row in DATA}
DERIVED = {
    triple("rex", "a", "Animal"),
    triple("tom", "a", "Animal"),
    triple("tom", "fears", "rex"),
}


@pytest.mark.parametrize("rules", [*itertools.permutations(RULES[:3]), tuple(RULES)])
@pytest.mark.parametrize("data_at", [0, 1, 3])
def test_rules_that_come_later_find_the_triples_that_are_there(rules: tuple[str, ...], data_at: int) -> None:
    kb = tidalog.open()
    steps: list[str | None] = [*rules]
    steps.insert(data_at, None)
    for step in steps:
        if step is None:
            kb.insert("triple", EXPLICIT)
        else:
            kb.load(PREFIX + step)
        kb.materialise()
    assert set(kb.facts("triple").to_terms()) == EXPLICIT | DERIVED
    assert set(kb.facts("triple", explicit=True).to_terms()) == EXPLICIT
    assert set(kb.facts("triple", explicit=False).to_terms()) == DERIVED
    assert kb.count("triple") == len(EXPLICIT | DERIVED)
    assert set(kb.facts("used").to_terms()) == {(term(p),) for p in ("a", "chases", "name", "fears")}


def animals() -> tidalog.KnowledgeBase:
    kb = tidalog.open()
    kb.load(PREFIX + "".join(RULES[:2]))
    kb.insert("triple", EXPLICIT)
    return kb


def test_an_iri_is_a_class_or_a_property() -> None:
    kb = animals()
    assert set(kb.facts("ex:Animal").to_terms()) == {(term("rex"),), (term("tom"),)}
    assert kb.facts("ex:fears").to_terms() == [(term("tom"), term("rex"))]
    assert kb.facts(f"<{EX}name>").to_terms() == [(term("tom"), term("Tom"))]
    assert kb.facts(EX + "Dog").to_terms() == [(term("rex"),)]
    assert kb.count("rdf:type") == 4


def test_facts_of_an_iri_are_triples() -> None:
    kb = animals()
    assert kb.insert("ex:Dog", [(IRI(EX + "fido"),)]) == 1
    assert kb.insert("ex:chases", [(IRI(EX + "fido"), IRI(EX + "rex"))]) == 1
    new = {triple("fido", "a", "Dog"), triple("fido", "a", "Animal"), triple("fido", "chases", "rex")}
    assert new | {triple("rex", "fears", "fido")} <= set(kb.facts("triple").to_terms())


def test_an_iri_that_was_a_predicate_of_its_own_becomes_a_property() -> None:
    kb = tidalog.open()
    kb.insert(EX + "chases", [(term("rex"), term("tom"))])
    assert list(kb.predicates) == [EX + "chases"]
    kb.load(PREFIX + "edge(?x, ?y) :- triple(?x, ?p, ?y) .")
    assert kb.facts("edge").to_terms() == [(term("rex"), term("tom"))]
    assert set(kb.predicates) == {"edge", "triple"}


def test_queries_see_all_triples() -> None:
    kb = animals()
    assert set(kb.query("triple(?s, ?p, ?o)").to_terms()) == EXPLICIT | DERIVED
    assert set(kb.query("ex:Animal(?x)").to_terms()) == {(term("rex"),), (term("tom"),)}
    assert kb.query("?p, #count(?s) :- triple(?s, ?p, ?o), ?p = rdf:type").to_rows() == [(f"<{RDF_TYPE}>", 2)]


@pytest.mark.parametrize("ending", ["nt", "ttl"])
def test_rdf_is_written_and_read(ending: str, tmp_path: Path) -> None:
    path = animals().export("triple", tmp_path / f"animals.{ending}")
    other = tidalog.open()
    other.load(f'@import triple :- rdf{{resource = "{path.name}"}} .', base_dir=tmp_path)
    assert set(other.facts("triple").to_terms()) == EXPLICIT | DERIVED


def test_triples_print_with_the_prefixes_of_the_program() -> None:
    assert "ex:rex" in repr(animals().facts("triple"))
