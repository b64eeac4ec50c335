"""What goes in comes out the same: every source and every sink, terms of every kind, hostile texts."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tidalog
from generators.values import KINDS, columns
from tidalog.api.results import Result
from tidalog.io.term_fields import reading_of
from tidalog.model.term_text import format_any, from_python, to_python
from tidalog.model.terms import IRI, XSD, Double, Term, literal

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
Rows = list[tuple[Term, ...]]


def result_of(rows: Rows) -> Result:
    kb = tidalog.open()
    kb.insert("p", rows, progress=False)
    return kb.facts("p")


def texts_of(rows: Rows) -> set[str]:
    """Facts in a form in which NaN is equal to itself."""
    return {repr(row) for row in rows}


def through_ipc(result: Result) -> object:
    sink = io.BytesIO()
    with ipc.new_file(sink, result.table.schema) as writer:
        writer.write_table(result.table)
    return ipc.open_file(io.BytesIO(sink.getvalue())).read_all()


def through_parquet(result: Result) -> object:
    sink = io.BytesIO()
    pq.write_table(result.table, sink)
    return pq.read_table(io.BytesIO(sink.getvalue()))


def through_pandas_parquet(result: Result) -> object:
    sink = io.BytesIO()
    result.to_pandas(terms=True).to_parquet(sink)
    return pq.read_table(io.BytesIO(sink.getvalue()))


VALUES: dict[str, Callable[[Result], object]] = {
    "itself": lambda result: result,
    "terms": lambda result: result.to_terms(),
    "arrow": lambda result: result.to_arrow(),
    "arrow, terms": lambda result: result.to_arrow(terms=True),
    "ipc": through_ipc,
    "parquet": through_parquet,
    "pandas": lambda result: result.to_pandas(),
    "pandas, terms": lambda result: result.to_pandas(terms=True),
    "pandas, parquet": through_pandas_parquet,
    "slices": lambda result: [*result[:1].to_terms(), *result[1:].to_terms()],
}


def is_nan(term: Term) -> bool:
    return isinstance(term, Double) and term.value != term.value


@pytest.mark.parametrize("form", VALUES)
@MANY
@given(columns())
def test_a_result_that_is_inserted_is_the_same_facts(form: str, some: list[list[Term]]) -> None:
    result = result_of(list(zip(*some, strict=True)))
    if form == "pandas" and any(is_nan(term) for column in some for term in column):
        return  # in pandas a NaN is a missing value
    kb = tidalog.open()
    kb.insert("q", VALUES[form](result), progress=False)
    assert texts_of(kb.facts("q").to_terms()) == texts_of(list(zip(*some, strict=True)))


@MANY
@given(columns())
def test_polars_holds_terms_as_text_that_the_format_any_reads(some: list[list[Term]]) -> None:
    frame = result_of(list(zip(*some, strict=True))).to_polars(terms=True)
    kb = tidalog.open()
    kb.insert("q", frame, formats=["any"] * len(some), progress=False)
    assert texts_of(kb.facts("q").to_terms()) == texts_of(list(zip(*some, strict=True)))


def is_whole_in_polars(result: Result) -> bool:
    """Whether polars, whose columns have no metadata, can hold a result as it is."""
    schema = result.table.schema
    is_plain = not any(reading_of(field) in ("any", "iri", "int") for field in schema)
    return is_plain and not any(map(pa.types.is_decimal256, schema.types))


@MANY
@given(columns())
def test_polars_holds_values_and_strings_as_they_are(some: list[list[Term]]) -> None:
    result = result_of(list(zip(*some, strict=True)))
    if not is_whole_in_polars(result):
        return
    kb = tidalog.open()
    kb.insert("q", result.to_polars(), progress=False)
    assert texts_of(kb.facts("q").to_terms()) == texts_of(list(zip(*some, strict=True)))


@pytest.mark.parametrize("ending", ["csv", "tsv", "ndjson", "parquet", "arrow", "csv.gz"])
@settings(MANY, max_examples=60)
@given(columns())
def test_an_exported_file_is_the_same_facts(
    ending: str, tmp_path_factory: pytest.TempPathFactory, some: list[list[Term]]
) -> None:
    path = tmp_path_factory.getbasetemp() / f"facts.{ending}"
    kb = tidalog.open()
    kb.insert("p", list(zip(*some, strict=True)), progress=False)
    kb.export("p", path)
    kb.insert("q", path, progress=False)
    assert texts_of(kb.facts("q").to_terms()) == texts_of(list(zip(*some, strict=True)))


@MANY
@given(columns())
def test_python_values_stand_for_their_terms_or_are_the_text_of_a_cell(some: list[list[Term]]) -> None:
    result = result_of(list(zip(*some, strict=True)))
    rows, terms = result.to_rows(), result.to_terms()
    for values, row in zip(rows, terms, strict=True):
        for value, term in zip(values, row, strict=True):
            assert repr(from_python(value)) == repr(term) or value == format_any(term)
    assert list(map(repr, result)) == list(map(repr, rows))
    assert [repr(result[i]) for i in range(len(result))] == list(map(repr, rows))
    texts = [tuple(map(format_any, row)) for row in terms]
    assert result.to_rows(terms=True) == texts


RULES = """
same(?x, ?y) :- p(?x, ?y), p(?y, ?x) .
more(?x, ?y) :- p(?x, _), p(_, ?y), ?x < ?y .
next(?x, ?z) :- p(?x, ?y), ?z = ?y + 1 .
many(?x, #count(?y)) :- p(?x, ?y) .
least(#min(?y)) :- p(_, ?y) .
text(?s) :- p(_, ?y), ?s = STR(?y) .
"""


@pytest.mark.parametrize("form", ["arrow", "pandas", "polars", "parquet", "csv", "ndjson"])
@settings(MANY, max_examples=40)
@given(columns(most_rows=4, most_columns=1), columns(most_rows=4, most_columns=1))
def test_the_same_facts_by_another_way_give_the_same_answers(
    form: str, tmp_path_factory: pytest.TempPathFactory, left: list[list[Term]], right: list[list[Term]]
) -> None:
    terms = [*left[0], *right[0]]
    if any(map(is_nan, terms)):
        return
    rows: Rows = [(a, b) for a in terms for b in (terms[0], terms[-1])]
    one, other = tidalog.open(), tidalog.open()
    for kb in (one, other):
        kb.load(RULES)
    one.insert("p", rows, progress=False)
    if form == "polars":
        if not is_whole_in_polars(one.facts("p")):
            return
        other.insert("p", one.facts("p").to_polars(), progress=False)
    elif form in VALUES:
        other.insert("p", VALUES[form](one.facts("p")), progress=False)
    else:
        path = tmp_path_factory.getbasetemp() / f"same.{form}"
        other.insert("p", one.export("p", path), progress=False)
    for name in one.predicates:
        assert texts_of(other.facts(name).to_terms()) == texts_of(one.facts(name).to_terms())


SAME: dict[str, Callable[[list[Decimal], Path], object]] = {
    "dict": lambda values, path: {"x": values},
    "pandas": lambda values, path: pd.DataFrame({"x": values}),
    "pandas, Arrow": lambda values, path: pd.DataFrame({"x": pa.array(values)}).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "polars": lambda values, path: polars.DataFrame({"x": values}),
    "arrow": lambda values, path: pa.table({"x": values}),
    "256 bits": lambda values, path: pa.table({"x": pa.array(values).cast(pa.decimal256(76, 3))}),
    "dictionary": lambda values, path: pa.table({"x": pa.array(values).dictionary_encode()}),
    "parquet": lambda values, path: pq.write_table(pa.table({"x": values}), path) or path,
}


@pytest.mark.parametrize("way", SAME)
@settings(MANY, max_examples=40)
@given(
    st.lists(st.integers(-(10**25), 10**25) | st.integers(-9, 9), min_size=1, max_size=4), st.integers(0, 3)
)
def test_decimals_are_decimals_by_every_way(
    way: str, tmp_path_factory: pytest.TempPathFactory, digits: list[int], places: int
) -> None:
    """With a fraction and without one, beside others that have one and alone."""
    values = [Decimal(f"{number}e-{places}") for number in digits]
    path = tmp_path_factory.getbasetemp() / "decimals.parquet"
    kb, other = tidalog.open(), tidalog.open()
    kb.insert("p", [(value,) for value in values], progress=False)
    other.insert("p", SAME[way](values, path), progress=False)
    assert texts_of(other.facts("p").to_terms()) == texts_of(kb.facts("p").to_terms())


def test_whole_decimals_and_integers_beyond_64_bits_stay_apart(tmp_path: Path) -> None:
    """`decimal128(38, 0)` is of decimals, unless its field says that it is of integers."""
    rows = [(Decimal(2**70), 2**70)]
    for form in ("parquet", "arrow"):
        kb = tidalog.open()
        kb.load(f'@export p :- {form}{{resource = "any.{form}", format = (any, any)}} .')
        kb.insert("p", rows)
        kb.write_exports(tmp_path)
        for path in (kb.export("p", tmp_path / f"p.{form}"), tmp_path / f"any.{form}"):
            kb.insert("q", path)
        kb.insert("q", kb.facts("p").to_pandas())
        assert kb.facts("q").to_terms() == kb.facts("p").to_terms()
    assert pa.types.is_decimal(pq.read_schema(tmp_path / "any.parquet").types[1])


# --- types ------------------------------------------------------------------------------------------


def dated(text: str, kind: str = "dateTime") -> Term:
    return literal(text, XSD + kind)


NATIVE: list[tuple[list[Term], pa.DataType]] = [
    ([from_python(date(1, 1, 1)), from_python(date.max)], pa.date32()),
    ([from_python(datetime.min), from_python(datetime.max)], pa.timestamp("us")),
    ([from_python(datetime(2024, 5, 1, tzinfo=UTC))], pa.timestamp("us", "UTC")),
    ([dated("2024-05-01T12:00:00.123456789")], pa.timestamp("ns")),
    ([from_python(time(12, 30, 0, 5))], pa.time64("us")),
    ([from_python(timedelta(days=-3, microseconds=1))], pa.duration("us")),
    ([dated("PT0.000000001S", "dayTimeDuration")], pa.duration("ns")),
    ([from_python(Decimal("2.50")), from_python(Decimal(3))], pa.decimal128(38, 1)),
    ([from_python(Decimal(3))], pa.decimal128(38, 1)),
    ([from_python(Decimal("9" * 50))], pa.decimal256(76, 1)),
    ([from_python(5), from_python(2**70)], pa.decimal128(38, 0)),
    ([from_python(-(10**60))], pa.decimal256(76, 0)),
    ([from_python(2**70)], pa.decimal128(38, 0)),
]
TEXT: list[list[Term]] = [
    [dated("2024-05-01T12:00:00Z"), dated("2024-05-01T12:00:00")],
    [dated("2024-05-01T12:00:00Z"), dated("2024-05-01T12:00:00+02:00")],
    [dated("1500-01-01T00:00:00.000000001")],
    [dated("2024-05-01T24:00:00")],
    [dated("0000-12-31T00:00:00")],
    [dated("-0044-03-15", "date"), dated("2024-05-01", "date")],
    [dated("2024-05-01Z", "date")],
    [dated("P1M", "yearMonthDuration")],
    [dated("P1D", "duration")],
    [from_python(date(2024, 5, 1)), from_python(datetime(2024, 5, 1))],
    [from_python(Decimal("9" * 77))],
    [from_python(Decimal(1)), from_python(1)],
    [IRI("a"), from_python("a")],
]


@pytest.mark.parametrize(("terms", "kind"), NATIVE, ids=str)
def test_terms_of_one_type_are_a_column_of_that_type(terms: list[Term], kind: pa.DataType) -> None:
    table = result_of([(term,) for term in terms]).to_arrow()
    assert table.schema == pa.schema([pa.field("arg1", kind)])
    beyond_64_bits = pa.types.is_decimal(kind) and kind.scale == 0
    assert table.schema.field(0).metadata == ({b"tidalog.terms": b"int"} if beyond_64_bits else None)


@pytest.mark.parametrize("terms", TEXT, ids=str)
def test_a_column_that_no_type_holds_exactly_is_text_and_says_so(terms: list[Term]) -> None:
    table = result_of([(term,) for term in terms]).to_arrow()
    assert table.schema.types == [pa.string()]
    assert table.schema.field(0).metadata == {b"tidalog.terms": b"any"}
    assert set(table.column(0).to_pylist()) == set(map(format_any, terms))


def test_iris_are_plain_text_and_say_so() -> None:
    result = result_of([(IRI("http://e/x"),)])
    assert result.to_arrow().column(0).to_pylist() == ["http://e/x"]
    assert result.to_arrow().schema.field(0).metadata == {b"tidalog.terms": b"iri"}
    assert result.to_pandas().attrs == {"tidalog.terms": {"arg1": "iri"}}
    assert result.to_rows() == [("<http://e/x>",)]


def test_python_values_are_of_pythons_types() -> None:
    values = (
        *(7, 2**70, 2.5, True, "007", Decimal("2.5"), date(2024, 5, 1), datetime(2024, 5, 1, 12)),
        *(datetime(2024, 5, 1, 12, tzinfo=UTC), time(12, 30), timedelta(days=1, seconds=1)),
    )
    kb = tidalog.open()
    kb.insert("p", [values])
    for row in (kb.facts("p").to_rows()[0], kb.facts("p")[0], tuple(kb.facts("p").to_pylist()[0].values())):
        assert list(map(repr, row)) == list(map(repr, values))
    frame = kb.facts("p").to_pandas()
    assert frame["arg2"].tolist() == [2**70]
    assert type(frame["arg2"][0]) is int
    assert [str(kind) for kind in kb.facts("p").to_polars().dtypes] == [
        *("Int64", "Decimal(precision=38, scale=0)", "Float64", "Boolean", "String"),
        *("Decimal(precision=38, scale=1)", "Date", "Datetime(time_unit='us', time_zone=None)"),
        *("Datetime(time_unit='us', time_zone='UTC')", "Time", "Duration(time_unit='us')"),
    ]


@pytest.mark.parametrize("text", ["2024-05-01T12:00:00+02:00", "2024-05-01T12:00:00.50"])
def test_a_value_that_stands_for_another_term_is_not_used(text: str) -> None:
    assert to_python(dated(text)) == format_any(dated(text))


def test_a_large_column_is_converted_by_its_distinct_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    import tidalog.io.term_columns as converted

    seen: list[int] = []
    usual = converted.exact_values

    def counted(text: pa.Array, datatype: str) -> pa.Array | None:
        seen.append(len(text))
        return usual(text, datatype)

    monkeypatch.setattr(converted, "exact_values", counted)
    kb = tidalog.open()
    lengths = pa.array([number % 7 for number in range(5000)]).cast(pa.duration("s"))
    kb.insert("p", pa.table({"n": range(5000), "d": lengths}))
    assert kb.facts("p").table.schema.types == [pa.int64(), pa.duration("us")]
    assert seen == [7]


def test_the_generator_reaches_every_kind_of_column() -> None:
    """Guards the laws above: columns of every Arrow type and of every kind of text are tried."""
    seen: set[str] = set()

    @settings(max_examples=400, deadline=None, derandomize=True, database=None)
    @given(columns(most_rows=3))
    def law(some: list[list[Term]]) -> None:
        schema = result_of(list(zip(*some, strict=True))).table.schema
        seen.update(f"{field.type} {reading_of(field)}" for field in schema)

    law()
    wanted = {f"{kind} native" for _, kind in NATIVE if "decimal" not in str(kind)}
    wanted |= {"string string", "string iri", "string any", "int64 native", "double native", "bool native"}
    wanted |= {"decimal128(38, 0) int", "decimal128(38, 3) native"}
    assert wanted <= seen


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "ndjson"])
def test_an_export_of_terms_is_text_and_the_same_facts(ending: str, tmp_path: Path) -> None:
    kb = tidalog.open()
    kb.insert("p", [(1, IRI("a"), date(2024, 5, 1))])
    path = kb.export("p", tmp_path / f"p.{ending}", terms=True)
    if ending == "parquet":
        assert pq.read_schema(path).types == [pa.string()] * 3
    kb.insert("q", path)
    assert kb.facts("q").to_terms() == kb.facts("p").to_terms()


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "ndjson"])
@settings(MANY, max_examples=60)
@given(columns())
def test_an_export_of_terms_is_read_by_the_format_any_and_without(
    ending: str, tmp_path_factory: pytest.TempPathFactory, some: list[list[Term]]
) -> None:
    path = tmp_path_factory.getbasetemp() / f"terms.{ending}"
    kb = tidalog.open()
    kb.insert("p", list(zip(*some, strict=True)), progress=False)
    kb.export("p", path, terms=True)
    for name, formats in (("q", None), ("r", ["any"] * len(some))):
        kb.insert(name, path, formats=formats, progress=False)
        assert texts_of(kb.facts(name).to_terms()) == texts_of(list(zip(*some, strict=True)))


FORMATS = {
    "string": "string",
    "iri": "iri",
    "int": "any integer",
    "double": "double",
    "boolean": "boolean",
    "decimal": "decimal",
    "date": "date",
    "dateTime": "instant",
    "time": "time",
    "duration": "duration",
}


@pytest.mark.parametrize("ending", ["csv", "parquet", "ndjson", "arrow"])
@pytest.mark.parametrize("format", FORMATS)
def test_an_export_with_the_format_of_its_values_is_the_same_facts(
    ending: str, format: str, tmp_path: Path
) -> None:
    @settings(MANY, max_examples=15)
    @given(st.lists(KINDS[FORMATS[format]], min_size=1, max_size=4))
    def law(terms: list[Term]) -> None:
        kb, other = tidalog.open(), tidalog.open()
        kb.load(f'@export p :- {ending}{{resource = "p.{ending}", format = ({format})}} .')
        kb.insert("p", [(term,) for term in terms], progress=False)
        kb.write_exports(tmp_path)
        other.insert("p", tmp_path / f"p.{ending}", formats=[format], progress=False)
        assert texts_of(other.facts("p").to_terms()) == texts_of([(term,) for term in terms])

    law()


def test_a_typed_file_keeps_the_type_that_a_format_names(tmp_path: Path) -> None:
    kb = tidalog.open()
    kb.load('@export p :- parquet{resource = "p.parquet", format = (date, int, decimal)} .')
    kb.insert("p", [(date(2024, 5, 1), 2**70, Decimal("2.5"))])
    kb.write_exports(tmp_path)
    kinds = [pa.date32(), pa.decimal128(38, 0), pa.decimal128(38, 1)]
    assert pq.read_schema(tmp_path / "p.parquet").types == kinds
