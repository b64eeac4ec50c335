"""Cells in which an IRI is asked for: by every door known prefixes are expanded, and unknown ones refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidalog
from tidalog import IRI, String, TidalogError, Update
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.engine.dictionary import Dictionary
from tidalog.io.iri_cells import read_iris, written_iris
from tidalog.lang.names import iri_named

PREFIXES = {"ex": "http://e/", "": "http://empty/", "ünï": "http://u/"}
PROGRAM = "@prefix ex: <http://e/> . @prefix : <http://empty/> . "
CELLS = {
    "ex:a": IRI("http://e/a"),
    "rdf:type": IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"),
    ":b": IRI("http://empty/b"),
    "ex:": IRI("http://e/"),
    "ex:a:b": IRI("http://e/a:b"),
    "<ex:a>": IRI("ex:a"),
    "http://x/y": IRI("http://x/y"),
    "urn:isbn:5": IRI("urn:isbn:5"),
    "<http://x/y>": IRI("http://x/y"),
    r"<a\u0020b>": IRI("a b"),
}
Door = Callable[[KnowledgeBase, Path, str], None]


def rows(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    kb.insert("p", [(cell, 1)])


def mixed_rows(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    kb.insert("p", [(cell, 1), (IRI("ex:a"), 2)])
    kb.delete("p", [(IRI("ex:a"), 2)])


def frame(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    kb.insert("p", pd.DataFrame({"n": [1], "x": [cell]}))


def polars_frame(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    kb.insert("p", pl.DataFrame({"n": [1], "x": [cell]}))


def categories(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    kb.insert("p", pa.table({"x": pa.array([cell]).dictionary_encode(), "n": [1]}))


def parquet(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    pq.write_table(pa.table({"x": [cell], "n": [1]}), folder / "p.parquet")
    kb.load(f'@import p :- parquet{{resource = "{folder}/p.parquet"}} .')


def json_lines(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    (folder / "p.jsonl").write_text(json.dumps({"x": cell, "n": 1}))
    kb.insert("p", folder / "p.jsonl")


def csv_file(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    (folder / "p.csv").write_text(f"{cell},1\n")
    kb.load(f'@import p :- csv{{resource = "{folder}/p.csv"}} .')


def early_update(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    kb.apply(Update(insertions={"p": [(cell, 1)]}))


def open_update(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    with kb.update() as update:
        update.insert("p", [(cell, 1)])


def update_table(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    with (folder / "u.csv").open("w", newline="") as file:
        lines = [["op", "predicate", "arg1", "arg2"], ["+", "p", cell, "1"], ["+", "q", cell, "1"]]
        csv.writer(file).writerows(lines)
    for update in kb.read_updates(folder / "u.csv"):
        kb.apply(update)


def typed_update_table(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    pq.write_table(
        pa.table({"op": ["+"], "predicate": ["p"], "arg1": [cell], "arg2": [1]}), folder / "u.parquet"
    )
    for update in kb.stream(folder / "u.parquet"):
        assert update


def script(kb: KnowledgeBase, folder: Path, cell: str) -> None:
    written = f"<{cell}>" if cell.startswith(("http:", "urn:")) else cell
    written = written if cell not in ("ex:", "ex:a:b") else f"<http://e/{cell[3:]}>"  # not names in a text
    (folder / "u.upd").write_text(f"+p({written}, 1).\n")
    for update in kb.read_updates(folder / "u.upd"):
        kb.apply(update)


DOORS: list[Door] = [
    rows,
    mixed_rows,
    frame,
    polars_frame,
    categories,
    parquet,
    json_lines,
    csv_file,
    early_update,
    open_update,
    update_table,
    typed_update_table,
    script,
]


def declared() -> KnowledgeBase:
    kb = tidalog.open()
    kb.load(PROGRAM + "@declare p(x: iri, n: int) . r(?x) :- p(?x, _) .")
    return kb


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_of_a_declared_column_is_the_iri_that_it_names(door: Door, cell: str, tmp_path: Path) -> None:
    kb = declared()
    door(kb, tmp_path, cell)
    assert kb.facts("r").to_terms() == [(CELLS[cell],)]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("cell", ["nope:a", "_:b"])
def test_an_unknown_prefix_is_refused_by_every_door(door: Door, cell: str, tmp_path: Path) -> None:
    kb = declared()
    with pytest.raises(TidalogError) as error:
        door(kb, tmp_path, cell)
    assert len(kb.facts("p")) == 0
    if door is not script:
        assert [d.number for d in error.value.diagnostics] == ["T156"]
        assert cell == "_:b" or "known prefixes are ex:, :, " in str(error.value)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("make", [rows, mixed_rows, "csv", "parquet", "import"])
def test_a_format_reads_the_same(make: str | Door, cell: str, tmp_path: Path) -> None:
    kb = tidalog.open()
    kb.load(PROGRAM)
    formats = ["iri", "int"]
    if make is rows:
        kb.insert("p", [(cell, 1)], formats=formats)
    elif make is mixed_rows:
        kb.insert("p", [(cell, 1), (CELLS[cell], 1)], formats=formats)
    elif make == "parquet":
        pq.write_table(pa.table({"x": [cell], "n": [1]}), tmp_path / "p.parquet")
        kb.insert("p", tmp_path / "p.parquet", formats=formats)
    else:
        (tmp_path / "p.csv").write_text(f"{cell},1\n")
        if make == "import":
            kb.load(f'@import p :- csv{{resource = "{tmp_path}/p.csv", format = (iri, int)}} .')
        else:
            kb.insert("p", tmp_path / "p.csv", formats=formats)
    assert [row[0] for row in kb.facts("p").to_terms()] == [CELLS[cell]]


def test_a_format_refuses_an_unknown_prefix_and_names_those_that_are_known() -> None:
    kb = tidalog.open()
    kb.load(PROGRAM)
    with pytest.raises(TidalogError) as error:
        kb.insert("p", [("ex:a",), ("rfd:a",)], formats=["iri"])
    assert [d.number for d in error.value.diagnostics] == ["T036"]
    assert "did you mean rdf: ?" in str(error.value) and "known prefixes are ex:, :, " in str(error.value)
    assert kb.insert("p", [("ex:a",), ("rfd:a",)], formats=["iri"], on_error="skip") == 1


def test_what_is_an_iri_already_stands_for_itself() -> None:
    kb = declared()
    field = pa.field("x", pa.string(), metadata={"tidalog.terms": "iri"})
    table = pa.table([pa.array(["ex:b"]), pa.array([2])], pa.schema([field, pa.field("n", pa.int64())]))
    kb.insert("p", [(IRI("ex:a"), 1)])
    kb.insert("p", table)
    kb.insert("p", table, formats=["iri", "int"])
    assert {row[0] for row in kb.facts("p").to_terms()} == {IRI("ex:a"), IRI("ex:b")}


@pytest.mark.parametrize("value", [5, True, 2.5])
def test_a_value_that_is_no_text_is_not_an_iri_beside_one_that_is(value: object) -> None:
    kb = tidalog.open()
    assert kb.insert("p", [(value,), ("http://e/a",)], formats=["iri"], on_error="skip") == 1
    assert kb.facts("p").to_terms() == [(IRI("http://e/a"),)]


def test_a_literal_of_rdf_is_not_an_iri(tmp_path: Path) -> None:
    kb = tidalog.open()
    kb.load(PROGRAM + "@declare triple(s: iri, p: iri, o: iri) .")
    (tmp_path / "a.nt").write_text('<http://e/a> <http://e/p> "ex:b" .\n')
    with pytest.raises(TidalogError):
        kb.insert("triple", tmp_path / "a.nt")


def test_a_declaration_does_not_turn_strings_that_are_there_into_iris() -> None:
    kb = tidalog.open()
    kb.insert("p", [("http://e/a", 1)])
    with pytest.raises(TidalogError):
        kb.load("@declare p(x: iri, n: int) .")
    assert kb.facts("p").to_terms()[0][0] == String("http://e/a")


@pytest.mark.parametrize("ending", ["csv", "parquet", "ndjson", "arrow"])
@pytest.mark.parametrize("formats", ["", ", format = (iri)"])
def test_an_export_is_read_as_the_same_iris(ending: str, formats: str, tmp_path: Path) -> None:
    iris = [
        (IRI(text),) for text in ("ex:a", "ex:b c", "http://x/y", "a", "urn:a", "<b>", "a/b:c", "_:b", "")
    ]
    kb, other = tidalog.open(), tidalog.open()
    binding = f':- {ending}{{resource = "{tmp_path}/p.{ending}"{formats}}} .'
    kb.load(f"@export p {binding}")
    kb.insert("p", iris)
    kb.write_exports(tmp_path)
    other.load(PROGRAM + f"@declare p(x: iri) . @import p {binding}")
    assert set(other.facts("p").to_terms()) == set(iris)


_PIECES = st.sampled_from(
    ["ex", "rdf", "ünï", "urn", "x y", "http", ":", "/", "//", "<", ">", "\\u0041", "é", "", '"']
)
_TEXTS = st.lists(_PIECES, max_size=5).map("".join)


@given(st.lists(_TEXTS, max_size=6))
@settings(max_examples=500, deadline=None)
def test_a_column_is_read_as_each_of_its_texts(texts: list[str]) -> None:
    iris, bad = read_iris(pa.chunked_array([texts[:2], texts[2:]], pa.string()), PREFIXES)
    found = [None if wrong else IRI(value) for value, wrong in zip(iris.to_pylist(), bad, strict=True)]
    assert found == [iri_named(text, PREFIXES) for text in texts]


@given(st.lists(_TEXTS, max_size=6))
@settings(max_examples=500, deadline=None)
def test_what_is_written_is_read_whatever_the_prefixes_are(texts: list[str]) -> None:
    iris, bad = read_iris(written_iris(pa.chunked_array([texts], pa.string())), PREFIXES)
    assert not bad.any() and iris.to_pylist() == texts
    ids = Dictionary().encode(iris, "iri")
    assert len(ids) == len(texts)
