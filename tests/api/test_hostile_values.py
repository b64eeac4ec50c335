"""Values at the border that are easily changed: each comes in as what it is, or is refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import rdflib
from pyarrow import feather
from pyarrow import parquet as pq

import tidalog
from tidalog import Literal, String, TidalogError
from tidalog.model.term_text import from_python
from tidalog.model.terms import XSD, Integer, Term

DAY = 86_400_000


def inserted(data: object, *, program: str = "", skip: bool = False) -> list[tuple[Term, ...]]:
    kb = tidalog.open()
    kb.load(program)
    kb.insert("p", data, on_error="skip" if skip else "error")
    return kb.facts("p").to_terms()


def unchecked(kind: pa.DataType, values: list[int]) -> pa.Table:
    """Values that Arrow would not build a column of."""
    data = pa.py_buffer(np.array(values, np.int64))
    return pa.table({"x": pa.Array.from_buffers(kind, len(values), [None, data])})


NULLS = {
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])),
    "run ends": pc.run_end_encode(pa.array(["a", None, None])),
    "numbers": pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([7, None])),
}


@pytest.mark.parametrize("name", NULLS)
def test_a_null_inside_an_encoding_is_a_missing_value(name: str, tmp_path: Path) -> None:
    array = NULLS[name]
    (value,) = {one for one in array.to_pylist() if one is not None}
    assert inserted(pa.table({"x": array}), skip=True) == [(from_python(value),)]
    with pytest.raises(TidalogError) as error:
        inserted(pa.table({"x": array}))
    assert {d.number for d in error.value.diagnostics} == {"T037"}


def test_a_null_inside_a_dictionary_is_a_missing_argument_of_an_update(tmp_path: Path) -> None:
    arguments = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    table = pa.table({"op": ["+", "+"], "predicate": ["p", "p"], "arg1": ["x", "x"], "arg2": arguments})
    feather.write_feather(table, str(tmp_path / "u.arrow"), compression="uncompressed")
    kb = tidalog.open()
    kb.load("r(?x) :- p(?x, ?y) . p(1, 2) .")
    with pytest.raises(TidalogError):
        for update in kb.read_updates(tmp_path / "u.arrow"):
            kb.apply(update)
    assert len(kb.facts("p")) == 1


@pytest.mark.parametrize("lexical", ["1.50", "5.", "x", ""])
def test_a_literal_that_only_claims_to_be_an_integer_stays_what_it_is(lexical: str) -> None:
    term = Literal(lexical, XSD + "integer")
    assert inserted([(term,)]) == [(term,)]
    assert set(inserted([(term,), (2**70,)])) == {(term,), (from_python(2**70),)}


SPELT = {
    "007": 7,
    "-0": 0,
    "05": 5,
    "-007": -7,
    "+5": 5,
    "00" + "9" * 30: 10**30 - 1,
    "-0" + "1" * 20: -int("1" * 20),
}


@pytest.mark.parametrize("lexical", SPELT)
@pytest.mark.parametrize("program", ["", "@declare p(a: int) ."])
def test_an_integer_of_any_spelling_is_that_integer(lexical: str, program: str) -> None:
    term, wanted = Literal(lexical, XSD + "integer"), from_python(SPELT[lexical])
    for data in ([(term,)], {"a": [term]}, pd.DataFrame({"a": [term]}), [term], [(term,), (wanted,)]):
        assert inserted(data, program=program) == [(wanted,)]
    kb = tidalog.open()
    kb.register("answer", lambda _: term)
    kb.register_aggregate("last", lambda _: term)
    kb.load(f"{program} q(ANSWER(?x)) :- p(?x) . r(#last(?x)) :- p(?x) .")
    with kb.update() as update:
        update.insert("p", [(term,)])
    assert [kb.facts(name).to_terms() for name in "pqr"] == [[(wanted,)]] * 3
    assert len(kb.query("p(?x), ?x = $x", x=term)) == 1
    kb.apply(tidalog.Update().delete("p", [(term,)]))
    assert not len(kb.facts("p"))
    kb.apply(tidalog.Update().insert("p", [(term,)]))
    assert kb.delete("p", [(term,)]) == 1


@pytest.mark.parametrize("value", [-5, 86_400 * 10**6, 2**62])
def test_a_time_outside_of_a_day_is_not_a_term(value: int) -> None:
    with pytest.raises(TidalogError) as error:
        inserted(unchecked(pa.time64("us"), [value]))
    assert [d.number for d in error.value.diagnostics] == ["T045"]


def test_a_date_with_a_time_of_day_is_not_rounded() -> None:
    assert inserted(unchecked(pa.date64(), [-DAY])) == [(Literal("1969-12-31", XSD + "date"),)]
    with pytest.raises(TidalogError) as error:
        inserted(unchecked(pa.date64(), [-5]))
    assert [d.number for d in error.value.diagnostics] == ["T045"]


def test_a_duration_that_is_too_long_is_refused_in_plain_words() -> None:
    with pytest.raises(
        TidalogError, match="holds durations of more than 2\\^63 seconds, which are not terms"
    ):
        inserted(unchecked(pa.duration("s"), [-(2**63)]))


@pytest.mark.parametrize("names", [("a", "b"), ("A", "b")])
def test_a_column_is_not_taken_for_two_names_that_differ_in_capitals(names: tuple[str, str]) -> None:
    with pytest.raises(TidalogError) as error:
        inserted(pa.table([[1], [2]], names=list(names)), program='@declare p("A", "a") .')
    assert [d.number for d in error.value.diagnostics] == ["T155"]
    both = pa.table([[1], [2]], names=["a", "A"])
    assert inserted(both, program='@declare p("A", "a") .') == [(Integer(2), Integer(1))]


def test_text_of_numpy_keeps_what_follows_a_null_character() -> None:
    assert inserted(np.array(["a\0b"])) == [(String("a\0b"),)]


@pytest.mark.parametrize(
    "array",
    [
        np.array([3], "timedelta64[M]"),
        np.array([3], "timedelta64[Y]"),
        np.array([3], "timedelta64[h]"),
        np.array([3], "timedelta64[W]"),
        np.array(["2024-05-01T10"], "datetime64[h]"),
        np.array(["2024-05-01T10:30"], "datetime64[m]"),
        np.array(["2024-05-01T10:30:00.5"], "datetime64[ms]"),
    ],
    ids=lambda array: str(array.dtype),
)
def test_a_column_of_numpy_has_the_terms_of_its_values(array: np.ndarray) -> None:
    (expected,) = inserted([(array[0],)])
    assert inserted(array) == [expected]
    assert isinstance(expected[0], Literal) and expected[0].lexical != "NaT"


@pytest.mark.parametrize("dtype", ["datetime64[ps]", "datetime64[as]", "timedelta64[ps]", "timedelta64[fs]"])
def test_times_finer_than_nanoseconds_are_refused(dtype: str) -> None:
    array = np.array([5], dtype)
    for data in (array, [(array[0],)]):
        with pytest.raises(TidalogError):
            inserted(data)


@pytest.mark.parametrize("dtype", ["datetime64[ns]", "datetime64[D]", "timedelta64[s]", "timedelta64[M]"])
def test_nat_is_a_missing_value(dtype: str) -> None:
    array = np.array(["NaT", 1] if dtype.startswith("timedelta") else ["NaT", "2024-05-01"], dtype)
    rows = [(one,) for one in array]
    assert inserted(rows, skip=True) == inserted(array, skip=True) == inserted(rows[1:])
    assert len(inserted(rows[1:])) == 1


def test_half_a_character_in_a_label_does_not_make_a_string_of_a_blank_node() -> None:
    with pytest.raises(TidalogError) as error:
        inserted([(rdflib.BNode("\ud800"),)])
    assert [d.number for d in error.value.diagnostics] == ["T036"]


def test_a_signalling_nan_is_not_a_term() -> None:
    with pytest.raises(TidalogError) as error:
        inserted([(Decimal("sNaN"),)])
    assert [d.number for d in error.value.diagnostics] == ["T036"]


@pytest.mark.parametrize("way", ["to_arrow", "to_pandas", "to_polars", "to_rows", "to_terms", "to_pylist"])
@pytest.mark.parametrize("facts", ["", "go ."])
def test_a_predicate_without_arguments_comes_back_from_every_result(way: str, facts: str) -> None:
    kb, other = tidalog.open(), tidalog.open()
    kb.load("done :- go . " + facts)
    other.load("done :- go .")
    other.insert("go", getattr(kb.facts("go"), way)())
    assert len(other.facts("done")) == len(kb.facts("done"))


def test_old_timestamps_of_parquet_keep_their_century_and_their_nanoseconds(tmp_path: Path) -> None:
    old = pa.array([-14_831_769_600_000_000, 5], pa.timestamp("us"))
    fine = pa.array([-1, 5], pa.timestamp("ns"))
    pq.write_table(
        pa.table({"x": old, "y": fine}), tmp_path / "p.parquet", use_deprecated_int96_timestamps=True
    )
    assert {row[0] for row in inserted(tmp_path / "p.parquet")} == {
        Literal("1500-01-01T00:00:00", XSD + "dateTime"),
        Literal("1970-01-01T00:00:00.000005", XSD + "dateTime"),
    }
    assert {row[1] for row in inserted(tmp_path / "p.parquet")} == {
        Literal("1969-12-31T23:59:59.999999999", XSD + "dateTime"),
        Literal("1970-01-01T00:00:00.000000005", XSD + "dateTime"),
    }


def test_a_row_without_names_among_rows_with_names_is_not_taken_in_another_order() -> None:
    rows = [{"b": 2, "a": 1}, (3, 4)]
    assert inserted(rows, program="@declare p(a, b) .", skip=True) == [(Integer(1), Integer(2))]
    with pytest.raises(TidalogError):
        inserted(rows, program="@declare p(a, b) .")
