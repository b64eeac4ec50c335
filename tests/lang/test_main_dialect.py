"""What texts of the main dialect mean, form by form."""

from __future__ import annotations

import pytest

from tidalog.lang import parse, parse_fact, parse_file, parse_rule, parse_with_warnings
from tidalog.model.errors import ProgramError
from tidalog.model.program import (
    Aggregate,
    Atom,
    Call,
    Condition,
    Expression,
    Fact,
    Negation,
    Parameter,
    Rule,
    Variable,
)
from tidalog.model.terms import (
    IRI,
    RDF_TYPE,
    TRUE,
    XSD,
    BlankNode,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
)

X, Y, Z, N = (Variable(name) for name in "xyzn")


def atom(predicate: str, *arguments: Expression | Aggregate) -> Atom:
    return Atom(predicate, arguments)


def call(function: str, *arguments: Expression) -> Call:
    return Call(function, arguments)


def expression(text: str) -> Expression:
    (condition,) = parse_rule(f"p() :- ?r = {text}").body
    assert isinstance(condition, Condition)
    assert isinstance(condition.expression, Call)
    return condition.expression.arguments[1]


def body(text: str) -> tuple[Atom | Negation | Condition, ...]:
    return parse_rule(f"p() :- {text}").body


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("a", String("a")),
        ("node-a", String("node-a")),
        ("Été_2", String("Été_2")),
        ("<http://a.b/c?d=(1,2)#e>", IRI("http://a.b/c?d=(1,2)#e")),
        ("rdf:type", IRI(RDF_TYPE)),
        ("_:b1", BlankNode("b1")),
        ("5", Integer(5)),
        ("-5", Integer(-5)),
        ("- 5", Integer(-5)),
        ("0xff", Integer(255)),
        ("-0b11", Integer(-3)),
        ("2.5", Double(2.5)),
        ("1e3", Double(1000.0)),
        ("1.5e-3", Double(0.0015)),
        ("-2.5", Double(-2.5)),
        ("123456789012345678901234567890", Literal("123456789012345678901234567890", XSD + "integer")),
        ("-9223372036854775808", Integer(-(2**63))),
        ("true", TRUE),
        ("truelove", String("truelove")),
        ('"a.b, (c) % d"', String("a.b, (c) % d")),
        ('"a\\n\\t\\"\\\\\\u00e9\\U0001F600"', String('a\n\t"\\é😀')),
        ('""', String("")),
        ('"""one\n"two" three"""', String('one\n"two" three')),
        ('"text"@en-GB', LangString("text", "en-gb")),
        ('"5"^^xsd:int', Literal("5", XSD + "int")),
        ('"5"^^<http://www.w3.org/2001/XMLSchema#integer>', Integer(5)),
        ('"NaN"^^xsd:double', Double(float("nan"))),
    ],
)
def test_a_constant_means(text: str, term: Term) -> None:
    assert expression(text) == term
    assert parse(f"p({text}).").facts == (Fact("p", (term,)),)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("?x / ?y * ?z", "(?x / ?y) * ?z"),
        ("2 ** 3 ** 2", "2 ** (3 ** 2)"),
        ("-?x ** 2", "-(?x ** 2)"),
        ("2 ** -?x", "2 ** (-?x)"),
        ("?x * -?y", "?x * (-?y)"),
        ("?x-1", "?x - 1"),
        ("abs(?x)", "ABS(?x)"),
        ("StrLen(?x)", "STRLEN(?x)"),
        ("IF(?x < 3, 1, 2)", "IF((?x < 3), (1), (2))"),
        ('f"{?x} km"', 'CONCAT(STR(?x), " km")'),
        ('f"{{{?x + 1}}} \\n"', 'CONCAT("{", STR(?x + 1), "} \\n")'),
        ('f"plain"', '"plain"'),
        ("?x % 2", "?x % (2)"),
        ("?x %(?y + 1)", "?x % (?y + 1)"),
        ("?x % ?y * 2", "(?x % ?y) * 2"),
    ],
)
def test_expressions_are_read_alike(text: str, same: str) -> None:
    assert expression(text) == expression(same)


@pytest.mark.parametrize("body", ["p(?x), ?x % 2 IN (0, 1)", "p(?x), (1 = ?x % 2 ; ?x = 4)"])
def test_a_remainder_ends_before_in_and_alternatives(body: str) -> None:
    in_parentheses = body.replace("?x % 2", "(?x % 2)")
    assert parse(f"r(?x) :- {body} .") == parse(f"r(?x) :- {in_parentheses} .")


def test_operators_become_calls() -> None:
    assert expression("?x + 1") == call("+", X, Integer(1))
    assert expression("-?x") == call("neg", X)
    assert expression("-(5)") == call("neg", Integer(5))
    assert expression("?x % 2") == call("%", X, Integer(2))
    assert expression("$limit") == Parameter("limit")


def test_literals_of_a_body() -> None:
    assert body("q(?x, a)") == (atom("q", X, String("a")),)
    assert body("q, r()") == (atom("q"), atom("r"))
    assert body("~q(?x)") == (Negation(atom("q", X)),)
    assert body("?x >= 3") == (Condition(call(">=", X, Integer(3))),)
    assert body("?x<5,?y>3") == (
        Condition(call("<", X, Integer(5))),
        Condition(call(">", Y, Integer(3))),
    )
    assert body('contains(?x, "a")') == (Condition(call("CONTAINS", X, String("a"))),)
    assert body("~isIri(?x)") == (Condition(call("NOT", call("ISIRI", X))),)
    assert body('<contains>(?x, "a")') == (atom("contains", X, String("a")),)
    assert body("(check(?x))") == (Condition(call("check", X)),)
    assert body("(abs(?x))") == (Condition(call("ABS", X)),)
    assert body("q(?x + 1)") == (atom("q", call("+", X, Integer(1))),)


def test_triple_patterns_and_iri_predicates() -> None:
    program = parse(
        "@prefix ex: <http://example.org/> .\n"
        "?x a ex:C :- ?x ex:p ?y, ?x ?q 5, ex:D(?x), <http://other.org/r>(?x, ?y).\n"
        "ex:a ex:p -3 .\n"
        "ex:a a ex:C.\n"
        "_:b ex:p 'x'.\n".replace("'", '"')
    )
    ex = "http://example.org/"
    (rule,) = program.rules
    assert rule.heads == (atom("triple", X, IRI(RDF_TYPE), IRI(ex + "C")),)
    assert rule.body == (
        atom("triple", X, IRI(ex + "p"), Y),
        atom("triple", X, Variable("q"), Integer(5)),
        atom(ex + "D", X),
        atom("http://other.org/r", X, Y),
    )
    assert program.facts == (
        Fact("triple", (IRI(ex + "a"), IRI(ex + "p"), Integer(-3))),
        Fact("triple", (IRI(ex + "a"), IRI(RDF_TYPE), IRI(ex + "C"))),
        Fact("triple", (BlankNode("b"), IRI(ex + "p"), String("x"))),
    )


def test_rules_names_heads_and_constraints() -> None:
    program = parse(
        'r1: p(?x) :- q(?x).  #[name("second rule")] p(?x), s(?x, #count(?y)) :- e(?x, ?y).\n'
        "c1: :- p(?x), ~q(?x).  start(a) :- .  late($now).  n1: named(a)."
    )
    r1, second, constraint, start, late, named = program.rules
    assert r1.name == "r1"
    assert second.name == "second rule"
    assert second.heads == (atom("p", X), atom("s", X, Aggregate("count", (Y,))))
    assert constraint.is_constraint
    assert constraint.name == "c1"
    assert start == Rule((atom("start", String("a")),), ())
    assert late == Rule((atom("late", Parameter("now")),), ())
    assert named == Rule((atom("named", String("a")),), (), "n1")
    assert program.facts == ()


def test_several_atoms_without_a_body_are_several_facts() -> None:
    assert parse("p(a), q(b).").facts == (Fact("p", (String("a"),)), Fact("q", (String("b"),)))


def test_anonymous_variables_are_numbered_by_rule() -> None:
    first, second = parse("p(?x) :- q(_, ?x, _). p(?x) :- q(_, ?x, _).").rules
    assert first == second == Rule((atom("p", X),), (atom("q", Variable("_#1"), X, Variable("_#2")),))


def test_directives() -> None:
    program = parse(
        "@base <http://base.org/x/> . @prefix : <http://example.org/> .\n"
        '@import edge :- csv {resource="e.csv", format=(string, skip, int), header=true, limit = -3,} .\n'
        "@import :p :- turtle{resource = <data.ttl>} .\n"
        "@export path :- CSV{} . @output far, :near .\n"
        "@parameter $limit = 10 + 1 . @parameter $open .\n"
        "p(<rel>, :a)."
    )
    edge, p = program.imports
    assert edge.options == {
        "resource": "e.csv",
        "format": ("string", "skip", "int"),
        "header": True,
        "limit": -3,
    }
    assert p.predicate == "http://example.org/p"
    assert p.options == {"resource": "http://base.org/x/data.ttl"}
    assert program.exports[0].format == "csv"
    assert program.outputs == ("far", "http://example.org/near")
    assert program.parameters == {"limit": call("+", Integer(10), Integer(1)), "open": None}
    assert program.facts[0].arguments == (IRI("http://base.org/x/rel"), IRI("http://example.org/a"))
    assert (program.base, program.prefixes) == ("http://base.org/x/", {"": "http://example.org/"})


def test_comments_may_stand_anywhere() -> None:
    program = parse(
        "% first\n// second\n/* third. p(b). */ p(a). % fourth\n"
        "q(?x) :- % fifth, with 3 words\n p(?x), /* sixth */ ?x != b // seventh\n . /* eighth */"
    )
    assert program.facts == (Fact("p", (String("a"),)),)
    assert program.rules == (Rule((atom("q", X),), (atom("p", X), Condition(call("!=", X, String("b"))))),)


@pytest.mark.parametrize(
    "line", ["p(?x) :- q(?x) % 3 of them", "p(?x) :- q(?x) % (see below)", "p(?x) :- q(?x), ?x < 3 % or so"]
)
def test_a_percent_sign_before_words_is_a_comment(line: str) -> None:
    assert parse(f"{line}\n.").rules[0].body[0] == atom("q", X)


def test_no_statement_is_needed() -> None:
    assert parse("").rules == ()
    assert parse("  % only a comment").rules == ()


def test_places_are_those_of_the_text() -> None:
    text = "p(a). /* é */ r1: p(?x) :-\n  q(?x),\n  ~r(?x), ?x != b.\n"
    program = parse(text, "x.rls")
    (rule,) = program.rules

    def shown(node: object) -> str:
        span = node.span  # type: ignore[attr-defined]
        return text[span.start : span.end]

    assert shown(program.facts[0]) == "p(a)."
    assert shown(rule) == text[text.index("r1:") :].strip()
    assert [shown(part) for part in (*rule.heads, *rule.body)] == ["p(?x)", "q(?x)", "~r(?x)", "?x != b"]


def test_an_error_leaves_the_other_statements_to_be_looked_at() -> None:
    text = "p(a b). q(?x) :- p(?x). p(?y). r(12x). s(a:b)."
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert [d.number for d in caught.value.diagnostics] == ["T001", "T008", "T004", "T003"]


@pytest.mark.parametrize("opening", ["(", "f(", "-", "~", "p(a, ", "[", "{", "csv{", "?x ** ", "1 + (", '"'])
def test_ten_thousand_of_anything_give_an_error_and_no_crash(opening: str) -> None:
    with pytest.raises(ProgramError):
        parse("p(?x) :- " + opening * 10_000 + ".")


def test_nesting_within_the_limit_is_read() -> None:
    text = "(" * 190 + "?x" + ")" * 190
    assert expression(text) == X
    assert expression("-" * 100 + "?x" + " + 1" * 90) is not None


def test_a_text_without_end_costs_linear_time() -> None:
    with pytest.raises(ProgramError):
        parse("p(" + "a, " * 20_000)
    with pytest.raises(ProgramError):
        parse("a " * 20_000)


def test_files_are_read_by_their_ending(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("texts")
    (folder / "a.rls").write_text("\ufeffp(a). q(?x) :- p(?x).", encoding="utf-8")
    (folder / "b.rules").write_text("q(X) :- p(X).", encoding="utf-8")
    assert parse_file(folder / "a.rls").facts == (parse_fact("p(a)"),)
    (rule,) = parse_file(folder / "b.rules").rules
    assert rule.heads[0].arguments == (Variable("X"),)


def test_warnings_come_with_the_program() -> None:
    program, warnings = parse_with_warnings("p(X) :- q(X). r(?x) :- s(?x, ?y).")
    assert len(program.rules) == 2
    assert [warning.number for warning in warnings] == ["W001", "W002"]
    assert parse_with_warnings("p(?x) :- q(?x, _), s(?x, ?_unused). :- p(?x).")[1] == ()
