"""`kb.ontology(…)`: what users call, what is refused and warned of, and how it lives with everything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from ontology_oracle import triples_of, visible

import tidalog
from tidalog.api.ontology import Ontology
from tidalog.model.terms import IRI, OWL, RDF, RDFS, BlankNode

EX = "http://example.org/"
HEAD = """@prefix ex: <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
PETS = """ex:Cat rdfs:subClassOf ex:Animal .
ex:owns rdfs:range ex:Animal .
[ a owl:Restriction ; owl:onProperty ex:owns ; owl:someValuesFrom ex:Animal ] rdfs:subClassOf ex:Owner .
"""
DATA = [
    (IRI(EX + "ada"), IRI(EX + "owns"), IRI(EX + "tom")),
    (IRI(EX + "tom"), IRI(RDF + "type"), IRI(EX + "Cat")),
]


def pets(**options: bool) -> tuple[tidalog.KnowledgeBase, Ontology]:
    kb = tidalog.open()
    ontology = kb.ontology(HEAD + PETS, **options)
    kb.insert("triple", DATA)
    return kb, ontology


def members(kb: tidalog.KnowledgeBase, name: str) -> list[str]:
    return sorted(row[0].removeprefix(f"<{EX}").rstrip(">") for row in kb.query(f"?x :- ?x a ex:{name}"))


def numbers(ontology: Ontology) -> list[str]:
    return [warning.number for warning in ontology.warnings]


class TestAxioms:
    def test_a_text_a_file_and_several_files_are_the_same(self, tmp_path: Path) -> None:
        found = []
        whole, first, second = (tmp_path / f"{name}.ttl" for name in ("whole", "first", "second"))
        whole.write_text(HEAD + PETS)
        lines = PETS.splitlines(keepends=True)
        first.write_text(HEAD + lines[0])
        second.write_text(HEAD + "".join(lines[1:]))
        for source in (HEAD + PETS, whole, str(whole), [first, second]):
            kb = tidalog.open()
            kb.ontology(source)
            kb.insert("triple", DATA)
            found.append((members(kb, "Owner"), members(kb, "Animal")))
        assert found == [(["ada"], ["tom"])] * 4

    def test_data_in_the_file_of_an_ontology_is_data(self, tmp_path: Path) -> None:
        path = tmp_path / "all.ttl"
        path.write_text(HEAD + PETS + "ex:ada ex:owns ex:tom .")
        kb = tidalog.open()
        ontology = kb.ontology(path)
        assert members(kb, "Owner") == ["ada"]
        assert len(ontology) == 6

    def test_axioms_are_added_and_removed_by_what_they_say(self) -> None:
        kb, ontology = pets()
        kb.materialise()
        delta = ontology.add("ex:Animal rdfs:subClassOf ex:Being .")
        assert members(kb, "Being") == ["tom"]
        assert delta["triple"].inserted_count > 1
        ontology.remove("ex:Animal rdfs:subClassOf ex:Being .")
        assert members(kb, "Being") == []
        ontology.remove(PETS.splitlines()[2])  # a class without a name
        assert members(kb, "Owner") == []
        assert len(ontology) == 2

    def test_axioms_are_triples_and_every_update_of_them_counts(self) -> None:
        kb, _ = pets()
        axiom = (
            IRI(EX + "Animal"),
            IRI(RDFS + "subClassOf"),
            IRI(EX + "Being"),
        )
        kb.insert("triple", [axiom])
        assert members(kb, "Being") == ["tom"]
        kb.delete("triple", [axiom])
        assert members(kb, "Being") == []
        kb.apply(tidalog.Update(insertions={"triple": [axiom]}))
        assert members(kb, "Being") == ["tom"]
        list(kb.stream([tidalog.Update(deletions={"triple": [axiom]})]))
        assert members(kb, "Being") == []
        kb.load(f"@prefix ex: <{EX}> .  triple(ex:Animal, rdfs:subClassOf, ex:Being).")
        assert members(kb, "Being") == ["tom"]

    def test_the_closure_of_the_axioms_is_there_as_facts(self) -> None:
        kb, ontology = pets()
        ontology.add("ex:Animal rdfs:subClassOf ex:Being .")
        found = kb.query("?c :- ex:Cat rdfs:subClassOf ?c")
        assert {row[0] for row in found} >= {f"<{EX}Animal>", f"<{EX}Being>"}

    def test_classes_without_names_are_seen_in_axioms_alone(self) -> None:
        kb, _ = pets()
        kb.materialise()
        derived = triples_of(kb) - triples_of(kb, explicit=True)
        assert derived == visible(derived)
        assert not any(name.startswith("ontology_") for name in kb.predicates)
        assert {triple for triple in triples_of(kb, explicit=True) if isinstance(triple[0], BlankNode)}

    def test_the_rules_are_a_program_that_derives_the_same(self) -> None:
        kb, ontology = pets()
        kb.materialise()
        again = tidalog.open()
        again.load(ontology.rules)
        again.insert("triple", list(triples_of(kb, explicit=True)))
        again.materialise()
        assert triples_of(again) == triples_of(kb)

    def test_an_ontology_that_is_dropped_leaves_its_triples(self) -> None:
        kb, ontology = pets()
        ontology.drop()
        assert members(kb, "Owner") == []
        assert not kb.rules
        kb.ontology(profile="rdfs")
        assert members(kb, "Animal") == ["tom"]
        assert members(kb, "Owner") == []


class TestOtherChanges:
    def test_a_block_that_fails_takes_its_axioms_back(self) -> None:
        kb, ontology = pets()
        kb.materialise()
        before = triples_of(kb), dict(kb.rules)
        with pytest.raises(ZeroDivisionError), kb.as_one():
            ontology.add("ex:Animal rdfs:subClassOf ex:Being .")
            raise ZeroDivisionError
        assert members(kb, "Being") == []
        assert (triples_of(kb), dict(kb.rules)) == before
        ontology.add("ex:Animal rdfs:subClassOf ex:Thing .")
        assert members(kb, "Thing") == ["tom"]

    def test_an_update_that_fails_takes_its_axioms_back(self) -> None:
        kb, ontology = pets()
        kb.load(f"@prefix ex: <{EX}> .  :- ex:Being(?x), ex:Cat(?x) .")
        kb.materialise()
        with pytest.raises(tidalog.RunError):
            ontology.add("ex:Cat rdfs:subClassOf ex:Being .")
        assert "Being" not in ontology.rules
        ontology.add("ex:Animal rdfs:subClassOf ex:Living .")
        assert members(kb, "Living") == ["tom"]

    def test_a_store_that_is_opened_again_has_the_rules_and_takes_more_axioms(self, tmp_path: Path) -> None:
        with tidalog.open(tmp_path / "store") as kb:
            kb.ontology(HEAD + PETS)
            kb.insert("triple", DATA)
            rules = dict(kb.rules)
            assert members(kb, "Owner") == ["ada"]
        with tidalog.open(tmp_path / "store") as kb:
            assert members(kb, "Owner") == ["ada"]
            ontology = kb.ontology()
            assert dict(kb.rules) == rules
            ontology.add("ex:Animal rdfs:subClassOf ex:Being .")
            assert members(kb, "Being") == ["tom"]

    def test_rules_of_the_user_live_beside_those_of_the_ontology(self) -> None:
        kb, ontology = pets()
        kb.rules.add("lucky(?x) :- ex:Owner(?x)")
        assert kb.count("lucky") == 1
        ontology.remove("ex:owns rdfs:range ex:Animal . ex:Cat rdfs:subClassOf ex:Animal .")
        assert kb.count("lucky") == 0

    def test_rules_of_equality_are_there_only_while_something_can_be_the_same(self) -> None:
        kb, ontology = pets()
        same = (IRI(EX + "tom"), IRI(OWL + "sameAs"), IRI(EX + "thomas"))
        assert not any("eq-" in name for name in kb.rules)
        for change, undo in (
            (lambda: kb.insert("triple", [same]), lambda: kb.delete("triple", [same])),
            (
                lambda: ontology.add("ex:owns a owl:FunctionalProperty ."),
                lambda: ontology.remove("ex:owns a owl:FunctionalProperty ."),
            ),
        ):
            change()
            assert any("eq-rep-s" in name for name in kb.rules)
            undo()
            assert not any("eq-" in name for name in kb.rules)
        kb.insert("triple", [same])
        assert members(kb, "Cat") == ["thomas", "tom"]


class TestInconsistency:
    AXIOMS = "ex:Cat owl:disjointWith ex:Dog ."
    TWO = (IRI(EX + "tom"), IRI(RDF + "type"), IRI(EX + "Dog"))

    @pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "generic"])
    def test_the_rule_the_axiom_and_the_triples_are_named(self, compiled: bool) -> None:
        kb, ontology = pets(compiled=compiled)
        ontology.add(self.AXIOMS)
        kb.insert("triple", [self.TWO])
        (found,) = ontology.inconsistencies()
        assert found.rule == "cax-dw"
        assert found.axioms == ((IRI(EX + "Cat"), IRI(OWL + "disjointWith"), IRI(EX + "Dog")),)
        assert set(found.triples) == {DATA[1], self.TWO}
        kb.delete("triple", [self.TWO])
        assert ontology.inconsistencies() == []

    @pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "generic"])
    def test_a_strict_ontology_refuses_what_contradicts_it(self, compiled: bool) -> None:
        kb, ontology = pets(compiled=compiled, strict=True)
        ontology.add(self.AXIOMS)
        with pytest.raises(tidalog.RunError, match="cax-dw"):
            kb.insert("triple", [self.TWO])
        assert self.TWO not in triples_of(kb)
        assert ontology.inconsistencies() == []


class TestMessages:
    def test_an_unknown_profile(self) -> None:
        with pytest.raises(tidalog.UsageError, match="T200"):
            tidalog.open().ontology(profile="owl2-ql")

    def test_other_settings(self) -> None:
        kb, _ = pets()
        with pytest.raises(tidalog.UsageError, match="T201"):
            kb.ontology(profile="rdfs")
        with pytest.raises(tidalog.UsageError, match="T201"):
            kb.ontology(compiled=False)

    @pytest.mark.parametrize(
        "axiom",
        [
            "ex:C owl:intersectionOf ex:D .",
            "ex:C owl:unionOf [ rdf:first ex:D ] .",
            "ex:C owl:oneOf [ rdf:rest rdf:nil ] .",
            "ex:C owl:unionOf _:l . _:l rdf:first ex:D ; rdf:rest _:l .",
            "ex:C owl:unionOf [ rdf:first ex:D, ex:E ; rdf:rest rdf:nil ] .",
        ],
    )
    def test_a_malformed_list(self, axiom: str) -> None:
        kb, ontology = pets()
        with pytest.raises(tidalog.ProgramError, match="T202"):
            ontology.add(axiom)
        with pytest.raises(tidalog.ProgramError, match="T202"):
            kb.ontology(HEAD + axiom)
        assert len(ontology) == 6

    @pytest.mark.parametrize(
        "axiom",
        [
            "ex:C rdfs:subClassOf 3 .",
            "ex:C rdfs:subClassOf [ a owl:Restriction ; owl:someValuesFrom ex:D ] .",
            "ex:C rdfs:subClassOf [ owl:onProperty ex:p, ex:q ; owl:hasValue 3 ] .",
            'ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:maxCardinality "few" ] .',
            "ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:maxQualifiedCardinality 1 ] .",
            "ex:p owl:propertyChainAxiom () .",
            "[] owl:sourceIndividual ex:a ; owl:assertionProperty ex:p .",
            "ex:C rdfs:subClassOf",
        ],
    )
    def test_a_malformed_axiom(self, axiom: str) -> None:
        _, ontology = pets()
        with pytest.raises(tidalog.ProgramError, match="T203"):
            ontology.add(axiom)
        assert len(ontology) == 6

    def test_malformed_axioms_that_come_as_data_are_among_the_warnings(self) -> None:
        kb, ontology = pets()
        kb.insert("triple", [(IRI(EX + "C"), IRI(OWL + "unionOf"), IRI(EX + "D"))])
        assert "T202" in numbers(ontology)

    def test_data_is_no_axiom(self) -> None:
        _, ontology = pets()
        with pytest.raises(tidalog.UsageError, match="T204"):
            ontology.add("ex:ada ex:owns ex:tom .")

    def test_an_axiom_that_is_not_there(self) -> None:
        _, ontology = pets()
        with pytest.raises(tidalog.UsageError, match="T205"):
            ontology.remove("ex:Dog rdfs:subClassOf ex:Animal .")

    @pytest.mark.parametrize(
        ("number", "axiom"),
        [
            ("W023", "ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:minCardinality 2 ] ."),
            ("W023", "ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:maxCardinality 2 ] ."),
            ("W023", "ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:hasSelf true ] ."),
            ("W023", "ex:C owl:disjointUnionOf ( ex:D ex:E ) ."),
            ("W023", "ex:p a owl:ReflexiveProperty ."),
            ("W024", "ex:C rdfs:subClassOf [ owl:unionOf ( ex:D ex:E ) ] ."),
            ("W024", "ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:someValuesFrom ex:D ] ."),
            ("W024", "[ owl:onProperty ex:p ; owl:allValuesFrom ex:D ] rdfs:subClassOf ex:C ."),
            ("W024", "[ owl:intersectionOf ( ex:D [ owl:complementOf ex:E ] ) ] rdfs:subClassOf ex:C ."),
            ("W025", "ex:Chain rdfs:subClassOf owl:TransitiveProperty ."),
            ("W026", "[ owl:onProperty ex:p ; owl:someValuesFrom xsd:integer ] rdfs:subClassOf ex:C ."),
        ],
    )
    def test_what_has_no_rule_or_not_all_of_it_is_named(self, number: str, axiom: str) -> None:
        _, ontology = pets()
        assert numbers(ontology) == []
        ontology.add(axiom)
        assert number in numbers(ontology)
        assert "ex:" in str(ontology.warnings[0])
        ontology.remove(axiom)
        assert numbers(ontology) == []

    def test_every_construct_of_owl_is_outside_of_rdfs(self) -> None:
        kb = tidalog.open()
        ontology = kb.ontology(HEAD + PETS, profile="rdfs")
        assert set(numbers(ontology)) == {"W023"}
        assert not tidalog.open().ontology(HEAD + "ex:p rdfs:domain ex:C .", profile="rdfs").warnings


DISJOINT = "ex:A owl:disjointWith ex:B ."


@pytest.mark.parametrize("derived", [False, True], ids=["nothing derived", "derived"])
@pytest.mark.parametrize("known", [False, True], ids=["the first axioms", "more axioms"])
def test_a_refused_ontology_leaves_nothing(derived: bool, known: bool) -> None:
    kb = tidalog.open()
    kb.load("@prefix ex: <http://example.org/> . triple(ex:x, rdf:type, ex:A). triple(ex:x, rdf:type, ex:B).")
    if known:
        kb.ontology("ex:C rdfs:subClassOf ex:D .", strict=True)
    if derived:
        kb.materialise()
    rules, explicit = dict(kb.rules), set(kb.facts("triple", True).to_terms())
    with pytest.raises(tidalog.RunError) as error:
        kb.ontology(DISJOINT, strict=True)
    assert "T055" in str(error.value)
    assert dict(kb.rules) == rules
    assert set(kb.facts("triple", True).to_terms()) == explicit
    assert len(kb.ontology(strict=True)) == int(known)
