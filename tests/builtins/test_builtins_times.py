"""Points in time, times of day and durations compute as XPath says, and as Python does where it can."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidalog.builtins import BUILTINS, CannotCompute, aggregate
from tidalog.model.native import native_value
from tidalog.model.term_text import from_python
from tidalog.model.terms import FALSE, TRUE, XSD, Double, Integer, Literal, String, Term, literal, sort_key

TYPES = {
    "T": "dateTime",
    "D": "date",
    "C": "time",
    "P": "dayTimeDuration",
    "M": "yearMonthDuration",
    "B": "duration",
    "N": "decimal",
}


def term(value: object) -> Term:
    """`T:2024-05-01T00:00:00` is a literal of the type that the letter stands for."""
    if isinstance(value, str) and value[1:2] == ":" and value[0] in TYPES:
        return literal(value[2:], XSD + TYPES[value[0]])
    return value if isinstance(value, Term) else from_python(value)


def call(name: str, *arguments: object) -> Term:
    return BUILTINS[name].evaluate([term(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("-", ("T:2024-05-02T00:00:00Z", "T:2024-05-01T00:00:00+02:00"), "P:P1DT2H"),
        ("-", ("T:2024-05-01T00:00:00Z", "T:2024-05-01T00:00:00.5Z"), "P:-PT0.5S"),
        ("-", ("D:2024-03-01", "D:2024-02-28"), "P:P2D"),
        ("-", ("T:2024-03-01T12:00:00", "D:2024-03-01"), "P:PT12H"),
        ("-", ("C:10:00:00", "C:12:30:00"), "P:-PT2H30M"),
        ("YEAR", ("M:P1Y6M",), 1),
        ("MONTH", ("M:-P1Y6M",), -6),
        ("DAY", ("P:PT36H",), 1),
        ("HOURS", ("P:PT36H",), 12),
        ("HOURS", ("B:P1M1DT2H",), 2),
        ("MONTH", ("B:P1M1DT2H",), 1),
        ("YEAR", ("P:PT36H",), 0),
        ("MINUTES", ("P:-PT90M",), -30),
        ("SECONDS", ("P:PT61S",), 1),
        ("SECONDS", ("P:-PT61.5S",), "N:-1.5"),
        ("+", ("T:2024-02-28T23:00:00+01:00", "P:PT2H"), "T:2024-02-29T01:00:00+01:00"),
        ("+", ("P:PT2H", "T:2024-02-28T23:00:00"), "T:2024-02-29T01:00:00"),
        ("+", ("T:2024-01-31T10:00:00Z", "M:P1M"), "T:2024-02-29T10:00:00Z"),
        ("+", ("T:2023-01-31T10:00:00Z", "M:P1M"), "T:2023-02-28T10:00:00Z"),
        ("+", ("D:2024-02-29", "M:P1Y"), "D:2025-02-28"),
        ("-", ("D:2024-03-31", "M:P1M"), "D:2024-02-29"),
        ("+", ("D:2024-01-31", "B:P1M1D"), "D:2024-03-01"),
        ("+", ("D:2024-01-31Z", "P:PT30H"), "D:2024-02-01Z"),
        ("-", ("D:2024-01-31", "P:PT1H"), "D:2024-01-30"),
        ("+", ("C:23:30:00", "P:PT1H"), "C:00:30:00"),
        ("-", ("C:00:30:00Z", "P:PT1H"), "C:23:30:00Z"),
        ("+", ("P:PT23H", "P:PT1H"), "P:P1D"),
        ("+", ("M:P11M", "M:P1M"), "M:P1Y"),
        ("+", ("M:P1M", "P:P1D"), "B:P1M1D"),
        ("-", ("P:PT1S", "P:PT1S"), "P:PT0S"),
        ("-", ("M:P1M", "M:P1M"), "M:P0M"),
        ("*", ("P:PT1S", 3), "P:PT3S"),
        ("*", (1.5, "P:PT1H"), "P:PT1H30M"),
        ("*", ("P:PT1S", "N:0.1"), "P:PT0.1S"),
        ("*", ("M:P1M", 2.5), "M:P3M"),
        ("/", ("P:PT1S", 3), "P:PT0.333333S"),
        ("/", ("P:PT0.000000009S", 3), "P:PT0.000000003S"),
        ("/", ("M:P1Y", 5), "M:P2M"),
        ("/", ("P:P1D", "P:PT1H"), "N:24"),
        ("/", ("P:PT1S", "P:PT3S"), "N:0." + "3" * 34),
        ("/", ("M:P1Y", "M:P5M"), "N:2.4"),
        ("neg", ("P:PT1S",), "P:-PT1S"),
        ("ABS", ("M:-P1M",), "M:P1M"),
        ("MIN", ("D:2024-05-01", "T:2024-04-30T23:00:00Z"), "T:2024-04-30T23:00:00Z"),
        ("MAX", ("P:PT61M", "P:PT1H"), "P:PT1H1M"),
        ("SUM", ("P:PT1S", "P:PT2S", "P:PT3S"), "P:PT6S"),
        ("DATE", ("T:2024-05-01T23:00:00-05:00",), "D:2024-05-01"),
        ("DATE", ("2024-05-01",), "D:2024-05-01"),
        ("TIME", ("T:2024-05-01T23:00:00.5-05:00",), "C:23:00:00.5"),
        ("DATETIME", ("D:2024-05-01Z",), "T:2024-05-01T00:00:00Z"),
        ("DATETIME", (" 2024-05-01T01:02:03Z ",), "T:2024-05-01T01:02:03Z"),
        ("DURATION", ("PT36H",), "P:P1DT12H"),
        ("DURATION", ("P14M",), "M:P1Y2M"),
        ("DURATION", ("P1Y1D",), "B:P1Y1D"),
        ("DURATION", ("P:PT1S",), "P:PT1S"),
        ("TIMEZONE", ("T:2024-05-01T00:00:00-05:30",), "P:-PT5H30M"),
        ("TIMEZONE", ("T:2024-05-01T00:00:00Z",), "P:PT0S"),
        ("TZ", ("D:2024-05-01+02:00",), "+02:00"),
        ("HOURS", ("C:10:20:30",), 10),
        ("MINUTES", ("C:10:20:30",), 20),
        ("SECONDS", ("C:10:20:30.25",), "N:30.25"),
        ("YEAR", ("D:0001-01-01Z",), 1),
        ("=", ("T:2024-05-01T00:00:00Z", "T:2024-05-01T02:00:00+02:00"), True),
        ("=", ("T:2024-05-01T00:00:00Z", "D:2024-05-01"), True),
        ("=", ("P:PT0S", "M:P0M"), True),
        ("=", ("B:P1D", "P:PT24H"), True),
        ("!=", ("P:P30D", "M:P1M"), True),
        ("<", ("T:2024-05-01T00:00:00.000000001Z", "T:2024-05-01T00:00:00.000000002Z"), True),
        ("<", ("M:P1M", "P:P32D"), True),
        ("<", ("P:P27D", "M:P1M"), True),
        (">", ("M:P1Y", "P:P364D"), True),
        ("<", ("C:01:00:00+02:00", "C:00:00:00Z"), True),
    ],
)
def test_values(name: str, arguments: tuple[object, ...], expected: object) -> None:
    assert call(name, *arguments) == term(expected)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("+", ("T:2024-05-01T00:00:00Z", "T:2024-05-01T00:00:00Z")),
        ("+", ("T:2024-05-01T00:00:00Z", 1)),
        ("-", ("P:PT1S", "T:2024-05-01T00:00:00Z")),
        ("-", ("C:10:00:00", "D:2024-05-01")),
        ("+", ("C:10:00:00", "M:P1M")),
        ("+", ("D:9999-12-31", "P:P1D")),
        ("-", ("D:0001-01-01", "P:PT1S")),
        ("+", ("T:9999-12-31T23:59:59Z", "M:P1M")),
        ("-", ("M:P1M", "P:P1D")),
        ("*", ("P:PT1S", "P:PT1S")),
        ("*", ("P:PT1S", float("nan"))),
        ("*", ("P:P1D", 10**18)),
        ("/", ("P:PT1S", 0)),
        ("/", ("P:PT1S", "P:PT0S")),
        ("/", ("M:P1M", "P:P1D")),
        ("/", (1, "P:PT1S")),
        ("%", ("P:PT3S", "P:PT2S")),
        ("neg", ("D:2024-05-01",)),
        ("SQRT", ("P:PT1S",)),
        ("MIN", ("P:P30D", "M:P1M")),
        ("MIN", ("D:2024-05-01", 1)),
        ("<", ("P:P30D", "M:P1M")),
        ("<", ("D:2024-05-01", "C:00:00:00")),
        ("<", ("P:PT1S", 2)),
        ("TIMEZONE", ("D:2024-05-01",)),
        ("DATE", ("2024-05-01T00:00:00",)),
        ("DATETIME", ("2024-05-01 00:00:00",)),
        ("DATETIME", ("C:00:00:00",)),
        ("DURATION", ("1 day",)),
        ("DURATION", (5,)),
        ("SECONDS", ("T:2024-05-01T00:00:60Z",)),
        ("YEAR", ("D:10000-01-01",)),
        ("YEAR", ("T:2024-05-01T00:00:00+15:00",)),
    ],
)
def test_what_cannot_be_computed(name: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises(CannotCompute) as failure:
        call(name, *arguments)
    assert str(failure.value)


moments = st.datetimes(datetime(1000, 1, 1), datetime(9000, 1, 1))
zoned = st.datetimes(
    datetime(1000, 1, 1),
    datetime(9000, 1, 1),
    timezones=st.integers(-840, 840).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
durations = st.timedeltas(timedelta(days=-200_000), timedelta(days=200_000))


def with_zone(moment: datetime) -> Term:
    """As it is written, not in UTC."""
    return Literal(moment.isoformat(), XSD + "dateTime")


@given(zoned, zoned, durations)
def test_points_in_time_are_those_of_python(a: datetime, b: datetime, d: timedelta) -> None:
    assert call("-", with_zone(a), with_zone(b)) == from_python(a - b)
    assert call("=", call("+", with_zone(b), a - b), with_zone(a)) == TRUE
    moved = call("+", with_zone(a), d)
    assert native_value(moved) == a + d
    assert call("-", moved, with_zone(a)) == from_python(d)
    assert call("<", with_zone(a), with_zone(b)) == from_python(a < b)


@given(st.dates(date(1000, 1, 1), date(9000, 1, 1)), st.dates(), durations)
def test_dates_are_those_of_python(a: date, b: date, d: timedelta) -> None:
    assert call("-", a, b) == from_python(a - b)
    assert call("+", a, timedelta(days=d.days)) == from_python(a + timedelta(days=d.days))


@given(durations, durations, st.integers(-1000, 1000), st.floats(-1e3, 1e3))
def test_durations_are_those_of_python(a: timedelta, b: timedelta, n: int, x: float) -> None:
    assert call("+", a, b) == from_python(a + b)
    assert call("-", a, b) == from_python(a - b)
    assert call("*", a, n) == from_python(a * n)
    assert call("neg", a) == from_python(-a)
    assert call("<", a, b) == from_python(a < b)
    assert call("MAX", a, b) == from_python(max(a, b))
    if n:
        exact = call("/", a, n)
        if native_value(exact) is not None:  # whole nanoseconds are kept, where Python rounds
            assert exact == from_python(a / n)
    scaled = native_value(call("*", a, x))
    assert scaled is None or scaled == a * x


@given(moments, st.integers(-600, 600))
def test_months_keep_the_day_or_take_the_last_one(moment: datetime, months: int) -> None:
    found = native_value(call("+", moment, literal(f"{'-' * (months < 0)}P{abs(months)}M", XSD + "duration")))
    assert isinstance(found, datetime)
    assert (found.year * 12 + found.month) - (moment.year * 12 + moment.month) == months
    assert found.time() == moment.time()
    assert found.day == moment.day or (found + timedelta(days=1)).day == 1
    assert found.day <= moment.day


any_duration = st.one_of(
    durations.map(from_python),
    st.tuples(st.booleans(), st.integers(0, 40), st.integers(0, 80), st.integers(0, 86_399)).map(
        lambda p: literal(f"{'-' * p[0]}P{p[1]}M{p[2]}DT{p[3]}S", XSD + "duration")
    ),
)


@given(any_duration, any_duration, st.dates(date(1600, 1, 1), date(2400, 1, 1)))
def test_a_duration_that_is_less_ends_earlier_from_the_first_of_any_month(
    a: Term, b: Term, day: date
) -> None:
    try:
        less = call("<", a, b)
    except CannotCompute:
        return
    start = datetime(day.year, day.month, 1)
    ends = call("+", start, a), call("+", start, b)
    if less == TRUE:
        assert call("<=", *ends) == TRUE
    if call("=", a, b) == TRUE:
        assert call("=", *ends) == TRUE
        assert less == FALSE


@given(st.lists(any_duration, min_size=1, max_size=5))
def test_the_order_of_terms_is_that_of_comparison_where_there_is_one(found: list[Term]) -> None:
    ordered = sorted(found, key=sort_key)
    for a, b in pairwise(ordered):
        try:
            assert call("<=", a, b) == TRUE
        except CannotCompute:
            continue


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("sum", ("P:PT1S", "P:P1D"), "P:P1DT1S"),
        ("avg", ("P:PT1S", "P:PT2S"), "P:PT1.5S"),
        ("avg", ("P:PT1S", "P:PT1S", "P:PT0S"), "P:PT0.666667S"),
        ("avg", ("M:P1M", "M:P2M"), "M:P2M"),
        ("sum", ("P:P1D", "M:P1M"), "B:P1M1D"),
        ("median", ("P:PT1S", "P:PT9S", "P:PT2S"), "P:PT2S"),
        ("median", ("P:PT1S", "P:PT2S"), "P:PT1.5S"),
        ("min", ("P:PT61S", "P:PT1M"), "P:PT1M"),
        ("max", ("T:2024-05-01T00:00:00Z", "T:2024-05-01T01:00:00+02:00"), "T:2024-05-01T00:00:00Z"),
        ("sum", ("P:PT1S", 2, "a"), 2),
    ],
)
def test_aggregates(operator: str, values: tuple[object, ...], expected: object) -> None:
    rows = [(term(value), Integer(n)) for n, value in enumerate(values)]
    assert aggregate(operator, rows) == term(expected)


@pytest.mark.parametrize(
    "values", [("P:P1D", "M:-P1M"), ("D:2024-05-01",), ("M:P292000000000Y", "M:P292000000000Y")]
)
def test_sums_without_a_value(values: tuple[str, ...]) -> None:
    with pytest.raises(CannotCompute):
        aggregate("sum", [(term(value), Integer(n)) for n, value in enumerate(values)])


values_of_python = st.one_of(
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(),
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.dates(),
    st.times(),
    st.timedeltas(),
)


@given(values_of_python)
def test_a_value_of_python_comes_back_as_it_was(value: object) -> None:
    found = native_value(from_python(value))
    assert found == value
    assert type(found) is type(value)


def test_functions_of_python_get_and_give_times_and_decimals() -> None:
    def days_of(span: object) -> object:
        assert isinstance(span, timedelta)
        return timedelta(days=span.days)

    from tidalog.builtins import evaluate
    from tidalog.model.program import Call

    assert evaluate(Call("F", (term("P:PT49H"),)), {}, {"F": days_of}) == term("P:P2D")
    seen: list[object] = []
    arguments = tuple(map(term, ("N:2.50", "D:2024-05-01", "C:10:00:00", "D:2024-05-01Z", "M:P1M")))
    evaluate(Call("F", arguments), {}, {"F": lambda *given: seen.extend(given) or 1})
    assert [str(seen[0]), *seen[1:]] == ["2.5", date(2024, 5, 1), time(10), *arguments[3:]]
    assert isinstance(call("DOUBLE", "N:2.5"), Double)
    assert call("STR", "P:PT24H") == String("P1D")
