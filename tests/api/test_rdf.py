"""RDF through the Python interface: named graphs, prefixes of data, graphs of other libraries, exports."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib

import tidalog
from tidalog import IRI
from tidalog.model.errors import DataError

TRIG = """@prefix ex: <http://e/> .
ex:p a ex:Transitive .
ex:g { ex:a ex:p ex:b . }
ex:h { ex:b ex:p ex:c . ex:a ex:p ex:b . }
"""
RULE = "triple(?x, ?p, ?z) :- triple(?p, a, <http://e/Transitive>), triple(?x, ?p, ?y), triple(?y, ?p, ?z) ."
RULE = RULE.replace(" a,", " <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>,")


@pytest.fixture
def trig(tmp_path: Path) -> Path:
    path = tmp_path / "data.trig"
    path.write_text(TRIG)
    return path


def test_triples_are_the_union_of_all_graphs(trig: Path) -> None:
    kb = tidalog.open()
    kb.load(RULE)
    assert kb.read_rdf(trig) == 4
    assert (kb.count("quad"), kb.count("triple")) == (3, 4)
    assert "quads" in kb.rules


def test_a_triple_leaves_with_its_last_quad(trig: Path) -> None:
    kb = tidalog.open()
    kb.load(RULE)
    kb.read_rdf(trig)
    a, p, b = (IRI(f"http://e/{name}") for name in "apb")
    for graph, left in (("g", 4), ("h", 2)):
        kb.delete("quad", [(a, p, b, IRI(f"http://e/{graph}"))])
        assert kb.count("triple") == left


def test_the_first_quads_of_an_update_are_triples_too() -> None:
    kb = tidalog.open()
    kb.load("n(1).  m(?x) :- n(?x) .")
    kb.materialise()
    row = tuple(IRI(f"http://e/{name}") for name in "spog")
    with kb.update() as u:
        u.insert("quad", [row])
    assert kb.count("triple") == 1
    with kb.update() as u:
        u.delete("quad", [row])
        u.add_rule("m(?s) :- triple(?s, _, _)")
    assert (kb.count("triple"), kb.count("m")) == (0, 1)


def test_rules_that_derive_quads_derive_triples() -> None:
    kb = tidalog.open()
    kb.load("n(<http://e/s>) .")
    kb.rules.add("quad(?x, <http://e/p>, ?x, <http://e/g>) :- n(?x)")
    assert kb.count("triple") == 1


def test_data_without_graphs_has_no_rule_more(tmp_path: Path) -> None:
    path = tmp_path / "a.nq"
    path.write_text("<http://e/a> <http://e/p> <http://e/b> .\n")
    kb = tidalog.open()
    kb.read_rdf(path)
    assert not kb.rules and set(kb.predicates) == {"triple"}


def test_named_graphs_stay_quads_in_a_store(trig: Path, tmp_path: Path) -> None:
    with tidalog.open(tmp_path / "store") as kb:
        kb.load(RULE)
        kb.materialise()
        kb.read_rdf(trig)
        expected = sorted(kb.facts("triple"))
    with tidalog.open(tmp_path / "store") as kb:
        assert kb.program.prefixes["ex"] == "http://e/"
        assert sorted(kb.facts("triple")) == expected
        kb.snapshot()
    with tidalog.open(tmp_path / "store") as kb:
        assert kb.query("?x :- ex:p(ex:a, ?x)").to_rows() == [("<http://e/b>",), ("<http://e/c>",)]
        assert kb.delete("triple", trig) == 4
        assert kb.count("triple") == 0


def test_other_predicates_have_no_graphs(trig: Path) -> None:
    with pytest.raises(DataError) as raised:
        tidalog.open().insert("edge", trig)
    assert raised.value.diagnostics[0].number == "T043"


def test_the_prefixes_of_a_program_win(tmp_path: Path) -> None:
    for name, iri in (("a", "http://a/"), ("b", "http://b/")):
        (tmp_path / f"{name}.ttl").write_text(f"@prefix x: <{iri}> . @prefix {name}: <{iri}> . x:s x:p x:o .")
    kb = tidalog.open()
    kb.load("@prefix a: <http://mine/> .")
    kb.read_rdf([tmp_path / "a.ttl", tmp_path / "b.ttl"])
    assert dict(kb.program.prefixes) == {"a": "http://mine/", "b": "http://b/", "x": "http://a/"}
    kb.load("@prefix x: <http://mine/> .")
    assert kb.program.prefixes["x"] == "http://mine/"
    assert "x:" not in str(kb.facts("triple"))


def test_prefixes_that_no_program_can_declare_stay_unknown(tmp_path: Path) -> None:
    names = {"a-": "http://e/", "é": "http://f/", "": "http://g/", "r": "#"}
    text = "".join(f"@prefix {name}: <{iri}> . " for name, iri in names.items()) + "a-:a :b é:c ."
    (tmp_path / "a.ttl").write_text(text)
    with tidalog.open(tmp_path / "store") as kb:
        kb.read_rdf(tmp_path / "a.ttl")
    with tidalog.open(tmp_path / "store") as kb:
        assert dict(kb.program.prefixes) == {"é": "http://f/", "": "http://g/"}
        assert kb.query("?x :- :b(?x, é:c)").to_rows() == [("<http://e/a>",)]


def test_new_prefixes_derive_nothing_again(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("@prefix ex: <http://e/> . ex:a ex:p ex:b .")
    kb = tidalog.open()
    kb.load(
        "@declare q(x: any) .  triple(?y, ?p, ?x) :- triple(?x, ?p, ?y) .  q(?x) :- <http://e/p>(?x, _) ."
    )
    kb.insert("triple", [tuple(IRI(f"http://e/{n}") for n in "xpy")])
    run = kb.materialise()
    kb.read_rdf(tmp_path / "a.ttl")
    assert kb.materialise() is run
    assert kb.count("q") == 4


def graphs(path: Path) -> dict[str, object]:
    store = ox.Store()
    store.bulk_load(path=str(path), format=ox.RdfFormat.TRIG)
    dataset = rdflib.Dataset()
    dataset.parse(path)
    return {
        "store": store,
        "dataset": ox.Dataset(store),
        "parser": ox.parse(path=str(path), format=ox.RdfFormat.TRIG),
        "rdflib": dataset,
    }


@pytest.mark.parametrize("kind", ["store", "dataset", "parser", "rdflib"])
def test_graphs_of_other_libraries_are_data(kind: str, trig: Path) -> None:
    kb = tidalog.open()
    expected = tidalog.open()
    expected.read_rdf(trig)
    assert kb.insert("triple", graphs(trig)[kind]) == 4
    for name in ("triple", "quad"):
        assert sorted(kb.facts(name)) == sorted(expected.facts(name))
    assert kb.delete("triple", graphs(trig)[kind]) == 4


def test_a_graph_of_rdflib_brings_its_prefixes() -> None:
    graph = rdflib.Graph()
    graph.parse(data="@prefix ex: <http://e/> . ex:a ex:p 1, 'x'@en, [] .")
    kb = tidalog.open()
    assert kb.insert("triple", graph) == 3
    assert dict(kb.program.prefixes) == {"ex": "http://e/"}


def test_refused_files_leave_no_terms(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text("<http://e/a> <http://e/p> <http://e/b> .\noops\n")
    kb = tidalog.open()
    before = len(kb.dictionary)
    with pytest.raises(DataError):
        kb.read_rdf(tmp_path / "a.nt")
    assert len(kb.dictionary) == before


def test_what_is_not_rdf_is_counted(tmp_path: Path) -> None:
    kb = tidalog.open()
    kb.load("n(1).  triple(?o, <http://e/is>, ?s) :- triple(?s, <http://e/p>, ?o) .")
    kb.insert("triple", [(IRI("http://e/a"), IRI("http://e/p"), "x")])
    kb.write_rdf(tmp_path / "out.nt")
    (warning,) = kb.warnings
    assert warning.number == "W021"
    assert "1 fact of n" in str(warning) and "1 statement (the subject" in str(warning)
    assert (tmp_path / "out.nt").read_text() == '<http://e/a> <http://e/p> "x" .\n'


def test_graphs_that_a_format_does_not_have_are_reported(trig: Path, tmp_path: Path) -> None:
    kb = tidalog.open()
    kb.read_rdf(trig)
    kb.write_rdf(tmp_path / "out.ttl")
    assert [warning.number for warning in kb.warnings] == ["W022"]
    assert "@prefix ex: <http://e/> ." in (tmp_path / "out.ttl").read_text()


def test_files_in_an_update_are_one_change(trig: Path, tmp_path: Path) -> None:
    (tmp_path / "new.nt").write_text("<http://e/c> <http://e/p> <http://e/d> .\n")
    kb = tidalog.open()
    kb.read_rdf(trig)
    with kb.update() as u:
        u.delete("triple", trig)
        u.insert("triple", tmp_path / "new.nt")
    assert (u.delta["triple"].deleted_count, kb.count("triple"), kb.count("quad")) == (3, 1, 0)
