"""What is written as RDF is read as the same statements, in every format, graphs included."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidalog
from tidalog import IRI, BlankNode, Literal
from tidalog.model.errors import DataError
from tidalog.model.terms import XSD, Boolean, Double, LangString, String, Term, integer
from tidalog.rdf.ntriples import ntriples_text

WITH_GRAPHS = ("nq", "trig", "jsonld", "nq.gz", "trig.zst")
WITHOUT = ("nt", "ttl", "rdf", "nt.zst", "ttl.gz", "rdf.bz2")

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6)
odd = st.sampled_from(
    ["", " ", "\n", "\t", '"', "\\", "\\u0041", "a\\", "\r\n", "\x00", "\x7f", "\ufffe", "é", "𝄞"]
)
resources = st.sampled_from(
    ["http://e/a", "http://e/é", "http://e/a#1", "urn:x:y", "http://e/?q=1&r=%20", "mailto:a@b", "http://e/𝄞"]
).map(IRI)
nodes = st.sampled_from(["b", "b1", "x.y", "0", "_z"]).map(BlankNode)
properties = st.sampled_from(
    ["http://e/p", "http://e/q#r", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://e/é", "urn:p:q"]
).map(IRI)
literals = (
    (words | odd).map(String)
    | st.builds(LangString, words | odd, st.sampled_from(["en", "fr-ca", "de-x-a1"]))
    | st.integers(-(10**30), 10**30).map(integer)
    | st.floats().map(Double)
    | st.booleans().map(Boolean)
    | st.sampled_from(
        [
            Literal("05", XSD + "integer"),
            Literal("x", XSD + "integer"),
            Literal("2.50", XSD + "decimal"),
            Literal("2024-05-01", XSD + "date"),
            Literal("<b>", "http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral"),
            Literal(" a ", "http://e/type"),
        ]
    )
)
statements = st.tuples(resources | nodes, properties, resources | nodes | literals)
Statement = tuple[Term, ...]


def as_graph(rows: list[Statement]) -> ox.Dataset:
    """Statements up to the names of blank nodes."""
    graph = ox.Dataset()
    for row in rows:
        text = " ".join(ntriples_text(term) for term in row) + " ."
        for quad in ox.parse(text.encode("utf-8", "surrogatepass"), ox.RdfFormat.N_QUADS):
            graph.add(quad)
    graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return graph


def facts_of(kb: tidalog.KnowledgeBase, explicit: bool | None = True) -> tuple[ox.Dataset, ox.Dataset]:
    found = [kb.facts(n, explicit).to_terms() if n in kb.predicates else [] for n in ("triple", "quad")]
    return as_graph(found[0]), as_graph(found[1])


def filled(triples: list[Statement], quads: list[Statement] = []) -> tidalog.KnowledgeBase:  # noqa: B006
    kb = tidalog.open()
    kb.load("@prefix ex: <http://e/> .")
    kb.insert("triple", triples)
    if quads:
        kb.insert("quad", quads)
    return kb


@pytest.mark.parametrize("ending", WITHOUT)
def test_triples_read_back(ending: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("rdf") / f"facts.{ending}"

    @given(st.lists(statements, min_size=1, max_size=6))
    @settings(max_examples=25, deadline=None)
    def law(triples: list[Statement]) -> None:
        kb = filled(triples)
        try:
            kb.write_rdf(path)
        except DataError as error:
            assert {one.number for one in error.diagnostics} == {"T190"} and ending.startswith("rdf")
            return
        again = tidalog.open()
        again.read_rdf(path)
        assert facts_of(again) == facts_of(kb)

    law()


@pytest.mark.parametrize("ending", WITH_GRAPHS)
def test_quads_read_back(ending: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("rdf") / f"facts.{ending}"
    quads = st.tuples(resources | nodes, properties, resources | nodes | literals, resources)

    @given(st.lists(statements, min_size=1, max_size=4), st.lists(quads, max_size=4))
    @settings(max_examples=25, deadline=None)
    def law(triples: list[Statement], quads: list[Statement]) -> None:
        kb = filled(triples, quads)
        kb.write_rdf(path)
        again = tidalog.open()
        again.read_rdf(path)
        assert facts_of(again) == facts_of(kb)
        assert again.count("triple") == kb.count("triple")

    law()


@given(st.lists(statements, min_size=1, max_size=4), st.lists(statements, max_size=3))
@settings(max_examples=15, deadline=None)
def test_explicit_and_inferred_make_all(
    tmp_path_factory: pytest.TempPathFactory, triples: list[Statement], others: list[Statement]
) -> None:
    folder = tmp_path_factory.mktemp("rdf")
    graph = IRI("http://e/g")
    kb = filled(triples, [(*row, graph) for row in others])
    kb.rules.add("triple(?x, <http://e/inferred>, ?y) :- triple(?x, ?p, ?y)")
    for ending in ("nt", "nq"):
        sizes = []
        for name, explicit in (("all", None), ("explicit", True), ("inferred", False)):
            again = tidalog.open()
            again.load("n(1).")
            again.read_rdf(kb.write_rdf(folder / f"{name}.{ending}", explicit=explicit))
            sizes.append(sum(again.count(name) for name in ("triple", "quad") if name in again.predicates))
            if ending == "nt" and explicit is not None:
                of_graphs = kb.facts("quad").to_terms() if others else []
                kept = {*kb.facts("triple", True).to_terms(), *(row[:3] for row in of_graphs)}
                every = set(kb.facts("triple").to_terms())
                assert again.count("triple") == len(kept if explicit else every - kept)
        if ending == "nt":
            assert sizes[0] == sizes[1] + sizes[2] == kb.count("triple")
