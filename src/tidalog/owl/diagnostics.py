"""What can be wrong with ontologies: T200–T219, W023–W029."""

from __future__ import annotations

from tidalog.model.errors import Diagnostic


class UnknownProfile(Diagnostic):
    number = "T200"
    title = "there is no profile {name}"
    reason = "profiles are {known}"
    hint = "{hint}"


class AnotherProfile(Diagnostic):
    number = "T201"
    title = "this knowledge base has an ontology of other settings: {settings}"
    reason = "all axioms of a knowledge base are read in one way"
    hint = "call kb.ontology with the same settings, or drop the ontology first: kb.ontology().drop()"


class MalformedList(Diagnostic):
    number = "T202"
    title = "the list of {axiom} is malformed"
    reason = "{why}"
    hint = "write lists as ( … ), or end every one with rdf:nil"


class MalformedAxiom(Diagnostic):
    number = "T203"
    title = "{axiom} is malformed"
    reason = "{why}"
    hint = "{hint}"


class NotAnAxiom(Diagnostic):
    number = "T204"
    title = "{triple} is not an axiom"
    reason = "an axiom says something about classes or properties, and this is data"
    hint = 'insert data with kb.insert("triple", …)'


class NoSuchAxiom(Diagnostic):
    number = "T205"
    title = "there is no axiom {triple}"
    reason = "nothing was removed"
    hint = "onto.axioms has all of them"


class OutsideProfile(Diagnostic):
    number = "W023"
    title = "{axiom} is outside of {profile}"
    reason = "{why}"
    hint = "{hint}"


class WrongSide(Diagnostic):
    number = "W024"
    title = "{axiom}: {construct} is outside of {profile} on this side"
    reason = "{why}"
    hint = "{hint}"


class AboutVocabulary(Diagnostic):
    number = "W025"
    title = "{axiom} is about the vocabulary of ontologies"
    reason = "triples that it derives are facts, and compiled rules do not take them for axioms"
    hint = "state these axioms themselves, or use compiled=False"


class DataRange(Diagnostic):
    number = "W026"
    title = "{axiom} asks for the type of a literal"
    reason = "literals have no types here, so no rule finds such values"
    hint = "write a rule with DATATYPE(?value)"


class Inconsistent(Diagnostic):
    number = "W027"
    title = "inconsistent by {rule}: {triples}"
    reason = "{axiom}"
    hint = "correct the data or the axiom; strict=True refuses such changes"
