"""Axioms by subject and property."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tidalog.model.term_text import TermWriter
from tidalog.model.terms import IRI, OWL, BlankNode, Term
from tidalog.owl.vocabulary import FIRST, NIL, REST, Triple
from tidalog.rdf.layout import TYPE


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

    # --- text ---------------------------------------------------------------------------------------

    def text(self, triple: Triple, writer: TermWriter) -> str:
        """An axiom in the manner of Turtle: from a subject with a name, with what its blank nodes are."""
        seen: set[Term] = set()
        while isinstance(triple[0], BlankNode) and triple[0] not in seen and self.uses.get(triple[0]):
            seen.add(triple[0])
            triple = self.uses[triple[0]][0]
        subject, property_, object_ = triple
        words = (self._term(subject, writer, 0), _verb(property_, writer), self._term(object_, writer, 0))
        return " ".join(words)

    def _term(self, term: Term, writer: TermWriter, depth: int) -> str:
        if not isinstance(term, BlankNode) or term not in self._about:
            return writer.term(term)
        if depth == _DEEPEST:
            return "[ … ]"
        if self.fault_of_list(term) is None:
            elements = [self._term(one, writer, depth + 1) for one in self.elements(term)]
            return f"( {' '.join([*elements[:_MOST], *(['…'] if len(elements) > _MOST else [])])} )"
        parts = [
            f"{_verb(property_, writer)} {self._term(object_, writer, depth + 1)}"
            for property_, objects in self._about[term].items()
            for object_ in objects
            if (property_, object_) != (TYPE, owl("Restriction"))
        ]
        return f"[ {' ; '.join(parts)} ]"


_DEEPEST: Final = 4
_MOST: Final = 6
"""Elements of a list that are shown."""


def _verb(property_: Term, writer: TermWriter) -> str:
    return "a" if property_ == TYPE else writer.term(property_)


def owl(name: str) -> IRI:
    return IRI(OWL + name)
