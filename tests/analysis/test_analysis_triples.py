"""Triples: shorthands, relations of their own, bridges, and where explicit triples go."""

from __future__ import annotations

from analysis_programs import analysed, errors_of
from hypothesis import given
from hypothesis import strategies as st

from tidalog.model.terms import IRI, RDF_TYPE, Integer, Term
from tidalog.rdf.layout import Layout

PREFIX = "@prefix ex: <http://e.org/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
EX = "http://e.org/"
P, Q = f"triple:{EX}p", f"triple:{EX}q"
C = f"triple:{RDF_TYPE} {EX}C"
TYPES = f"triple:{RDF_TYPE}"


def bridges(text: str) -> list[str]:
    return [rule.name for rule in analysed(PREFIX + text).rules if rule.origin is None]


def test_shorthands_mean_triples_only_in_a_program_that_speaks_of_triples() -> None:
    without = analysed(PREFIX + "ex:q(?x, ?y) :- ex:p(?x, ?y).")
    assert not without.triples.active
    assert without.rules[0].atoms[0].predicate == EX + "p"
    with_ = analysed(PREFIX + "ex:q(?x, ?y) :- ex:p(?x, ?y). triple(ex:a, ex:p, ex:b).")
    assert with_.rules[0].atoms[0].predicate == P


def test_an_import_of_rdf_makes_a_program_speak_of_triples() -> None:
    analysis = analysed(PREFIX + '@import triple :- turtle{resource = "a.ttl"} . q(?x) :- ex:C(?x).')
    assert analysis.rules[0].atoms[0].predicate == C
    assert analysis.predicates[C].arity == 1


def test_plain_names_and_tables_never_become_triples() -> None:
    analysis = analysed(
        PREFIX + '@import ex:p :- csv{resource = "p.csv"} . q(?x) :- ex:p(?x, ?y), name(?y), ?x ex:q ?y .'
    )
    assert [atom.predicate for atom in analysis.rules[0].atoms] == [EX + "p", "name", Q]


def test_facts_of_the_program_go_to_the_relations_of_their_properties() -> None:
    analysis = analysed(
        PREFIX + "q(?x) :- ?x ex:p ?y, ex:C(?x). ex:p(ex:a, ex:b). ex:C(ex:a). ex:other(ex:a, 1). ex:D(ex:a)."
    )
    assert {(fact.predicate, len(fact.arguments)) for fact in analysis.facts} == {
        (P, 2), (C, 1), ("triple", 3),
    }  # fmt: skip
    assert dict(analysis.triples.properties) == {EX + "p": P}


def test_constant_properties_alone_need_no_bridges() -> None:
    assert bridges("?x ex:q ?y :- ?x ex:p ?y .") == []


def test_reading_under_a_variable_copies_up() -> None:
    assert bridges("q(?p) :- ?x ?p ?y . ?x ex:q ?y :- ex:C(?x), ?x ex:p ?y .") == [
        "↑ex:p",
        "↑ex:q",
        "↑a ex:C",
    ]


def copies(text: str) -> dict[str, str]:
    """Relation → the relation that a bridge copies into it from."""
    rules = [rule for rule in analysed(PREFIX + text).rules if rule.origin is None]
    return {rule.head.predicate: rule.atoms[0].predicate for rule in rules if rule.head is not None}


def test_deriving_under_a_variable_copies_down() -> None:
    derived = "?x ?p ?y :- base(?x, ?p, ?y). "
    assert copies(derived + "r(?x) :- ?x ex:p ?y, ex:C(?y).") == {P: "triple", C: "triple"}
    # Classes are read under a variable as well: they stay together in the relation of all types.
    assert copies(derived + "r(?x) :- ?x ex:p ?y, ?x rdf:type ?y, ex:C(?y).") == {
        P: "triple",
        TYPES: "triple",
    }


def test_classes_are_copied_by_way_of_the_relation_of_all_types() -> None:
    text = "q(?p) :- ?x ?p ?y . c(?y) :- ?x rdf:type ?y . r(?x) :- ex:C(?x)."
    assert bridges(text) == ["↑rdf:type", "↑a ex:C"]
    assert copies(text) == {"triple": TYPES, TYPES: C}


def test_reading_and_deriving_under_a_variable_needs_no_special_relations() -> None:
    analysis = analysed(PREFIX + "?x ?q ?y :- ?x ?p ?y, ?p ex:sub ?q . r(?x) :- ?x ex:p ?y .")
    assert not analysis.triples.properties
    assert {atom.predicate for rule in analysis.rules for atom in rule.atoms} == {"triple"}


def test_views_keep_negation_out_of_cycles_that_are_not_there() -> None:
    text = "?x ?p ?y :- base(?x, ?p, ?y). seen(?p) :- ?x ?p ?y . ?x ex:q ?y :- ?x ex:p ?y, ~ex:r(?x, ?y) ."
    analysis = analysed(PREFIX + text)
    assert analysis.triples.views
    assert not any(component.recursive for component in analysis.components)


def test_negation_over_one_property_and_recursion_over_another_is_fine() -> None:
    assert errors_of(PREFIX + "?x ex:p ?z :- ?x ex:p ?y, ?y ex:p ?z, ~ex:q(?x, ?z).") == []
    assert errors_of(PREFIX + "?x a ex:C :- ?x ex:p ?y, ~ex:D(?x). ex:D(?x) :- ?x ex:q ?y .") == []
    assert errors_of(PREFIX + "?x ex:p ?y :- ?x ex:q ?y, ~ex:p(?x, ?y).") == ["T020"]
    assert errors_of(PREFIX + "?x ex:p ?y :- ?x ex:q ?y, ~triple(?x, _, ?y).") == ["T020"]


def test_relations_are_shown_by_the_names_that_the_author_uses() -> None:
    analysis = analysed(PREFIX + "q(?x) :- ?x ex:p ?y, ex:C(?x), ?x <http://other.org/r> ?y .")
    assert analysis.label(P) == "ex:p"
    assert analysis.label(C) == "ex:C"
    assert analysis.label("triple:http://other.org/r") == "<http://other.org/r>"


_terms = st.sampled_from([IRI(EX + "p"), IRI(EX + "C"), IRI(RDF_TYPE), IRI("a"), Integer(1)])


@given(_terms, _terms, _terms)
def test_restoring_what_was_routed_gives_the_triple_back(s: Term, p: Term, o: Term) -> None:
    layout = Layout(True, {EX + "p": P, RDF_TYPE: TYPES}, {EX + "C": C})
    assert layout.restore(*layout.route(s, p, o)) == (s, p, o)
