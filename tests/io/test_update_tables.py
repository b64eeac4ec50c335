"""Update tables: the same updates from every format; order by label; bad rows are reported or quarantined.

Goldens of messages are under update_errors/; `TIDALOG_UPDATE_GOLDENS=1` rewrites them.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from error_goldens import check_golden
from update_rows import Row, rows_of

from tidalog.io.update_tables import UpdateTable, read_update_table
from tidalog.model.errors import DataError
from tidalog.model.terms import Boolean, Double, Integer, String

GOLDENS = Path(__file__).parent / "update_errors"
HEADER = "update,op,predicate,arg1,arg2\n"


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(folder: Path, text: str, name: str = "u.csv") -> UpdateTable:
    return read_update_table(write(folder / name, text))


def plus(predicate: str, *arguments: str) -> Row:
    return "+", predicate, tuple(String(argument) for argument in arguments)


def minus(predicate: str, *arguments: str) -> Row:
    return "-", predicate, tuple(String(argument) for argument in arguments)


class TestFormats:
    TABLE = pa.table(
        {
            "update": pa.array([1, 1, 2, 2]),
            "op": ["+", "-", "+", "+"],
            "predicate": ["edge", "edge", "node", "none"],
            "arg1": ["a", "b", "a", None],
            "arg2": pa.array(["7", "c", None, None]),
        }
    )
    EXPECTED: ClassVar = [
        (1, [("+", "edge", (String("a"), Integer(7))), minus("edge", "b", "c")]),
        (2, [plus("node", "a"), plus("none")]),
    ]
    CSV = HEADER + "1,+,edge,a,7\n1,-,edge,b,c\n2,+,node,a,\n2,+,none,,\n"

    def test_csv(self, tmp_path: Path) -> None:
        assert rows_of(read(tmp_path, self.CSV)) == self.EXPECTED

    def test_tsv(self, tmp_path: Path) -> None:
        assert rows_of(read(tmp_path, self.CSV.replace(",", "\t"), "u.tsv")) == self.EXPECTED

    def test_another_delimiter(self, tmp_path: Path) -> None:
        path = write(tmp_path / "u.txt", self.CSV.replace(",", ";"))
        assert rows_of(read_update_table(path, "dsv", delimiter=";")) == self.EXPECTED

    def test_gzip(self, tmp_path: Path) -> None:
        path = write(tmp_path / "u.csv.gz", gzip.compress(self.CSV.encode()))
        assert rows_of(read_update_table(path)) == self.EXPECTED

    def test_ndjson(self, tmp_path: Path) -> None:
        lines = [
            json.dumps({name: value for name, value in row.items() if value is not None})
            for row in self.TABLE.to_pylist()
        ]
        assert rows_of(read(tmp_path, "\n".join(lines), "u.ndjson")) == self.EXPECTED

    def test_ndjson_with_values_of_several_types(self, tmp_path: Path) -> None:
        text = (
            '{"op": "+", "predicate": "p", "meta": {"offset": 17}}\n'
            '{"op": "+", "predicate": "p", "arg1": 1, "arg2": 2.0}\n'
            '{"op": "-", "predicate": "p", "arg1": "a", "arg2": true}\n'
        )
        ((_, rows),) = rows_of(read(tmp_path, text, "u.ndjson"))
        assert rows == [
            plus("p"),
            ("+", "p", (Integer(1), Double(2.0))),
            ("-", "p", (String("a"), Boolean(True))),
        ]

    def test_parquet_and_arrow(self, tmp_path: Path) -> None:
        pq.write_table(self.TABLE, tmp_path / "u.parquet")
        feather.write_feather(self.TABLE, tmp_path / "u.arrow")
        assert rows_of(read_update_table(tmp_path / "u.parquet")) == self.EXPECTED
        assert rows_of(read_update_table(tmp_path / "u.arrow")) == self.EXPECTED

    def test_columns_that_are_dictionaries_or_large(self, tmp_path: Path) -> None:
        table = self.TABLE.set_column(1, "op", self.TABLE["op"].dictionary_encode())
        table = table.set_column(2, "predicate", table["predicate"].cast(pa.large_string()))
        table = table.set_column(0, "update", table["update"].cast(pa.uint8()))
        pq.write_table(table, tmp_path / "u.parquet")
        assert rows_of(read_update_table(tmp_path / "u.parquet")) == self.EXPECTED

    def test_native_columns_stay_native(self, tmp_path: Path) -> None:
        table = pa.table({"op": ["+", "+"], "predicate": ["p", "q"], "arg1": [1, 2], "arg2": [None, 2.5]})
        pq.write_table(table, tmp_path / "u.parquet")
        found = read_update_table(tmp_path / "u.parquet")
        assert [column.reading for column in found.arguments] == ["native", "native"]
        assert rows_of(found)[0][1] == [("+", "p", (Integer(1),)), ("+", "q", (Integer(2), Double(2.5)))]


class TestRows:
    def test_columns_stand_in_any_order_and_letter_case(self, tmp_path: Path) -> None:
        text = "ARG2,note,Predicate,op,arg1,Update\nb,x,edge,+,a,1\n"
        assert rows_of(read(tmp_path, text)) == [(1, [plus("edge", "a", "b")])]

    def test_an_empty_field_before_the_last_argument_is_the_empty_text(self, tmp_path: Path) -> None:
        ((_, rows),) = rows_of(read(tmp_path, HEADER + '1,+,p,,b\n1,+,p,a,""""""\n1,+,p,"",\n'))
        assert [arguments for _, _, arguments in rows] == [
            (String(""), String("b")),
            (String("a"), String("")),
            (),
        ]

    def test_a_predicate_may_be_an_iri_in_brackets(self, tmp_path: Path) -> None:
        table = read(tmp_path, HEADER + "1,+,<http://e/p>,a,\n1,+,http://e/p,b,\n")
        assert table.predicate.names == ("http://e/p",)

    def test_what_is_beyond_the_arity_is_no_new_value(self, tmp_path: Path) -> None:
        table = read(tmp_path, HEADER + "1,+,p,,\n1,+,p,a,\n1,+,p,b,c\n1,+,p,,\n")
        assert {v for column in table.arguments for v in column.array.to_pylist()} == {"a", "b", "c"}
        assert table.arity.tolist() == [0, 1, 2, 0]

    def test_columns_that_no_row_uses_are_left_out(self, tmp_path: Path) -> None:
        assert read(tmp_path, HEADER + "1,+,p,,\n").arguments == []

    def test_only_predicates_that_occur_are_named(self, tmp_path: Path) -> None:
        table = read(tmp_path, HEADER + "1,+,q,a,\n1,-rule,r3,,\n1,+,p,a,\n1,+,q,b,\n")
        assert table.predicate.names == ("q", "p")
        assert table.predicate.codes.tolist() == [0, 1, 0]

    def test_time_is_a_column_of_terms(self, tmp_path: Path) -> None:
        table = read(tmp_path, "op,predicate,time\n+,p,\n+,p,5\n")
        assert table.time is not None
        assert table.timed is not None
        assert (table.timed.tolist(), table.time.array.to_pylist()[1]) == ([False, True], "5")

    def test_rules_are_set_apart(self, tmp_path: Path) -> None:
        text = HEADER + "2,-rule,r3,,\n1,+,p,a,\n1,+rule,r9,far(?x) :- p(?x).,\n3,+rule,,:- p(?x).,\n"
        table = read(tmp_path, text)
        assert table.updates == [1, 2, 3]
        assert [(r.update, r.added, r.name, r.text) for r in table.rules] == [
            (0, True, "r9", "far(?x) :- p(?x)."),
            (1, False, "r3", None),
            (2, True, None, ":- p(?x)."),
        ]
        assert table.rules[0].position.line == 4
        assert [len(rows) for _, rows in rows_of(table)] == [1, 0, 0]

    @pytest.mark.parametrize("text", ["", "\n\n", HEADER])
    def test_a_file_without_rows_has_no_updates(self, tmp_path: Path, text: str) -> None:
        table = read(tmp_path, text)
        assert (table.updates, table.rows, table.starts.tolist()) == ([], 0, [0])

    def test_types_of_the_arrays(self, tmp_path: Path) -> None:
        for text in (HEADER, HEADER + "1,+,p,a,\n"):
            table = read(tmp_path, text)
            arrays = (table.op, table.starts, table.arity, table.predicate.codes)
            assert [a.dtype for a in arrays] == [np.int8, np.int64, np.int32, np.int32]


class TestOrder:
    def test_updates_are_sorted_and_their_rows_keep_their_order(self, tmp_path: Path) -> None:
        text = HEADER + "10,+,p,a,\n9,+,p,c,\n10,-,p,b,\n9,+,p,d,\n10,+,p,c,\n"
        assert rows_of(read(tmp_path, text)) == [
            (9, [plus("p", "c"), plus("p", "d")]),
            (10, [plus("p", "a"), minus("p", "b"), plus("p", "c")]),
        ]

    def test_labels_are_integers_if_all_are(self, tmp_path: Path) -> None:
        table = read(tmp_path, HEADER + f"007,+,p,a,\n{10**30},+,p,a,\n-1,+,p,a,\n7,+,p,b,\n")
        assert table.updates == [-1, 7, 10**30]

    def test_labels_are_text_if_one_is(self, tmp_path: Path) -> None:
        assert read(tmp_path, HEADER + "10,+,p,a,\n9,+,p,a,\nx,+,p,a,\n").updates == ["10", "9", "x"]

    def test_times_are_labels(self, tmp_path: Path) -> None:
        days = pa.array(["2024-02-01", "2024-01-01"]).cast(pa.date32())
        pq.write_table(
            pa.table({"update": days, "op": ["+", "+"], "predicate": ["p", "q"]}), tmp_path / "u.parquet"
        )
        assert read_update_table(tmp_path / "u.parquet").updates == ["2024-01-01", "2024-02-01"]

    def test_without_labels_a_file_is_one_update(self, tmp_path: Path) -> None:
        ((label, rows),) = rows_of(read(tmp_path, "op,predicate,arg1\n+,p,a\n-,p,b\n"))
        assert (label, rows) == (str(tmp_path / "u.csv"), [plus("p", "a"), minus("p", "b")])


class TestManyFiles:
    def test_files_of_a_folder_come_by_name_and_an_update_may_go_on(self, tmp_path: Path) -> None:
        write(tmp_path / "2.csv", HEADER + "2,+,p,c,\n3,+,p,d,\n")
        write(
            tmp_path / "1.ndjson",
            '{"update": 1, "op": "+", "predicate": "p", "arg1": 5}\n'
            '{"update": 2, "op": "-", "predicate": "q", "arg1": 6}\n',
        )
        write(tmp_path / "notes.md", "no table")
        assert rows_of(read_update_table(tmp_path)) == [
            (1, [("+", "p", (Integer(5),))]),
            (2, [("-", "q", (Integer(6),)), plus("p", "c")]),
            (3, [plus("p", "d")]),
        ]

    def test_labels_are_compared_over_all_files(self, tmp_path: Path) -> None:
        write(tmp_path / "1.csv", HEADER + "9,+,p,a,\n")
        write(tmp_path / "2.csv", HEADER + "10,+,p,a,\n")
        assert read_update_table(tmp_path).updates == [9, 10]

    def test_files_without_labels_are_updates_in_their_order(self, tmp_path: Path) -> None:
        for name in "ab":
            write(tmp_path / f"{name}.csv", f"op,predicate,arg1\n+,p,{name}\n")
        paths = [tmp_path / "b.csv", tmp_path / "a.csv"]
        assert rows_of(read_update_table(paths)) == [
            (str(paths[0]), [plus("p", "b")]),
            (str(paths[1]), [plus("p", "a")]),
        ]

    def test_files_have_different_numbers_of_arguments(self, tmp_path: Path) -> None:
        write(tmp_path / "1.csv", "update,op,predicate\n1,+,none\n")
        write(tmp_path / "2.csv", "update,op,predicate,arg1,arg2\n1,+,p,a,b\n")
        write(tmp_path / "3.csv", "update,op,predicate,arg1\n1,+,q,c\n")
        assert rows_of(read_update_table(tmp_path)) == [
            (1, [plus("none"), plus("p", "a", "b"), plus("q", "c")])
        ]

    def test_labels_that_go_back_can_be_skipped_or_sorted(self, tmp_path: Path) -> None:
        write(tmp_path / "1.csv", HEADER + "1,+,p,a,\n3,+,p,b,\n")
        write(tmp_path / "2.csv", HEADER + "2,+,p,c,\n3,+,p,d,\n")
        table = read_update_table(tmp_path, on_error="skip")
        assert rows_of(table) == [(1, [plus("p", "a")]), (3, [plus("p", "b"), plus("p", "d")])]
        assert table.bad.count == 1
        assert read_update_table(tmp_path, sort_files=True).updates == [1, 2, 3]

    def test_progress_is_told_after_each_file(self, tmp_path: Path) -> None:
        for name in "ab":
            write(tmp_path / f"{name}.csv", HEADER + "1,+,p,a,\n")
        seen: list[tuple[str, int]] = []
        read_update_table(tmp_path, progress=lambda name, rows, *_: seen.append((Path(name).name, rows)))
        assert seen == [("a.csv", 1), ("b.csv", 2)]


class TestBadRows:
    TEXT = (
        HEADER + "1,+,p,a,\n1,*,p,b,\n1,+,,c,\n,+,p,d,\n2,,p,e,\n1,+,p\n1,+rule,r,,\n1,-rule,,,\n2,-,p,f,\n"
    )

    def test_they_are_counted_and_set_aside(self, tmp_path: Path) -> None:
        path = write(tmp_path / "u.csv", self.TEXT)
        aside = tmp_path / "bad.csv"
        table = read_update_table(path, on_error="skip", quarantine=aside)
        assert rows_of(table) == [(1, [plus("p", "a")]), (2, [minus("p", "f")])]
        assert (table.bad.count, table.bad.quarantine) == (7, aside)
        with aside.open(newline="") as file:
            found = {int(row["line"]): (row["column"], row["text"]) for row in csv.DictReader(file)}
        assert found == {
            3: ("2", "1,*,p,b,"),
            4: ("3", "1,+,,c,"),
            5: ("1", ",+,p,d,"),
            6: ("2", "2,,p,e,"),
            7: ("", "1,+,p"),
            8: ("4", "1,+rule,r,,"),
            9: ("3", "1,-rule,,,"),
        }

    def test_a_gap_is_a_bad_row(self, tmp_path: Path) -> None:
        text = '{"op":"+","predicate":"p","arg2":"b"}\n{"op":"+","predicate":"p","arg1":"a","arg2":"b"}\n'
        table = read_update_table(write(tmp_path / "u.ndjson", text), on_error="skip")
        assert (table.rows, table.bad.count) == (1, 1)

    def test_the_quarantine_is_not_the_file_itself(self, tmp_path: Path) -> None:
        path = write(tmp_path / "u.csv", self.TEXT)
        with pytest.raises(DataError, match="T047"):
            read_update_table(path, on_error="skip", quarantine=path)


# --- messages -----------------------------------------------------------------------------------------------


def _parquet(**columns: object) -> str:
    pq.write_table(pa.table(columns), "u.parquet")
    return "u.parquet"


def _files(**texts: str) -> list[str]:
    return [str(write(Path(f"{name}.csv"), text)) for name, text in texts.items()]


CASES: dict[str, Callable[[], object]] = {
    "T036-operation": lambda: read(Path(), HEADER + "1,+,p,a,\n1,insert,p,b,\n"),
    "T003-prefix": lambda: read(Path(), HEADER + "1,+,rdf:p,a,\n1,-,ex:p,b,\n1,-rule,ex:r,,\n"),
    "T165-subject": lambda: read(
        Path(), "op,predicate,arg1,arg2,arg3\n-,triple,a,b,c\n+,triple,a,b,c\n+,triple,<a>,b,\n"
    ),
    "T036-late": lambda: read_update_table(
        _files(a=HEADER + "1,+,p,a,\n5,+,p,b,\n", b=HEADER + "5,-,p,c,\n4,-,p,b,\n")
    ),
    "T037-predicate": lambda: read(Path(), HEADER + "1,+,,a,\n"),
    "T037-label": lambda: read(Path(), HEADER + "1,+,p,a,\n,+,p,b,\n"),
    "T037-operation-parquet": lambda: read_update_table(_parquet(op=["+", None], predicate=["p", "q"])),
    "T037-gap-parquet": lambda: read_update_table(
        _parquet(op=["+"], predicate=["p"], arg1=pa.array([None], pa.string()), arg2=["b"])
    ),
    "T037-gap-json": lambda: read(
        Path(), '{"op": "+", "predicate": "p", "arg2": "b", "arg1": null}\n', "u.ndjson"
    ),
    "T037-rule": lambda: read(Path(), HEADER + "1,+rule,r9,,\n1,-rule,,,\n"),
    "T034-no-header": lambda: read(Path(), "1,+,p,a,b\n1,-,p,a,c\n"),
    "T034-no-operation": lambda: read_update_table(_parquet(update=[1], predicate=["p"])),
    "T034-argument-left-out": lambda: read(Path(), "op,predicate,arg1,arg3\n+,p,a,b\n"),
    "T034-argument-misspelt": lambda: read(Path(), "op,predicate,arg_1\n+,p,a\n"),
    "T034-twice": lambda: read(Path(), "op,predicate,Op\n+,p,a\n"),
    "T034-width": lambda: read(Path(), "update,op,predicate,arg1\n1,+,p\n1,+,q\n"),
    "T034-labels-in-some-files": lambda: read_update_table(
        _files(a=HEADER + "1,+,p,a,\n", b="op,predicate\n+,p\n")
    ),
    "T035-width": lambda: read(Path(), HEADER + "1,+,p,a,b,c\n1,+,p,a,\n"),
    "T044-json": lambda: read(Path(), '["+", "p"]\n', "u.ndjson"),
    "T045-labels": lambda: read_update_table(_parquet(update=[1.5], op=["+"], predicate=["p"])),
    "T045-argument": lambda: read_update_table(_parquet(op=["+"], predicate=["p"], arg1=[[1, 2]])),
    "T032-rdf": lambda: read_update_table(write(Path("u.nt"), "")),
    "T033-delimiter": lambda: read_update_table(_parquet(op=["+"], predicate=["p"]), delimiter=";"),
    "T030-folder": lambda: read_update_table(Path()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_message_is_the_golden(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_golden(CASES[name], GOLDENS / f"{name}.txt")


def test_every_golden_has_a_case() -> None:
    assert {path.stem for path in GOLDENS.glob("*.txt")} == set(CASES)


def test_the_tables_of_the_documentation_are_right(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "updates.md").read_text(encoding="utf-8")
    first, feed = re.findall(r"^```csv\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    assert rows_of(read(tmp_path, first)) == [
        (1, [plus("edge", "a", "b"), minus("edge", "b", "c")]),
        (2, [plus("node", "a"), plus("closed")]),
    ]
    assert read(tmp_path, feed).rows == 2
