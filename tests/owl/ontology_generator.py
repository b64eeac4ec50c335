"""Generated ontologies and data: every construct of OWL 2 RL over few names, so that axioms meet.

`Generator.axiom` is a group of triples that belong together: one triple, or a class expression with its
axiom.
"""

from __future__ import annotations

from random import Random

from tidalog.model.terms import IRI, OWL, RDF, RDFS, BlankNode, Integer, String, Term
from tidalog.owl.vocabulary import Triple

EX = "http://example.org/"
TYPE = IRI(RDF + "type")
CLASSES = [IRI(f"{EX}C{number}") for number in range(6)]
PROPERTIES = [IRI(f"{EX}p{number}") for number in range(4)]
ATTRIBUTES = [IRI(f"{EX}a{number}") for number in range(2)]
INDIVIDUALS = [IRI(f"{EX}i{number}") for number in range(5)]
VALUES: list[Term] = [String("red"), Integer(1), Integer(2)]


def rdf(name: str) -> IRI:
    return IRI(RDF + name)


def rdfs(name: str) -> IRI:
    return IRI(RDFS + name)


def owl(name: str) -> IRI:
    return IRI(OWL + name)


class Generator:
    def __init__(self, seed: int, *, profile: str = "owl2-rl", equality: bool = True) -> None:
        self.random = Random(seed)
        self._nodes = 0
        kinds = [self._sub_class, self._sub_class, self._sub_property, self._domain, self._range]
        if profile != "rdfs":
            kinds += [self._characteristic, self._characteristic, self._inverse, self._equivalent_properties]
            kinds += [self._equivalent_classes]
        if profile == "owl2-rl":
            kinds += [
                self._expression_below,
                self._expression_below,
                self._expression_above,
                self._list_axiom,
            ]
            kinds += [self._named_list, self._disjoint, self._chain, self._negative, self._declaration]
            kinds += [self._member, self._inverse_node]
        if equality and profile != "rdfs":
            kinds += [self._equating]
        self._kinds = kinds

    def axiom(self) -> list[Triple]:
        return self.random.choice(self._kinds)()

    def fact(self) -> Triple:
        random = self.random
        one = random.choice(INDIVIDUALS)
        match random.randrange(10):
            case 0 | 1 | 2:
                return one, TYPE, random.choice(CLASSES)
            case 3:
                return one, random.choice(ATTRIBUTES), random.choice(VALUES)
            case _:
                return one, random.choice(PROPERTIES), random.choice(INDIVIDUALS)

    def equality(self) -> Triple:
        return self.random.choice(INDIVIDUALS), owl("sameAs"), self.random.choice(INDIVIDUALS)

    # --- parts --------------------------------------------------------------------------------------

    def _node(self) -> BlankNode:
        self._nodes += 1
        return BlankNode(f"n{self._nodes}")

    def _class(self) -> IRI:
        return self.random.choice([*CLASSES, *CLASSES, *CLASSES, owl("Thing")])

    def _property(self) -> IRI:
        return self.random.choice([*PROPERTIES, *PROPERTIES, *ATTRIBUTES])

    def _list(self, elements: list[Term]) -> tuple[Term, list[Triple]]:
        head: Term = rdf("nil")
        triples: list[Triple] = []
        for element in reversed(elements):
            node = self._node()
            triples += [(node, rdf("first"), element), (node, rdf("rest"), head)]
            head = node
        return head, triples

    def _some(self, names: list[IRI], least: int = 1) -> list[Term]:
        return list(self.random.sample(names, self.random.randint(least, 3)))

    def _expression(self, kinds: list[str], depth: int = 0) -> tuple[Term, list[Triple]]:
        """A class expression, and its triples."""
        node, random = self._node(), self.random
        kind = random.choice(kinds)
        if kind in ("intersectionOf", "unionOf"):
            parts: list[Term] = self._some(CLASSES)
            triples: list[Triple] = []
            if depth < 2 and random.random() < 0.5:
                inner, triples = self._expression(kinds, depth + 1)
                parts.append(inner)
            head, cells = self._list(parts)
            return node, [*triples, *cells, (node, owl(kind), head), (node, TYPE, owl("Class"))]
        if kind == "oneOf":
            head, cells = self._list(self._some(INDIVIDUALS))
            return node, [*cells, (node, owl(kind), head), (node, TYPE, owl("Class"))]
        triples = [(node, TYPE, owl("Restriction")), (node, owl("onProperty"), self._property())]
        filler: Term = self._class()
        if kind in ("someValuesFrom", "allValuesFrom") and depth < 2 and random.random() < 0.3:
            filler, more = self._expression(kinds, depth + 1)
            triples += more
        if kind == "hasValue":
            filler = random.choice([*INDIVIDUALS, *VALUES])
        if kind == "maxCardinality":
            filler = Integer(0)
        if kind == "maxQualifiedCardinality":
            filler = Integer(0)
            triples.append((node, owl("onClass"), self._class()))
        return node, [*triples, (node, owl(kind), filler)]

    # --- axioms -------------------------------------------------------------------------------------

    def _sub_class(self) -> list[Triple]:
        return [(self.random.choice(CLASSES), rdfs("subClassOf"), self.random.choice(CLASSES))]

    def _sub_property(self) -> list[Triple]:
        names = self.random.choice([PROPERTIES, ATTRIBUTES])
        return [(self.random.choice(names), rdfs("subPropertyOf"), self.random.choice(names))]

    def _domain(self) -> list[Triple]:
        return [(self._property(), rdfs("domain"), self._class())]

    def _range(self) -> list[Triple]:
        return [(self._property(), rdfs("range"), self._class())]

    def _characteristic(self) -> list[Triple]:
        kinds = ["SymmetricProperty", "TransitiveProperty", "AsymmetricProperty", "IrreflexiveProperty"]
        return [(self.random.choice(PROPERTIES), TYPE, owl(self.random.choice(kinds)))]

    def _equating(self) -> list[Triple]:
        random = self.random
        match random.randrange(5):
            case 0:
                return [(random.choice(PROPERTIES), TYPE, owl("FunctionalProperty"))]
            case 1:
                return [(self._property(), TYPE, owl("InverseFunctionalProperty"))]
            case 2:
                head, cells = self._list(
                    list(random.sample([*PROPERTIES, *ATTRIBUTES], random.randint(1, 2)))
                )
                return [*cells, (random.choice(CLASSES), owl("hasKey"), head)]
            case _:
                node = self._node()
                kind = random.choice(["maxCardinality", "maxQualifiedCardinality"])
                triples: list[Triple] = [
                    (node, TYPE, owl("Restriction")),
                    (node, owl("onProperty"), random.choice(PROPERTIES)),
                    (node, owl(kind), Integer(1)),
                    (random.choice(CLASSES), rdfs("subClassOf"), node),
                ]
                if kind == "maxQualifiedCardinality":
                    triples.append((node, owl("onClass"), self._class()))
                return triples

    def _inverse(self) -> list[Triple]:
        return [(self.random.choice(PROPERTIES), owl("inverseOf"), self.random.choice(PROPERTIES))]

    def _inverse_node(self) -> list[Triple]:
        """A restriction on the inverse of a property, which has no name."""
        node, inverse = self._node(), self._node()
        return [
            (inverse, owl("inverseOf"), self.random.choice(PROPERTIES)),
            (node, owl("onProperty"), inverse),
            (node, owl("someValuesFrom"), self._class()),
            (node, rdfs("subClassOf"), self.random.choice(CLASSES)),
        ]

    def _equivalent_classes(self) -> list[Triple]:
        return [(self.random.choice(CLASSES), owl("equivalentClass"), self.random.choice(CLASSES))]

    def _equivalent_properties(self) -> list[Triple]:
        names = self.random.choice([PROPERTIES, ATTRIBUTES])
        return [(self.random.choice(names), owl("equivalentProperty"), self.random.choice(names))]

    def _expression_below(self) -> list[Triple]:
        node, triples = self._expression(["intersectionOf", "unionOf", "oneOf", "someValuesFrom", "hasValue"])
        relation = self.random.choice([rdfs("subClassOf"), owl("equivalentClass")])
        return [*triples, (node, relation, self.random.choice(CLASSES))]

    def _expression_above(self) -> list[Triple]:
        kinds = ["intersectionOf", "allValuesFrom", "hasValue", "maxCardinality", "maxQualifiedCardinality"]
        node, triples = self._expression([*kinds, "someValuesFrom"])
        return [*triples, (self.random.choice(CLASSES), rdfs("subClassOf"), node)]

    def _named_list(self) -> list[Triple]:
        """A class with a name that is an intersection or union."""
        head, cells = self._list(self._some(CLASSES))
        kind = self.random.choice(["intersectionOf", "unionOf", "oneOf"])
        if kind == "oneOf":
            head, cells = self._list(self._some(INDIVIDUALS))
        return [*cells, (self.random.choice(CLASSES), owl(kind), head)]

    def _list_axiom(self) -> list[Triple]:
        kind, names, property_ = self.random.choice(
            [
                ("AllDisjointClasses", CLASSES, "members"),
                ("AllDisjointProperties", PROPERTIES, "members"),
                ("AllDifferent", INDIVIDUALS, "distinctMembers"),
                ("AllDifferent", INDIVIDUALS, "members"),
            ]
        )
        head, cells = self._list(self._some(names, 2))
        node = self._node()
        return [*cells, (node, TYPE, owl(kind)), (node, owl(property_), head)]

    def _disjoint(self) -> list[Triple]:
        random = self.random
        match random.randrange(4):
            case 0:
                return [(random.choice(CLASSES), owl("disjointWith"), random.choice(CLASSES))]
            case 1:
                return [(random.choice(PROPERTIES), owl("propertyDisjointWith"), random.choice(PROPERTIES))]
            case 2:
                return [(random.choice(CLASSES), owl("complementOf"), random.choice(CLASSES))]
            case _:
                return [(random.choice(INDIVIDUALS), owl("differentFrom"), random.choice(INDIVIDUALS))]

    def _chain(self) -> list[Triple]:
        head, cells = self._list(list(self.random.choices(PROPERTIES, k=self.random.randint(1, 3))))
        return [*cells, (self.random.choice(PROPERTIES), owl("propertyChainAxiom"), head)]

    def _negative(self) -> list[Triple]:
        node, random = self._node(), self.random
        value = (owl("targetIndividual"), random.choice(INDIVIDUALS))
        return [
            (node, owl("sourceIndividual"), random.choice(INDIVIDUALS)),
            (node, owl("assertionProperty"), random.choice(PROPERTIES)),
            (node, *value),
        ]

    def _declaration(self) -> list[Triple]:
        random = self.random
        match random.randrange(3):
            case 0:
                return [(random.choice(CLASSES), TYPE, owl("Class"))]
            case 1:
                return [(random.choice(PROPERTIES), TYPE, owl("ObjectProperty"))]
            case _:
                return [(random.choice(ATTRIBUTES), TYPE, owl("DatatypeProperty"))]

    def _member(self) -> list[Triple]:
        node, triples = self._expression(["intersectionOf", "allValuesFrom", "hasValue"])
        return [*triples, (self.random.choice(INDIVIDUALS), TYPE, node)]
