"""Results: Arrow underneath, the same terms in every form, printed for people."""

from __future__ import annotations

from collections.abc import Callable

import pandas
import polars
import pyarrow as pa
import pytest

import tidalog
from tidalog.api.results import Result
from tidalog.model.errors import UsageError
from tidalog.model.term_text import format_any
from tidalog.model.terms import IRI, Boolean, Double, Integer, LangString, String, sort_key

TERMS = [
    IRI("a"),
    IRI("http://e.org/x"),
    String("a"),
    String("7"),
    LangString("hi", "en"),
    Integer(7),
    Double(7.0),
]


def mixed() -> Result:
    texts = [format_any(term) for term in TERMS]
    columns = [pa.array(texts), pa.array(range(len(texts)))]
    return Result(["x", "n"], columns, len(texts), readings=["any", "native"])


def test_text_in_a_mixed_column_is_the_term_it_says() -> None:
    assert [row[0] for row in mixed().to_terms()] == TERMS


def test_python_values_are_numbers_where_terms_are() -> None:
    values = [row[0] for row in mixed()]
    assert values == ["<a>", "<http://e.org/x>", "a", "7", '"hi"@en', 7, 7.0]
    assert [type(value) for value in values[-2:]] == [int, float]


def test_a_column_of_strings_is_what_they_hold() -> None:
    texts = ["007", "1e3", "true", "<x>", '"a"']
    result = Result(["x"], [pa.array(texts)], len(texts))
    assert [value for (value,) in result.to_rows()] == texts
    assert [term for (term,) in result.to_terms()] == [String(text) for text in texts]
    assert [term for (term,) in result.sorted().to_terms()] == [String(text) for text in sorted(texts)]


def test_a_column_says_which_terms_its_text_holds() -> None:
    for result in (mixed(), mixed().sorted(), mixed().first(2)):
        assert [field.metadata for field in result.to_arrow().schema] == [{b"tidalog.terms": b"any"}, None]


def test_native_columns_keep_their_kind() -> None:
    result = Result(["i", "d", "b"], [pa.array([1]), pa.array([2.5]), pa.array([True])], 1)
    assert result.to_terms() == [(Integer(1), Double(2.5), Boolean(True))]
    assert result.to_rows() == [(1, 2.5, True)]
    assert result.to_pylist() == [{"i": 1, "d": 2.5, "b": True}]


def test_a_result_is_indexed_by_rows_slices_and_names() -> None:
    result = Result(["x", "n"], [pa.array(["a", "b", "c"]), pa.array([1, 2, 3])], 3)
    assert (result[0], result[-1]) == (("a", 1), ("c", 3))
    assert [result[:2].to_rows(), result[::-2].to_rows()] == [[("a", 1), ("b", 2)], [("c", 3), ("a", 1)]]
    assert result["n"] == [1, 2, 3]
    assert ("b", 2) in result
    assert ("b", 3) not in result
    with pytest.raises(IndexError):
        result[3]
    with pytest.raises(UsageError, match=r"T160(.|\n)*its columns: x, n"):
        result["y"]


def test_a_result_without_columns_is_indexed_too() -> None:
    yes = Result([], [], 1)
    assert (yes[0], len(yes[:5]), len(yes[1:])) == ((), 1, 0)


def test_values_of_one_type_print_without_it() -> None:
    days = pa.array([19844], pa.int32()).cast(pa.date32())
    lines = repr(Result(["day", "n"], [days, pa.array([1])], 1)).splitlines()
    assert lines[2] == "2024-05-01   1"


def test_a_row_that_is_not_there_is_named_beside_how_many_there_are() -> None:
    kb = tidalog.open()
    kb.insert("p", [(1,), (2,)])
    for row in (99, -3):
        with pytest.raises(IndexError, match=f"there is no row {row}: the result has 2 rows"):
            kb.facts("p")[row]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (lambda kb: kb.query(5), "an int is not a query"),
        (lambda kb: kb.apply(5), "an int is not an update"),
        (lambda kb: kb.load(5), "an int cannot be loaded"),
        (lambda kb: kb.register("f", []), "a list cannot be called"),
    ],
)
def test_what_is_of_the_wrong_type_is_named(
    wrong: Callable[[tidalog.KnowledgeBase], object], problem: str
) -> None:
    with pytest.raises(tidalog.UsageError) as error:
        wrong(tidalog.open())
    assert problem in str(error.value)


def test_sorting_is_by_the_order_of_terms() -> None:
    terms = [row[0] for row in mixed().sorted().to_terms()]
    assert terms == sorted(TERMS, key=sort_key)


def test_frames_have_the_same_columns_and_rows() -> None:
    result = mixed()
    assert isinstance(result.to_pandas(), pandas.DataFrame)
    assert isinstance(result.to_polars(), polars.DataFrame)
    assert result.to_pandas()["n"].tolist() == result.to_polars()["n"].to_list() == list(range(len(TERMS)))
    assert pa.table(result) == result.to_arrow() == result.table


def test_a_result_prints_as_a_table() -> None:
    result = Result(["x", "count"], [pa.array(["a", "b c"]), pa.array([1, 20])], 2)
    assert repr(result).splitlines() == [
        "x       count",
        "─────────────",
        "a           1",
        '"b c"      20',
        "2 rows",
    ]


def test_a_long_result_is_cut_and_says_so() -> None:
    lines = repr(Result(["n"], [pa.array(range(1_500))], 1_500)).splitlines()
    assert len(lines) == 2 + 20 + 1
    assert lines[-1] == "1,500 rows, 1,480 not shown"


def test_markup_in_terms_is_text() -> None:
    result = Result(["<x>"], [pa.array(["<b>[red]&"])], 1)
    assert "[red]" in repr(result)
    shown = result._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;[red]&amp;" in shown
    assert "<th>&lt;x&gt;</th>" in shown


def test_a_result_without_columns_is_true_or_false() -> None:
    yes, no = Result([], [], 1), Result([], [], 0)
    assert (repr(yes), repr(no), list(yes), list(no)) == ("true", "false", [()], [])
    assert yes.sorted().first(5).to_terms() == [()]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_conversion_without_its_package_says_what_to_install(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidalog.api.results.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=rf"T082(.|\n)*tidalog\[{package}\]"):
        getattr(mixed(), f"to_{package}")()
