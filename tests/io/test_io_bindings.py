"""@import and @export: options mean what they say, and bad rows are kept beside the program."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tidalog.io.binding import export_path, is_rdf, read_binding, write_binding
from tidalog.io.result import ReadResult
from tidalog.lang import parse
from tidalog.model.errors import DataError
from tidalog.model.program import DataBinding, OptionValue


def rows_of(result: ReadResult) -> list[tuple[object, ...]]:
    return list(zip(*(column.array.to_pylist() for column in result.columns), strict=True))


def binding(format: str, /, **options: OptionValue) -> DataBinding:
    return DataBinding("edge", format, options)


def test_the_options_of_a_program_are_understood(tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("# made by hand\nfrom;to;note\na;1;x\nb;2;y\nc;3;z\n")
    program = parse(
        '@import edge :- dsv{resource = "edges.txt", delimiter = ";", ignore_headers = true, skip = 1, '
        "limit = 2, format = (string, int, skip)} .",
        "rules.rls",
    )
    result = read_binding(program.imports[0], tmp_path, arity=2)
    assert rows_of(result) == [("a", 1), ("b", 2)]
    assert [column.reading for column in result.columns] == ["string", "native"]


@pytest.mark.parametrize("resource", ["", (), ("a.csv", "")])
def test_a_resource_without_a_name_is_not_the_folder(resource: OptionValue, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"T033.*resource"):
        read_binding(binding("csv", resource=resource), tmp_path)


def test_one_format_needs_no_parentheses(tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("1\n")
    assert rows_of(read_binding(binding("csv", format="int"), tmp_path)) == [(1,)]


def test_several_resources_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    (tmp_path / "b.csv").write_text("2\n")
    assert rows_of(read_binding(binding("csv", resource=("a.csv", "b.csv")), tmp_path)) == [("1",), ("2",)]


def test_skipped_rows_are_kept_beside_the_program(tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("1\nx\n")
    result = read_binding(binding("csv", format=("int",), on_error="skip"), tmp_path)
    assert result.bad.quarantine == tmp_path / "edge.quarantine.csv"
    assert "x" in result.bad.quarantine.read_text()
    named = binding("csv", format=("int",), quarantine="elsewhere/bad.csv")
    result = read_binding(named, tmp_path, on_error="skip")
    assert result.bad.quarantine == tmp_path / "elsewhere" / "bad.csv"
    other = read_binding(
        binding("csv", format=("int",)), tmp_path, on_error="skip", quarantine_dir=tmp_path / "q"
    )
    assert other.bad.quarantine == tmp_path / "q" / "edge.quarantine.csv"


def test_the_binding_has_the_last_word_on_errors(tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("1\nx\n")
    with pytest.raises(DataError, match="T036"):
        read_binding(binding("csv", format=("int",), on_error="error"), tmp_path, on_error="skip")


def test_export_paths_and_kinds_are_known_beforehand(tmp_path: Path) -> None:
    assert export_path(binding("csv"), tmp_path) == tmp_path / "edge.csv"
    assert export_path(binding("rdf", resource="out/a.ttl.gz"), tmp_path) == tmp_path / "out" / "a.ttl.gz"
    assert [is_rdf(binding(f, resource="a.nt"), tmp_path) for f in ("csv", "rdf", "turtle")] == [
        False,
        True,
        True,
    ]


def test_an_export_makes_the_folders_it_needs(tmp_path: Path) -> None:
    path = write_binding(binding("csv", resource="new/folder/e.csv"), pa.table({"a": ["x"]}), tmp_path)
    assert path.read_text() == "x\n"


def test_a_header_is_written_and_read(tmp_path: Path) -> None:
    table = pa.table({"from": ["a"], "to": ["b"]})
    path = write_binding(binding("tsv", header=True), table, tmp_path)
    assert path.read_text() == "from\tto\na\tb\n"
    assert rows_of(read_binding(binding("tsv", header=True), tmp_path, arity=2)) == [("a", "b")]


def test_an_export_goes_to_one_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"T033.*one file"):
        write_binding(binding("csv", resource=("a.csv", "b.csv")), pa.table({"a": ["x"]}), tmp_path)


def test_reading_options_are_no_writing_options(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"T033.*no option on_error"):
        write_binding(binding("csv", on_error="skip"), pa.table({"a": ["x"]}), tmp_path)
