"""Functions on text, kinds and times give what they say."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators import terms
from tidalog.builtins import BUILTINS, CannotCompute
from tidalog.model.terms import (
    FALSE,
    IRI,
    RDF,
    TRUE,
    XSD,
    BlankNode,
    Boolean,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
)

S = String
I = Integer
HALLO = LangString("hallo", "de")
MOMENT = Literal("2024-02-29T23:59:58.25+01:00", XSD + "dateTime")
DAY = Literal("2024-02-29", XSD + "date")


def call(name: str, *arguments: Term) -> Term:
    return BUILTINS[name].evaluate(arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("STR", (IRI("http://a"),), S("http://a")),
        ("STR", (I(-5),), S("-5")),
        ("STR", (Double(2.5),), S("2.5")),
        ("STR", (Double(3.0),), S("3.0")),
        ("STR", (Double(float("-inf")),), S("-INF")),
        ("STR", (Double(float("nan")),), S("NaN")),
        ("STR", (TRUE,), S("true")),
        ("STR", (HALLO,), S("hallo")),
        ("STR", (MOMENT,), S("2024-02-29T23:59:58.25+01:00")),
        ("STR", (BlankNode("b"),), S("_:b")),
        ("FULLSTR", (IRI("a"),), S("<a>")),
        ("FULLSTR", (S('say "hi"\n'),), S('"say \\"hi\\"\\n"')),
        ("FULLSTR", (HALLO,), S('"hallo"@de')),
        ("FULLSTR", (I(5),), S(f'"5"^^<{XSD}integer>')),
        ("FULLSTR", (DAY,), S(f'"2024-02-29"^^<{XSD}date>')),
        ("FULLSTR", (BlankNode("b"),), S("_:b")),
        ("CONCAT", (), S("")),
        ("CONCAT", (S("a"), I(1), IRI("b"), HALLO), S("a1bhallo")),
        ("STRLEN", (S("naïve𝄞"),), I(6)),
        ("STRREV", (S("abc"),), S("cba")),
        ("STRREV", (HALLO,), LangString("ollah", "de")),
        ("SUBSTR", (S("foobar"), I(4)), S("bar")),
        ("SUBSTR", (S("foobar"), I(4), I(2)), S("ba")),
        ("SUBSTR", (S("foobar"), I(0), I(2)), S("f")),
        ("SUBSTR", (S("foobar"), I(-3), I(2)), S("")),
        ("SUBSTR", (S("foobar"), I(2), I(-1)), S("")),
        ("SUBSTR", (S("foobar"), I(9)), S("")),
        ("SUBSTR", (S("foobar"), I(1), I(2**63 - 1)), S("foobar")),
        ("UCASE", (S("straße"),), S("STRASSE")),
        ("LCASE", (LangString("HALLO", "de"),), HALLO),
        ("TRIM", (S("  a b\t"),), S("a b")),
        ("CONTAINS", (S("foobar"), S("oba")), TRUE),
        ("CONTAINS", (S("foobar"), S("")), TRUE),
        ("STRSTARTS", (HALLO, S("ha")), TRUE),
        ("STRENDS", (S("foobar"), S("foo")), FALSE),
        ("STRBEFORE", (S("a-b-c"), S("-")), S("a")),
        ("STRAFTER", (S("a-b-c"), S("-")), S("b-c")),
        ("STRBEFORE", (S("abc"), S("x")), S("")),
        ("STRAFTER", (S("abc"), S("x")), S("")),
        ("STRAFTER", (HALLO, S("ha")), LangString("llo", "de")),
        ("COMPARE", (S("a"), S("b")), I(-1)),
        ("COMPARE", (S("b"), S("a")), I(1)),
        ("COMPARE", (S("a"), S("a")), I(0)),
        ("REGEX", (S("foobar"), S("^f.*r$")), TRUE),
        ("REGEX", (S("foobar"), S("FOO")), FALSE),
        ("REGEX", (S("foobar"), S("FOO"), S("i")), TRUE),
        ("REPLACE", (S("abracadabra"), S("a"), S("o")), S("obrocodobro")),
        ("REPLACE", (S("john smith"), S(r"(\w+) (\w+)"), S("$2, $1")), S("smith, john")),
        ("REPLACE", (S("5"), S("[0-9]"), S(r"\$$0")), S("$5")),
        ("REPLACE", (S("aAa"), S("a"), S("b"), S("i")), S("bbb")),
        ("LEVENSHTEIN", (S("kitten"), S("sitting")), I(3)),
        ("LEVENSHTEIN", (S(""), S("abc")), I(3)),
        ("URIENCODE", (S("a b/ü~"),), S("a%20b%2F%C3%BC~")),
        ("ENCODE_FOR_URI", (S("100%"),), S("100%25")),
        ("URIDECODE", (S("a%20b%C3%BC"),), S("a bü")),
        ("MD5", (S("abc"),), S("900150983cd24fb0d6963f7d28e17f72")),
        ("SHA1", (S("abc"),), S("a9993e364706816aba3e25717850c26c9cd0d89d")),
        ("SHA256", (S("ü"),), S(hashlib.sha256("ü".encode()).hexdigest())),
        ("IRI", (S("http://a/b"),), IRI("http://a/b")),
        ("IRI", (IRI("a"),), IRI("a")),
        ("LANG", (HALLO,), S("de")),
        ("LANG", (I(1),), S("")),
        ("LANGMATCHES", (S("de-AT"), S("de")), TRUE),
        ("LANGMATCHES", (S("den"), S("de")), FALSE),
        ("LANGMATCHES", (S("de"), S("*")), TRUE),
        ("LANGMATCHES", (S(""), S("*")), FALSE),
        ("DATATYPE", (I(1),), IRI(XSD + "integer")),
        ("DATATYPE", (HALLO,), IRI(RDF + "langString")),
        ("DATATYPE", (DAY,), IRI(XSD + "date")),
        ("STRDT", (S("5"), IRI(XSD + "integer")), I(5)),
        ("STRLANG", (S("hallo"), S("DE")), HALLO),
        ("YEAR", (MOMENT,), I(2024)),
        ("MONTH", (DAY,), I(2)),
        ("DAY", (MOMENT,), I(29)),
        ("HOURS", (MOMENT,), I(23)),
        ("MINUTES", (MOMENT,), I(59)),
        ("SECONDS", (MOMENT,), Literal("58.25", XSD + "decimal")),
        ("SECONDS", (Literal("2024-02-29T00:00:07", XSD + "dateTime"),), I(7)),
        ("TZ", (MOMENT,), S("+01:00")),
        ("TZ", (Literal("2024-02-29T00:00:07Z", XSD + "dateTime"),), S("Z")),
        ("TZ", (Literal("2024-02-29T00:00:07", XSD + "dateTime"),), S("")),
    ],
)
def test_values(name: str, arguments: tuple[Term, ...], expected: Term) -> None:
    assert call(name, *arguments) == expected


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("STRLEN", (I(5),)),
        ("STRLEN", (IRI("abc"),)),
        ("UCASE", (TRUE,)),
        ("SUBSTR", (S("abc"), Double(1.0))),
        ("REGEX", (S("abc"), S("("))),
        ("REGEX", (S("abc"), S("a"), S("g"))),
        ("REPLACE", (S("abc"), S("b"), S("$"))),
        ("URIDECODE", (S("%FF"),)),
        ("MD5", (S("\ud800"),)),
        ("IRI", (S("a b"),)),
        ("IRI", (S(""),)),
        ("LANG", (IRI("a"),)),
        ("DATATYPE", (BlankNode("b"),)),
        ("STRDT", (I(5), IRI(XSD + "integer"))),
        ("STRLANG", (S("a"), S(""))),
        ("YEAR", (S("2024-01-01"),)),
        ("HOURS", (DAY,)),
        ("MONTH", (Literal("2024-13-01", XSD + "date"),)),
    ],
)
def test_what_cannot_be_computed(name: str, arguments: tuple[Term, ...]) -> None:
    with pytest.raises(CannotCompute) as failure:
        call(name, *arguments)
    assert str(failure.value)


KINDS: dict[str, tuple[Term, ...]] = {
    "ISIRI": (IRI("a"),),
    "ISBLANK": (BlankNode("a"),),
    "ISNULL": (BlankNode("a"),),
    "ISLITERAL": (S("a"), HALLO, I(1), Double(1.0), TRUE, DAY, Literal("1", XSD + "int")),
    "ISNUMERIC": (I(1), Double(1.0), Literal("1", XSD + "int")),
    "ISINTEGER": (I(1), Literal("1", XSD + "int")),
    "ISDOUBLE": (Double(1.0),),
    "ISFLOAT": (Double(1.0),),
    "ISSTRING": (S("a"),),
    "ISLANGSTRING": (HALLO,),
    "ISBOOLEAN": (TRUE,),
}
ONE_OF_EACH = (
    IRI("a"),
    BlankNode("a"),
    S("a"),
    HALLO,
    I(1),
    Double(1.0),
    TRUE,
    DAY,
    Literal("1", XSD + "int"),
)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_each_kind_test_accepts_its_kinds_alone(name: str) -> None:
    assert {term for term in ONE_OF_EACH if call(name, term) == TRUE} == set(KINDS[name])


@given(st.sampled_from(sorted(BUILTINS)), st.lists(terms(), max_size=4))
def test_a_builtin_never_raises_anything_else(name: str, arguments: list[Term]) -> None:
    builtin = BUILTINS[name]
    if not builtin.accepts(len(arguments)):
        return
    try:
        result = builtin.evaluate(arguments)
    except CannotCompute as failure:
        assert str(failure)
    else:
        assert isinstance(result, Term)


@given(terms())
def test_a_string_is_its_own_text_and_full_text_tells_terms_apart(term: Term) -> None:
    text = call("STR", term)
    assert isinstance(text, String)
    assert call("STR", text) == text
    if isinstance(term, Boolean | Integer | Double):
        assert call("FULLSTR", term) != call("FULLSTR", text)
