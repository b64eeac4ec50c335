"""Reading what was written gives the same facts, in every format, for every kind of term.

The dictionary is left out: terms go in as columns with their readings, as they would from the dictionary, and
what comes back is read by `parse_any`, as the dictionary would.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from read_terms import columns_of, terms_of, without_scope

from tidalog.io.binding import read_binding, write_binding
from tidalog.io.read import read_table
from tidalog.io.term_fields import term_table
from tidalog.io.write import write_table
from tidalog.model.program import DataBinding
from tidalog.model.term_text import format_any
from tidalog.model.terms import (
    INT64_MAX,
    INT64_MIN,
    IRI,
    XSD,
    BlankNode,
    Boolean,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    integer,
)
from tidalog.rdf.ntriples import ntriples_text

TABLES = ("csv", "tsv", "dsv", "parquet", "ndjson", "arrow", "csv.gz", "ndjson.zst", "tsv.bz2")
GRAPHS = ("nt", "ttl", "nt.gz", "nq", "trig.zst", "ttl.bz2")

texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    [
        "",
        " ",
        "42",
        "042",
        "007",
        "-7",
        "-0",
        "2.50",
        "1e3",
        "true",
        "a",
        "node_7",
        "<a>",
        '"',
        '"a"@en',
        "a,b",
        "a\tb",
        "a\nb",
        "\r",
        "_:b",
        '{"@id":"a"}',
    ]
)
names = st.sampled_from(["a", "node_7", "true", "http://example.org/é", "http://example.org/a(b),c", "x y"])
integers = st.integers(INT64_MIN, INT64_MAX).map(Integer)
doubles = st.floats().map(Double)
booleans = st.booleans().map(Boolean)
anything: st.SearchStrategy[Term] = st.one_of(
    names.map(IRI),
    st.sampled_from(["b1", "x"]).map(BlankNode),
    texts.map(String),
    st.builds(LangString, texts, st.sampled_from(["en", "de-at"])),
    integers,
    doubles,
    booleans,
    st.builds(Literal, texts, st.sampled_from([XSD + "date", "http://example.org/type"])),
    st.integers(2**63, 2**70).map(integer),
)
column_kinds = st.sampled_from([anything, integers, doubles, booleans, texts.map(String)])


@st.composite
def facts(draw: st.DrawFn) -> list[list[Term]]:
    """Columns of terms, some of one kind."""
    rows = draw(st.integers(0, 6))
    return [
        draw(st.lists(draw(column_kinds), min_size=rows, max_size=rows))
        for _ in range(draw(st.integers(1, 3)))
    ]


KINDS = (
    (Integer, pa.int64(), "native"),
    (Double, pa.float64(), "native"),
    (Boolean, pa.bool_(), "native"),
    (String, pa.string(), "string"),
)


def column_of(terms: list[Term]) -> tuple[pa.Array, str]:
    """As the dictionary decodes: a native column if all terms are of one native kind, text otherwise."""
    for kind, arrow, reading in KINDS:
        if all(isinstance(term, kind) for term in terms):
            return pa.array([term.value for term in terms], arrow), reading  # type: ignore[union-attr]
    return pa.array([format_any(term) for term in terms], pa.string()), "any"


def table_of(columns: list[list[Term]]) -> pa.Table:
    decoded = [column_of(terms) for terms in columns]
    names = [f"arg{i}" for i in range(1, len(columns) + 1)]
    return term_table(names, [array for array, _ in decoded], [reading for _, reading in decoded])


@pytest.mark.parametrize("ending", TABLES)
@pytest.mark.parametrize("header", [False, True])
def test_tables_read_back_as_they_were(
    ending: str, header: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("tables") / f"facts.{ending}"
    options = {"header": True} if header and ending.startswith(("csv", "tsv", "dsv")) else {}

    @given(facts())
    @settings(max_examples=60, deadline=None)
    def law(columns: list[list[Term]]) -> None:
        write_table(table_of(columns), path, **options)
        assert columns_of(read_table(path, arity=len(columns), **options)) == columns

    law()


resources = st.sampled_from(["a", "node_7", "http://example.org/é", "urn:x"]).map(IRI)
blank_nodes = st.sampled_from(["b1", "x", "n.1-a"]).map(BlankNode)


@pytest.mark.parametrize("ending", GRAPHS)
def test_graphs_read_back_as_they_were(ending: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("graphs") / f"facts.{ending}"
    objects = anything.filter(lambda term: not (isinstance(term, IRI) and " " in term.value))

    @given(st.lists(st.tuples(resources | blank_nodes, resources, objects), max_size=6))
    @settings(max_examples=60, deadline=None)
    def law(triples: list[tuple[Term, Term, Term]]) -> None:
        columns = [[ntriples_text(triple[i]) for triple in triples] for i in range(3)]
        table = pa.table(
            {name: pa.array(column, pa.string()) for name, column in zip("spo", columns, strict=True)}
        )
        write_table(table, path, prefixes={"ex": "http://example.org/"})
        found = terms_of(read_table(path, arity=3))
        assert {tuple(map(without_scope, row)) for row in found} == set(triples)

    law()


PLAIN = {
    "string": texts.map(String),
    "int": integers,
    "double": doubles,
    "boolean": booleans,
    "iri": names.filter(lambda name: " " not in name).map(IRI),
}


@pytest.mark.parametrize("format", ["csv", "parquet", "ndjson"])
@pytest.mark.parametrize("kind", PLAIN)
def test_an_export_with_a_format_reads_back_with_it(format: str, kind: str, tmp_path: Path) -> None:
    binding = DataBinding("p", format, {"format": (kind, "any")})

    @given(st.lists(st.tuples(PLAIN[kind], anything), max_size=5))
    @settings(max_examples=30, deadline=None)
    def law(rows: list[tuple[Term, Term]]) -> None:
        columns = [[row[0] for row in rows], [row[1] for row in rows]]
        write_binding(binding, table_of(columns), tmp_path)
        assert columns_of(read_binding(binding, tmp_path, arity=2)) == columns

    law()


@pytest.mark.parametrize("ending", ["csv", "parquet", "ndjson"])
@pytest.mark.parametrize("rows", [0, 1])
def test_a_predicate_without_arguments_reads_back(ending: str, rows: int, tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([0] * rows)}).select([])
    path = tmp_path / f"rain.{ending}"
    write_table(table, path)
    assert read_table(path, arity=0).rows == rows


class TestWriting:
    TABLE = pa.table({"from": ["a", "b c"], "size": [1, 2], "weight": [1.0, 1e300]})

    def test_csv_is_as_plain_as_can_be(self, tmp_path: Path) -> None:
        write_table(self.TABLE, tmp_path / "a.csv", header=True)
        assert (tmp_path / "a.csv").read_text() == "from,size,weight\na,1,1.0\nb c,2,1e+300\n"

    @pytest.mark.parametrize("formats", [None, ["string"]])
    def test_a_text_that_begins_like_a_byte_order_mark_stays(
        self, formats: list[str] | None, tmp_path: Path
    ) -> None:
        write_table(pa.table({"x": ["\ufeff", "\ufeffa"]}), tmp_path / "a.csv", formats=formats)
        found = read_table(tmp_path / "a.csv", formats=["string"])
        assert columns_of(found) == [[String("\ufeff"), String("\ufeffa")]]

    def test_json_has_a_line_for_each_fact(self, tmp_path: Path) -> None:
        write_table(self.TABLE.slice(0, 1), tmp_path / "a.ndjson")
        assert (tmp_path / "a.ndjson").read_text() == '{"from":"a","size":1,"weight":1.0}\n'

    def test_turtle_uses_prefixes(self, tmp_path: Path) -> None:
        table = pa.table({"s": ["<http://e/a>"], "p": ["<http://e/p>"], "o": ['"x"@en']})
        write_table(table, tmp_path / "a.ttl", prefixes={"e": "http://e/"})
        assert "e:a e:p" in (tmp_path / "a.ttl").read_text()

    def test_names_come_from_the_predicate(self, tmp_path: Path) -> None:
        for format, options, name in (
            ("csv", {}, "edge.csv"),
            ("csv", {"compression": "gzip"}, "edge.csv.gz"),
            ("parquet", {}, "edge.parquet"),
            ("ndjson", {}, "edge.ndjson"),
        ):
            assert (
                write_binding(DataBinding("edge", format, options), self.TABLE, tmp_path) == tmp_path / name
            )
            assert (tmp_path / name).exists()

    def test_the_name_of_an_iri_is_a_file_name(self, tmp_path: Path) -> None:
        path = write_binding(DataBinding("http://e/p", "csv", {}), self.TABLE, tmp_path)
        assert path.parent == tmp_path
        assert read_binding(DataBinding("http://e/p", "csv", {}), tmp_path).rows == 2

    def test_a_failed_export_leaves_the_old_file_and_nothing_else(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text("old\n")
        rows = 300_000  # the fault is behind the first piece written
        table = pa.table({"a": ["x"] * rows + ["a,b"]})
        with pytest.raises(Exception, match="T049"):
            write_table(table, path, quoting=False)
        assert path.read_text() == "old\n"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
        write_table(self.TABLE, tmp_path / "link.csv")
        assert (tmp_path / "link.csv").is_symlink()
        assert read_table(tmp_path / "real.csv").rows == 2

    def test_chunks_and_slices_are_written_whole(self, tmp_path: Path) -> None:
        values = [f"v{i}" for i in range(1000)]
        column = pa.chunked_array([pa.array(values[:300]), pa.array(values[300:])]).slice(100, 700)
        large = column.cast(pa.large_string())
        write_table(pa.table({"a": column, "b": large}), tmp_path / "a.csv")
        result = read_table(tmp_path / "a.csv")
        assert [c.array.to_pylist() for c in result.columns] == [values[100:800], values[100:800]]
