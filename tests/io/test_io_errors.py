"""Every error about data says what the user needs to fix it: goldens under errors/, one for each case.

A case writes files to an empty folder, which is the current one, and makes one mistake.
`TIDALOG_UPDATE_GOLDENS=1` rewrites the goldens.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from error_goldens import check_golden

from tidalog.io import diagnostics as all_diagnostics
from tidalog.io.binding import read_binding, write_binding
from tidalog.io.frames import from_python
from tidalog.io.read import read_table
from tidalog.io.term_fields import term_table
from tidalog.io.update_tables import read_update_table
from tidalog.io.write import write_table
from tidalog.model.errors import DataError, Source, Span
from tidalog.model.program import Column, DataBinding, Declaration, OptionValue
from tidalog.model.terms import IRI

FROM_A_LIBRARY = ("T042-", "T043-ntriples", "T043-turtle", "T043-rdf-xml", "T044-json")
"""Cases whose reason comes from a library and may change with it; it is shown as `…` in the golden."""
GOLDENS = Path(__file__).parent / "errors"
Case = Callable[[], object]
CASES: dict[str, Case] = {}


def case(name: str) -> Callable[[Case], Case]:
    def register(function: Case) -> Case:
        CASES[name] = function
        return function

    return register


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def binding(format: str, /, **options: OptionValue) -> DataBinding:
    written = ", ".join(f"{name} = {value!r}" for name, value in options.items()).replace("'", '"')
    text = f"@import edge :- {format}{{{written}}} ."
    return DataBinding("edge", format, options, Span(Source("rules.rls", text), 16, len(text) - 2))


@case("T030-near-name")
def _() -> object:
    write("edges.csv", "a,b\n")
    return read_binding(binding("csv", resource="egdes.csv"), Path())


@case("T030-no-folder")
def _() -> object:
    return read_table("data/edges.csv")


@case("T030-pattern")
def _() -> object:
    return read_table("edges-*.csv")


@case("T030-empty-folder")
def _() -> object:
    Path("data").mkdir()
    write("data/readme.md", "")
    return read_table("data", "csv")


@case("T031-remote")
def _() -> object:
    return read_table("https://example.org/edges.csv")


@case("T031-name-too-long")
def _() -> object:
    return read_table("e" * 300 + ".csv")


@case("T032-name")
def _() -> object:
    return read_binding(binding("cvs", resource="edges.csv"), Path())


@case("T032-ending")
def _() -> object:
    return read_table(write("edges.dat", ""))


@case("T033-unknown-option")
def _() -> object:
    return read_binding(binding("csv", resource="edges.csv", heder=True), Path())


@case("T033-wrong-value")
def _() -> object:
    return read_binding(binding("dsv", resource="edges.txt", delimiter="||"), Path())


@case("T033-option-of-another-format")
def _() -> object:
    return read_binding(binding("parquet", resource="edges.parquet", delimiter=";"), Path())


@case("T033-column-format")
def _() -> object:
    return read_binding(binding("csv", resource="edges.csv", format=("string", "integr")), Path())


@case("T033-header-twice")
def _() -> object:
    return read_binding(binding("csv", resource="e.csv", header=True, ignore_headers=True), Path())


@case("T033-rdf-without-resource")
def _() -> object:
    return read_binding(binding("rdf"), Path())


@case("T034-arity")
def _() -> object:
    return read_table(write("edges.csv", "a,b,1\nb,c,2\n"), arity=2)


@case("T034-delimiter")
def _() -> object:
    return read_table(write("edges.csv", "a;b\nb;c\n"), arity=2)


@case("T034-format")
def _() -> object:
    write("edges.csv", "a,b\nb,c\n")
    return read_binding(
        binding("csv", resource="edges.csv", format=("string", "int", "int")), Path(), arity=3
    )


@case("T034-format-and-arity")
def _() -> object:
    return read_table(write("edges.csv", "a,b\nb,c\n"), formats=("string", "skip"), arity=2)


@case("T034-rdf")
def _() -> object:
    return read_table(write("a.nt", "<a> <b> <c> .\n"), arity=2)


@case("T034-files-differ")
def _() -> object:
    return read_table([write("a.csv", "a,b\n"), write("b.csv", "a,b,c\n")])


@case("T035-too-few")
def _() -> object:
    return read_table(write("edges.csv", "a,b\nb\nc,d\n"), arity=2)


@case("T035-too-many")
def _() -> object:
    return read_table(write("edges.csv", 'a,"b\nb"\nb,c,d\nc,d\n'), arity=2)


@case("T035-json")
def _() -> object:
    return read_table(write("edges.ndjson", '["a", "b"]\n\n["a"]\n'))


@case("T035-rows")
def _() -> object:
    return from_python([("a", "b"), ("a", "b", "c")], 2)


@case("T036-first-line")
def _() -> object:
    return read_table(write("size.csv", "a,many\nb,2\n"), formats=("any", "int"))


@case("T036-last-line-without-end")
def _() -> object:
    return read_table(write("size.csv", "a,1\r\nb,2\r\nc,1.5"), formats=("any", "int"))


@case("T036-behind-quoted-line-breaks")
def _() -> object:
    text = 'name,"the\nsize",ok\n\n"a\nb",1,true\n"c\r\nd","e\nf",maybe\n'
    return read_table(write("size.csv", text), formats=("string", "any", "boolean"), header=True)


@case("T036-several")
def _() -> object:
    text = "a,1,http://e/\nb,x,http://e/\nc,2,no iri\n"
    return read_table(write("size.csv", text), formats=("any", "double", "iri"))


@case("T036-parquet")
def _() -> object:
    pq.write_table(pa.table({"who": ["a", "b"], "size": [1.0, 2.5]}), "size.parquet")
    return read_table("size.parquet", formats=("any", "int"))


@case("T036-python")
def _() -> object:
    return from_python([("a", 1), ("b", {"no": "term"})], 2)


@case("T036-nested-json")
def _() -> object:
    return read_table(write("edges.ndjson", '{"a": 1, "b": [1, 2]}\n'))


@case("T165-python")
def _() -> object:
    p = IRI("http://e/p")
    return from_python([(IRI("http://e/a"), p, 1), (7, p, 1)], 3, triples=True)


@case("T165-csv")
def _() -> object:
    text = "_:a,<http://e/p>,1\n<http://e/a>,_:p,1\na,b,c\n"
    return read_table(write("triples.csv", text), triples=True)


@case("T037-parquet")
def _() -> object:
    pq.write_table(pa.table({"from": ["a", "b"], "to": ["b", None]}), "edges.parquet")
    return read_table("edges.parquet", arity=2)


@case("T037-json")
def _() -> object:
    return read_table(write("edges.ndjson", '{"from": "a", "to": "b"}\n{"from": "a"}\n'))


@case("T038-open-quote")
def _() -> object:
    return read_table(write("edges.csv", 'a,b\nb,"c\nd,e\n'), arity=2)


@case("T039-more")
def _() -> object:
    return read_table(write("size.csv", "".join(f"x{i}\n" for i in range(1234))), formats=("int",))


@case("T040-csv")
def _() -> object:
    return read_table(write("edges.csv", "a,b\nZürich,Bern\n".encode("latin-1")), arity=2)


@case("T040-utf-16")
def _() -> object:
    return read_table(write("edges.csv", "a,b\n".encode("utf-16")), arity=2)


@case("T040-turtle")
def _() -> object:
    return read_table(write("a.ttl", b'<http://a> <http://b> "\xff" .\n'))


@case("T041-truncated")
def _() -> object:
    return read_table(write("edges.csv.gz", gzip.compress(b"a,b\n" * 1000)[:-9]))


@case("T041-not-gzip")
def _() -> object:
    return read_table(write("edges.csv.gz", "a,b\n"))


@case("T042-parquet")
def _() -> object:
    return read_table(write("edges.parquet", "a,b\n"))


@case("T042-parquet-cut-off")
def _() -> object:
    pq.write_table(pa.table({"a": ["x"] * 100}), "edges.parquet")
    return read_table(write("edges.parquet", Path("edges.parquet").read_bytes()[:-20]))


@case("T042-arrow")
def _() -> object:
    feather.write_feather(pa.table({"a": ["x"] * 100}), "edges.arrow")
    return read_table(write("edges.arrow", Path("edges.arrow").read_bytes()[:-60]))


@case("T043-ntriples")
def _() -> object:
    text = '<http://a> <http://b> "c" .\n# so\n\n"a" <http://b> <http://c> .\n<a> <b> <c>\n'
    return read_table(write("city.nt", text))


@case("T043-turtle")
def _() -> object:
    text = "@prefix : <http://e/> .\n:a :b :c .\n:a :b oops .\n:a :b :d .\n"
    return read_table(write("city.ttl", text))


@case("T043-rdf-xml")
def _() -> object:
    return read_table(write("city.rdf", "<rdf"))


@case("T043-named-graph")
def _() -> object:
    return read_table(write("city.trig", "<http://g> { <http://a> <http://b> <http://c> . }\n"))


@case("T190-property")
def _() -> object:
    columns = {"s": ["<http://e/a>"], "p": ["<http://e/1>"], "o": ['"x"']}
    write_table(pa.table(columns), Path("out.rdf"))
    return None


@case("T190-character")
def _() -> object:
    columns = {"s": ["<http://e/a>"], "p": ["<http://e/p>"], "o": [r'"a\rb"']}
    write_table(pa.table(columns), Path("out.rdf"))
    return None


@case("T190-relative")
def _() -> object:
    columns = {"s": ["<a>"], "p": ["<http://e/p>"], "o": ['"x"']}
    write_table(pa.table(columns), Path("out.jsonld"))
    return None


@case("T044-json")
def _() -> object:
    return read_table(write("edges.ndjson", '{"from": "a", "to": "b"}\n{"from": "a", "to": b}\n17\n'))


@case("T044-nested")
def _() -> object:
    return read_table(write("edges.ndjson", "[" * 40_000 + "\n"))


@case("T045-list")
def _() -> object:
    pq.write_table(pa.table({"a": ["x"], "b": [[1, 2]]}), "edges.parquet")
    return read_table("edges.parquet", arity=2)


@case("T046-arity")
def _() -> object:
    return write_binding(binding("ntriples"), pa.table({"a": ["<a>"], "b": ["<b>"]}), Path())


@case("T046-subject")
def _() -> object:
    table = pa.table({"s": ['"a"'], "p": ["<b>"], "o": ["<c>"]})
    return write_binding(binding("turtle"), table, Path())


@case("T047-folder-is-a-file")
def _() -> object:
    write("out", "")
    write_table(pa.table({"a": ["a"]}), Path("out/edges.csv"))
    return None


@case("T047-is-a-folder")
def _() -> object:
    Path("edges.csv").mkdir()
    return write_binding(binding("csv", resource="edges.csv"), pa.table({"a": ["a"]}), Path())


@case("T047-format")
def _() -> object:
    table = term_table(["a"], [pa.array(["b", "<http://example.org/a>"])], ["any"])
    return write_binding(binding("csv", format=("string",)), table, Path())


@case("T048-no-rows")
def _() -> object:
    return from_python(17, 2)


@case("T048-columns")
def _() -> object:
    return from_python({"a": [1, 2], "b": [1]}, 2)


READING = Declaration(
    "reading", (Column("turbine", "string"), Column("value", "double"), Column("at", "dateTime"))
)


@case("T155-header")
def _() -> object:
    Path("readings.csv").write_text("at,turbine,speed\n2026-05-31T18:30:00,t1,20\n")
    return read_table("readings.csv", header=True, declaration=READING)


@case("T155-frame")
def _() -> object:
    return from_python({"turbine": ["t1"], "value": [20]}, declaration=READING)


@case("T156-header")
def _() -> object:
    Path("readings.csv").write_text("at,turbine,note,value\ntoday,t1,,20\n2026-05-31T18:30:00,t1,,warm\n")
    return read_table("readings.csv", header=True, declaration=READING)


@case("T156-rows")
def _() -> object:
    return from_python([("t1", 2**53 + 1, datetime(2026, 5, 31)), (7, 20, "2026-05-31")], declaration=READING)


@case("T156-values")
def _() -> object:
    types = ("string", "boolean", "decimal", "double", "iri", "int", "date")
    declared = Declaration("p", tuple(Column(None, kind) for kind in types))
    good: list[object] = ["a", True, Decimal("2.5"), 2.5, IRI("http://e/x"), 5, "2026-05-31"]
    wrong = [7, 1, 2.5, 2**53 + 1, "x", Decimal(5), "31 May"]
    rows = [(*good[:n], value, *good[n + 1 :]) for n, value in enumerate(wrong)]
    return from_python(rows, declaration=declared)


@case("T036-json-array")
def _() -> object:
    Path("edges.json").write_text('[{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]\n')
    return read_table("edges.json")


@case("T156-update-table")
def _() -> object:
    Path("updates.csv").write_text(
        "update,op,predicate,arg1,arg2,arg3\n1,+,reading,t1,20,2026-05-31T18:30:00\n1,-,reading,t1,warm,now\n"
    )
    return read_update_table("updates.csv", declared={"reading": READING})


@case("T049-quoting")
def _() -> object:
    write_table(pa.table({"a": ["a,b"]}), Path("out.csv"), quoting=False)
    return None


@pytest.mark.parametrize("name", CASES)
def test_the_message_is_the_golden(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_golden(
        CASES[name], GOLDENS / f"{name}.txt", hidden="why" if name.startswith(FROM_A_LIBRARY) else None
    )


def test_every_number_has_a_golden_and_every_golden_a_case() -> None:
    numbers = {
        value.number
        for value in vars(all_diagnostics).values()
        if isinstance(value, type)
        and issubclass(value, all_diagnostics.DataDiagnostic)
        and "number" in vars(value)
    }
    assert numbers == {name[:4] for name in CASES}
    assert {path.stem for path in GOLDENS.glob("*.txt")} == set(CASES)


def test_an_error_in_json_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "size.csv"
    path.write_text("a,1\nb,x\n")
    with pytest.raises(DataError) as raised:
        read_table(path, formats=("any", "int"))
    (diagnostic,) = raised.value.diagnostics
    shown = diagnostic.to_json()
    assert (shown["file"], shown["line"], shown["column"]) == (str(path), 2, 3)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read every file")
def test_a_file_without_permission_is_an_error_about_that(tmp_path: Path) -> None:
    path = tmp_path / "secret.csv"
    path.write_text("a\n")
    path.chmod(0)
    with pytest.raises(DataError, match=r"T031.*cannot be read"):
        read_table(path)
