"""Declarations: types are a contract at every door, names are those of columns in and out."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import tidalog
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.model.column_types import TYPES
from tidalog.model.errors import TidalogError
from tidalog.model.term_text import from_python
from tidalog.model.terms import IRI, XSD, Double, Integer, String, Term, literal

GOOD: Mapping[str, tuple[object, str]] = {
    # a value of Python, and its text in a CSV file
    "string": ("007", "007"),
    "int": (42, " +42 "),
    "double": (2.5, "2.50"),
    "decimal": (Decimal("2.5"), "2.50"),
    "boolean": (True, "TRUE"),
    "date": (date(2026, 5, 31), "2026-05-31"),
    "dateTime": (datetime(2026, 5, 31, 18, 30, tzinfo=UTC), "2026-05-31 18:30:00Z"),
    "time": (time(18, 30), "18:30:00"),
    "duration": (timedelta(days=1, hours=2), "P1DT2H"),
    "iri": (IRI("http://e/a"), "http://e/a"),
}
BAD: Mapping[str, tuple[object, str]] = {
    "string": (7, '"7"@en'),
    "int": (2.5, "2.5"),
    "double": ("2.5", "warm"),
    "decimal": (2.5, "1e3"),
    "boolean": (1, "yes"),
    "date": (datetime(2026, 5, 31), "2026-02-30"),
    "dateTime": ("2026-05-31", "today"),
    "time": (timedelta(hours=1), "24:30:00"),
    "duration": (5, "5"),
    "iri": ("ada", "a b"),
}
Door = Callable[[KnowledgeBase, Path, object, str], None]
"""Inserts p(1, value) into a knowledge base; the value is also given as text of CSV."""
DOORS: dict[str, Door] = {}


def door(function: Door) -> Door:
    DOORS[function.__name__.strip("_")] = function
    return function


@door
def rows(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    kb.insert("p", [(1, value)])


@door
def mappings(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    kb.insert("p", [{"value": value, "id": 1}])


@door
def update(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    with kb.update() as u:
        u.insert("p", [(1, value)])


@door
def early_update(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    kb.apply(tidalog.Update(insertions={"p": {"value": [value], "id": [1]}}))


@door
def pandas_frame(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    kb.insert("p", pd.DataFrame({"value": [value], "id": [1]}))


@door
def arrow(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    kb.insert("p", _table(value))


@door
def polars_frame(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    kb.insert("p", pl.from_arrow(_table(value)) if not isinstance(value, IRI) else _table(value))


@door
def parquet(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    pq.write_table(_table(value), folder / "p.parquet")
    kb.insert("p", folder / "p.parquet")


@door
def arrow_file(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    feather.write_feather(_table(value), str(folder / "p.arrow"), compression="uncompressed")
    kb.load(f'@import p :- arrow{{resource = "{folder}/p.arrow"}} .')


@door
def json_lines(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    (folder / "p.jsonl").write_text(json.dumps({"value": _json(value), "id": 1}) + "\n")
    kb.load(f'@import p :- json{{resource = "{folder}/p.jsonl"}} .')


@door
def csv_file(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    _csv(folder / "p.csv", [["value", "id"], [text, "1"]])
    kb.load(f'@import p :- csv{{resource = "{folder}/p.csv", header = true}} .')


@door
def csv_without_a_header(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    _csv(folder / "p.csv", [["1", text]])
    kb.insert("p", folder / "p.csv")


@door
def update_table(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    _csv(
        folder / "u.csv", [["op", "predicate", "arg1", "arg2"], ["+", "p", "1", text], ["+", "q", "1", text]]
    )
    for one in kb.read_updates(folder / "u.csv"):
        kb.apply(one)


@door
def script(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    (folder / "u.upd").write_text(f"+p(1, {_written(value)}).\n")
    for one in kb.stream(folder / "u.upd"):
        assert one


@door
def program(kb: KnowledgeBase, folder: Path, value: object, text: str) -> None:
    kb.load(f"p(1, {_written(value)}).")


def _table(value: object) -> pa.Table:
    if isinstance(value, IRI):
        field = pa.field("value", pa.string(), metadata={"tidalog.terms": "iri"})
        return pa.table(
            [pa.array([value.value]), pa.array([1])], pa.schema([field, pa.field("id", pa.int64())])
        )
    return pa.table({"value": [value], "id": [1]})


def _json(value: object) -> object:
    if isinstance(value, IRI):
        return {"@id": value.value}
    if isinstance(value, str | int | float):
        return value
    term = from_python(value)
    assert isinstance(term, tidalog.Literal)
    return {"@value": term.lexical, "@type": term.datatype}


def _csv(path: Path, lines: list[list[str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(lines)


def _written(value: object) -> str:
    return tidalog.lang.print_expression(from_python(value))


def declared(kind: str) -> KnowledgeBase:
    kb = tidalog.open()
    kb.load(f"@declare p(id: int, value: {kind}) . r(?x) :- p(_, ?x) .")
    return kb


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("name", DOORS)
def test_a_value_of_the_type_comes_in_and_is_the_same_fact_by_every_door(
    name: str, kind: str, tmp_path: Path
) -> None:
    kb = declared(kind)
    value, text = GOOD[kind]
    DOORS[name](kb, tmp_path, value, text)
    assert kb.facts("p").to_terms() == [(Integer(1), from_python(value))]
    assert kb.facts("r").to_terms() == [(from_python(value),)]


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", DOORS)
def test_a_value_of_another_type_is_refused_by_every_door(name: str, kind: str, tmp_path: Path) -> None:
    kb = declared(kind)
    value, text = BAD[kind]
    if name.startswith("csv") or name == "update_table":
        value = text
    with pytest.raises(TidalogError) as error:
        DOORS[name](kb, tmp_path, value, text)
    assert {d.number for d in error.value.diagnostics} <= {"T154", "T156"}
    assert len(kb.facts("p")) == 0


def test_every_type_is_tested() -> None:
    assert {"any", *GOOD} == {"any", *BAD} == set(TYPES)


@pytest.mark.parametrize("name", DOORS)
def test_an_integer_is_the_double_of_the_same_value(name: str, tmp_path: Path) -> None:
    kb = declared("double")
    DOORS[name](kb, tmp_path, 5, "5")
    assert kb.facts("p").to_terms() == [(Integer(1), Double(5.0))]
    with pytest.raises(TidalogError):
        DOORS[name](kb, tmp_path, 2**53 + 1, "?")


@pytest.mark.parametrize("kind", ["date", "dateTime", "time", "duration"])
@pytest.mark.parametrize("name", sorted(DOORS))
def test_a_string_is_the_date_time_or_duration_that_it_spells(name: str, kind: str, tmp_path: Path) -> None:
    value, text = GOOD[kind]
    kb = tidalog.open()
    kb.load(f"@declare p(id: int, value: {kind}) .")
    DOORS[name](kb, tmp_path, text, text)
    expected = tidalog.open()
    expected.insert("p", [(1, value)])
    assert kb.facts("p").to_terms() == expected.facts("p").to_terms()


def test_a_deletion_is_converted_as_the_insertion_was(tmp_path: Path) -> None:
    kb = declared("double")
    kb.insert("p", [(1, 5), (2, 5.0), (3, 5)])
    assert kb.delete("p", [(1, 5)]) == 1
    with kb.update() as u:
        u.delete("p", [(2, 5)])
    (tmp_path / "u.upd").write_text("-p(3, 5).")
    list(kb.stream(tmp_path / "u.upd"))
    assert u.delta["p"].deleted_count == 1 and len(kb.facts("p")) == 0


def test_bad_rows_are_skipped_where_that_is_asked_for(tmp_path: Path) -> None:
    kb = declared("date")
    _csv(tmp_path / "p.csv", [["1", "2026-05-31"], ["2", "someday"], ["three", "2026-05-31"]])
    assert kb.insert("p", tmp_path / "p.csv", on_error="skip", quarantine=tmp_path / "q.csv") == 1
    kept = list(csv.reader((tmp_path / "q.csv").open()))
    assert [row[:2] for row in kept[1:]] == [["2", "2"], ["3", "1"]]
    assert kb.insert("p", [(5, date(2026, 1, 1)), (6, "x")], on_error="skip") == 1


def test_columns_have_the_declared_names() -> None:
    kb = tidalog.open()
    kb.load("@declare edge(from, to) . @declare hop(_: string, end) . hop(?x, ?y) :- edge(?x, ?y) .")
    assert kb.facts("edge").columns == ("from", "to")
    with kb.update() as u:
        u.insert("edge", [("a", "b")])
    assert u.delta["edge"].inserted.to_pylist() == [{"from": "a", "to": "b"}]
    assert kb.facts("hop").columns == u.delta["hop"].inserted.columns == ("arg1", "end")
    assert kb.facts("edge").to_pandas().columns.tolist() == ["from", "to"]
    assert kb.query("?x, ?y :- edge(?x, ?y)").columns == ("x", "y")


def test_files_have_the_declared_names(tmp_path: Path) -> None:
    kb = tidalog.open()
    kb.load("@declare edge(from, to) . edge(a, b).")
    kb.export("edge", tmp_path / "edge.csv", header=True)
    kb.export("edge", tmp_path / "edge.parquet")
    kb.export("edge", tmp_path / "edge.jsonl")
    assert (tmp_path / "edge.csv").read_text() == "from,to\na,b\n"
    assert pq.read_table(tmp_path / "edge.parquet").column_names == ["from", "to"]
    assert json.loads((tmp_path / "edge.jsonl").read_text()) == {"from": "a", "to": "b"}


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "arrow"])
def test_what_a_declared_predicate_is_exported_to_is_read_as_the_same_facts(
    ending: str, tmp_path: Path
) -> None:
    columns = ", ".join(f"c{number}: {kind}" for number, kind in enumerate(GOOD))
    text = f"@declare p({columns}) ."
    first, second = tidalog.open(), tidalog.open()
    first.load(text)
    first.insert(
        "p", [tuple(value for value, _ in GOOD.values()), ('"42"', *[v for v, _ in GOOD.values()][1:])]
    )
    first.export("p", tmp_path / f"p.{ending}", **({"header": True} if ending == "csv" else {}))
    second.load(text)
    second.insert("p", tmp_path / f"p.{ending}", **({"header": True} if ending == "csv" else {}))
    assert set(second.facts("p").to_terms()) == set(first.facts("p").to_terms())


def test_columns_are_found_by_name_whatever_their_order_and_capitals() -> None:
    kb = declared("string")
    kb.insert("p", pd.DataFrame({"Value": ["a"], "note": [1.5], "ID": [1]}))
    assert kb.facts("p").to_rows() == [(1, "a")]
    (warning,) = kb.warnings
    assert warning.number == "W017" and "note" in warning.render()


NOTES = [[1], {"of": "a"}, "x"]


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"note": NOTES, "value": ["a", "b", "c"], "id": [1, 2, 3]}),
        {"note": NOTES, "value": ["a", "b", "c"], "id": [1, 2, 3]},
        [
            {"note": note, "value": value, "id": n}
            for note, value, n in zip(NOTES, "abc", (1, 2, 3), strict=True)
        ],
        [{"id": 1, "value": "a"}, {"id": 2, "value": "b", "note": [1]}, {"other": 1, "value": "c", "id": 3}],
    ],
    ids=["pandas", "columns", "rows", "rows of several shapes"],
)
@pytest.mark.parametrize("file", [False, True])
def test_what_other_columns_hold_does_not_matter(data: object, file: bool, tmp_path: Path) -> None:
    kb = declared("string")
    if file:
        rows = data if isinstance(data, list) else pd.DataFrame(data).to_dict("records")
        data = tmp_path / "rows.ndjson"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert kb.insert("p", data) == 3
    assert sorted(kb.facts("p").to_rows()) == [(1, "a"), (2, "b"), (3, "c")]
    assert [warning.number for warning in kb.warnings] == ["W017"]


def test_a_line_without_a_declared_field_is_a_bad_row_wherever_it_is(tmp_path: Path) -> None:
    (tmp_path / "rows.ndjson").write_text(
        '{"id": 1}\n{"value": "b", "ID": 2, "note": 1}\n{"id": 3}\n[4, "d"]\n'
    )
    kb = declared("string")
    assert kb.insert("p", tmp_path / "rows.ndjson", on_error="skip") == 2
    assert sorted(kb.facts("p").to_rows()) == [(2, "b"), (4, "d")]
    (tmp_path / "other.ndjson").write_text('{"id": 1}\n{"id": 3}\n')
    with pytest.raises(TidalogError, match="T155"):
        kb.insert("p", tmp_path / "other.ndjson")


def test_data_without_these_names_goes_by_its_order() -> None:
    kb = declared("string")
    kb.insert("p", pd.DataFrame({"x": [1], "y": ["a"]}))
    kb.insert("p", {"b": [2], "a": ["b"]}, columns=["b", "a"])
    kb.insert("p", pd.DataFrame([[3, "c"]]))
    assert sorted(kb.facts("p").to_rows()) == [(1, "a"), (2, "b"), (3, "c")]


def test_columns_that_are_chosen_are_not_looked_for() -> None:
    kb = tidalog.open()
    kb.load("@declare edge(from, to) .")
    kb.insert("edge", {"from": ["a"], "to": ["b"]}, columns=["to", "from"])
    assert kb.facts("edge").to_rows() == [("b", "a")]


def test_some_of_the_names_are_an_error_and_nothing_is_inserted() -> None:
    kb = declared("string")
    for data in ({"id": [1], "valeu": ["a"]}, [{"id": 1}], {"id": [1]}):
        with pytest.raises(TidalogError) as error:
            kb.insert("p", data)
        assert error.value.diagnostics[0].number == "T155"
    assert len(kb.facts("p")) == 0


def test_a_mapping_without_a_value_is_a_bad_row() -> None:
    kb = declared("string")
    with pytest.raises(TidalogError) as error:
        kb.insert("p", [{"id": 1, "value": "a"}, {"id": 2}])
    assert error.value.diagnostics[0].number == "T037"


def test_a_declared_predicate_is_known_before_it_has_facts() -> None:
    kb = declared("string")
    assert not kb.warnings and kb.predicates["p"].arity == 2 and len(kb.facts("p")) == 0


def test_a_second_declaration_says_the_same_or_is_refused() -> None:
    kb = declared("string")
    kb.load("@declare p(id: integer, value: string) . s(a).")
    for text in ("@declare p(id: int, value: int) .", "@declare p(id, value: string) .", "@declare p(x) ."):
        with pytest.raises(TidalogError) as error:
            kb.load(text)
        assert error.value.diagnostics[0].number == "T152"
    assert kb.program.declared["p"].types == ("int", "string")


def test_facts_that_are_there_fit_a_new_declaration_as_they_are() -> None:
    kb = tidalog.open()
    kb.insert("p", [(1, "a"), (2, "b")])
    kb.load("@declare p(id: int, value: string) .")
    kb.insert("q", [(1,)])
    with pytest.raises(TidalogError) as error:
        kb.load("@declare q(x: double) .")
    assert error.value.diagnostics[0].number == "T157"
    assert "q" not in kb.program.declared and kb.facts("q").to_terms() == [(Integer(1),)]


def test_an_update_that_was_read_before_a_declaration_is_refused(tmp_path: Path) -> None:
    kb = tidalog.open()
    (tmp_path / "u.upd").write_text("+p(1).")
    (early,) = kb.read_updates(tmp_path / "u.upd")
    kb.load("@declare q(x: int) . @declare p(x: double) .")
    with pytest.raises(TidalogError) as error:
        kb.apply(early)
    assert error.value.diagnostics[0].number == "T158"
    (update,) = kb.read_updates(tmp_path / "u.upd")
    kb.rules.add("r(?x) :- p(?x)")
    kb.apply(update)
    assert kb.facts("r").to_terms() == [(Double(1.0),)]


def test_a_store_keeps_declarations(tmp_path: Path) -> None:
    with tidalog.open(tmp_path / "store") as kb:
        kb.load("@declare p(id: int, value: date) . r(?x) :- p(?x, _) .")
        kb.insert("p", [(1, date(2026, 5, 31))])
        kb.rules.add("s(?x) :- p(?x, _)")
    with tidalog.open(tmp_path / "store") as kb:
        assert kb.facts("p").columns == ("id", "value")
        with pytest.raises(TidalogError):
            kb.insert("p", [(2, "today")])
        with pytest.raises(TidalogError) as error:
            kb.rules.add("t(?x) :- p(?x)")
        assert error.value.diagnostics[0].number == "T153"
        kb.insert("p", [(2, date(2026, 6, 1))])
    with tidalog.open(tmp_path / "store") as kb:
        assert kb.program.declared["p"].types == ("int", "date")
        assert [row[0] for row in sorted(kb.facts("s").to_rows())] == [1, 2]


def test_types_of_derived_facts_are_not_checked() -> None:
    kb = tidalog.open()
    kb.load("@declare p(x: int) . p(?x) :- q(?x) . q(a).")
    assert kb.facts("p").to_terms() == [(String("a"),)]


def test_rdf_goes_through_the_types_of_triples(tmp_path: Path) -> None:
    (tmp_path / "t.nt").write_text(
        f'<http://e/a> <http://e/p> "5"^^<{XSD}integer> .\n<http://e/b> <http://e/p> "x" .\n'
    )
    kb = tidalog.open()
    kb.load("@declare triple(s: iri, p: iri, o: double) .")
    assert kb.insert("triple", tmp_path / "t.nt", on_error="skip") == 1
    expected: list[tuple[Term, ...]] = [(IRI("http://e/a"), IRI("http://e/p"), Double(5.0))]
    assert kb.facts("triple").to_terms() == expected
    assert kb.facts("triple").columns == ("s", "p", "o")


def test_formats_of_files_are_the_types_of_declarations(tmp_path: Path) -> None:
    _csv(tmp_path / "p.csv", [["2026-05-31", "2.50", "1"]])
    kb = tidalog.open()
    kb.insert("p", tmp_path / "p.csv", formats=["date", "decimal", "float"])
    assert kb.facts("p").to_terms() == [
        (literal("2026-05-31", XSD + "date"), literal("2.5", XSD + "decimal"), Double(1.0))
    ]
    kb.load(f'@export p :- csv{{resource = "{tmp_path}/out.csv", format = (date, decimal, double)}} .')
    kb.write_exports()
    assert (tmp_path / "out.csv").read_text() == "2026-05-31,2.5,1.0\n"
