"""Laws of every dialect over generated texts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalog.lang import parse, print_program
from tidalog.lang.dialects import DIALECTS
from tidalog.model.errors import Diagnostic, Source
from tidalog.model.program import Program

OTHERS = ("zodiac", "rdfox", "jena")
LAW = settings(max_examples=80, deadline=None)


def read(dialect: str, text: str) -> tuple[Program, list[Diagnostic]]:
    return DIALECTS[dialect].parse_source(Source("text", text))


# --- generated texts --------------------------------------------------------------------------------

variables = st.sampled_from(["?x", "?y", "?z", "?u"])
upper = st.sampled_from(["X", "Y", "?Z", "?u"])
numbers = st.integers(-9, 99).map(str)


def joined(parts: st.SearchStrategy[str], separators: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(separators, parts), min_size=1, max_size=3)
    return pairs.map(lambda items: "".join(s + p for s, p in items)[len(items[0][0]) :])


def expressions(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from([" + ", " - ", " * ", " / "])
    return st.recursive(
        values,
        lambda inner: (
            st.tuples(inner, operators, inner).map("".join)
            | inner.map(lambda e: f"({e})")
            | inner.map(lambda e: f"ABS({e})")
            | inner.map(lambda e: f"-({e})")
        ),
        max_leaves=4,
    )


def rdfox_bodies() -> st.SearchStrategy[str]:
    terms = variables | st.just(":c") | numbers
    triples = st.builds("[{}, {}, {}]".format, terms, st.sampled_from([":p", ":q", "?v", "a"]), terms)
    atoms = (
        triples | st.builds(":p[{}, {}]".format, terms, terms) | st.builds("t({}, {})".format, terms, terms)
    )
    values = expressions(variables | numbers)
    filters = st.builds("FILTER({} {} {})".format, values, st.sampled_from(["<", "=", "!="]), values)
    binds = st.builds("BIND({} AS {})".format, values, variables)
    flat = atoms | atoms | filters | binds | atoms.map("NOT {}".format)
    commas = st.just(", ")
    return st.recursive(
        joined(flat, commas),
        lambda body: joined(
            flat
            | st.builds("NOT ({})".format, body)
            | st.builds("NOT EXISTS {} IN ({})".format, variables, body)
            | st.builds("AGGREGATE({} ON {} BIND COUNT({}) AS {})".format, body, variables, values, variables)
            | st.builds("AGGREGATE({} BIND COUNT(*) AS {})".format, body, variables),
            commas,
        ),
        max_leaves=6,
    )


def zodiac_bodies() -> st.SearchStrategy[str]:
    terms = upper | st.sampled_from(["a", "_", '"a.b"']) | numbers
    atoms = st.builds("{}({}, {})".format, st.sampled_from(["p", "Q", "not_p"]), terms, terms)
    values = expressions(upper | numbers)
    tests = st.builds("COMP({}, {}, {})".format, values, st.sampled_from([">=", "!=", "="]), values)
    binds = st.builds("bind({} as {})".format, values, upper)
    flat = atoms | atoms | tests | binds | atoms.map("not {}".format)
    ands = st.sampled_from([", ", " and ", " ∧ ", " AND "])
    return st.recursive(
        joined(flat, ands),
        lambda body: joined(
            flat
            | st.builds(
                "aggregate({}) on {} with {}({}) as {}".format,
                body,
                upper,
                st.sampled_from(["count", "Sum", "MIN", "Med"]),
                upper,
                upper,
            ),
            ands,
        ),
        max_leaves=5,
    )


def jena_rules() -> st.SearchStrategy[str]:
    nodes = variables | numbers | st.sampled_from(["eg:a", "'b c.'", "_", "<http://example.org/i>"])
    triples = st.builds("({} {} {})".format, nodes, st.sampled_from(["eg:p", "?v", "rdf:type"]), nodes)
    builtins = st.builds(
        "{}({}, {})".format, st.sampled_from(["le", "equal", "noValue", "isDType"]), nodes, nodes
    )
    spaces = st.sampled_from([", ", " ", "\n  "])
    body, heads = joined(triples | builtins, spaces), joined(triples, spaces)
    return st.builds("[r: {} -> {}]".format, body, heads)


rdfox_texts = rdfox_bodies().map(
    lambda body: f"@prefix : <http://example.org/> . [?x, :h, ?y], g(?x) :- {body} ."
)
zodiac_texts = zodiac_bodies().map("h(X, Y) :- {} .".format)
jena_texts = jena_rules().map("@prefix eg: <http://example.org/> .\n{}".format)


@LAW
@given(
    st.tuples(st.just("rdfox"), rdfox_texts)
    | st.tuples(st.just("zodiac"), zodiac_texts)
    | st.tuples(st.just("jena"), jena_texts)
)
def test_what_a_dialect_reads_the_main_dialect_can_say(case: tuple[str, str]) -> None:
    dialect, text = case
    program, diagnostics = read(dialect, text)
    assert not diagnostics, [d.render() for d in diagnostics]
    assert parse(print_program(program)) == program


@LAW
@given(rdfox_bodies())
def test_every_auxiliary_predicate_is_used_and_defined_by_one_rule(body: str) -> None:
    program, _ = read("rdfox", f"@prefix : <http://example.org/> . g(?x) :- {body} .")
    _, *auxiliary = program.rules
    defined = [rule.heads[0].predicate for rule in auxiliary]
    assert len(set(defined)) == len(defined)
    text = print_program(program)
    for name in defined:
        assert text.count(f"{name}: {name}") == 1
        assert text.count(name) >= 3  # its rule's name, its head, its use


FRAGMENTS = [
    *(
        "p",
        "q",
        "X",
        "?x",
        "_",
        "a",
        ":",
        ":-",
        "->",
        "<-",
        ".",
        ",",
        "(",
        ")",
        "[",
        "]",
        "{",
        "\n",
        "é",
        "\\",
    ),
    *(
        "<http://e/>",
        "ex:",
        "ex:a",
        "'a'",
        '"',
        "'",
        '"s"',
        "1",
        "2.5",
        "-3",
        "@prefix",
        "@x",
        "#",
        "%",
        "//",
    ),
    *(
        "NOT",
        "not",
        "and",
        "∧",
        "on",
        "ON",
        "AS",
        "with",
        "EXISTS",
        "IN",
        "*",
        "+",
        "/",
        "&&",
        "||",
        "!",
        "=",
    ),
    *("AGGREGATE(", "aggregate(", "COMP(", "FILTER(", "BIND(", "COUNT(", "!=", "<", "/*", "*/"),
]


@LAW
@given(st.sampled_from(OTHERS), st.lists(st.sampled_from(FRAGMENTS), max_size=25), st.sampled_from(["", " "]))
def test_no_text_makes_a_reader_fail(dialect: str, fragments: list[str], between: str) -> None:
    _, diagnostics = read(dialect, between.join(fragments))
    for diagnostic in diagnostics:
        assert diagnostic.render().startswith(("error[T00", "warning[W"))
        assert diagnostic.span is not None


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("zodiac", "p(X) :- q(X), BIND({} as Y) ."),
        ("rdfox", "p(?x) :- q(?x), BIND({} AS ?y) ."),
        ("rdfox", "p(?x) :- q(?x), FILTER({} > 1) ."),
    ],
)
@pytest.mark.parametrize(
    "expression", ["(" * 10_000 + "1" + ")" * 10_000, "1" + " + 1" * 10_000, "-" * 10_000 + "1"]
)
def test_deep_expressions_are_refused(dialect: str, text: str, expression: str) -> None:
    _, diagnostics = read(dialect, text.format(expression) + "\nq(1) .")
    assert [d.number for d in diagnostics] == ["T005"]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("zodiac", "p(X) :- " + "aggregate(" * 10_000 + "q(X)" + ") on X with count(X) as Y" * 10_000 + " ."),
        ("rdfox", "p(?x) :- " + "NOT (" * 10_000 + "q(?x)" + ")" * 10_000 + " ."),
        ("jena", "[" * 10_000 + "(?x eg:p ?y) -> (?y eg:p ?x)" + "]" * 10_000),
    ],
)
def test_deep_bodies_are_refused(dialect: str, text: str) -> None:
    _, diagnostics = read(dialect, text)
    assert "T005" in {d.number for d in diagnostics}


def test_bodies_as_deep_as_may_be_are_read() -> None:
    text = "p(?x) :- " + "NOT (r(?x), " * 150 + "q(?x)" + ")" * 150 + " ."
    program, diagnostics = read("rdfox", text)
    assert not diagnostics
    assert len(program.rules) == 151
