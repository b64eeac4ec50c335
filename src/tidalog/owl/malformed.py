"""Axioms that are not what their vocabulary asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tidalog.model.errors import Diagnostic
from tidalog.model.term_text import TermWriter
from tidalog.model.terms import IRI, BlankNode, Term, numeric_value
from tidalog.owl.axiom_graph import AxiomGraph, owl
from tidalog.owl.diagnostics import MalformedAxiom, MalformedList
from tidalog.owl.vocabulary import (
    DOMAIN,
    EQUIVALENT_CLASS,
    FIRST,
    LIST_PROPERTIES,
    ON_PROPERTY,
    RANGE,
    REST,
    SUB_CLASS,
    SUB_PROPERTY,
    Triple,
)

_RESTRICTIONS: Final = frozenset(
    owl(name)
    for name in (
        "allValuesFrom",
        "cardinality",
        "hasSelf",
        "hasValue",
        "maxCardinality",
        "maxQualifiedCardinality",
        "minCardinality",
        "minQualifiedCardinality",
        "qualifiedCardinality",
        "someValuesFrom",
    )
)
_CARDINALITIES: Final = frozenset(
    property_ for property_ in _RESTRICTIONS if property_.value.lower().endswith("cardinality")
)
_QUALIFIED: Final = frozenset(p for p in _CARDINALITIES if "ualified" in p.value)
_LISTS: Final = LIST_PROPERTIES | {owl("disjointUnionOf")}
_NAMES: Final = frozenset(
    {
        SUB_CLASS,
        SUB_PROPERTY,
        DOMAIN,
        RANGE,
        EQUIVALENT_CLASS,
        ON_PROPERTY,
        REST,
        *(owl(name) for name in ("allValuesFrom", "assertionProperty", "complementOf", "disjointWith")),
        *(owl(name) for name in ("equivalentProperty", "inverseOf", "onClass", "propertyDisjointWith")),
        *(owl(name) for name in ("someValuesFrom", "sourceIndividual", "targetIndividual")),
    }
)
"""Properties whose values are classes, properties or individuals."""
_SOURCE: Final = owl("sourceIndividual")
_ASSERTED: Final = owl("assertionProperty")
_TARGETS: Final = (owl("targetIndividual"), owl("targetValue"))


def malformed(triples: Iterable[Triple], writer: TermWriter) -> Iterator[Diagnostic]:
    """Errors of axioms, each of them once."""
    graph = AxiomGraph(triples)

    def bad(triple: Triple, why: str, hint: str = "") -> MalformedAxiom:
        return MalformedAxiom(axiom=graph.text(triple, writer), why=why, hint=hint)

    for triple in graph.triples:
        subject, property_, object_ = triple
        if property_ in _LISTS:
            fault = graph.fault_of_list(object_)
            if fault is not None:
                yield MalformedList(axiom=graph.text(triple, writer), why=fault)
            elif property_ == owl("propertyChainAxiom") and not list(graph.elements(object_)):
                yield bad(triple, "a chain has at least one property")
        elif property_ in _NAMES and not isinstance(object_, IRI | BlankNode):
            yield bad(triple, "a literal names no class, property or individual", "write an IRI")
        if property_ in _RESTRICTIONS and property_ != owl("hasSelf"):
            count = len(graph.objects(subject, ON_PROPERTY))
            if count != 1 and not graph.objects(subject, owl("onProperties")):
                why = f"a restriction has one owl:onProperty, and this has {count or 'none'}"
                yield bad(triple, why, "write [ a owl:Restriction ; owl:onProperty ex:p ; … ]")
        if property_ in _CARDINALITIES and not _is_count(object_):
            yield bad(triple, "a cardinality is 0 or a positive integer", 'write "1"^^xsd:nonNegativeInteger')
        if property_ in _QUALIFIED and not (
            graph.objects(subject, owl("onClass")) or graph.objects(subject, owl("onDataRange"))
        ):
            yield bad(triple, "a qualified cardinality has an owl:onClass or owl:onDataRange")
        if property_ == _SOURCE and not (
            graph.objects(subject, _ASSERTED) and any(graph.objects(subject, one) for one in _TARGETS)
        ):
            why = "a negative assertion has a source, a property and a target"
            yield bad(triple, why, "add owl:assertionProperty and owl:targetIndividual or owl:targetValue")
        if property_ == FIRST and not graph.objects(subject, REST) and not graph.uses.get(subject):
            yield bad(triple, "it is part of no list", "write lists as ( … )")


def _is_count(term: Term) -> bool:
    value = numeric_value(term)
    return value is not None and value >= 0 and value == int(value)
