"""`kb.sparql`: functions, order, sub-queries, what is kept, and results in every form."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyoxigraph as ox
import pytest

import tidalog
from generators.sparql_queries import PROLOGUE
from tidalog.model.terms import IRI, BlankNode, Integer, String

DATA = """@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a :p :b ; :name "Ada"@en ; :n 1 ; :d "2024-02-29T13:14:15.5+02:00"^^xsd:dateTime .
:b :p :c ; :name "Bob" ; :n 2 . :c :p :a ; :name "Cy"@de ; :n 2.5 ; :text "a b/c ä" ."""


@pytest.fixture
def kb() -> tidalog.KnowledgeBase:
    found = tidalog.open()
    found.load("@prefix : <http://e/> .")
    rows = [(t.subject, t.predicate, t.object) for t in ox.parse(DATA.encode(), ox.RdfFormat.TURTLE)]
    found.insert("triple", rows)
    return found


FUNCTIONS = [
    "STR(?x)",
    "STR(?v)",
    "LANG(?v)",
    'LANGMATCHES(LANG(?v), "en")',
    "DATATYPE(?v)",
    "BOUND(?v)",
    "BOUND(?none)",
    'IRI("http://x/y")',
    'URI("http://x/y")',
    "ABS(-2.5)",
    "CEIL(2.1)",
    "FLOOR(-2.1)",
    "ROUND(2.5)",
    'CONCAT("a", "b")',
    "STRLEN(STR(?v))",
    "UCASE(?v)",
    "LCASE(?v)",
    "ENCODE_FOR_URI(STR(?v))",
    'CONTAINS(STR(?v), "a")',
    'STRSTARTS(STR(?v), "A")',
    'STRENDS(STR(?v), "b")',
    'STRBEFORE(STR(?v), "d")',
    'STRAFTER(STR(?v), "d")',
    "YEAR(?v)",
    "MONTH(?v)",
    "DAY(?v)",
    "HOURS(?v)",
    "MINUTES(?v)",
    "SECONDS(?v)",
    "TIMEZONE(?v)",
    "TZ(?v)",
    "MD5(STR(?v))",
    "SHA1(STR(?v))",
    "SHA256(STR(?v))",
    "SHA384(STR(?v))",
    "SHA512(STR(?v))",
    "COALESCE(?none, 1/0, 7)",
    "IF(isIRI(?v), 1, 2)",
    'STRLANG("x", "en")',
    'STRDT("5", xsd:integer)',
    "sameTerm(?v, ?v)",
    "isIRI(?v)",
    "isURI(?v)",
    "isBLANK(?v)",
    "isLITERAL(?v)",
    "isNUMERIC(?v)",
    'REGEX(STR(?v), "^a", "i")',
    "SUBSTR(STR(?v), 2)",
    "SUBSTR(STR(?v), 1, 2)",
    'REPLACE(STR(?v), "[aeiou]", "<$0>")',
    "?v IN (1, 2)",
    "?v NOT IN (1, 2)",
    "xsd:string(?v)",
    'xsd:integer("12")',
    'xsd:decimal("1.5")',
    'xsd:boolean("true")',
    "!(?v)",
    "-?v",
    "?v * 2",
    "EXISTS { ?x :p :b }",
    "NOT EXISTS { ?x :p :b }",
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_as_in_pyoxigraph(kb: tidalog.KnowledgeBase, function: str) -> None:
    store = ox.Store()
    store.load(DATA.encode(), format=ox.RdfFormat.TURTLE)
    text = f"{PROLOGUE} SELECT ?x ?k ?v ({function} AS ?f) {{ ?x ?k ?v }}"
    ours, theirs = (_rows(one) for one in (json.loads(kb.sparql(text).to_text()), _json(store.query(text))))
    assert ours == theirs and len(ours)


def _json(found: object) -> object:
    assert isinstance(found, ox.QuerySolutions)
    return json.loads(found.serialize(format=ox.QueryResultsFormat.JSON))


def _rows(found: dict[str, dict[str, list[dict[str, dict[str, str]]]]]) -> Counter[str]:
    return Counter(
        json.dumps({name: sorted(cell.items()) for name, cell in row.items()}, sort_keys=True)
        for row in found["results"]["bindings"]
    )


def test_values_of_chance_are_new_for_each_solution(kb: tidalog.KnowledgeBase) -> None:
    text = """SELECT (RAND() AS ?r) (UUID() AS ?u) (STRUUID() AS ?s) (NOW() AS ?now) (BNODE() AS ?b)
        (BNODE("k") AS ?k) (BNODE("k") AS ?same) { ?x ?p ?y }"""
    rows = kb.sparql(text).to_terms()
    assert len(rows) == 11
    for column in (0, 1, 2, 4, 5):
        assert len({row[column] for row in rows}) == 11
    assert len({row[3] for row in rows}) == 1
    assert all(row[5] == row[6] != row[4] and isinstance(row[4], BlankNode) for row in rows)
    assert [row[:3] for row in rows] != [row[:3] for row in kb.sparql(text).to_terms()]


def test_rows_are_in_the_order_of_order_by(kb: tidalog.KnowledgeBase) -> None:
    query = "SELECT ?x ?n { ?x :p ?y OPTIONAL { ?x :n ?n FILTER(?n > 1) } } ORDER BY ?n DESC(?x)"
    assert kb.sparql(query).to_rows() == [
        ("<http://e/a>", None),
        ("<http://e/b>", 2),
        ("<http://e/c>", Decimal("2.5")),
    ]
    assert [str(row[0]) for row in kb.sparql(f"{query} OFFSET 1 LIMIT 1").to_rows()] == ["<http://e/b>"]
    mixed = kb.sparql(
        "SELECT DISTINCT ?v { { ?x ?k ?v } UNION { ?x :p ?v } UNION { BIND(1/0 AS ?v) } } ORDER BY ?v"
    )
    kinds = [0 if t is None else 1 if isinstance(t, IRI) else 2 for (t,) in mixed.to_terms()]
    assert kinds == sorted(kinds) and set(kinds) == {0, 1, 2}


def test_equal_solutions_are_counted_and_distinct_ones_are_not(kb: tidalog.KnowledgeBase) -> None:
    assert len(kb.sparql("SELECT ?k { ?x ?k ?v }")) == 11
    assert len(kb.sparql("SELECT DISTINCT ?k { ?x ?k ?v }")) == 5
    assert len(kb.sparql("SELECT REDUCED ?k { ?x ?k ?v }")) >= 5
    assert len(kb.sparql("SELECT * { VALUES ?x { 1 1 2 } }")) == 3


def test_a_limited_sub_query_is_cut_for_each_graph() -> None:
    kb = tidalog.open()
    rows = [(IRI(f"n{n}"), IRI("p"), Integer(n), IRI(f"g{n % 2}")) for n in range(8)]
    kb.insert("quad", rows)
    inner = "SELECT ?n { ?x <p> ?n } ORDER BY DESC(?n) LIMIT 2 OFFSET 1"
    text = f"SELECT ?g ?n {{ GRAPH ?g {{ {{ {inner} }} }} }} ORDER BY ?g ?n"
    assert kb.sparql(text).to_rows() == [("<g0>", 2), ("<g0>", 4), ("<g1>", 3), ("<g1>", 5)]


def test_a_path_from_a_constant_reads_what_it_reaches(kb: tidalog.KnowledgeBase) -> None:
    kb.insert("triple", [(IRI(f"x{n}"), IRI("http://e/p"), IRI(f"x{n + 1}")) for n in range(300)])
    assert len(kb.sparql("SELECT ?y { :a :p+ ?y }")) == 3
    assert kb.materialise().derivations == 0
    assert len(kb.sparql("SELECT ?y { <x0> :p* ?y }")) == 301
    assert kb.sparql("ASK { <x300> (^:p)+ <x1> }")
    assert not kb.sparql("ASK { <x1> (^:p)+ <x300> }")


def test_a_path_without_steps_leads_from_a_constant_to_itself(kb: tidalog.KnowledgeBase) -> None:
    """As SPARQL defines it; pyoxigraph looks for the constant in the graph."""
    assert kb.sparql("SELECT ?y { <nowhere> :p* ?y }").to_rows() == [("<nowhere>",)]
    assert len(kb.sparql("SELECT ?x { VALUES ?x { <nowhere> } ?x :p* ?y }")) == 0


def test_alternatives_are_counted_as_often_as_there_are_ways(kb: tidalog.KnowledgeBase) -> None:
    """As SPARQL and rdflib do; pyoxigraph has each pair once."""
    assert len(kb.sparql("SELECT ?y { :a (:p|:p) ?y }")) == 2
    assert len(kb.sparql("SELECT ?y { :a (:p|:p)? ?y }")) == 2


def test_results_in_every_format(kb: tidalog.KnowledgeBase, tmp_path: Path) -> None:
    query = 'SELECT ?x ?v { VALUES (?x ?v) { (:a "<\\"&\\t\\n,") (UNDEF 1) (:b "x"@en) (:c true) (:d 1.5) } }'
    found = kb.sparql(query)
    expected = list(ox.parse_query_results(found.to_text("json").encode(), ox.QueryResultsFormat.JSON))
    for name, format in (("xml", ox.QueryResultsFormat.XML), ("tsv", ox.QueryResultsFormat.TSV)):
        parsed = list(ox.parse_query_results(found.to_text(name).encode(), format))
        assert [list(row) for row in parsed] == [list(row) for row in expected], name
    assert len(expected) == 5
    lines = list(csv.reader(io.StringIO(found.to_text("csv"))))
    assert lines[:3] == [["x", "v"], ["http://e/a", '<"&\t\n,'], ["", "1"]]
    truth = kb.sparql("ASK { :a :p :b }")
    assert truth and truth == True and repr(truth) == "true"  # noqa: E712
    assert json.loads(truth.to_text("json"))["boolean"] is True
    assert ElementTree.fromstring(truth.to_text("xml"))[1].text == "true"
    for result, format in (
        (found, "ttl"),
        (truth, "csv"),
        (kb.sparql("CONSTRUCT WHERE { ?x :p ?y }"), "json"),
    ):
        with pytest.raises(tidalog.UsageError):
            result.to_text(format)


def test_triples_are_written_and_inserted(kb: tidalog.KnowledgeBase, tmp_path: Path) -> None:
    found = kb.sparql("CONSTRUCT { ?y :of ?x . ?x :made [ :n ?n ] } { ?x :p ?y ; :n ?n }")
    assert found.columns == ("subject", "predicate", "object") and len(found) == 9
    for format, name in (("nt", ox.RdfFormat.N_TRIPLES), ("ttl", ox.RdfFormat.TURTLE)):
        assert len(list(ox.parse(found.to_text(format).encode(), name))) == 9
    assert len(list(ox.parse(path=found.write(tmp_path / "out.ttl")))) == 9
    kb.insert("triple", found)
    assert kb.sparql("SELECT ?x { :b :of ?x }").to_rows() == [("<http://e/a>",)]
    assert kb.sparql("DESCRIBE ?m { :a :made ?m }").to_terms()[0][2] == Integer(1)


def test_as_a_table(kb: tidalog.KnowledgeBase) -> None:
    found = kb.sparql("SELECT ?x ?n { ?x :p ?y OPTIONAL { ?x :text ?n } } ORDER BY ?x")
    assert repr(found).split("\n")[0].split() == ["x", "n"] and ":a" in repr(found)
    assert found.to_arrow().column("n").to_pylist() == [None, None, "a b/c ä"]
    assert pa.table(found).num_rows == 3 and found[0] == ("<http://e/a>", None)
    assert found.to_terms()[2] == (IRI("http://e/c"), String("a b/c ä"))


def test_answers_follow_changes_of_facts_rules_and_functions(kb: tidalog.KnowledgeBase) -> None:
    query = "SELECT ?x { ?x :q :c }"
    assert len(kb.sparql(query)) == 0
    kb.load("@prefix : <http://e/> . triple(?x, :q, ?z) :- triple(?x, :p, ?y), triple(?y, :p, ?z) .")
    assert kb.sparql(query).to_rows() == [("<http://e/a>",)]
    kb.delete("triple", [(IRI("http://e/b"), IRI("http://e/p"), IRI("http://e/c"))])
    assert len(kb.sparql(query)) == 0
    kb.register("TWICE", lambda n: 2 * n)
    assert kb.sparql("SELECT (TWICE(3) AS ?n) {}").to_rows() == [(6,)]


def test_a_query_leaves_no_trace(kb: tidalog.KnowledgeBase) -> None:
    before = set(kb.facts("triple").to_terms()), set(kb.predicates), kb.stats().facts
    kb.sparql("SELECT * { ?x :p* ?y { SELECT ?z { ?z :n ?n } ORDER BY ?n LIMIT 1 } GRAPH ?g { } }")
    with pytest.raises(tidalog.ProgramError):
        kb.sparql("SELECT (NOSUCH(?x) AS ?y) { ?x :p ?z }")
    assert (set(kb.facts("triple").to_terms()), set(kb.predicates), kb.stats().facts) == before


def test_what_cannot_be_kept_up_to_date_is_refused_in_a_continuous_query(kb: tidalog.KnowledgeBase) -> None:
    for text in ("SELECT (NOW() AS ?n) {}", "SELECT * { { SELECT ?x { ?x :p ?y } LIMIT 1 } }"):
        with pytest.raises(tidalog.ProgramError) as caught:
            kb.register("q", text)
        assert caught.value.diagnostics[0].number == "T221"


def test_continuous_queries_follow_paths_graphs_and_texts(kb: tidalog.KnowledgeBase) -> None:
    far = kb.register("far", "SELECT ?y { :a :p+ ?y }", materialise=True)
    names = kb.register(
        "names", "SELECT (GROUP_CONCAT(?n; SEPARATOR='+') AS ?all) { ?x :n ?n }", materialise=True
    )
    graphs = kb.register("graphs", "SELECT ?x ?g { GRAPH ?g { ?x :p ?y } }", materialise=True)
    made = kb.register("made", "CONSTRUCT { ?x :made [ :n ?n ] } { ?x :n ?n }", materialise=True)
    assert len(far.result()) == 3 and names.result().to_rows() == [("1+2+2.5",)]
    assert len(made.result()) == 6
    with kb.update() as u:
        u.delete("triple", [(IRI("http://e/b"), IRI("http://e/p"), IRI("http://e/c"))])
        u.delete("triple", [(IRI("http://e/a"), IRI("http://e/n"), 1)])
        u.insert("quad", [(IRI("a"), IRI("http://e/p"), IRI("b"), IRI("g"))])
    assert far.result().to_rows() == [("<http://e/b>",)]
    assert names.result().to_rows() == [("2+2.5",)]
    assert graphs.result().to_rows() == [("<a>", "<g>")] and len(made.result()) == 4


def test_errors_name_their_place(kb: tidalog.KnowledgeBase) -> None:
    for text, number in (
        ("SELECT * { SERVICE <http://s/> { ?x ?p ?y } }", "T220"),
        ("INSERT DATA { :a :p :b }", "T222"),
        ("SELECT * FROM STREAM <s> [RANGE 1s] { ?x ?p ?y }", "T225"),
        ("REGISTER QUERY q AS SELECT * { ?x ?p ?y }", "T225"),
        ("CONSTRUCT { ?x :p/:q ?y } { ?x :p ?y }", "T009"),
    ):
        with pytest.raises(tidalog.ProgramError) as caught:
            kb.sparql(text)
        (found,) = caught.value.diagnostics
        assert found.number == number and found.span is not None, text
    for text, number in (("SELECT * {}", "T223"), ("LOAD <x>", "T223"), ("DELETE DATA { ?x :p :b }", "T224")):
        with pytest.raises(tidalog.ProgramError) as caught:
            kb.sparql_update(text)
        assert caught.value.diagnostics[0].number == number, text
