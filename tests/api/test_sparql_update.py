"""SPARQL updates leave the graphs that pyoxigraph has after them, and are one atomic update each."""

from __future__ import annotations

from random import Random

import pyoxigraph as ox
import pytest

import tidalog
from generators.sparql_queries import PROLOGUE
from tidalog.model.terms import IRI, Term, literal

UNION = "quads: triple(?s, ?p, ?o) :- quad(?s, ?p, ?o, ?g) ."
NODES, VERBS, GRAPHS = (":a", ":b", ":c", "1"), (":p", ":q"), (":g", ":h")


def term(found: object) -> Term:
    if isinstance(found, ox.Literal):
        return literal(found.value, found.datatype.value)
    assert isinstance(found, ox.NamedNode)
    return IRI(found.value)


def theirs(store: ox.Store) -> set[tuple[Term, ...]]:
    return {
        tuple(map(term, (q.subject, q.predicate, q.object)))
        + (() if isinstance(q.graph_name, ox.DefaultGraph) else (term(q.graph_name),))
        for q in store
    }


def ours(kb: tidalog.KnowledgeBase) -> set[tuple[Term, ...]]:
    return {
        row
        for name in ("triple", "quad")
        if name in kb.predicates
        for row in kb.facts(name, explicit=True).to_terms()
    }


class Requests:
    """Random requests over the default graph, or over named ones."""

    def __init__(self, random: Random, named: bool) -> None:
        self.random, self.named = random, named

    def text(self) -> str:
        return PROLOGUE + " ; ".join(self.operation() for _ in range(self.random.choice((1, 1, 2, 3))))

    def operation(self) -> str:
        choice = self.random.random()
        if choice < 0.35:
            return f"INSERT DATA {{ {self.quads(self.data)} }}"
        if choice < 0.45:
            return f"DELETE DATA {{ {self.quads(self.data)} }}"
        if choice < 0.55:
            return f"DELETE WHERE {{ {self.quads(self.pattern)} }}"
        if choice < 0.6:
            return f"CLEAR SILENT {self.random.choice(GRAPHS and ('GRAPH :g', 'NAMED', 'DEFAULT'))}"
        with_, wrap = "", self.quads
        if self.named and self.random.random() < 0.5:
            with_, wrap = f"WITH {self.random.choice(GRAPHS)} ", self.plain
        delete = f"DELETE {{ {wrap(self.pattern)} }} " if self.random.random() < 0.6 else ""
        insert = f"INSERT {{ {wrap(self.pattern)} }} " if not delete or self.random.random() < 0.6 else ""
        more = self.random.choice(
            ("", " FILTER(?x != :a)", " OPTIONAL { ?y :q ?z }" if wrap == self.plain else "")
        )
        return f"{with_}{delete}{insert}WHERE {{ {wrap(self.pattern)}{more} }}"

    def plain(self, triple) -> str:
        return " . ".join(triple() for _ in range(self.random.choice((1, 1, 2))))

    def quads(self, triple) -> str:
        text = self.plain(triple)
        return f"GRAPH {self.random.choice(GRAPHS)} {{ {text} }}" if self.named else text

    def data(self) -> str:
        return f"{self.random.choice(NODES[:3])} {self.random.choice(VERBS)} {self.random.choice(NODES)}"

    def pattern(self) -> str:
        one, two = (self.random.choice(("?x", "?y", "?z", *NODES[:3])) for _ in range(2))
        return f"{one} {self.random.choice(VERBS)} {two}"


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_generated_requests_leave_the_same_graphs(seed: int, named: bool) -> None:
    random = Random(seed)
    requests, store, kb = Requests(random, named), ox.Store(), tidalog.open()
    kb.load(
        f"{UNION} triple(?x, <http://e/r>, ?z) :- triple(?x, <http://e/p>, ?y), triple(?y, <http://e/q>, ?z)."
    )
    changed = 0
    for _ in range(25):
        text, before = requests.text(), theirs(store)
        store.update(text)
        delta = kb.sparql_update(text)
        assert ours(kb) == theirs(store), text
        changed += before != theirs(store)
        assert before == theirs(store) or delta
    assert changed >= 5
    fresh = tidalog.open()
    fresh.load(kb.program)
    for name in ("triple", "quad"):
        if name in kb.predicates:
            fresh.insert(name, kb.facts(name, explicit=True))
    assert set(kb.facts("triple").to_terms()) == set(fresh.facts("triple").to_terms())


def test_each_solution_makes_its_own_blank_nodes() -> None:
    kb = tidalog.open()
    kb.sparql_update(PROLOGUE + "INSERT DATA { :a :p :b . :a :p :c . _:n :q _:n }")
    delta = kb.sparql_update(PROLOGUE + "INSERT { ?y :made _:n . _:n :of ?x } WHERE { ?x :p ?y }")
    assert len(delta["triple"].inserted) == 4
    found = kb.sparql(PROLOGUE + "SELECT DISTINCT ?n { ?y :made ?n . ?n :of :a }")
    assert len(found) == 2


def test_a_request_that_fails_changes_nothing() -> None:
    kb = tidalog.open()
    kb.load(":- triple(?x, <http://e/bad>, ?y) .")
    kb.sparql_update(PROLOGUE + "INSERT DATA { :a :p :b }")
    before = ours(kb)
    with pytest.raises(tidalog.RunError):
        kb.sparql_update(
            PROLOGUE + "DELETE DATA { :a :p :b } ; INSERT { ?x :bad 1 } WHERE { VALUES ?x { :a } }"
        )
    assert ours(kb) == before


def test_a_stored_knowledge_base_has_it_after_a_restart(tmp_path) -> None:
    with tidalog.open(tmp_path / "kb") as kb:
        kb.load(UNION)
        kb.sparql_update(
            PROLOGUE + "INSERT DATA { :a :p :b } ; INSERT { GRAPH :g { ?y :p ?x } } WHERE { ?x :p ?y }"
        )
        expected = ours(kb)
    with tidalog.open(tmp_path / "kb") as kb:
        assert ours(kb) == expected and len(expected) == 2


def test_label_and_delta() -> None:
    kb = tidalog.open()
    delta = kb.sparql_update(PROLOGUE + "INSERT DATA { :a :p 1 }", label="first")
    assert delta.label == "first" and delta.updates == 1
    assert not kb.sparql_update("")
