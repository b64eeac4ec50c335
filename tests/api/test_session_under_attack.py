"""What people do to a knowledge base without meaning harm: odd texts, odd names, threads, functions that
fail or come back."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

import tidalog
from tidalog.model.errors import TidalogError
from tidalog.model.terms import IRI, XSD, Literal, String

CLOSURE = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""


def number_of(error: pytest.ExceptionInfo[TidalogError]) -> str:
    return error.value.diagnostics[0].number


@pytest.mark.parametrize("length", [200, 300, 3_000, 5_000])
def test_a_text_on_one_line_is_a_text_however_long(length: int) -> None:
    kb = tidalog.open()
    kb.load(f'p("{"x" * length}").')
    assert kb.facts("p").to_terms() == [(String("x" * length),)]


@pytest.mark.parametrize("path", [Path("a" * 5_000 + ".rls"), Path("a\0b.rls")])
def test_a_name_that_no_file_can_have_is_an_error_with_a_number(path: Path) -> None:
    kb = tidalog.open()
    kb.load("p(a).")
    with pytest.raises(tidalog.UsageError, match="T072"):
        kb.load(path)
    with pytest.raises(tidalog.DataError, match="T047"):
        kb.export("p", path.with_suffix(".csv"))


@pytest.mark.parametrize("source", [b"p(a).", 5, None])
def test_what_is_no_program_is_refused(source: object) -> None:
    with pytest.raises(tidalog.UsageError, match="T076"):
        tidalog.open().load(source)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ['p("\ud800").', r'p("\ud800").', r"p(<http://x/\uDFFF>).", "p\udc80(a)."])
def test_half_a_surrogate_pair_is_no_text(text: str) -> None:
    kb = tidalog.open()
    with pytest.raises(tidalog.ProgramError) as raised:
        kb.load(text)
    assert number_of(raised) == "T004"
    str(raised.value).encode()
    assert not kb.predicates


def test_half_a_surrogate_pair_comes_in_by_no_other_door() -> None:
    kb = tidalog.open()
    kb.register("half", lambda _: "\ud800")
    kb.load("p(1). q(?y) :- p(?x), ?y = HALF(?x) .")
    assert len(kb.facts("q")) == 0
    with pytest.raises(tidalog.UsageError, match="T076"):
        kb.query("p($x)", x="\ud800")
    with pytest.raises(tidalog.DataError, match="T036") as raised:
        kb.insert("p", [("\ud800",)])
    str(raised.value).encode()
    with pytest.raises(tidalog.ProgramError, match="T004"):
        kb.query('p("\ud800")')


@pytest.mark.parametrize("name", ["#p:q", "?triple", "a: b", "<#p>", "", "_", 5, None])
def test_a_name_that_no_predicate_has_takes_no_facts(name: str) -> None:
    kb = tidalog.open()
    with pytest.raises(tidalog.UsageError, match="T076"):
        kb.insert(name, [("x",)])


def test_threads_take_turns() -> None:
    kb = tidalog.open()
    kb.load(CLOSURE)
    failures: list[BaseException] = []

    def work(start: int) -> None:
        try:
            for node in range(start, start + 20):
                kb.insert("edge", [(node, node + 1)])
                kb.count("path"), kb.query(f"path({start}, ?x)"), kb.stats(), kb.predicates
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 1_000, 2_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert kb.count("path") == 3 * (20 * 21 // 2)


@pytest.mark.parametrize("call", ["insert", "query", "close", "load", "facts"])
def test_a_function_that_comes_back_is_refused_and_nothing_is_lost(call: str) -> None:
    kb = tidalog.open()
    kb.load("p(1). p(2).")
    calls = {
        "insert": lambda: kb.insert("p", [(3,)]),
        "query": lambda: kb.query("p(?x)"),
        "close": kb.close,
        "load": lambda: kb.load("p(3)."),
        "facts": lambda: kb.facts("p"),
    }

    def back(number: int) -> int:
        calls[call]()
        return number

    kb.register("back", back)
    kb.load("q(?y) :- p(?x), ?y = BACK(?x) .")
    with pytest.raises(tidalog.UsageError, match="T081"):
        kb.facts("q")
    kb.register("back", lambda number: number + 10)
    assert sorted(kb.facts("q").to_rows()) == [(11,), (12,)]


@pytest.mark.parametrize("kind", [RuntimeError, MemoryError, RecursionError, StopIteration, AttributeError])
def test_a_function_that_breaks_breaks_nothing_else(kind: type[BaseException]) -> None:
    kb = tidalog.open()

    def broken(number: int) -> int:
        raise kind("broken")

    kb.register("f", broken)
    kb.load("p(1). p(2). q(?y) :- p(?x), ?y = F(?x) .")
    with pytest.raises(kind):
        kb.facts("q")
    assert sorted(kb.facts("p", explicit=True).to_rows()) == [(1,), (2,)]
    kb.register("f", lambda number: -number)
    assert sorted(kb.facts("q").to_rows()) == [(-2,), (-1,)]


@pytest.mark.parametrize("answer", [np.int64(7), np.int8(7), np.array(7)])
def test_a_function_may_answer_with_a_number_of_numpy(answer: object) -> None:
    kb = tidalog.open()
    kb.register("f", lambda _: answer)
    kb.load("p(1). q(?y) :- p(?x), ?y = F(?x) .")
    assert kb.facts("q").to_rows() == [(7,)]


def test_an_instant_is_the_same_term_through_every_door() -> None:
    there = datetime(2024, 5, 1, 12, 0, 0, 500_000, timezone(timedelta(hours=2)))
    term = Literal("2024-05-01T10:00:00.5Z", XSD + "dateTime")
    kb = tidalog.open()
    kb.register("then", lambda _: there)
    kb.load("p(1). q(?y) :- p(?x), ?y = THEN(?x) .")
    kb.insert("row", [(there,), (there.astimezone(UTC),)])
    kb.insert("column", {"at": np.array([there.astimezone(UTC).replace(tzinfo=None)], "datetime64[ns]")})
    assert kb.facts("row").to_terms() == kb.facts("q").to_terms() == [(term,)]
    assert kb.facts("column").to_terms() == [(Literal("2024-05-01T10:00:00.5", XSD + "dateTime"),)]
    assert len(kb.query("row($at)", at=there)) == 1


def test_arguments_that_would_be_passed_over_are_refused(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("a,b\n")
    kb = tidalog.open()
    with pytest.raises(tidalog.UsageError, match="T076"):
        kb.insert("p", tmp_path / "p.csv", columns=["a"])
    with pytest.raises(tidalog.UsageError, match="T076"):
        kb.insert("p", [(1,)], header=True)
    with pytest.raises(tidalog.UsageError, match="T076"):
        kb.insert("p", [(1,)], format="csv")
    with pytest.raises(tidalog.UsageError, match="T076"):
        kb.insert("p", [(1,)], on_error="Skip")  # type: ignore[arg-type]
    assert not kb.predicates


def test_relative_iris_of_turtle_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "t.ttl").write_text("<a> </b> <../c> . <#d> <e> <> .")
    kb = tidalog.open()
    kb.insert("triple", tmp_path / "t.ttl")
    names = {term.value for row in kb.facts("triple").to_terms() for term in row if isinstance(term, IRI)}
    assert names == {"a", "/b", "../c", "#d", "e", ""}


@pytest.mark.parametrize("width", [0, 3])
def test_an_iri_that_is_no_class_and_no_property_is_a_predicate_beside_triples(width: int) -> None:
    row = tuple(range(width))
    kb = tidalog.open()
    kb.load("triple(<a>, <b>, c) .")
    kb.insert("http://x/p", [row])
    assert kb.facts("http://x/p").to_rows() == [row]
    assert kb.count("http://x/p") == 1
    assert len(kb.facts("triple")) == 1


def test_bad_rows_are_not_written_over_the_data_they_come_from(tmp_path: Path) -> None:
    data = tmp_path / "p.csv"
    data.write_text("a,b\nc\n")
    kb = tidalog.open()
    with pytest.raises(tidalog.DataError, match="T047"):
        kb.insert("p", data, on_error="skip", quarantine=data)
    assert data.read_text() == "a,b\nc\n"


def test_bad_rows_of_every_import_are_kept(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a,b\nfirst\n")
    (tmp_path / "two.csv").write_text("c,d\nsecond\n")
    kb = tidalog.open()
    text = '@import p :- csv{resource = "one.csv"} . @import p :- csv{resource = "two.csv"} .'
    kb.load(text, base_dir=tmp_path, on_error="skip")
    assert kb.stats().skipped == {"p": 2}
    assert "first" in (tmp_path / "p.quarantine.csv").read_text()
    assert "second" in (tmp_path / "p.2.quarantine.csv").read_text()


def test_two_exports_to_one_file_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    kb = tidalog.open()
    kb.load(
        'p(1). q(2). @export p :- csv{resource = "x.csv"} . @export q :- csv{resource = "./x.csv"} .',
        base_dir=tmp_path,
    )
    with pytest.raises(tidalog.DataError, match="T047"):
        kb.write_exports()
    assert not list(tmp_path.iterdir())
