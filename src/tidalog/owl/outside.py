"""Axioms that a profile has no rules for, or rules that do not say all that the axiom means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from tidalog.model.errors import Diagnostic
from tidalog.model.term_text import TermWriter
from tidalog.model.terms import IRI, OWL, RDF, RDFS, BlankNode, Term, numeric_value
from tidalog.owl.axiom_graph import AxiomGraph, owl
from tidalog.owl.diagnostics import AboutVocabulary, DataRange, OutsideProfile, WrongSide
from tidalog.owl.vocabulary import (
    DOMAIN,
    EQUIVALENT_CLASS,
    LITERAL,
    NOTHING,
    RANGE,
    SUB_CLASS,
    SUB_PROPERTY,
    THING,
    Triple,
    is_datatype,
)
from tidalog.rdf.layout import TYPE

_OF_PLUS: Final = frozenset({owl("equivalentClass"), owl("equivalentProperty"), owl("inverseOf")})
_TYPES_OF_PLUS: Final = frozenset(
    owl(f"{name}Property") for name in ("Functional", "InverseFunctional", "Symmetric", "Transitive")
)
_DECLARATIONS: Final = frozenset(
    owl(name)
    for name in (
        "AnnotationProperty",
        "Class",
        "DataRange",
        "DatatypeProperty",
        "DeprecatedClass",
        "DeprecatedProperty",
        "ObjectProperty",
        "Ontology",
        "OntologyProperty",
        "Restriction",
    )
)
"""Types that say what a name is, and nothing else."""

_NOT_IN_RL: Final[dict[IRI, str]] = {
    owl("cardinality"): "exact cardinalities are no rules: they ask for values without names",
    owl("qualifiedCardinality"): "exact cardinalities are no rules: they ask for values without names",
    owl("minCardinality"): "a least number asks for values without names",
    owl("minQualifiedCardinality"): "a least number asks for values without names",
    owl("hasSelf"): "OWL 2 RL has no hasSelf",
    owl("disjointUnionOf"): "OWL 2 RL has no disjoint unions",
    owl("datatypeComplementOf"): "literals have no types here",
    owl("onDatatype"): "restricted datatypes are not in OWL 2 RL",
    owl("withRestrictions"): "restricted datatypes are not in OWL 2 RL",
    owl("onProperties"): "OWL 2 RL has no restrictions on several properties",
    owl("onDataRange"): "literals have no types here",
    owl("topObjectProperty"): "OWL 2 RL does not have it",
}
_HINTS: Final[dict[IRI, str]] = {
    owl("disjointUnionOf"): "write owl:unionOf and owl:AllDisjointClasses",
    owl("hasSelf"): "write a rule: ex:C(?x) :- ?x ex:p ?x .",
}
_PARTS_OF_CARDINALITY: Final = frozenset({owl("maxCardinality"), owl("maxQualifiedCardinality")})
_NOT_ABOVE: Final[dict[IRI, str]] = {
    owl("unionOf"): "nothing says which of the classes a member is in",
    owl("someValuesFrom"): "no value is made up; what the hierarchy says of such classes is derived",
    owl("oneOf"): "nothing says which of the individuals a member is",
}
"""Class expressions that cannot be the larger class."""
_NOT_BELOW: Final[dict[IRI, str]] = {
    owl("allValuesFrom"): "that there are no other values is never known",
    owl("complementOf"): "that something is not in a class is never known",
    owl("maxCardinality"): "that there are no other values is never known",
    owl("maxQualifiedCardinality"): "that there are no other values is never known",
}
"""Class expressions that cannot be the smaller class."""


def outside(
    triples: Iterable[Triple], profile: str, writer: TermWriter, *, compiled: bool
) -> Iterator[Diagnostic]:
    """Warnings about axioms, each of them once."""
    graph = AxiomGraph(triples)

    def shown(triple: Triple) -> str:
        return graph.text(triple, writer)

    for triple in graph.triples:
        if profile == "owl2-rl":
            yield from _outside_rl(triple, graph, shown)
        else:
            yield from _outside_rdfs(triple, profile, shown)
        if compiled and _is_about_vocabulary(triple):
            yield AboutVocabulary(axiom=shown(triple))


def _outside_rdfs(triple: Triple, profile: str, shown: Callable[[Triple], str]) -> Iterator[Diagnostic]:
    _, property_, object_ = triple
    said = object_ if property_ == TYPE else property_
    if not isinstance(said, IRI) or not said.value.startswith(OWL) or said in _DECLARATIONS:
        return
    if profile == "rdfs-plus" and said in _OF_PLUS | _TYPES_OF_PLUS:
        return
    hint = 'profile="owl2-rl" has the rules of OWL'
    yield OutsideProfile(
        axiom=shown(triple), profile=profile, why="this profile has no rule for it", hint=hint
    )


def _outside_rl(triple: Triple, graph: AxiomGraph, shown: Callable[[Triple], str]) -> Iterator[Diagnostic]:
    subject, property_, object_ = triple
    if isinstance(property_, IRI) and property_ in _NOT_IN_RL:
        hint = _HINTS.get(property_, "")
        yield OutsideProfile(axiom=shown(triple), profile="OWL 2 RL", why=_NOT_IN_RL[property_], hint=hint)
    if property_ in _PARTS_OF_CARDINALITY and (numeric_value(object_) or 0) > 1:
        why = "a number above 1 would need to count values"
        yield OutsideProfile(axiom=shown(triple), profile="OWL 2 RL", why=why, hint="")
    if property_ == TYPE and object_ == owl("ReflexiveProperty"):
        hint = "write a rule: ?x ex:p ?x :- ex:C(?x) ."
        yield OutsideProfile(
            axiom=shown(triple), profile="OWL 2 RL", why="it holds for everything there is", hint=hint
        )
    if property_ in (SUB_CLASS, EQUIVALENT_CLASS):
        yield from _sides(triple, graph, subject, _NOT_BELOW, shown)
        yield from _sides(triple, graph, object_, _NOT_ABOVE, shown)
    if property_ == EQUIVALENT_CLASS:
        yield from _sides(triple, graph, object_, _NOT_BELOW, shown)
        yield from _sides(triple, graph, subject, _NOT_ABOVE, shown)
    if property_ in (DOMAIN, RANGE) or (property_ == TYPE and isinstance(object_, BlankNode)):
        yield from _sides(triple, graph, object_, _NOT_ABOVE, shown)
    if property_ in (owl("someValuesFrom"), owl("onClass")) and (
        is_datatype(object_) or IRI(RDFS + "Datatype") in graph.objects(object_, TYPE)
    ):
        yield DataRange(axiom=shown(triple))


def _sides(
    triple: Triple,
    graph: AxiomGraph,
    expression: Term,
    wrong: dict[IRI, str],
    shown: Callable[[Triple], str],
) -> Iterator[Diagnostic]:
    """The constructs in an expression, on one side of an axiom, that this side cannot have."""
    waiting, seen = [expression], set[Term]()
    while waiting:
        one = waiting.pop()
        # A class with a name is what its own axioms say, and they are looked at.
        if one in seen or (not isinstance(one, BlankNode) and one != expression):
            continue
        seen.add(one)
        if isinstance(one, BlankNode):
            for construct, why in wrong.items():
                if graph.objects(one, construct):
                    yield WrongSide(
                        axiom=shown(triple),
                        construct=f"owl:{construct.value[len(OWL) :]}",
                        profile="OWL 2 RL",
                        why=why,
                        hint="",
                    )
        if isinstance(one, BlankNode):
            for nested in (owl("intersectionOf"), owl("unionOf")):
                for list_ in graph.objects(one, nested):
                    waiting += graph.elements(list_)
            for filler in (owl("someValuesFrom") if wrong is _NOT_BELOW else owl("allValuesFrom"),):
                waiting += graph.objects(one, filler)


def _is_about_vocabulary(triple: Triple) -> bool:
    """Whether rules of an axiom derive triples that would be axioms themselves."""
    _, property_, object_ = triple
    if property_ not in (SUB_CLASS, SUB_PROPERTY, DOMAIN, RANGE) or not isinstance(object_, IRI):
        return False
    if object_ in (THING, NOTHING, LITERAL, IRI(RDFS + "Resource"), IRI(RDFS + "member")):
        return False
    return object_.value.startswith((OWL, RDFS, RDF)) and not is_datatype(object_)
