"""Every rule of the profiles, by its name: axioms and data, and what follows, compiled and not.

`follows` has triples that the rule derives; `violates` is for rules whose conclusion is "false".  No other
rule derives the same, which a test shows, or the rule is superfluous in its profile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pyoxigraph as ox
import pytest
from ontology_oracle import triples_of

import tidalog
from tidalog.model.foreign_terms import foreign_term
from tidalog.model.program import Program
from tidalog.owl.profiles import profile_named
from tidalog.owl.vocabulary import Triple
from tidalog.reference import evaluate

HEAD = """@prefix : <http://example.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


@dataclass(frozen=True)
class Case:
    rule: str
    given: str
    follows: str = ""
    profile: str = "owl2-rl"
    violates: bool = False


def some(property_: str, filler: str) -> str:
    return f"[ a owl:Restriction ; owl:onProperty {property_} ; owl:someValuesFrom {filler} ]"


def every(property_: str, filler: str) -> str:
    return f"[ a owl:Restriction ; owl:onProperty {property_} ; owl:allValuesFrom {filler} ]"


def value(property_: str, term: str) -> str:
    return f"[ a owl:Restriction ; owl:onProperty {property_} ; owl:hasValue {term} ]"


def at_most(number: int, property_: str) -> str:
    return f"[ a owl:Restriction ; owl:onProperty {property_} ; owl:maxCardinality {number} ]"


def at_most_of(number: int, property_: str, class_: str) -> str:
    return (
        f"[ a owl:Restriction ; owl:onProperty {property_} ; owl:maxQualifiedCardinality {number} ; "
        f"owl:onClass {class_} ]"
    )


RL = [
    # table 4
    Case("eq-ref", ":a :p :b . :a owl:sameAs :c .", ":b owl:sameAs :b . :p owl:sameAs :p ."),
    Case("eq-sym", ":a owl:sameAs :b .", ":b owl:sameAs :a ."),
    Case("eq-trans", ":a owl:sameAs :b . :b owl:sameAs :c .", ":a owl:sameAs :c ."),
    Case("eq-rep-s", ":a owl:sameAs :b . :a :p :c .", ":b :p :c ."),
    Case("eq-rep-p", ":p owl:sameAs :q . :a :p :c .", ":a :q :c ."),
    Case("eq-rep-o", ":a owl:sameAs :b . :c :p :a .", ":c :p :b ."),
    Case("eq-diff1", ":a owl:sameAs :b ; owl:differentFrom :b .", violates=True),
    Case("eq-diff2", ":a owl:sameAs :b . [] a owl:AllDifferent ; owl:members ( :a :c :b ) .", violates=True),
    Case(
        "eq-diff3",
        ":a owl:sameAs :b . [] a owl:AllDifferent ; owl:distinctMembers ( :a :b ) .",
        violates=True,
    ),
    # table 5
    Case("prp-ap", "", "rdfs:label a owl:AnnotationProperty ."),
    Case("prp-dom", ":p rdfs:domain :C . :a :p :b .", ":a a :C ."),
    Case("prp-rng", ":p rdfs:range :C . :a :p :b .", ":b a :C ."),
    Case("prp-fp", ":p a owl:FunctionalProperty . :a :p :b, :c .", ":b owl:sameAs :c ."),
    Case("prp-ifp", ":p a owl:InverseFunctionalProperty . :a :p :c . :b :p :c .", ":a owl:sameAs :b ."),
    Case("prp-irp", ":p a owl:IrreflexiveProperty . :a :p :a .", violates=True),
    Case("prp-symp", ":p a owl:SymmetricProperty . :a :p :b .", ":b :p :a ."),
    Case("prp-asyp", ":p a owl:AsymmetricProperty . :a :p :b . :b :p :a .", violates=True),
    Case("prp-trp", ":p a owl:TransitiveProperty . :a :p :b . :b :p :c .", ":a :p :c ."),
    Case("prp-spo1", ":p rdfs:subPropertyOf :q . :a :p :b .", ":a :q :b ."),
    Case(
        "prp-spo2", ":p owl:propertyChainAxiom ( :q :r :q ) . :a :q :b . :b :r :c . :c :q :d .", ":a :p :d ."
    ),
    Case("prp-eqp1", ":p owl:equivalentProperty :q . :a :p :b .", ":a :q :b ."),
    Case("prp-eqp2", ":p owl:equivalentProperty :q . :a :q :b .", ":a :p :b ."),
    Case("prp-pdw", ":p owl:propertyDisjointWith :q . :a :p :b ; :q :b .", violates=True),
    Case(
        "prp-adp",
        "[] a owl:AllDisjointProperties ; owl:members ( :p :q :r ) . :a :p :b ; :r :b .",
        violates=True,
    ),
    Case("prp-inv1", ":p owl:inverseOf :q . :a :p :b .", ":b :q :a ."),
    Case("prp-inv2", ":p owl:inverseOf :q . :a :q :b .", ":b :p :a ."),
    Case(
        "prp-key",
        ":C owl:hasKey ( :p :q ) . :a a :C ; :p 1 ; :q :x . :b a :C ; :p 1 ; :q :x . "
        ":c a :C ; :p 1 ; :q :y .",
        ":a owl:sameAs :b .",
    ),
    Case(
        "prp-npa1",
        "[] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetIndividual :b . :a :p :b .",
        violates=True,
    ),
    Case(
        "prp-npa2",
        "[] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetValue 3 . :a :p 3 .",
        violates=True,
    ),
    # table 6
    Case("cls-thing", "", "owl:Thing a owl:Class ."),
    Case("cls-nothing1", "", "owl:Nothing a owl:Class ."),
    Case("cls-nothing2", ":a a owl:Nothing .", violates=True),
    Case("cls-int1", ":C owl:intersectionOf ( :D :E :F ) . :a a :D, :E, :F . :b a :D, :E .", ":a a :C ."),
    Case("cls-int2", ":C owl:intersectionOf ( :D :E ) . :a a :C .", ":a a :D, :E ."),
    Case("cls-uni", ":C owl:unionOf ( :D :E ) . :a a :E .", ":a a :C ."),
    Case("cls-com", ":C owl:complementOf :D . :a a :C, :D .", violates=True),
    Case("cls-svf1", f"{some(':p', ':C')} rdfs:subClassOf :D . :a :p :b . :b a :C .", ":a a :D ."),
    Case("cls-svf2", f"{some(':p', 'owl:Thing')} rdfs:subClassOf :D . :a :p :b .", ":a a :D ."),
    Case("cls-avf", f":C rdfs:subClassOf {every(':p', ':D')} . :a a :C ; :p :b .", ":b a :D ."),
    Case("cls-hv1", f":C rdfs:subClassOf {value(':p', ':b')} . :a a :C .", ":a :p :b ."),
    Case("cls-hv2", f"{value(':p', '3')} rdfs:subClassOf :C . :a :p 3 .", ":a a :C ."),
    Case("cls-maxc1", f":C rdfs:subClassOf {at_most(0, ':p')} . :a a :C ; :p :b .", violates=True),
    Case("cls-maxc2", f":C rdfs:subClassOf {at_most(1, ':p')} . :a a :C ; :p :b, :c .", ":b owl:sameAs :c ."),
    Case(
        "cls-maxqc1",
        f":C rdfs:subClassOf {at_most_of(0, ':p', ':D')} . :a a :C ; :p :b . :b a :D .",
        violates=True,
    ),
    Case(
        "cls-maxqc2",
        f":C rdfs:subClassOf {at_most_of(0, ':p', 'owl:Thing')} . :a a :C ; :p :b .",
        violates=True,
    ),
    Case(
        "cls-maxqc3",
        f":C rdfs:subClassOf {at_most_of(1, ':p', ':D')} . :a a :C ; :p :b, :c, :d . :b a :D . :c a :D .",
        ":b owl:sameAs :c .",
    ),
    Case(
        "cls-maxqc4",
        f":C rdfs:subClassOf {at_most_of(1, ':p', 'owl:Thing')} . :a a :C ; :p :b, :c .",
        ":b owl:sameAs :c .",
    ),
    Case("cls-oo", ":C owl:oneOf ( :a :b ) .", ":a a :C . :b a :C ."),
    # table 7
    Case("cax-sco", ":C rdfs:subClassOf :D . :a a :C .", ":a a :D ."),
    Case("cax-eqc1", ":C owl:equivalentClass :D . :a a :C .", ":a a :D ."),
    Case("cax-eqc2", ":C owl:equivalentClass :D . :a a :D .", ":a a :C ."),
    Case("cax-dw", ":C owl:disjointWith :D . :a a :C, :D .", violates=True),
    Case("cax-adc", "[] a owl:AllDisjointClasses ; owl:members ( :C :D :E ) . :a a :C, :E .", violates=True),
    # table 8
    Case("dt-type1", "", "xsd:integer a rdfs:Datatype . xsd:dateTime a rdfs:Datatype ."),
    Case("dt-not-type", ':a :p "soon"^^xsd:dateTime .', violates=True),
    Case("prp-fp-dt-diff", ":p a owl:FunctionalProperty . :a :p 1, 2 .", violates=True),
    Case("cls-maxc2-dt-diff", f":C rdfs:subClassOf {at_most(1, ':p')} . :a a :C ; :p 1, 2 .", violates=True),
    # table 9
    Case(
        "scm-cls",
        ":C a owl:Class .",
        ":C rdfs:subClassOf :C, owl:Thing ; owl:equivalentClass :C . owl:Nothing rdfs:subClassOf :C .",
    ),
    Case("scm-sco", ":C rdfs:subClassOf :D . :D rdfs:subClassOf :E .", ":C rdfs:subClassOf :E ."),
    Case("scm-eqc1", ":C owl:equivalentClass :D .", ":C rdfs:subClassOf :D . :D rdfs:subClassOf :C ."),
    Case("scm-eqc2", ":C rdfs:subClassOf :D . :D rdfs:subClassOf :C .", ":C owl:equivalentClass :D ."),
    Case("scm-op", ":p a owl:ObjectProperty .", ":p rdfs:subPropertyOf :p ; owl:equivalentProperty :p ."),
    Case("scm-dp", ":p a owl:DatatypeProperty .", ":p rdfs:subPropertyOf :p ; owl:equivalentProperty :p ."),
    Case("scm-spo", ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r .", ":p rdfs:subPropertyOf :r ."),
    Case(
        "scm-eqp1", ":p owl:equivalentProperty :q .", ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :p ."
    ),
    Case(
        "scm-eqp2", ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :p .", ":p owl:equivalentProperty :q ."
    ),
    Case("scm-dom1", ":p rdfs:domain :C . :C rdfs:subClassOf :D .", ":p rdfs:domain :D ."),
    Case("scm-dom2", ":q rdfs:domain :C . :p rdfs:subPropertyOf :q .", ":p rdfs:domain :C ."),
    Case("scm-rng1", ":p rdfs:range :C . :C rdfs:subClassOf :D .", ":p rdfs:range :D ."),
    Case("scm-rng2", ":q rdfs:range :C . :p rdfs:subPropertyOf :q .", ":p rdfs:range :C ."),
    Case(
        "scm-hv",
        ":C owl:hasValue :a ; owl:onProperty :p . :D owl:hasValue :a ; owl:onProperty :q . "
        ":p rdfs:subPropertyOf :q .",
        ":C rdfs:subClassOf :D .",
    ),
    Case(
        "scm-svf1",
        f":B rdfs:subClassOf {some(':p', ':X')} . {some(':p', ':Y')} rdfs:subClassOf :E . "
        ":X rdfs:subClassOf :Y . :a a :B .",
        ":a a :E .",
    ),
    Case(
        "scm-svf2",
        f":B rdfs:subClassOf {some(':p', ':X')} . {some(':q', ':X')} rdfs:subClassOf :E . "
        ":p rdfs:subPropertyOf :q . :a a :B .",
        ":a a :E .",
    ),
    Case(
        "scm-avf1",
        ":C owl:allValuesFrom :X ; owl:onProperty :p . :D owl:allValuesFrom :Y ; owl:onProperty :p . "
        ":X rdfs:subClassOf :Y . :a a :C .",
        ":C rdfs:subClassOf :D . :a a :D .",
    ),
    Case(
        "scm-avf2",
        ":C owl:allValuesFrom :X ; owl:onProperty :p . :D owl:allValuesFrom :X ; owl:onProperty :q . "
        ":p rdfs:subPropertyOf :q . :a a :D .",
        ":D rdfs:subClassOf :C . :a a :C .",
    ),
    Case("scm-int", ":C owl:intersectionOf ( :D :E ) .", ":C rdfs:subClassOf :D, :E ."),
    Case("scm-uni", ":C owl:unionOf ( :D :E ) .", ":D rdfs:subClassOf :C . :E rdfs:subClassOf :C ."),
]
RDFS = [
    Case("rdfs2", ":p rdfs:domain :C . :a :p 1 .", ":a a :C ."),
    Case("rdfs3", ":p rdfs:range :C . :a :p :b .", ":b a :C ."),
    Case("rdfs5", ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r .", ":p rdfs:subPropertyOf :r ."),
    Case("rdfs6", ":p a rdf:Property .", ":p rdfs:subPropertyOf :p ."),
    Case("rdfs7", ":p rdfs:subPropertyOf :q . :a :p 1 .", ":a :q 1 ."),
    Case("rdfs9", ":C rdfs:subClassOf :D . :a a :C .", ":a a :D ."),
    Case("rdfs10", ":C a rdfs:Class .", ":C rdfs:subClassOf :C ."),
    Case("rdfs11", ":C rdfs:subClassOf :D . :D rdfs:subClassOf :E .", ":C rdfs:subClassOf :E ."),
    Case("rdfs12", "rdf:_1 a rdfs:ContainerMembershipProperty . :a rdf:_1 :b .", ":a rdfs:member :b ."),
    Case("rdfs13", ":d a rdfs:Datatype .", ":d rdfs:subClassOf rdfs:Literal ."),
]
CASES = [
    *RL,
    *(Case(c.rule, c.given, c.follows, profile) for c in RDFS for profile in ("rdfs", "rdfs-plus")),
    *(
        Case(c.rule, c.given, c.follows, "rdfs-plus")
        for c in RL
        if c.rule in {rule.name for rule in profile_named("rdfs-plus").rules}
    ),
]
WITHOUT_A_RULE = {"dt-type2", "dt-eq", "dt-diff"}
"""Rules of table 8 that there are none for: `docs/ontologies.md` says why."""
W3C = [
    "eq-ref",
    "eq-sym",
    "eq-trans",
    "eq-rep-s",
    "eq-rep-p",
    "eq-rep-o",
    "eq-diff1",
    "eq-diff2",
    "eq-diff3",
    "prp-ap",
    "prp-dom",
    "prp-rng",
    "prp-fp",
    "prp-ifp",
    "prp-irp",
    "prp-symp",
    "prp-asyp",
    "prp-trp",
    "prp-spo1",
    "prp-spo2",
    "prp-eqp1",
    "prp-eqp2",
    "prp-pdw",
    "prp-adp",
    "prp-inv1",
    "prp-inv2",
    "prp-key",
    "prp-npa1",
    "prp-npa2",
    "cls-thing",
    "cls-nothing1",
    "cls-nothing2",
    "cls-int1",
    "cls-int2",
    "cls-uni",
    "cls-com",
    "cls-svf1",
    "cls-svf2",
    "cls-avf",
    "cls-hv1",
    "cls-hv2",
    "cls-maxc1",
    "cls-maxc2",
    "cls-maxqc1",
    "cls-maxqc2",
    "cls-maxqc3",
    "cls-maxqc4",
    "cls-oo",
    "cax-sco",
    "cax-eqc1",
    "cax-eqc2",
    "cax-dw",
    "cax-adc",
    "dt-type1",
    "dt-type2",
    "dt-eq",
    "dt-diff",
    "dt-not-type",
    "scm-cls",
    "scm-sco",
    "scm-eqc1",
    "scm-eqc2",
    "scm-op",
    "scm-dp",
    "scm-spo",
    "scm-eqp1",
    "scm-eqp2",
    "scm-dom1",
    "scm-dom2",
    "scm-rng1",
    "scm-rng2",
    "scm-hv",
    "scm-svf1",
    "scm-svf2",
    "scm-avf1",
    "scm-avf2",
    "scm-int",
    "scm-uni",
]


def parsed(text: str) -> set[Triple]:
    found = (quad.triple for quad in ox.parse(HEAD + text, ox.RdfFormat.TURTLE))
    return {cast(Triple, tuple(map(foreign_term, triple))) for triple in found}


def named(case: Case) -> str:
    return f"{case.profile} {case.rule}"


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "generic"])
@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_rule_holds(case: Case, compiled: bool) -> None:
    kb = tidalog.open()
    ontology = kb.ontology(profile=case.profile, compiled=compiled)
    given = parsed(case.given)
    if given:
        kb.insert("triple", sorted(given, key=str))
    kb.materialise()
    found = triples_of(kb)
    assert parsed(case.follows) <= found
    assert parsed(case.follows).isdisjoint(given)
    rules = {one.rule for one in ontology.inconsistencies()}
    assert (case.rule in rules) if case.violates else not rules


SUPERFLUOUS = {
    "owl2-rl": {
        *("eq-sym", "eq-trans"),  # by eq-ref and eq-rep-*
        *("cls-int2", "cls-uni", "cax-eqc1", "cax-eqc2", "prp-eqp1", "prp-eqp2"),  # by scm-*
    },
    "rdfs-plus": {"eq-trans"},
    "rdfs": set[str](),
}


@pytest.mark.parametrize("case", [case for case in CASES if not case.violates], ids=named)
def test_a_case_needs_its_rule(case: Case) -> None:
    rules = [r for r in profile_named(case.profile).rules if not str(r.name).startswith(case.rule)]
    left = set(evaluate(Program(rules=tuple(rules)), {"triple": parsed(case.given)})["triple"])
    assert (parsed(case.follows) <= left) == (case.rule in SUPERFLUOUS[case.profile])


def test_there_is_a_case_for_every_rule_of_the_tables() -> None:
    assert {case.rule for case in RL} >= set(W3C) - WITHOUT_A_RULE
    ours = {str(rule.name) for rule in (*profile_named("owl2-rl").rules, *profile_named("owl2-rl").checks)}
    assert {name for name in W3C if name not in WITHOUT_A_RULE | {"dt-not-type"}} <= ours
    assert {case.rule for case in RDFS} == {str(rule.name) for rule in profile_named("rdfs").rules}
