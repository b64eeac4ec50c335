"""SPARQL and C-SPARQL texts become the algebra that they spell out; abbreviations make no difference."""

from __future__ import annotations

import pytest

from tidalog.lang.sparql import parse_registrations, parse_statement
from tidalog.lang.sparql.algebra import (
    BasicPattern,
    Function,
    Graph,
    Query,
    Registration,
    Union,
    Window,
)
from tidalog.model.errors import ProgramError
from tidalog.model.program import Variable
from tidalog.model.terms import IRI, XSD, Integer, LangString, Literal, String

SECOND = 10**9
PREFIXES = {"ex": "http://example.org/"}

FIGURE_2 = """
REGISTER QUERY TotalAmountPerBroker COMPUTE EVERY 1sec AS

PREFIX ex: <http://example/>

SELECT DISTINCT ?user ?type ?x

FROM <http://mobileservice.org/meansOfTransportation.rdf>

FROM STREAM <http://mobileservice.org/positions.trdf>

[RANGE 10sec STEP 1sec]

WHERE {

?user ex:isIn ?x .

?user a ex:Commuter .

?x a ?type .

?user ex:remainingTravelTime ?t .

FILTER (?t >= "PT30M"xsd:duration )

}
"""


def query(text: str) -> Query:
    found = parse_statement(text, PREFIXES)
    assert isinstance(found, Query)
    return found


def test_the_paper_s_figure_2_parses_as_printed() -> None:
    found = parse_statement(FIGURE_2)
    assert isinstance(found, Registration)
    assert (found.name, found.every, found.answers, found.stream) == (
        "TotalAmountPerBroker",
        SECOND,
        "RSTREAM",
        False,
    )
    assert found.query.distinct
    assert found.query.dataset == (
        Graph("http://mobileservice.org/meansOfTransportation.rdf"),
        Graph("http://mobileservice.org/positions.trdf", "stream", Window(10 * SECOND, SECOND)),
    )
    (pattern,) = found.query.where.elements
    assert isinstance(pattern, BasicPattern) and len(pattern.triples) == 4
    half_an_hour = Literal("PT30M", XSD + "duration")
    assert found.query.where.filters == (Function(">=", (Variable("t"), half_an_hour)),)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("[RANGE 10s STEP 1s]", Window(10 * SECOND, SECOND)),
        ("[range 10sec step 500ms]", Window(10 * SECOND, SECOND // 2)),
        ("[RANGE 1m]", Window(60 * SECOND)),
        ("[RANGE 10s TUMBLING]", Window(10 * SECOND, 10 * SECOND)),
        ("[RANGE 2 hours STEP 1.5 minutes]", Window(7200 * SECOND, 90 * SECOND)),
        ("[TRIPLES 1000]", Window(triples=1000)),
        ("[RANGE TRIPLES 5]", Window(triples=5)),
        ("", None),
    ],
)
def test_windows(window: str, expected: Window | None) -> None:
    found = query(f"SELECT * FROM STREAM <s> {window} WHERE {{ ?x ?p ?y }}")
    assert found.dataset == (Graph("s", "stream", expected),)


@pytest.mark.parametrize(
    ("head", "name", "every", "answers", "stream"),
    [
        ("REGISTER QUERY q AS", "q", None, "RSTREAM", False),
        ("REGISTER QUERY q COMPUTED EVERY 100ms AS", "q", SECOND // 10, "RSTREAM", False),
        ("register stream s computed every 1m as", "s", 60 * SECOND, "RSTREAM", True),
        ("REGISTER QUERY ex:q AS ISTREAM", "http://example.org/q", None, "ISTREAM", False),
        ("REGISTER DSTREAM <q> AS", "q", None, "DSTREAM", False),
    ],
)
def test_registrations(head: str, name: str, every: int | None, answers: str, stream: bool) -> None:
    found = parse_statement(f"{head} CONSTRUCT WHERE {{ ?x ?p ?y }}", PREFIXES)
    assert isinstance(found, Registration)
    assert (found.name, found.every, found.answers, found.stream) == (name, every, answers, stream)


def test_a_file_of_registrations() -> None:
    text = """PREFIX ex: <http://e/>  # known to both
        REGISTER QUERY one AS SELECT ?x { ?x a _:c } ;
        REGISTER QUERY two COMPUTED EVERY 1s AS ASK { ?x a _:c }"""
    assert [one.name for one in parse_registrations(text)] == ["one", "two"]
    assert parse_registrations("# nothing") == ()


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("?x a ex:C", "?x rdf:type ex:C ."),
        ("?x ex:p ?y, ?z ; ex:q 5 ;", "?x ex:p ?y . ?x ex:p ?z . ?x ex:q 5"),
        ("?x ex:p () .", "?x ex:p rdf:nil"),
        ("?x ex:p +5, -5.0, .5e1", "?x ex:p 5 . ?x ex:p -5.00 . ?x ex:p 5e0"),
        ("?x ex:p 'a', '''b''', \"\"\"c\"\"\"", '?x ex:p "a" . ?x ex:p "b" . ?x ex:p "c"'),
        ("$x ex:p ?y", "?x ex:p ?y"),
        ("?x ex:a\\,b ex: .", "?x <http://example.org/a,b> <http://example.org/> ."),
        ("?x ex:p ?y FILTER(?y > 3) ?y ex:p ?x", "?x ex:p ?y . ?y ex:p ?x . FILTER(?y > 3)"),
        ("FILTER(?x NOT IN (1, 2))", "FILTER(!(?x IN (1, 2)))"),
        ("FILTER NOT EXISTS { ?x a ex:C }", "FILTER(! EXISTS { ?x a ex:C })"),
        ("VALUES ?x { 1 UNDEF }", "VALUES (?x) { (1) (UNDEF) }"),
        ("FILTER(ABS(?x)-1*2 = (2)+1)", "FILTER(ABS(?x) + (-1 * 2) = 2 + 1)"),
        ("FILTER(1 + 2 * 3 - 4 = 5 && true || false)", "FILTER((((1 + (2 * 3)) - 4 = 5) && true) || false)"),
    ],
)
def test_abbreviations_make_no_difference(short: str, long: str) -> None:
    assert query(f"SELECT * {{ {short} }}") == query(f"SELECT * WHERE {{ {long} }}")


def test_property_lists_and_collections_become_triples() -> None:
    (pattern,) = query('SELECT * { ?x ex:p [ ex:q "a"@EN ], (1) }').where.elements
    assert isinstance(pattern, BasicPattern)
    objects = [triple.object for triple in pattern.triples]
    assert LangString("a", "en") in objects and Integer(1) in objects
    assert objects[-1] == IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#nil")
    blanks = {node for t in pattern.triples for node in (t.subject, t.object) if isinstance(node, Variable)}
    assert sum(blank.anonymous for blank in blanks) == 2


def test_a_base_resolves_relative_iris() -> None:
    found = query("BASE <http://e/> PREFIX p: <p#> SELECT * { <a> p:b <c> }")
    (pattern,) = found.where.elements
    assert isinstance(pattern, BasicPattern)
    (triple,) = pattern.triples
    assert (triple.subject, triple.predicate, triple.object) == tuple(
        IRI(f"http://e/{name}") for name in ("a", "p#b", "c")
    )


def test_words_are_keywords_in_any_case_and_prefixes_may_be_words() -> None:
    found = query("prefix filter: <http://f/> select ?union where { ?union filter:a 'x' . } limit 3 offset 1")
    assert (found.limit, found.offset) == (3, 1)
    assert found.projection is not None and found.projection[0].variable == Variable("union")


def test_unions_of_groups_keep_their_order() -> None:
    (union,) = query("SELECT * { { ?x a 1 } UNION { ?x a 2 } UNION { ?x a 3 } }").where.elements
    assert isinstance(union, Union) and len(union.branches) == 3


def test_all_errors_of_a_text_are_reported_together() -> None:
    with pytest.raises(ProgramError) as caught:
        parse_statement("SELECT * { ?x eg:p ?y SERVICE ex:s { ?x ex:q ?z } FILTER(BOUND(1)) }", PREFIXES)
    assert [error.number for error in caught.value.diagnostics] == ["T003", "T220", "T009"]


def test_a_string_in_a_filter_is_text() -> None:
    (condition,) = query("SELECT * { ?x ?p ?y FILTER(?y = 'it\\'s') }").where.filters
    assert condition == Function("=", (Variable("y"), String("it's")))
