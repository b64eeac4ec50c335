"""Generated syntax trees: every kind of node, with names and texts that invite trouble.

`programs()` gives programs in the form that parsing gives them: anonymous variables numbered in order of
occurrence, function names in upper case, minus signs of numbers inside the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from types import MappingProxyType

from hypothesis import strategies as st

from tidalog.model.column_types import TYPES
from tidalog.model.program import (
    AGGREGATES,
    COMPARISONS,
    Aggregate,
    Atom,
    Call,
    Column,
    Condition,
    DataBinding,
    Declaration,
    Expression,
    Fact,
    Negation,
    OptionValue,
    Parameter,
    Program,
    Rule,
    Variable,
    variables,
)
from tidalog.model.terms import (
    FALSE,
    IRI,
    OWL,
    RDF_TYPE,
    TRUE,
    XSD,
    BlankNode,
    Double,
    Integer,
    LangString,
    String,
    Term,
    integer,
    literal,
)

texts = st.one_of(
    st.sampled_from(
        [
            "",
            "a",
            "42",
            "-7",
            "2.5",
            "0x1F",
            "007",
            "1e3",
            "1e+16",
            "-0",
            "node-a",
            "Ada",
            "true",
            "_",
            "_:b",
            "<a>",
            '"a"',
            '"a"@en',
            "a.b",
            "?x",
            "% no comment",
            "/* no comment */",
            "\\",
            '"""',
            "\n\t\r",
            "{?x}",
            "ex:a",
            "p(a).",
            "é ∧ 東京",
            "\x00\x1f\x7f\u2028",
            "NaN",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
"""Texts of any kind; lone surrogates are no Unicode text."""

names = st.one_of(
    st.sampled_from(
        [
            "p",
            "q",
            "edge",
            "a",
            "f",
            "e1",
            "true",
            "false",
            "not",
            "contains",
            "X",
            "node-a",
            "été",
            "_x",
            "triple",
        ]
    ),
    st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{0,6}", fullmatch=True),
)
iris = st.one_of(
    names,
    st.sampled_from(
        [
            RDF_TYPE,
            OWL + "sameAs",
            "http://example.org/a",
            "http://example.org/a.b",
            "http://example.org/",
            "http://example.org/a(b),?c=1",
            "http://other.org/x#y-1",
            "urn:x:y",
            "",
            "a/b",
            "?x",
            "<>",
            "a b",
            "3",
        ]
    ),
    texts,
)
languages = st.sampled_from(["en", "de", "en-gb", "zh-hant-tw"])
datatypes = st.one_of(
    st.sampled_from([XSD + n for n in ("int", "integer", "double", "boolean", "string", "date", "decimal")]),
    iris.filter(bool),
)
terms: st.SearchStrategy[Term] = st.one_of(
    iris.map(IRI),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).map(BlankNode),
    texts.map(String),
    st.builds(LangString, texts, languages),
    st.integers(-(2**70), 2**70).map(integer),
    st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63), 2**63]).map(integer),
    st.just(literal("1" + "0" * 5000, XSD + "integer")),
    st.floats().map(Double),
    st.sampled_from([TRUE, FALSE]),
    st.builds(literal, texts, datatypes),
)

variable_names = st.sampled_from(["x", "y", "z", "X", "1", "été", "_under"])
ANONYMOUS = Variable("_#")
"""Numbered when the rule is complete."""

named: st.SearchStrategy[Variable | Parameter] = st.one_of(
    variable_names.map(Variable), st.sampled_from(["limit", "p1"]).map(Parameter)
)
leaves: st.SearchStrategy[Expression] = st.one_of(named, st.just(ANONYMOUS), terms)
functions = st.sampled_from(
    ["ABS", "CONCAT", "STR", "IF", "NOT", "CONTAINS", "MY_FUNCTION", "F", "http://ex.org/f"]
)


def format_strings(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Call]:
    """Texts that are not empty, with a value between any two."""

    def joined(first: str, rest: list[tuple[Expression, str]]) -> Call:
        parts: list[Expression] = [String(first)]
        for value, text in rest:
            parts += [Call("STR", (value,)), String(text)]
        return Call("CONCAT", tuple(p for p in parts if p != String("")), is_format_string=True)

    return st.builds(joined, texts, st.lists(st.tuples(inner, texts), min_size=1, max_size=2))


def _calls(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(
            lambda operator, left, right: Call(operator, (left, right)),
            st.sampled_from(["+", "-", "*", "/", "%", "**", *COMPARISONS]),
            inner,
            inner,
        ),
        inner.map(lambda operand: Call("neg", (operand,))),
        st.builds(lambda f, a: Call(f, tuple(a)), functions, st.lists(inner, max_size=3)),
        st.lists(inner, min_size=1, max_size=3).map(lambda a: Call("IN", tuple(a))),
        format_strings(inner),
    )


expressions: st.SearchStrategy[Expression] = st.recursive(leaves, _calls, max_leaves=8)
aggregates = st.builds(
    lambda operator, arguments: Aggregate(operator, tuple(arguments)),
    st.sampled_from(AGGREGATES),
    st.lists(expressions, min_size=1, max_size=2),
)
predicates = st.one_of(names, st.sampled_from(["http://example.org/p", "a b", "triple"]))


def _atoms(arguments: st.SearchStrategy[Expression | Aggregate]) -> st.SearchStrategy[Atom]:
    triples = st.tuples(arguments, st.one_of(iris.map(IRI), arguments), arguments)
    return st.one_of(
        st.builds(lambda p, a: Atom(p, tuple(a)), predicates, st.lists(arguments, max_size=4)),
        triples.map(lambda parts: Atom("triple", parts)),
    )


body_literals = st.one_of(_atoms(expressions), _atoms(expressions).map(Negation), expressions.map(Condition))
rule_names = st.one_of(st.none(), names, texts.filter(bool))


def _numbered(rule: Rule) -> Rule:
    """Anonymous variables by order of occurrence."""
    numbers = count(1)

    def again(node: Expression | Aggregate) -> Expression | Aggregate:
        if node == ANONYMOUS:
            return Variable(f"_#{next(numbers)}")
        if isinstance(node, Call):
            arguments = tuple(again(a) for a in node.arguments)
            return replace(node, arguments=arguments)  # type: ignore[arg-type]
        if isinstance(node, Aggregate):
            return Aggregate(node.operator, tuple(again(a) for a in node.arguments))  # type: ignore[arg-type]
        return node

    def atom(node: Atom) -> Atom:
        return Atom(node.predicate, tuple(again(a) for a in node.arguments))

    def literal_again(node: Atom | Negation | Condition) -> Atom | Negation | Condition:
        if isinstance(node, Negation):
            return Negation(atom(node.atom))
        if isinstance(node, Condition):
            return Condition(again(node.expression))  # type: ignore[arg-type]
        return atom(node)

    heads = tuple(atom(head) for head in rule.heads)
    return Rule(heads, tuple(literal_again(part) for part in rule.body), rule.name)


rules = st.one_of(
    st.builds(
        lambda heads, body, name: Rule(tuple(heads), tuple(body), name),
        st.lists(_atoms(st.one_of(expressions, aggregates)), min_size=1, max_size=2),
        st.lists(body_literals, max_size=3),
        rule_names,
    ),
    st.builds(
        lambda body, name: Rule((), tuple(body), name),
        st.lists(body_literals, min_size=1, max_size=3),
        rule_names,
    ),
).map(_numbered)

facts = st.one_of(
    st.builds(lambda p, a: Fact(p, tuple(a)), predicates, st.lists(terms, max_size=4)),
    st.tuples(terms, st.one_of(iris.map(IRI), terms), terms).map(lambda parts: Fact("triple", parts)),
)

option_values: st.SearchStrategy[OptionValue] = st.recursive(
    st.one_of(
        texts,
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        named,
        format_strings(st.one_of(named, named.map(lambda leaf: Call("+", (leaf, Integer(1)))))),
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)
plain_names = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
bindings = st.builds(
    lambda predicate, kind, options, computed: DataBinding(
        predicate, kind, MappingProxyType(options), computed=MappingProxyType(computed)
    ),
    predicates,
    st.sampled_from(["csv", "parquet", "rdf"]),
    st.dictionaries(plain_names, option_values, max_size=3),
    st.dictionaries(variable_names, st.recursive(st.one_of(named, terms), _calls, max_leaves=3), max_size=2),
)


def _without_variables(expression: Expression) -> bool:
    return next(variables(expression), None) is None


prefixes = st.dictionaries(
    st.sampled_from(["", "ex", "xsd", "e-x", "true"]),
    st.sampled_from(["http://example.org/", "http://example.org/a", XSD, "urn:x:", "a/", ""]),
    max_size=3,
)


declarations = st.builds(
    Declaration,
    predicates,
    st.lists(
        st.builds(
            Column,
            st.one_of(
                st.none(), st.sampled_from(["from", "string", "any", "_", "a b", 'say "x"', "in", "x-y"])
            ),
            st.sampled_from(sorted(TYPES)),
        ),
        max_size=4,
        unique_by=lambda column: column.name or object(),
    ).map(tuple),
)


def programs() -> st.SearchStrategy[Program]:
    build: Callable[..., Program] = Program
    return st.builds(
        build,
        rules=st.lists(rules, max_size=3).map(tuple),
        facts=st.lists(facts, max_size=3).map(tuple),
        prefixes=prefixes.map(MappingProxyType),
        base=st.one_of(st.none(), st.sampled_from(["http://base.org/x/", "http://base.org/x"])),
        imports=st.lists(bindings, max_size=2).map(tuple),
        exports=st.lists(bindings, max_size=1).map(tuple),
        outputs=st.lists(predicates, max_size=2).map(tuple),
        declarations=st.lists(declarations, max_size=3).map(tuple),
        parameters=st.dictionaries(
            st.sampled_from(["limit", "p1"]),
            st.one_of(st.none(), expressions.filter(_without_variables)),
            max_size=2,
        ).map(MappingProxyType),
    )
