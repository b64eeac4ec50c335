"""Aggregates in compiled code are those of `builtins.aggregate`, whatever the numbers and wherever they are
read: in a relation as it is, in its distinct tuples, or in a relation that rules collected."""

from __future__ import annotations

import math
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine_harness import evaluate_engine
from tidalog.builtins import CannotCompute, aggregate, rows_left_out
from tidalog.model.program import AGGREGATES, Aggregate, Atom, Fact, Program, Rule, Variable
from tidalog.model.terms import (
    INT64_MAX,
    INT64_MIN,
    IRI,
    TRUE,
    XSD,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    integer,
)

MANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
G, V, N = map(Variable, "gvn")
Row = tuple[Term, Term, Term]

LARGEST = 1.7976931348623157e308
INTEGERS = tuple(map(Integer, (0, 1, 2, 3, -1, 2**53 + 1, 2**62, INT64_MAX, INT64_MIN, -(2**62))))
DOUBLES = tuple(
    map(
        Double,
        (
            *(0.5, 1.0, 2.0, 3.0, 0.1, 0.2, 0.3, -0.1, 1e16, 1.0 + 2**-52, 2.0**-53, 2.0**53, -(2.0**63)),
            *(LARGEST, -LARGEST, LARGEST / 2, 2.0**1023, -(2.0**1023), 2.0**970, -(2.0**970), 2.0**969),
            *(5e-324, -5e-324, 2.0**-1022, 2.0**-950, -(2.0**-900), 1e-300, 1e300, -1e300),
        ),
    )
)
NOT_FINITE = tuple(map(Double, (math.inf, -math.inf, math.nan)))
TYPED = tuple(
    Literal(lexical, XSD + name)
    for lexical, name in (
        *(("2", "int"), ("02", "int"), ("2.0", "decimal"), ("2", "decimal"), ("1.5", "float"), ("x", "int")),
        *(("9223372036854775807", "long"), ("12345678901234567890", "integer"), ("2024-05-01", "date")),
        *(("NaN", "float"), ("-INF", "float"), ("0.1", "decimal"), ("-0.1", "decimal"), ("1e3", "decimal")),
        *(("0.10000000000000001", "decimal"), ("9223372036854775807.5", "decimal"), ("-7", "decimal")),
        *(("-99999999999999999999", "integer"), ("2024-05-01T00:00:00Z", "dateTime"), ("12:00:00", "time")),
    )
)
DURATIONS = tuple(
    Literal(lexical, XSD + name)
    for lexical, name in (
        *(("P1D", "dayTimeDuration"), ("-PT36H", "dayTimeDuration"), ("PT0.000001S", "dayTimeDuration")),
        *(("PT1S", "duration"), ("P1M", "yearMonthDuration"), ("P3M", "yearMonthDuration")),
        *(("P1M1D", "duration"), ("P292000000000Y", "yearMonthDuration"), ("P", "duration")),
    )
)
NO_NUMBERS: tuple[Term, ...] = (String("2"), String(""), IRI("a"), IRI("b"), TRUE, LangString("a", "en"))

numbers = st.one_of(
    st.sampled_from(INTEGERS),
    st.sampled_from(DOUBLES),
    st.integers(INT64_MIN, INT64_MAX).map(Integer),
    st.floats(allow_nan=False, allow_infinity=False).map(Double),
)
values = st.one_of(
    st.lists(st.sampled_from(INTEGERS), max_size=10),
    st.lists(st.sampled_from(DOUBLES), max_size=14),
    st.lists(numbers, max_size=10),
    st.lists(st.one_of(numbers, st.sampled_from((*TYPED, *NOT_FINITE))), max_size=8),
    st.lists(st.sampled_from((*INTEGERS[:4], *DOUBLES[:4], *TYPED, *NO_NUMBERS)), max_size=10),
    st.lists(st.sampled_from((*INTEGERS, *TYPED)), max_size=8),
    st.lists(st.sampled_from(DURATIONS[:3]), max_size=6),
    st.lists(st.sampled_from((*DURATIONS, *NO_NUMBERS)), max_size=6),
    st.lists(st.sampled_from((*DURATIONS, *INTEGERS[:2], *TYPED)), max_size=6),
)


@st.composite
def tables(draw: st.DrawFn) -> list[Row]:
    """Groups that share numbers, so that one value comes several times within a group."""
    rows: list[Row] = []
    for group in range(draw(st.integers(1, 3))):
        name = IRI(f"g{group}")
        rows.extend((name, value, Integer(draw(st.integers(0, 2)))) for value in draw(values))
    return rows


def expected(operator: str, rows: list[tuple[tuple[Term, ...], tuple[Term, ...]]]) -> dict[str, str]:
    """Group → value, of pairs of group and tuple; by text, for NaN equals itself as a term."""
    groups: dict[tuple[Term, ...], set[tuple[Term, ...]]] = defaultdict(set)
    for group, tuple_ in rows:
        groups[group].add(tuple_)
    result = {}
    for group, distinct in groups.items():
        try:
            result[repr(group)] = repr(aggregate(operator, distinct))
        except CannotCompute:
            continue
    return result


def by_engine(rule: Rule, rows: list[Row]) -> dict[str, str]:
    facts = tuple(Fact("e", row) for row in dict.fromkeys(rows))
    program = Program(rules=(rule,), facts=(*facts, Fact("here", (TRUE,))))
    found = evaluate_engine(program)[0].get("m", frozenset())
    assert len(found) == len({row[:-1] for row in found}), "a group has one value"
    return {repr(row[:-1]): repr(row[-1]) for row in found}


def rule_of(head: tuple[Variable, ...], operator: str, arguments: tuple[Variable, ...], joined: bool) -> Rule:
    body = (Atom("e", (G, V, N)), *((Atom("here", (Variable("t"),)),) if joined else ()))
    return Rule((Atom("m", (*head, Aggregate(operator, arguments))),), body)


@pytest.mark.parametrize("joined", [False, True], ids=["one atom", "collected"])
@pytest.mark.parametrize("operator", AGGREGATES)
class TestGroups:
    @MANY
    @given(rows=tables())
    def test_over_tuples_that_do_not_cover_the_facts(
        self, operator: str, joined: bool, rows: list[Row]
    ) -> None:
        wanted = expected(operator, [((g,), (v,)) for g, v, _ in rows])
        assert by_engine(rule_of((G,), operator, (V,), joined), rows) == wanted

    @settings(MANY, max_examples=25)
    @given(rows=tables())
    def test_over_tuples_that_cover_the_facts(self, operator: str, joined: bool, rows: list[Row]) -> None:
        wanted = expected(operator, [((g,), (v, n)) for g, v, n in rows])
        assert by_engine(rule_of((G,), operator, (V, N), joined), rows) == wanted

    @settings(MANY, max_examples=25)
    @given(rows=tables())
    def test_of_one_group_of_everything(self, operator: str, joined: bool, rows: list[Row]) -> None:
        wanted = expected(operator, [((), (v, g)) for g, v, _ in rows])
        assert by_engine(rule_of((), operator, (V, G), joined), rows) == wanted

    @settings(MANY, max_examples=25)
    @given(rows=tables())
    def test_of_groups_in_another_order_of_columns(
        self, operator: str, joined: bool, rows: list[Row]
    ) -> None:
        wanted = expected(operator, [((n, g), (v,)) for g, v, n in rows])
        assert by_engine(rule_of((N, G), operator, (V,), joined), rows) == wanted

    @settings(MANY, max_examples=25)
    @given(rows=tables())
    def test_of_a_value_that_is_also_the_group(self, operator: str, joined: bool, rows: list[Row]) -> None:
        wanted = expected(operator, [((v,), (v,)) for _, v, _ in rows])
        assert by_engine(rule_of((V,), operator, (V,), joined), rows) == wanted


def only(operator: str, *terms: Term) -> Term | None:
    """The aggregate of one group, by the engine."""
    facts = tuple(Fact("e", (term,)) for term in terms)
    program = Program(
        rules=(Rule((Atom("m", (Aggregate(operator, (V,)),)),), (Atom("e", (V,)),)),), facts=facts
    )
    found = evaluate_engine(program)[0].get("m", frozenset())
    return next(iter(found))[0] if found else None


def test_a_sum_of_integers_may_leave_64_bits_on_its_way() -> None:
    terms = [Integer(INT64_MAX), Integer(INT64_MAX - 1), Integer(INT64_MIN), Integer(INT64_MIN + 1)]
    assert only("sum", *terms) == Integer(-2)


def test_a_sum_beyond_64_bits_is_an_exact_integer() -> None:
    assert only("sum", Integer(INT64_MAX), Integer(1)) == integer(2**63)
    assert only("sum", Integer(INT64_MIN), Integer(-1)) == integer(-(2**63) - 1)


def test_an_average_of_integers_is_rounded_once() -> None:
    assert only("avg", Integer(INT64_MAX), Integer(1)) == Double(2.0**62)
    assert only("avg", Integer(2**53 + 1), Integer(2**53 + 3), Integer(2**53 + 2)) == Double(2.0**53 + 2)


def test_a_sum_of_doubles_may_overflow_on_its_way() -> None:
    half = LARGEST / 2
    assert only("sum", Double(LARGEST), Double(half), Double(-LARGEST)) == Double(half)
    assert only("sum", Double(LARGEST), Double(half)) == Double(math.inf)
    assert only("sum", Double(-LARGEST), Double(-half)) == Double(-math.inf)


def test_the_smallest_numbers_survive_an_overflow_on_the_way() -> None:
    terms = [Double(LARGEST), Double(1e308), Double(-LARGEST), Double(-1e308), Double(5e-324)]
    assert only("sum", *terms) == Double(5e-324)
    tie = [Double(2.0**1023), Double(2.0**1022), Double(-(2.0**1022) * 1.5), Double(2.0**969), Double(5e-324)]
    assert only("sum", *tie) == aggregate("sum", [(t,) for t in tie])


def test_the_mean_of_opposite_infinities_is_no_number() -> None:
    assert only("median", Double(math.inf), Double(-math.inf)) is None
    assert only("median", Double(math.inf), Double(-math.inf), Integer(3)) == Integer(3)


def test_of_equal_numbers_in_the_middle_integers_come_first_whatever_their_form() -> None:
    terms = [Double(2.0), Literal("2", XSD + "int"), Integer(3)]
    assert only("median", *terms) == Double(2.0)
    assert only("median", Literal("2.0", XSD + "decimal"), Integer(2), Integer(1)) == Integer(2)
    assert only(
        "median", Literal("2.0", XSD + "float"), Literal("2", XSD + "decimal"), Integer(1)
    ) == Literal("2", XSD + "decimal")


@pytest.mark.parametrize("operator", ["sum", "avg", "median"])
def test_values_left_out_are_counted(operator: str) -> None:
    for terms in (
        (Integer(1), String("a"), IRI("b"), Integer(5)),
        (Literal("0.5", XSD + "decimal"), String("a"), IRI("b")),
        (DURATIONS[0], String("a"), DURATIONS[1]),
        (DURATIONS[0], String("a"), Integer(7)),
    ):
        assert uncomputed(operator, *terms) == rows_left_out(operator, [(term,) for term in terms])


def test_a_value_is_left_out_once_of_each_aggregate() -> None:
    """Though Python folds the whole group once compiled code has come to the decimal."""
    heads = tuple(Aggregate(operator, arguments) for operator, arguments in (("sum", (N,)), ("avg", (V,))))
    rule = Rule((Atom("m", heads),), (Atom("e", (V, N)),), "folded")
    facts = (Fact("e", (Literal("0.5", XSD + "decimal"), String("a"))), Fact("e", (String("b"), Integer(1))))
    _, stats = evaluate_engine(Program(rules=(rule,), facts=facts))
    assert stats.uncomputed == {"folded": 2}


def uncomputed(operator: str, *terms: Term) -> int:
    rule = Rule((Atom("m", (Aggregate(operator, (V,)),)),), (Atom("e", (V,)),), "folded")
    program = Program(rules=(rule,), facts=tuple(Fact("e", (term,)) for term in terms))
    _, stats = evaluate_engine(program)
    assert set(stats.uncomputed) == {"folded"}
    return stats.uncomputed["folded"]


@pytest.mark.parametrize("operator", AGGREGATES)
def test_many_groups_and_one_large_one(operator: str) -> None:
    """More groups than a block has rows, and a group longer than one."""
    rows = [(Integer(n % 5000), Integer(n * 7919 % 1000)) for n in range(10_000)]
    rows += [(IRI("large"), Integer(n * n)) for n in range(6_000)]
    rule = Rule((Atom("m", (G, Aggregate(operator, (V,)))),), (Atom("e", (G, V)),))
    found = evaluate_engine(Program(rules=(rule,), facts=tuple(Fact("e", row) for row in rows)))[0]["m"]
    assert {repr(g): repr(v) for (g, v) in found} == {
        group[1:-2]: value for group, value in expected(operator, [((g,), (v,)) for g, v in rows]).items()
    }
