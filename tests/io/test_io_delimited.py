"""Delimited text: rows are what a CSV reader says, places are right, bad rows are neither lost nor let in."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalog.io.delimited import Layout, fields_of
from tidalog.io.read import read_table
from tidalog.io.result import ReadResult
from tidalog.io.row_scan import index_rows, survey
from tidalog.model.errors import DataError


def rows_of(result: ReadResult) -> list[tuple[object, ...]]:
    if not result.columns:
        return [()] * result.rows
    return list(zip(*(column.array.to_pylist() for column in result.columns), strict=True))


def read(path: Path, content: str | bytes, **options: object) -> list[tuple[object, ...]]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return rows_of(read_table(path, **options))  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "edges.csv"


class TestPlainFiles:
    def test_every_row_is_data_without_a_header(self, path: Path) -> None:
        assert read(path, "a,b\nc,d\n") == [("a", "b"), ("c", "d")]

    def test_the_header_names_the_columns(self, path: Path) -> None:
        path.write_text('from,"to\nwhere"\na,b\n')
        result = read_table(path, header=True)
        assert (result.names, rows_of(result)) == (("from", "to\nwhere"), [("a", "b")])

    def test_the_last_line_needs_no_end(self, path: Path) -> None:
        assert read(path, "a,b\nc,d") == [("a", "b"), ("c", "d")]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_all_line_ends_are_line_ends(self, path: Path, end: str) -> None:
        assert read(path, f"a,b{end}{end}c,d{end}") == [("a", "b"), ("c", "d")]

    def test_a_byte_order_mark_is_not_data(self, path: Path) -> None:
        assert read(path, b"\xef\xbb\xbfa,b\n") == [("a", "b")]

    def test_line_breaks_in_quotes_are_text(self, path: Path) -> None:
        assert read(path, '"a\nb","c\r\nd"\ne,"f ""g"""\n') == [("a\nb", "c\r\nd"), ("e", 'f "g"')]

    def test_quotes_of_the_file_have_no_meaning_of_their_own(self, path: Path) -> None:
        assert read(path, '"42","",\n42,,""\n', arity=3) == [("42", "", ""), ("42", "", "")]

    def test_an_empty_quoted_field_alone_is_a_row_and_an_empty_line_is_none(self, path: Path) -> None:
        assert read(path, '""\n\na\n', arity=1) == [("",), ("a",)]

    @pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
    @pytest.mark.parametrize("header", [False, True])
    def test_an_empty_file_has_no_facts(self, path: Path, content: str, header: bool) -> None:
        path.write_text(content)
        result = read_table(path, arity=2, header=header)
        assert (result.rows, len(result.columns)) == (0, 2)

    def test_a_header_alone_has_no_facts(self, path: Path) -> None:
        path.write_text("from,to\n")
        result = read_table(path, arity=2, header=True)
        assert (result.rows, len(result.columns)) == (0, 2)

    def test_a_header_alone_must_fit_the_predicate(self, path: Path) -> None:
        with pytest.raises(DataError, match="T034"):
            read(path, "from,to\n", arity=3, header=True)

    def test_skipped_lines_come_before_the_header(self, path: Path) -> None:
        content = 'made on "Monday\n# by hand\nfrom,to\na,b\n'
        assert read(path, content, skip=2, header=True) == [("a", "b")]

    def test_quoting_can_be_off(self, path: Path) -> None:
        assert read(path, '"a,b"\n', quoting=False) == [('"a', 'b"')]

    def test_a_limit_holds_over_all_files(self, tmp_path: Path) -> None:
        for name in ("1.csv", "2.csv", "3.csv"):
            (tmp_path / name).write_text("a\nb\n")
        assert len(rows_of(read_table(tmp_path, "csv", limit=3))) == 3

    def test_a_long_row_is_no_problem(self, path: Path) -> None:
        long = "x" * (9 << 20)
        assert read(path, f"a,b\n{long},c\nd,e\n") == [("a", "b"), (long, "c"), ("d", "e")]


class TestFindingFiles:
    def test_globs_folders_and_lists_are_read_in_order_of_name(self, tmp_path: Path) -> None:
        (tmp_path / "b.csv").write_text("2\n")
        (tmp_path / "a.csv").write_text("1\n")
        (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"3\n"))
        (tmp_path / ".hidden.csv").write_text("4\n")
        assert rows_of(read_table("?.csv", base_dir=tmp_path)) == [("1",), ("2",)]
        assert rows_of(read_table(tmp_path, "csv")) == [("1",), ("2",), ("3",)]
        assert rows_of(read_table(["b.csv", "a.csv"], base_dir=tmp_path)) == [("2",), ("1",)]

    def test_compression_is_seen_without_an_ending(self, path: Path) -> None:
        assert read(path, gzip.compress(b"a,b\n")) == [("a", "b")]

    def test_progress_is_told_after_each_file(self, tmp_path: Path) -> None:
        for name in ("1.csv", "2.csv"):
            (tmp_path / name).write_text("a\nb\n")
        seen: list[tuple[str, int]] = []
        read_table(tmp_path, "csv", progress=lambda file, rows, *_: seen.append((Path(file).name, rows)))
        assert seen == [("1.csv", 2), ("2.csv", 4)]

    def test_columns_of_different_types_meet_as_text(self, tmp_path: Path) -> None:
        (tmp_path / "1.ndjson").write_text("[1]\n[2]\n")
        (tmp_path / "2.ndjson").write_text('["x"]\n')
        (tmp_path / "3.ndjson").write_text("[1.0]\n")
        result = read_table(tmp_path, "ndjson")
        assert rows_of(result) == [("1",), ("2",), ("x",), ("1.0",)]
        assert result.columns[0].reading == "any"


class TestFormats:
    def test_formats_give_types(self, path: Path) -> None:
        path.write_text("a,1,2.5,true,<http://e/a>,x\nb,-7,1e3,0,http://e/b,y\n")
        result = read_table(path, formats=("string", "int", "double", "boolean", "iri", "skip"))
        assert rows_of(result) == [
            ("a", 1, 2.5, True, "http://e/a"),
            ("b", -7, 1000.0, False, "http://e/b"),
        ]
        assert [c.reading for c in result.columns] == ["string", "native", "native", "native", "iri"]

    @pytest.mark.parametrize(
        ("text", "value"),
        [("+5", 5), ("007", 7), (" 3 ", 3), ("0x1F", 31), ("-0b11", -3), ("0o17", 15), ("-0", 0)],
    )
    def test_integers_in_other_writings(self, path: Path, text: str, value: int) -> None:
        assert read(path, f"1\n{text}\n", formats=("int",)) == [(1,), (value,)]

    def test_integers_beyond_64_bits_stay_exact(self, path: Path) -> None:
        big = 2**64 + 1
        content = f"+7\n00{big}\n0x{big:X}\n0xFFFFFFFFFFFFFFFF\n"
        assert read(path, content, formats=("int",)) == [("7",), (str(big),), (str(big),), (str(2**64 - 1),)]

    def test_special_doubles(self, path: Path) -> None:
        values = [row[0] for row in read(path, "INF\n-INF\nNaN\n+1\n", formats=("double",))]
        assert np.array_equal(values, [np.inf, -np.inf, np.nan, 1.0], equal_nan=True)  # type: ignore[arg-type]

    def test_a_predicate_without_arguments_holds_if_its_file_says_so(self, path: Path) -> None:
        for content, rows in (("true\n", 1), ("", 0), ("false\n", 0)):
            path.write_text(content)
            result = read_table(path, arity=0)
            assert (result.columns, result.rows) == ([], rows)


class TestBadRows:
    CONTENT = 'x,\n1\n1,a\n"2\n2",b\n3,c,d\n4,\xff\n5,e\nlast\n'

    def test_good_rows_are_kept_and_bad_rows_go_to_quarantine(self, path: Path, tmp_path: Path) -> None:
        path.write_bytes(self.CONTENT.encode("latin-1"))
        quarantine = tmp_path / "new" / "bad.csv"
        result = read_table(path, formats=("int", "any"), on_error="skip", quarantine=quarantine)
        assert rows_of(result) == [(1, "a"), (5, "e")]
        assert (result.bad.count, result.bad.quarantine) == (6, quarantine)
        with quarantine.open(newline="", encoding="utf-8") as file:
            found = [(row["line"], row["column"], row["text"]) for row in csv.DictReader(file)]
        assert sorted(found, key=lambda row: int(row[0])) == [
            ("1", "1", "x,"),
            ("2", "", "1"),
            ("4", "1", '"2\n2",b'),
            ("6", "", "3,c,d"),
            ("7", "", "4,\ufffd"),
            ("9", "", "last"),
        ]

    def test_the_header_says_how_many_fields_a_row_has(self, path: Path) -> None:
        """Not the first row, which may be the bad one."""
        path.write_text("a,b,c\n1,2\n3,4,5\n6,7,8\n")
        result = read_table(path, header=True, on_error="skip")
        assert (rows_of(result), result.bad.count) == ([("3", "4", "5"), ("6", "7", "8")], 1)

    def test_a_header_that_fits_no_row_does_not_count(self, path: Path) -> None:
        path.write_text("a,b\nx,1,2\ny,3,4\n")
        assert rows_of(read_table(path, header=True)) == [("x", "1", "2"), ("y", "3", "4")]

    def test_skipping_without_a_quarantine_still_counts(self, path: Path) -> None:
        path.write_text("1\nx\n2\n")
        result = read_table(path, formats=("int",), on_error="skip")
        assert (rows_of(result), result.bad.count, result.bad.quarantine) == ([(1,), (2,)], 1, None)

    def test_a_clean_file_leaves_no_quarantine(self, path: Path, tmp_path: Path) -> None:
        path.write_text("1\n")
        result = read_table(path, formats=("int",), on_error="skip", quarantine=tmp_path / "bad.csv")
        assert (result.bad.count, result.bad.quarantine) == (0, None)
        assert [p.name for p in tmp_path.iterdir()] == ["edges.csv"]

    def test_an_error_leaves_no_quarantine(self, path: Path, tmp_path: Path) -> None:
        path.write_text("1\nx\n")
        (tmp_path / "wrong.csv").write_bytes(b"\xff\xfe")
        with pytest.raises(DataError):
            read_table(
                [path, tmp_path / "wrong.csv"],
                formats=("int",),
                on_error="skip",
                quarantine=tmp_path / "bad.csv",
            )
        assert sorted(p.name for p in tmp_path.iterdir()) == ["edges.csv", "wrong.csv"]

    def test_a_file_whose_every_row_is_bad_is_read_as_empty(self, path: Path) -> None:
        path.write_text("x\ny\n")
        result = read_table(path, formats=("int",), on_error="skip")
        assert (result.rows, result.bad.count) == (0, 2)


# --- laws ---------------------------------------------------------------------------------------------------

CSV_TEXT = st.text(alphabet='ab",\n\r ;', max_size=40)


def rows_by_python(text: str) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(text, newline=""), strict=False) if row]


@given(CSV_TEXT)
@settings(deadline=None)
def test_the_scan_finds_the_rows_that_python_finds(text: str) -> None:
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    rows, _, opened = survey(data, 0, ord(","), ord('"'), 1)
    expected = rows_by_python(text)
    if opened < 0:
        starts, ends, lines, widths = np.empty((4, rows), np.int64)
        index_rows(data, 0, 1, ord(","), ord('"'), starts, ends, lines, widths)
        assert list(widths) == [len(row) for row in expected]
        found = [text.encode()[a:b].decode() for a, b in zip(starts, ends, strict=True)]
        assert [[value for _, _, value in fields_of(row, Layout())] for row in found] == expected


@given(text=CSV_TEXT)
@settings(deadline=None)
def test_reading_gives_every_row_or_names_it(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """With bad rows skipped, what is read is exactly the rows of the right width, in order."""
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(text.encode())
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    _, _, opened = survey(data, 0, ord(","), ord('"'), 2)
    expected = rows_by_python(text)
    if opened >= 0:
        expected = expected[:-1]
    good = [tuple(row) for row in expected if len(row) == 2]
    try:
        result = read_table(path, arity=2, on_error="skip")
    except DataError as error:
        assert error.diagnostics[0].number == "T034"
        assert expected and not good and len({len(row) for row in expected}) == 1
        return
    assert rows_of(result) == good
    assert result.bad.count == len(expected) - len(good) + (opened >= 0)


@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["a", "b\nc", 'd"', "e\r\nf", ""]), st.integers(0, 9)), min_size=1
    ),
    wrong=st.data(),
)
@settings(deadline=None)
def test_a_bad_value_is_found_in_its_line(
    rows: list[tuple[str, int]], wrong: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    at = wrong.draw(st.integers(0, len(rows) - 1))
    before, text = 0, io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for number, (name, value) in enumerate(rows):
        if number == at:
            before = text.getvalue().count("\n") + name.count("\n")
        writer.writerow((name, "oops" if number == at else value))
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(text.getvalue().encode())
    with pytest.raises(DataError) as raised:
        read_table(path, formats=("string", "int"))
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.to_json()["line"] == before + 1
    assert diagnostic.values["value"] == '"oops"'
