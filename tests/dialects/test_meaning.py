"""What lowered rules mean, judged by the reference against the meaning said in plain Python."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalog.lang.dialects import DIALECTS
from tidalog.model.errors import Source
from tidalog.model.program import Program
from tidalog.model.terms import IRI, RDF_TYPE, Integer, String, Term
from tidalog.reference import evaluate

EX = "http://example.org/"
Row = tuple[Term, ...]
Pairs = frozenset[tuple[int, int]]

pairs = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=9)
LAW = settings(max_examples=40, deadline=None)


def read(dialect: str, text: str) -> Program:
    program, diagnostics = DIALECTS[dialect].parse_source(Source("text", text))
    assert not diagnostics, [d.render() for d in diagnostics]
    return program


def rows(facts: Pairs) -> set[Row]:
    return {(Integer(a), Integer(b)) for a, b in facts}


def triples(**properties: Pairs) -> dict[str, set[Row]]:
    return {
        "triple": {
            (Integer(a), IRI(EX + name), Integer(b)) for name, facts in properties.items() for a, b in facts
        }
    }


def members(program: Program, facts: dict[str, set[Row]], of: str) -> set[int]:
    """Who is of a class in the model."""
    model = evaluate(program, facts)
    return {
        s.value
        for s, p, o in model["triple"]
        if p == IRI(RDF_TYPE) and o == IRI(EX + of) and isinstance(s, Integer)
    }


def values(program: Program, facts: dict[str, set[Row]], of: str) -> set[tuple[int, int]]:
    """Subject and object of a property in the model."""
    model = evaluate(program, facts)
    return {
        (s.value, o.value)
        for s, p, o in model["triple"]
        if p == IRI(EX + of) and isinstance(s, Integer) and isinstance(o, Integer)
    }


# --- ZodiacEdge -------------------------------------------------------------------------------------


@LAW
@given(near=pairs, temp=pairs)
def test_a_zodiac_aggregate_counts_matches_of_its_body(near: Pairs, temp: Pairs) -> None:
    program = read("zodiac", "n(X, Z) :- aggregate(near(X, Y) and temp(Y, T)) on X with count(T) as Z .")
    model = evaluate(program, {"near": rows(near), "temp": rows(temp)})
    matches = [(x, y, t) for x, y in near for z, t in temp if y == z]
    groups = {x for x, _, _ in matches}
    expected = {(Integer(x), Integer(sum(m[0] == x for m in matches))) for x in groups}
    assert model["n"] == expected


@LAW
@given(near=pairs, temp=pairs)
def test_an_aggregate_means_the_same_in_the_head_and_in_a_body(near: Pairs, temp: Pairs) -> None:
    facts = {"near": rows(near), "temp": rows(temp), "any": {(Integer(0),)}}
    aggregate = "aggregate(near(X, Y) and temp(Y, T) and COMP(T, >, 0)) on X with sum(T) as Z"
    direct = evaluate(read("zodiac", f"n(X, Z) :- {aggregate} ."), facts)
    through = evaluate(read("zodiac", f"n(X, Z) :- any(_) and {aggregate} ."), facts)
    assert direct["n"] == through["n"]


def test_matches_that_differ_in_an_anonymous_place_are_different() -> None:
    program = read("zodiac", "v(X, N) :- aggregate(visit(X, _)) on X with count(X) as N .")
    model = evaluate(program, {"visit": rows(frozenset({(1, 1), (1, 2), (2, 1)}))})
    assert model["v"] == {(Integer(1), Integer(2)), (Integer(2), Integer(1))}


# --- RDFox ------------------------------------------------------------------------------------------

PREFIX = f"@prefix : <{EX}> . @prefix eg: <{EX}> .\n"


@LAW
@given(p=pairs, q=pairs)
def test_a_negated_conjunction_is_no_match_of_all_of_it(p: Pairs, q: Pairs) -> None:
    program = read("rdfox", PREFIX + ":C[?x] :- :p[?x, ?y], NOT (:p[?x, ?z], :q[?z, ?w]) .")
    expected = {x for x, _ in p if not any(a == x and z == b for a, z in p for b, _ in q)}
    assert members(program, triples(p=p, q=q), "C") == expected


@LAW
@given(p=pairs)
def test_a_negated_conjunction_may_compare_with_the_rest_of_the_rule(p: Pairs) -> None:
    program = read("rdfox", PREFIX + ":C[?x] :- :p[?x, ?n], NOT (:p[?y, ?m], FILTER(?m > ?n)) .")
    expected = {x for x, n in p if not any(m > n for _, m in p)}
    assert members(program, triples(p=p), "C") == expected


@LAW
@given(p=pairs, q=pairs)
def test_what_a_rule_says_reaches_into_negations_of_any_depth(p: Pairs, q: Pairs) -> None:
    inner = "NOT (:q[?z, ?w], FILTER(?w > ?n))"
    program = read("rdfox", f"{PREFIX}:C[?x] :- :p[?x, ?n], NOT (:p[?x, ?z], {inner}) .")
    expected = {x for x, n in p if not any(a == x and not any(b == z and w > n for b, w in q) for a, z in p)}
    assert members(program, triples(p=p, q=q), "C") == expected


@LAW
@given(p=pairs, q=pairs)
def test_an_existential_variable_deep_inside_is_its_own(p: Pairs, q: Pairs) -> None:
    inner = "NOT EXISTS ?y IN (:q[?z, ?y], FILTER(?y > ?n))"
    program = read("rdfox", f"{PREFIX}:C[?x] :- :p[?x, ?n], :q[?x, ?y], NOT (:p[?x, ?z], {inner}) .")
    left = {a for a, _ in q}
    expected = {
        x
        for x, n in p
        if x in left and not any(a == x and not any(b == z and w > n for b, w in q) for a, z in p)
    }
    assert members(program, triples(p=p, q=q), "C") == expected


@LAW
@given(p=pairs, q=pairs)
def test_an_existential_variable_is_not_the_one_outside(p: Pairs, q: Pairs) -> None:
    program = read("rdfox", PREFIX + ":C[?x] :- :p[?x, ?y], NOT EXISTS ?y IN :q[?x, ?y] .")
    assert members(program, triples(p=p, q=q), "C") == {x for x, _ in p} - {x for x, _ in q}


@LAW
@given(p=pairs, q=pairs)
def test_negation_inside_a_negation_is_for_all(p: Pairs, q: Pairs) -> None:
    program = read("rdfox", PREFIX + ":C[?x] :- :p[?x, ?y], NOT (:p[?x, ?z], NOT (:q[?z, ?u], :q[?u, ?z])) .")
    good = {z for z, u in q if (u, z) in q}
    expected = {x for x, _ in p if all(z in good for a, z in p if a == x)}
    assert members(program, triples(p=p, q=q), "C") == expected


@LAW
@given(p=pairs, q=pairs, distinct=st.booleans())
def test_count_is_over_matches_and_with_distinct_over_values(p: Pairs, q: Pairs, distinct: bool) -> None:
    word = "DISTINCT " if distinct else ""
    rule = f":n[?x, ?n] :- AGGREGATE(:p[?x, ?y], :q[?y, ?z] ON ?x BIND COUNT({word}?z) AS ?n) ."
    matches = {(x, y, z) for x, y in p for a, z in q if a == y}
    counted = {(x, z) if distinct else (x, y, z) for x, y, z in matches}
    expected = {(x, sum(c[0] == x for c in counted)) for x, _, _ in matches}
    assert values(read("rdfox", PREFIX + rule), triples(p=p, q=q), "n") == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("?n > 1 && ?n < 4", {2, 3}),
        ("?n < 1 || !(?n < 4)", {0, 4}),
        ("?n IN (1, 3)", {1, 3}),
        ("?n NOT IN (1, 3)", {0, 2, 4}),
        ("?n - 1 - 1 = 0", {2}),
        ("?n * 2 + 1 >= 7", {3, 4}),
        ("-?n = -3", {3}),
        ('CONCAT(STR(?n), "x") = "4x"', {4}),
        ('xsd:integer("2") = ?n', {2}),
    ],
)
def test_a_filter_keeps_what_it_says(condition: str, expected: set[int]) -> None:
    program = read("rdfox", f"{PREFIX}:C[?n] :- :p[?x, ?n], FILTER({condition}) .")
    facts = triples(p=frozenset((9, n) for n in range(5)))
    assert members(program, facts, "C") == expected


# --- Jena -------------------------------------------------------------------------------------------


@LAW
@given(p=pairs, q=pairs)
def test_no_value_is_negation(p: Pairs, q: Pairs) -> None:
    no_q = "[a: (?x eg:p ?y) noValue(?x eg:q) -> (?x rdf:type eg:C)]"
    not_this_q = "[b: (?x eg:p ?y) noValue(?x eg:q ?y) -> (?x eg:r ?y)]"
    program = read("jena", PREFIX + no_q + not_this_q)
    facts = triples(p=p, q=q)
    assert members(program, facts, "C") == {x for x, _ in p} - {x for x, _ in q}
    assert values(program, facts, "r") == p - q


@pytest.mark.parametrize(
    ("builtin", "expected"),
    [
        ("sum(?n, 2, ?m)", 6),
        ("difference(?n, 1, ?m)", 3),
        ("product(?n, ?n, ?m)", 16),
        ("quotient(?n, 2, ?m)", 2),
        ("min(?n, 7, ?m)", 4),
        ("max(?n, 7, ?m)", 7),
        ("addOne(?n, ?m)", 5),
        ("equal(?m, ?n)", 4),
    ],
)
def test_a_jena_computation_gives_its_last_argument(builtin: str, expected: int) -> None:
    program = read("jena", f"{PREFIX}[r: (?x eg:p ?n) {builtin} -> (?x eg:q ?m)]")
    assert values(program, triples(p=frozenset({(1, 4)})), "q") == {(1, expected)}


@pytest.mark.parametrize(
    ("pattern", "matches"), [("ab", False), ("ab.*", True), (".b", False), ("abc|x", True)]
)
def test_a_jena_pattern_matches_the_whole_text(pattern: str, matches: bool) -> None:
    program = read("jena", f"{PREFIX}[r: (?x eg:p ?t) regex(?t, '{pattern}') -> (?x rdf:type eg:C)]")
    facts = {"triple": {(Integer(1), IRI(EX + "p"), String("abc"))}}
    assert members(program, facts, "C") == ({1} if matches else set())
