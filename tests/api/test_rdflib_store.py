"""A graph of rdflib over a knowledge base is a graph as any other, with what rules derive."""

from __future__ import annotations

from pathlib import Path
from random import Random

import rdflib
from rdflib import RDF, BNode, Literal, Namespace, URIRef
from rdflib.plugin import register
from rdflib.store import Store

import tidalog

E = Namespace("http://e/")
register("Tidalog", Store, "tidalog.rdflib_store", "TidalogStore")


def test_it_is_registered_by_name() -> None:
    text = (Path(tidalog.__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points."rdf.plugins.store"]\nTidalog = "tidalog.rdflib_store:TidalogStore"' in text
    graph = rdflib.Graph(store="Tidalog")
    assert len(graph) == 0 and list(graph) == []


def test_random_changes_and_patterns_as_in_rdflib_s_own_store() -> None:
    random = Random(1)
    nodes = [E.a, E.b, BNode("n"), URIRef("urn:x")]
    values = [*nodes, Literal(1), Literal("x"), Literal("x", lang="en"), Literal("2.50", datatype=E.t)]
    ours, theirs = rdflib.Graph(store="Tidalog"), rdflib.Graph()
    for _ in range(150):
        triple = random.choice(nodes), random.choice([E.p, RDF.type]), random.choice(values)
        if random.random() < 0.7:
            ours.add(triple)
            theirs.add(triple)
        else:
            pattern = tuple(node if random.random() < 0.6 else None for node in triple)
            ours.remove(pattern)
            theirs.remove(pattern)
        pattern = tuple(node if random.random() < 0.5 else None for node in triple)
        assert set(ours.triples(pattern)) == set(theirs.triples(pattern))
        assert len(ours) == len(theirs) and (triple in ours) == (triple in theirs)


def family() -> tidalog.KnowledgeBase:
    kb = tidalog.open()
    kb.load("""@prefix e: <http://e/> .
        triple(?x, e:anc, ?y) :- triple(?x, e:par, ?y) .
        triple(?x, e:anc, ?z) :- triple(?x, e:anc, ?y), triple(?y, e:par, ?z) .""")
    return kb


def test_what_rules_derive_is_there_until_they_derive_it_no_longer() -> None:
    kb = family()
    graph = kb.graph()
    graph.add((E.a, E.par, E.b))
    graph += [(E.b, E.par, E.c)]
    assert (E.a, E.anc, E.c) in graph and len(graph) == 5
    graph.remove((E.a, E.anc, E.c))
    assert (E.a, E.anc, E.c) in graph
    graph.remove((E.b, E.par, None))
    assert set(graph) == {(E.a, E.par, E.b), (E.a, E.anc, E.b)}


def test_sparql_goes_to_the_knowledge_base() -> None:
    graph = family().graph()
    graph.update("PREFIX e: <http://e/> INSERT DATA { e:a e:par e:b . e:b e:par e:c }")
    rows = graph.query("SELECT ?y ?z { e:a e:anc ?y OPTIONAL { ?y e:none ?z } } ORDER BY ?y")
    assert [tuple(row) for row in rows] == [(E.b, None), (E.c, None)]
    assert graph.query("ASK { e:a e:par+ e:c }").askAnswer is True
    built = graph.query("CONSTRUCT { ?y e:of ?x } { ?x e:par ?y }").graph
    assert set(built) == {(E.b, E.of, E.a), (E.c, E.of, E.b)}
    bound = graph.query("SELECT ?y { ?x e:par ?y }", initBindings={"x": E.a})
    assert [tuple(row) for row in bound] == [(E.b,)]


def test_namespaces() -> None:
    graph = family().graph()
    assert dict(graph.namespaces())["e"] == URIRef("http://e/")
    graph.bind("f", "http://f/")
    assert graph.qname("http://f/x") == "f:x" and graph.qname("http://e/x") == "e:x"


def test_a_store_in_a_folder(tmp_path: Path) -> None:
    folder = str(tmp_path / "kb")
    graph = rdflib.Graph(store="Tidalog")
    graph.open(folder, create=True)
    graph.add((E.a, E.p, Literal(1)))
    graph.close()
    again = rdflib.Graph(store="Tidalog")
    again.open(folder)
    assert set(again) == {(E.a, E.p, Literal(1))}
    again.close()
