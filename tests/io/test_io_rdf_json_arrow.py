"""RDF, JSON lines, Parquet and Arrow: what the bulk paths give is what the full parsers give."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from datetime import time as day_time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from read_terms import terms_of, without_scope

from tidalog.io.read import read_table
from tidalog.io.result import ReadResult
from tidalog.model.errors import DataError
from tidalog.model.terms import IRI, XSD, BlankNode, Boolean, Integer, LangString, Literal, String
from tidalog.rdf.ntriples import ntriples_text


def rows_of(result: ReadResult) -> list[tuple[object, ...]]:
    return list(zip(*(column.array.to_pylist() for column in result.columns), strict=True))


class TestNTriples:
    TEXT = (
        "<http://e/a> <http://e/p> <http://e/b> .\n"
        "# a comment\n"
        "\t_:x.1 <http://e/p> _:y.\n"
        "\n"
        '<http://e/a> <http://e/p> "say \\"hi\\"\\n" . # behind\r\n'
        '<http://e/a> <http://e/p> "caf\\u00E9"@fr-CA .\n'
        '<http://e/\\u00E9><http://e/p>"5"^^<http://www.w3.org/2001/XMLSchema#integer>.\n'
        "<a> <p> <b> ."
    )

    def test_statements_of_every_shape(self, tmp_path: Path) -> None:
        path = tmp_path / "a.nt"
        path.write_text(self.TEXT, newline="")
        found = {tuple(map(without_scope, row)) for row in terms_of(read_table(path))}
        a, p = IRI("http://e/a"), IRI("http://e/p")
        assert found == {
            (a, p, IRI("http://e/b")),
            (BlankNode("x.1"), p, BlankNode("y")),
            (a, p, String('say "hi"\n')),
            (a, p, LangString("café", "fr-ca")),
            (IRI("http://e/é"), p, Integer(5)),
            (IRI("a"), IRI("p"), IRI("b")),
        }

    def test_faulty_lines_are_skipped_one_by_one(self, tmp_path: Path) -> None:
        path = tmp_path / "a.nt"
        path.write_text("<a> <p> <b> .\n<a> <p> oops .\n<a> 'q' <b> .\n<a> <p> <d> x\n<a> <p> <c> .\n")
        result = read_table(path, on_error="skip", quarantine=tmp_path / "bad.csv")
        assert rows_of(result) == [("<a>", "<p>", "<b>"), ("<a>", "<p>", "<c>")]
        assert result.bad.count == 3
        lines = (tmp_path / "bad.csv").read_text().splitlines()
        assert [line.split(",")[0] for line in lines] == ["line", "2", "3", "4"]

    def test_lines_are_counted_over_blocks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tidalog.io.text_blocks.BLOCK", 64)
        path = tmp_path / "a.nt"
        path.write_text(
            "".join(f"<http://e/{i}> <http://e/p> <http://e/q> .\n" for i in range(50)) + "oops\n"
        )
        with pytest.raises(DataError) as raised:
            read_table(path)
        (diagnostic,) = raised.value.diagnostics
        assert diagnostic.to_json()["line"] == 51
        assert read_table(path, on_error="skip").rows == 50

    @given(
        st.lists(
            st.text(alphabet="ab<>\"\\u0041@-^_:. \tn#'", max_size=12).map(
                lambda o: f"<http://e/a> <http://e/p> {o} ."
            )
            | st.text(alphabet='<>a"_:.\\ ', max_size=12),
            max_size=5,
        )
    )
    @settings(deadline=None, max_examples=200)
    def test_compiled_code_takes_what_the_full_parser_takes(
        self, tmp_path_factory: pytest.TempPathFactory, lines: list[str]
    ) -> None:
        path = tmp_path_factory.mktemp("nt") / "a.nt"
        path.write_text("\n".join(lines))
        expected: set[tuple[str, ...]] = set()
        for line in lines:
            try:
                for quad in list(ox.parse(line, ox.RdfFormat.N_TRIPLES, lenient=True)):
                    iris = [term.value for term in quad if isinstance(term, ox.NamedNode)]
                    if isinstance(quad.object, ox.Literal):
                        iris.append(quad.object.datatype.value)
                    if not any(set(iri) & set(' <>"{}|^`\\\t') for iri in iris):
                        expected.add(tuple(map(str, quad.triple)))
            except SyntaxError:
                pass
        found = {
            tuple(ntriples_text(without_scope(term)) for term in row)
            for row in terms_of(read_table(path, on_error="skip"))
        }
        assert found == expected


class TestOtherRdf:
    def test_turtle_with_abbreviations(self, tmp_path: Path) -> None:
        path = tmp_path / "a.ttl"
        path.write_text("@prefix : <http://e/> .\n:a a :C ; :p 5, 2.5, true, 'x'@en, [] .\n")
        objects = {row[2] for row in terms_of(read_table(path)) if not isinstance(row[2], BlankNode)}
        assert objects == {
            IRI("http://e/C"),
            Integer(5),
            Literal("2.5", XSD + "decimal"),
            Boolean(True),
            LangString("x", "en"),
        }

    def test_relative_iris_take_the_base_and_stay_without_one(self, tmp_path: Path) -> None:
        path = tmp_path / "a.ttl"
        path.write_text("<a> <p> <b> .\n")
        assert rows_of(read_table(path)) == [("<a>", "<p>", "<b>")]
        (row,) = rows_of(read_table(path, base="http://e/x/"))
        assert row == ("<http://e/x/a>", "<http://e/x/p>", "<http://e/x/b>")

    def test_rdf_picks_the_syntax_by_the_ending(self, tmp_path: Path) -> None:
        (tmp_path / "a.rdf").write_text(
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
            '<rdf:Description rdf:about="http://e/a"><e:p>x</e:p></rdf:Description></rdf:RDF>'
        )
        (tmp_path / "b.trig").write_text("{ <http://e/a> <http://e/p> 'y' . }")
        found = terms_of(read_table(tmp_path, "rdf"))
        assert [row[2] for row in found] == [String("x"), String("y")]

    def test_a_fault_in_turtle_costs_its_statement(self, tmp_path: Path) -> None:
        path = tmp_path / "a.ttl"
        path.write_text("<a> <p> <b> .\n<a> <p> oops .\n<a> <p> <c> .\n")
        result = read_table(path, on_error="skip")
        assert (len(rows_of(result)), result.bad.count) == (2, 1)

    @pytest.mark.parametrize("ending", ["nt", "nq", "ttl", "trig"])
    def test_an_empty_file_has_no_facts(self, ending: str, tmp_path: Path) -> None:
        (tmp_path / f"a.{ending}").write_text("")
        result = read_table(tmp_path / f"a.{ending}", arity=3)
        assert (result.rows, len(result.columns)) == (0, 3)


class TestJsonLines:
    def read(self, tmp_path: Path, *lines: object, **options: object) -> ReadResult:
        path = tmp_path / "a.ndjson"
        path.write_text(
            "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        )
        return read_table(path, **options)  # type: ignore[arg-type]

    def test_objects_and_arrays(self, tmp_path: Path) -> None:
        by_name = self.read(tmp_path, {"from": "a", "n": 1}, {"n": 2, "from": "b"})
        assert (rows_of(by_name), by_name.names) == ([("a", 1), ("b", 2)], ("from", "n"))
        assert rows_of(self.read(tmp_path, ["a", 1], ["b", 2])) == [("a", 1), ("b", 2)]

    def test_integers_and_doubles_are_told_apart(self, tmp_path: Path) -> None:
        result = self.read(tmp_path, '{"n": 1}', '{"n": 1.0}', '{"n": 2.5}', f'{{"n": {2**64}}}')
        assert rows_of(result) == [("1",), ("1.0",), ("2.5",), (str(2**64),)]
        assert [column.reading for column in result.columns] == ["any"]

    def test_a_column_of_one_type_keeps_it(self, tmp_path: Path) -> None:
        result = self.read(tmp_path, {"i": 1, "d": 1.5, "b": True, "s": "x"})
        assert rows_of(result) == [(1, 1.5, True, "x")]
        assert [column.reading for column in result.columns] == ["native", "native", "native", "string"]

    def test_text_is_text_and_other_terms_are_objects(self, tmp_path: Path) -> None:
        texts = ["007", "1e3", "00501", "501", "true", "<x>", '"a"']
        assert terms_of(self.read(tmp_path, *({"s": text} for text in texts))) == [
            (String(t),) for t in texts
        ]
        rows = [[text, 1] for text in texts]
        assert terms_of(self.read(tmp_path, *rows)) == [(String(t), Integer(1)) for t in texts]
        iris = [{"a": {"@id": f"http://e/{n}"}, "s": "<x>"} for n in range(2)]
        assert terms_of(self.read(tmp_path, *iris)) == [
            (IRI(f"http://e/{n}"), String("<x>")) for n in range(2)
        ]
        objects = [
            {"@id": "_:b"},
            {"@value": "a", "@language": "EN"},
            {"@value": "2024-01-01", "@type": XSD + "date"},
            {"@value": "7", "@type": XSD + "integer"},
        ]
        assert terms_of(self.read(tmp_path, *([o] for o in objects))) == [
            (BlankNode("b"),),
            (LangString("a", "en"),),
            (Literal("2024-01-01", XSD + "date"),),
            (Integer(7),),
        ]

    @pytest.mark.parametrize(
        "odd",
        [{}, {"@id": 1}, {"@id": "a", "b": 1}, {"@value": "a"}, [1], {"@id": "_:\ud800"}, {"@id": "\ud800"}],
    )
    def test_other_objects_are_bad_rows(self, odd: object, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="T036"):
            self.read(tmp_path, [odd])

    @pytest.mark.parametrize(
        "line",
        ['{"a": 1, "b": 2, "a": 3}', '{"a": 1, "b": {"@id": "x", "@id": "y"}}', '[{"@id": "x", "@id": "y"}]'],
    )
    def test_two_fields_of_one_name_make_a_bad_row(self, line: str, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r'T044.*\n.*\n.*\n.*two fields "'):
            self.read(tmp_path, line)

    def test_text_that_looks_like_a_time_is_text(self, tmp_path: Path) -> None:
        result = self.read(tmp_path, {"at": "2024-01-02T03:04:05"}, {"at": "2024-01-02T03:04:05"})
        assert rows_of(result)[0] == ("2024-01-02T03:04:05",)

    def test_mixed_types_keep_each_value_its_kind(self, tmp_path: Path) -> None:
        assert rows_of(self.read(tmp_path, ["a"], [1], [True], [0.5])) == [
            ("a",),
            ("1",),
            ("true",),
            ("0.5",),
        ]

    def test_blank_lines_and_spaces_are_no_rows(self, tmp_path: Path) -> None:
        assert rows_of(self.read(tmp_path, "", {"a": 1}, "  ", {"a": 2}, "")) == [(1,), (2,)]

    def test_bad_lines_are_skipped_one_by_one(self, tmp_path: Path) -> None:
        lines = (
            {"a": 1, "b": "x"},
            "oops",
            {"a": 2},
            {"a": 3, "b": {}},
            '{"a": 4, "b": "\\ud800"}',
            {"a": 5, "b": "y"},
        )
        result = self.read(tmp_path, *lines, on_error="skip")
        assert (rows_of(result), result.bad.count) == ([(1, "x"), (5, "y")], 4)

    def test_formats_apply(self, tmp_path: Path) -> None:
        result = self.read(tmp_path, {"a": "x", "b": "7", "c": None}, formats=("string", "int", "skip"))
        assert (rows_of(result), result.names) == ([("x", 7)], ("a", "b"))

    @given(
        st.lists(
            st.tuples(st.text(max_size=5) | st.integers() | st.floats(allow_nan=False), st.integers(-9, 9)),
            min_size=1,
        )
    )
    @settings(deadline=None, max_examples=60)
    def test_both_ways_of_reading_give_the_same_values(
        self, tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[object, int]]
    ) -> None:
        folder = tmp_path_factory.mktemp("json")
        as_objects = self.read(folder, *({"a": a, "b": b} for a, b in rows))
        as_arrays = self.read(folder, *rows)
        assert rows_of(as_objects) == rows_of(as_arrays)
        assert [c.reading for c in as_objects.columns] == [c.reading for c in as_arrays.columns]


class TestArrowTypes:
    def read(self, tmp_path: Path, array: pa.Array, **options: object) -> tuple[list[object], str]:
        pq.write_table(pa.table({"a": array}), tmp_path / "a.parquet")
        (column,) = read_table(tmp_path / "a.parquet", **options).columns  # type: ignore[arg-type]
        return column.array.to_pylist(), column.reading

    @pytest.mark.parametrize(
        ("array", "values", "reading"),
        [
            (pa.array([1, 2], pa.int8()), [1, 2], "native"),
            (pa.array([1, 2], pa.uint64()), [1, 2], "native"),
            (pa.array([1, 2**63], pa.uint64()), ["1", str(2**63)], "any"),
            (pa.array([0.5], pa.float32()), [0.5], "native"),
            (pa.array([True]), [True], "native"),
            (pa.array(["x"], pa.large_string()), ["x"], "string"),
            (pa.array(["x", "y", "x"]).dictionary_encode(), ["x", "y", "x"], "string"),
            (pa.array([b"x"], pa.binary()), ["x"], "string"),
            (pa.array([Decimal("1.50")]), [f'"1.5"^^<{XSD}decimal>'], "any"),
            (pa.array([Decimal("7")]), [f'"7"^^<{XSD}decimal>'], "any"),
            (pa.array([date(2024, 2, 29)]), [f'"2024-02-29"^^<{XSD}date>'], "any"),
            (pa.array([day_time(1, 2, 3, 500_000)]), [f'"01:02:03.5"^^<{XSD}time>'], "any"),
            (
                pa.array([datetime(2024, 1, 2, 3, 4, 5), datetime(2024, 1, 2, 3, 4, 5, 120_000)]),
                [f'"2024-01-02T03:04:05"^^<{XSD}dateTime>', f'"2024-01-02T03:04:05.12"^^<{XSD}dateTime>'],
                "any",
            ),
            (
                pa.array([datetime(2024, 1, 2, tzinfo=UTC)], pa.timestamp("ms", "Europe/Vienna")),
                [f'"2024-01-02T00:00:00Z"^^<{XSD}dateTime>'],
                "any",
            ),
        ],
        ids=lambda value: str(getattr(value, "type", "")),
    )
    def test_every_type_has_its_terms(
        self, tmp_path: Path, array: pa.Array, values: list[object], reading: str
    ) -> None:
        assert self.read(tmp_path, array) == (values, reading)

    def test_formats_override_types(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, pa.array([1, 2]), formats=("string",)) == (["1", "2"], "string")
        assert self.read(tmp_path, pa.array([1, 2]), formats=("double",)) == ([1.0, 2.0], "native")
        assert self.read(tmp_path, pa.array([1.0, 2.0]), formats=("int",)) == ([1, 2], "native")
        assert self.read(tmp_path, pa.array(["7"]), formats=("int",)) == ([7], "native")
        whole = pa.array([Decimal(70), Decimal(-3)], pa.decimal128(10, 2))
        for kind in (whole.type, pa.decimal128(10, 0), pa.decimal256(60, 0)):
            assert self.read(tmp_path, whole.cast(kind), formats=("int",)) == ([70, -3], "native")
            assert self.read(tmp_path, whole.cast(kind), formats=("double",)) == ([70.0, -3.0], "native")
            assert self.read(tmp_path, whole.cast(kind), formats=("string",)) == (["70", "-3"], "string")

    def test_nulls_are_bad_rows_in_every_type(self, tmp_path: Path) -> None:
        for values in (
            [1, None],
            ["a", None],
            [True, None],
            [date(2024, 1, 1), None],
            [None, Decimal("0.5")],
        ):
            pq.write_table(pa.table({"a": pa.array(values)}), tmp_path / "a.parquet")
            result = read_table(tmp_path / "a.parquet", on_error="skip")
            assert (result.rows, result.bad.count) == (1, 1)
            assert not result.columns[0].array.null_count

    def test_arrow_files_and_streams(self, tmp_path: Path) -> None:
        table = pa.table({"a": ["x", "y"], "b": [1, 2]})
        for name, writer in (("a.arrow", ipc.new_file), ("b.arrows", ipc.new_stream)):
            with writer(str(tmp_path / name), table.schema) as sink:
                sink.write_table(table)
            assert rows_of(read_table(tmp_path / name)) == [("x", 1), ("y", 2)]
