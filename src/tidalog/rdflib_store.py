"""A store for rdflib: a graph whose triples are those of a knowledge base, explicit and inferred.

`rdflib.Graph(store="Tidalog")` has a knowledge base of its own, in memory; `open(folder)` opens the one in a
folder; `kb.graph()` is the graph of a knowledge base that is there.  Adding and removing are updates: what
follows is maintained, and a triple that rules derive stays until they derive it no longer.  SPARQL queries
and updates go to the knowledge base as well.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import rdflib
from rdflib.query import Result
from rdflib.store import NO_STORE, VALID_STORE, Store
from rdflib.term import BNode, Identifier, Literal, Node, URIRef, Variable

import tidalog
from tidalog.model.term_text import from_python
from tidalog.model.terms import IRI, BlankNode, LangString, String, Term
from tidalog.rdf.ntriples import lexical_form

if TYPE_CHECKING:
    from rdflib.graph import Graph

    from tidalog.api.knowledge_base import KnowledgeBase

Pattern = tuple[Node | None, Node | None, Node | None]
_TRIPLE: Final = "triple"
_NAMES: Final = ("s", "p", "o")


class TidalogStore(Store):
    """Triples of a knowledge base."""

    context_aware = False
    formula_aware = False
    transaction_aware = False

    def __init__(
        self,
        configuration: str | None = None,
        identifier: Identifier | None = None,
        kb: KnowledgeBase | None = None,
    ) -> None:
        self._own = kb is None
        self.kb: KnowledgeBase = tidalog.open() if kb is None else kb
        self._namespaces: dict[str, URIRef] = {}
        super().__init__(configuration, identifier)

    # --- opening ------------------------------------------------------------------------------------

    def open(self, configuration: str | tuple[str, str], create: bool = False) -> int:
        """Opens the knowledge base in a folder, which is created if need be."""
        if not isinstance(configuration, str):
            return NO_STORE
        self.close()
        self.kb, self._own = tidalog.open(configuration), True
        return VALID_STORE

    def close(self, commit_pending_transaction: bool = False) -> None:
        if self._own:
            self.kb.close()

    # --- triples ------------------------------------------------------------------------------------

    def triples(
        self, triple_pattern: Pattern, context: Graph | None = None
    ) -> Iterator[tuple[tuple[Node, Node, Node], Iterator[Graph | None]]]:
        for row in self._matches(triple_pattern):
            subject, predicate, object_ = map(to_rdflib, row)
            yield (subject, predicate, object_), iter([context])

    def _matches(self, pattern: Pattern) -> list[tuple[Term, ...]]:
        if _TRIPLE not in self.kb.predicates:
            return []
        given = {name: node for name, node in zip(_NAMES, pattern, strict=True) if node is not None}
        cells = ", ".join(f"${name}" if name in given else f"?{name}" for name in _NAMES)
        wanted = [f"?{name}" for name in _NAMES if name not in given]
        found = self.kb.query(
            f"{', '.join(wanted)} :- triple({cells})" if wanted else f"triple({cells})", **given
        )
        known = {name: from_python(node) for name, node in given.items()}
        if not wanted:
            return [tuple(known.values())] * len(found)
        rows = [dict(zip(wanted, row, strict=True)) for row in found.to_terms()]
        return [tuple(known[n] if n in known else row[f"?{n}"] for n in _NAMES) for row in rows]

    def __len__(self, context: Graph | None = None) -> int:
        return self.kb.count(_TRIPLE) if _TRIPLE in self.kb.predicates else 0

    def add(self, triple: tuple[Node, Node, Node], context: Graph | None, quoted: bool = False) -> None:
        self.addN([(*triple, context)])

    def addN(self, quads: Iterable[tuple[Node, Node, Node, Any]]) -> None:
        """Adds triples by one update."""
        rows = [tuple(map(from_python, quad[:3])) for quad in quads]
        if rows:
            with self.kb.update() as update:
                update.insert(_TRIPLE, rows)

    def remove(self, triple_pattern: Pattern, context: Graph | None = None) -> None:
        """Removes what matches from the explicit triples."""
        rows = self._matches(triple_pattern)
        if rows:
            with self.kb.update() as update:
                update.delete(_TRIPLE, rows)

    # --- namespaces ---------------------------------------------------------------------------------

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        if override:
            self._namespaces = {p: iri for p, iri in self._namespaces.items() if iri != namespace}
        elif prefix in self._all() or namespace in self._all().values():
            return
        self._namespaces[prefix] = URIRef(namespace)

    def namespace(self, prefix: str) -> URIRef | None:
        return self._all().get(prefix)

    def prefix(self, namespace: URIRef) -> str | None:
        return next((prefix for prefix, iri in self._all().items() if iri == namespace), None)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        yield from self._all().items()

    def _all(self) -> dict[str, URIRef]:
        """The prefixes of the program, and those that were bound."""
        program = {prefix: URIRef(iri) for prefix, iri in self.kb.program.prefixes.items()}
        return {**program, **self._namespaces}

    # --- SPARQL -------------------------------------------------------------------------------------

    def query(
        self,
        query: object,
        initNs: Mapping[str, Any],
        initBindings: Mapping[str, Identifier],
        queryGraph: str,
        **kwargs: Any,
    ) -> Result:
        """The result of a text.  What rdflib has parsed or bound already it evaluates itself."""
        if not isinstance(query, str) or initBindings:
            raise NotImplementedError
        found = self.kb.sparql(_with_prefixes(query, initNs))
        if isinstance(found, tidalog.Truth):
            result = Result("ASK")
            result.askAnswer = bool(found)
        elif isinstance(found, tidalog.Triples):
            result = Result("CONSTRUCT")
            result.graph = rdflib.Graph()
            for row in found.to_terms():
                subject, predicate, object_ = map(to_rdflib, row)
                result.graph.add((subject, predicate, object_))
        else:
            result = Result("SELECT")
            result.vars = [Variable(name) for name in found.columns]
            result.bindings = list(_bindings(result.vars, found.to_terms()))
        return result

    def update(
        self,
        update: object,
        initNs: Mapping[str, Any],
        initBindings: Mapping[str, Identifier],
        queryGraph: str,
        **kwargs: Any,
    ) -> None:
        if not isinstance(update, str) or initBindings:
            raise NotImplementedError
        self.kb.sparql_update(_with_prefixes(update, initNs))


def _with_prefixes(text: str, prefixes: Mapping[str, Any]) -> str:
    return "".join(f"PREFIX {prefix}: <{iri}> " for prefix, iri in prefixes.items()) + text


def _bindings(
    names: list[Variable], rows: Iterable[tuple[Term | None, ...]]
) -> Generator[dict[Variable, Identifier]]:
    for row in rows:
        yield {name: to_rdflib(term) for name, term in zip(names, row, strict=True) if term is not None}


def to_rdflib(term: Term) -> URIRef | BNode | Literal:
    """A term as rdflib has it."""
    match term:
        case IRI(value):
            return URIRef(value)
        case BlankNode(label):
            return BNode(label)
        case String(value):
            return Literal(value)
        case LangString(value, language):
            return Literal(value, lang=language)
    text, datatype = lexical_form(term)
    return Literal(text, datatype=URIRef(datatype))
