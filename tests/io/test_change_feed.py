"""The change feed: what was written reads back as the same changes, from every format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from update_rows import Row, rows_of

from tidalog.io.change_feed import ChangeBatch, ChangeFeedWriter, Kind, write_change_feed
from tidalog.io.update_tables import read_update_table
from tidalog.model.errors import DataError
from tidalog.model.term_text import format_any, from_python, parse_any

FORMATS = ("feed.csv", "feed.tsv", "feed.csv.gz", "feed.ndjson", "feed.ndjson.gz", "feed.parquet")


def batch(
    update: int | str, op: int, predicate: str, rows: list[tuple[object, ...]], kind: Kind = "explicit"
) -> ChangeBatch:
    columns = [pa.array(list(column)) for column in zip(*rows, strict=True)]
    return ChangeBatch(update, op, predicate, kind, columns, len(rows))


EDGES = batch(1, 1, "edge", [("a", 7), ("b c", 8), ('"x", y', 9)])
PATHS = batch(1, -1, "path", [("a", 1.0, True), ("", 2.5, False)], "implicit")
NONE = batch(2, 1, "none", [()])


def expected(batches: list[ChangeBatch]) -> list[tuple[int | str, list[Row]]]:
    updates: dict[int | str, list[Row]] = {}
    for part in batches:
        rows = zip(*(c.to_pylist() for c in part.columns), strict=True) if part.columns else [()] * part.rows
        for row in rows:
            terms = tuple(parse_any(v) if isinstance(v, str) else from_python(v) for v in row)
            updates.setdefault(part.update, []).append(("+" if part.op > 0 else "-", part.predicate, terms))
    return sorted(updates.items(), key=lambda item: item[0])


@pytest.mark.parametrize("name", FORMATS)
def test_what_was_written_reads_back(tmp_path: Path, name: str) -> None:
    batches = [EDGES, PATHS, NONE]
    write_change_feed(batches, tmp_path / name, 3)
    assert rows_of(read_update_table(tmp_path / name)) == expected(batches)


texts = st.one_of(
    st.sampled_from(["", '""', "a", "a,b", "a\nb", '"', "\t", "<x>", "-", "\r", "\\", "null"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
)
values = st.one_of(texts.map(lambda text: format_any(from_python(text))), texts)


@st.composite
def any_batches(draw: st.DrawFn) -> list[ChangeBatch]:
    batches = []
    for update in sorted(draw(st.lists(st.integers(-5, 5), max_size=3))):
        arity = draw(st.integers(0, 3))
        column = st.one_of(st.just(values), st.just(st.integers(-(2**63), 2**63 - 1)), st.just(st.floats()))
        row = st.tuples(*(draw(column) for _ in range(arity)))
        rows = draw(st.lists(row, min_size=1, max_size=3))
        op, predicate = draw(st.sampled_from([1, -1])), draw(st.one_of(texts.filter(bool), st.just("p")))
        batches.append(batch(update, op, predicate, rows, draw(st.sampled_from(["explicit", "implicit"]))))
    return batches


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60, deadline=None)
@given(batches=any_batches())
def test_whatever_was_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, name: str, batches: list[ChangeBatch]
) -> None:
    path = tmp_path_factory.mktemp("feed") / name
    write_change_feed(batches, path, 3)
    assert rows_of(read_update_table(path)) == expected(batches)


class TestForm:
    def test_csv(self, tmp_path: Path) -> None:
        write_change_feed([EDGES, PATHS, NONE], tmp_path / "f.csv", 3)
        assert (tmp_path / "f.csv").read_text() == (
            "update,op,predicate,arg1,arg2,arg3,kind\n"
            "1,+,edge,a,7,,explicit\n"
            "1,+,edge,b c,8,,explicit\n"
            '1,+,edge,"""x"", y",9,,explicit\n'
            "1,-,path,a,1.0,true,implicit\n"
            '1,-,path,"""""",2.5,false,implicit\n'
            "2,+,none,,,,explicit\n"
        )

    def test_ndjson(self, tmp_path: Path) -> None:
        write_change_feed([EDGES, NONE], tmp_path / "f.ndjson", 0)
        first, *_, last = (tmp_path / "f.ndjson").read_text().splitlines()
        assert json.loads(first) == {
            "update": 1, "op": "+", "predicate": "edge", "arg1": "a", "arg2": 7, "kind": "explicit"
        }  # fmt: skip
        assert json.loads(last) == {"update": 2, "op": "+", "predicate": "none", "kind": "explicit"}

    def test_parquet(self, tmp_path: Path) -> None:
        write_change_feed([EDGES, PATHS], tmp_path / "f.parquet", 3)
        table = pq.read_table(tmp_path / "f.parquet")
        assert table.column_names == ["update", "op", "predicate", "arg1", "arg2", "arg3", "kind"]
        assert table["update"].type == pa.int64()
        assert table["arg3"].to_pylist() == [None, None, None, "true", "false"]

    def test_labels_may_be_text(self, tmp_path: Path) -> None:
        for name in FORMATS:
            write_change_feed([batch("a, b", 1, "p", [("x",)])], tmp_path / name, 1)
            assert read_update_table(tmp_path / name).updates == ["a, b"]

    @pytest.mark.parametrize("name", FORMATS)
    def test_a_feed_without_changes_is_a_table_without_rows(self, tmp_path: Path, name: str) -> None:
        write_change_feed(
            [ChangeBatch(1, 1, "p", "explicit", [pa.array([], pa.string())], 0)], tmp_path / name, 1
        )
        assert read_update_table(tmp_path / name).rows == 0


class TestWriting:
    def test_what_was_written_is_there_at_once(self, tmp_path: Path) -> None:
        path = tmp_path / "f.csv"
        with ChangeFeedWriter(path, 2) as writer:
            writer.write(EDGES)
            assert read_update_table(path).rows == 3
            writer.write(NONE)
            assert read_update_table(path).rows == 4

    @pytest.mark.parametrize("name", ["f.csv", "f.ndjson", "f.csv.gz"])
    def test_a_feed_can_be_continued(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        for part in (EDGES, PATHS, NONE):
            write_change_feed([part], path, 3, append=True)
        assert rows_of(read_update_table(path)) == expected([EDGES, PATHS, NONE])

    def test_a_last_line_without_its_end_gets_one(self, tmp_path: Path) -> None:
        path = tmp_path / "f.csv.gz"
        path.write_bytes(gzip.compress(b"update,op,predicate,kind\n1,+,p,explicit"))
        write_change_feed([NONE], path, 0, append=True)
        assert read_update_table(path).updates == [1, 2]

    def test_other_columns_are_not_continued(self, tmp_path: Path) -> None:
        write_change_feed([EDGES], tmp_path / "f.csv", 2)
        with pytest.raises(DataError, match="other columns"):
            ChangeFeedWriter(tmp_path / "f.csv", 3, append=True)
        assert read_update_table(tmp_path / "f.csv").rows == 3

    @pytest.mark.parametrize(("name", "append"), [("f.parquet", True), ("f.arrow", False), ("f.nt", False)])
    def test_what_cannot_be_written_is_refused(self, tmp_path: Path, name: str, append: bool) -> None:
        with pytest.raises(DataError, match="T047"):
            ChangeFeedWriter(tmp_path / name, 1, append=append)
        assert not (tmp_path / name).exists()

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        (tmp_path / "f.csv").mkdir()
        with pytest.raises(DataError, match="T047"):
            ChangeFeedWriter(tmp_path / "f.csv", 1)

    def test_a_failed_parquet_file_is_not_made(self, tmp_path: Path) -> None:
        with pytest.raises(KeyError), ChangeFeedWriter(tmp_path / "f.parquet", 2) as writer:
            writer.write(EDGES)
            raise KeyError
        assert list(tmp_path.iterdir()) == []

    def test_many_small_batches_make_few_row_groups(self, tmp_path: Path) -> None:
        batches = [batch(number, 1, "p", [("a",)]) for number in range(3000)]
        write_change_feed(batches, tmp_path / "f.parquet", 1)
        assert pq.ParquetFile(tmp_path / "f.parquet").num_row_groups == 1
        assert read_update_table(tmp_path / "f.parquet").updates == list(range(3000))

    def test_closing_twice_is_closing_once(self, tmp_path: Path) -> None:
        for name in FORMATS:
            writer = ChangeFeedWriter(tmp_path / name, 2)
            writer.write(EDGES)
            writer.close()
            once = (tmp_path / name).read_bytes()
            writer.close()
            assert (tmp_path / name).read_bytes() == once
            assert read_update_table(tmp_path / name).rows == EDGES.rows

    def test_wrong_batches_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="operation"):
            batch(1, 0, "p", [("a",)])
        with pytest.raises(ValueError, match="2 rows"):
            ChangeBatch(1, 1, "p", "explicit", [pa.array(["a"])], 2)
        with (
            ChangeFeedWriter(tmp_path / "f.csv", 1) as writer,
            pytest.raises(ValueError, match="2 arguments"),
        ):
            writer.write(EDGES)
