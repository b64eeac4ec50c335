"""The names of RDF, RDFS and OWL that an ontology is written in, and which triples are axioms.

An axiom is a triple whose property is one of `PROPERTIES`, or that gives one of the types `CLASSES`, or a
class without a name as a type.  All other triples are data.
"""

from __future__ import annotations

from typing import Final

from tidalog.model.terms import IRI, OWL, RDF, RDFS, XSD, BlankNode, Term
from tidalog.rdf.layout import TYPE

Triple = tuple[Term, Term, Term]

FIRST: Final = IRI(RDF + "first")
REST: Final = IRI(RDF + "rest")
NIL: Final = IRI(RDF + "nil")
SUB_CLASS: Final = IRI(RDFS + "subClassOf")
SUB_PROPERTY: Final = IRI(RDFS + "subPropertyOf")
DOMAIN: Final = IRI(RDFS + "domain")
RANGE: Final = IRI(RDFS + "range")
LITERAL: Final = IRI(RDFS + "Literal")
THING: Final = IRI(OWL + "Thing")
NOTHING: Final = IRI(OWL + "Nothing")
SAME_AS: Final = IRI(OWL + "sameAs")
EQUIVALENT_CLASS: Final = IRI(OWL + "equivalentClass")
ON_PROPERTY: Final = IRI(OWL + "onProperty")

LIST_PROPERTIES: Final = frozenset(
    IRI(OWL + name)
    for name in (
        "intersectionOf",
        "unionOf",
        "oneOf",
        "members",
        "distinctMembers",
        "propertyChainAxiom",
        "hasKey",
    )
)
"""Properties whose values are lists, in the rules of the profiles."""

_OF_OWL: Final = (
    "allValuesFrom annotatedProperty annotatedSource annotatedTarget assertionProperty bottomDataProperty "
    "bottomObjectProperty cardinality complementOf datatypeComplementOf disjointUnionOf disjointWith "
    "distinctMembers equivalentClass equivalentProperty hasKey hasSelf hasValue intersectionOf inverseOf "
    "maxCardinality maxQualifiedCardinality members minCardinality minQualifiedCardinality onClass "
    "onDataRange onDatatype onProperties onProperty oneOf propertyChainAxiom propertyDisjointWith "
    "qualifiedCardinality someValuesFrom sourceIndividual targetIndividual targetValue unionOf "
    "withRestrictions"
)
PROPERTIES: Final = frozenset(
    {
        FIRST,
        REST,
        SUB_CLASS,
        SUB_PROPERTY,
        DOMAIN,
        RANGE,
        *(IRI(OWL + name) for name in _OF_OWL.split()),
    }
)
"""Properties of axioms."""

_CLASSES_OF_OWL: Final = (
    "AllDifferent AllDisjointClasses AllDisjointProperties AnnotationProperty AsymmetricProperty Class "
    "DataRange DatatypeProperty DeprecatedClass DeprecatedProperty FunctionalProperty "
    "InverseFunctionalProperty IrreflexiveProperty NegativePropertyAssertion ObjectProperty Ontology "
    "OntologyProperty ReflexiveProperty Restriction SymmetricProperty TransitiveProperty"
)
CLASSES: Final = frozenset(
    {
        IRI(RDF + "Property"),
        *(IRI(RDFS + name) for name in ("Class", "ContainerMembershipProperty", "Datatype")),
        *(IRI(OWL + name) for name in _CLASSES_OF_OWL.split()),
    }
)
"""Classes of what an ontology talks about: its classes, properties and axioms."""

DATATYPE_PREFIX: Final = XSD


def is_axiom(triple: Triple) -> bool:
    _, property_, object_ = triple
    if property_ == TYPE:
        return object_ in CLASSES or isinstance(object_, BlankNode)
    return property_ in PROPERTIES


def is_datatype(term: Term) -> bool:
    """Whether a term names a type of literals by itself."""
    return isinstance(term, IRI) and (
        term.value.startswith(XSD)
        or term == LITERAL
        or term.value in (RDF + "PlainLiteral", RDF + "XMLLiteral", RDF + "langString")
    )
