"""Axioms by subject and property."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidalog.model.terms import IRI, OWL, BlankNode, Term
from tidalog.owl.vocabulary import FIRST, NIL, REST, Triple


class AxiomGraph:
    def __init__(self, triples: Iterable[Triple]) -> None:
        self.triples = sorted(triples, key=str)
        self._about: dict[Term, dict[Term, list[Term]]] = {}
        self.uses: dict[Term, list[Triple]] = {}
        """Object → the triples that it is in."""
        for triple in self.triples:
            subject, property_, object_ = triple
            self._about.setdefault(subject, {}).setdefault(property_, []).append(object_)
            self.uses.setdefault(object_, []).append(triple)

    def objects(self, subject: Term, property_: IRI) -> list[Term]:
        return self._about.get(subject, {}).get(property_, [])

    def elements(self, node: Term) -> Iterator[Term]:
        """The elements of a list, as far as it is one."""
        seen: set[Term] = set()
        while node != NIL and node not in seen:
            seen.add(node)
            yield from self.objects(node, FIRST)
            node = next(iter(self.objects(node, REST)), NIL)

    def fault_of_list(self, node: Term) -> str | None:
        """Why something is not a list."""
        seen: set[Term] = set()
        while node != NIL:
            if not isinstance(node, IRI | BlankNode):
                return "a literal is not a list"
            if node in seen:
                return "it is a circle"
            seen.add(node)
            first, rest = len(self.objects(node, FIRST)), len(self.objects(node, REST))
            if first != 1:
                return f"a node has {first} rdf:first" if first else "a node has no rdf:first"
            if rest != 1:
                return f"a node has {rest} rdf:rest" if rest else "it does not end with rdf:nil"
            (node,) = self.objects(node, REST)
        return None


def owl(name: str) -> IRI:
    return IRI(OWL + name)
