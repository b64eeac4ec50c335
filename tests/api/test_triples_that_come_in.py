"""A literal as subject, or anything but an IRI as predicate, is refused at every door; nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import tidalog
from tidalog import IRI, Update
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.model.term_text import format_any, from_python, term_text
from tidalog.model.terms import BlankNode, Integer, LangString, String, Term

A, P = IRI("http://e/a"), IRI("http://e/p")
GOOD: list[tuple[Term, Term, Term]] = [(A, P, String("x")), (BlankNode("b"), P, Integer(1)), (A, P, A)]
BAD: list[tuple[Term, Term, Term]] = [
    (String("a"), P, A),
    (String("<http://e/a>"), P, A),
    (Integer(7), P, A),
    (LangString("a", "en"), P, A),
    (from_python(2.5), P, A),
    (from_python(True), P, A),
    (A, String("p"), A),
    (A, BlankNode("p"), A),
    (A, Integer(1), A),
]
Rows = list[tuple[Term, Term, Term]]


def by_rows(kb: KnowledgeBase, rows: Rows) -> None:
    kb.insert("triple", rows)


def by_frame(kb: KnowledgeBase, rows: Rows) -> None:
    kb.insert("triple", pd.DataFrame(rows, columns=["s", "p", "o"]))


def by_cells(kb: KnowledgeBase, rows: Rows) -> None:
    table = pa.table([pa.array([format_any(row[c]) for row in rows]) for c in range(3)], ["s", "p", "o"])
    kb.insert("triple", table, formats=("any", "any", "any"))


def by_update(kb: KnowledgeBase, rows: Rows) -> None:
    kb.apply(Update(insertions={"triple": rows}))


def by_file(kb: KnowledgeBase, rows: Rows) -> None:
    Path("t.csv").write_text("".join(_line(row) for row in rows))
    kb.insert("triple", "t.csv")


def by_import(kb: KnowledgeBase, rows: Rows) -> None:
    Path("t.csv").write_text("".join(_line(row) for row in rows))
    kb.load('@import triple :- csv{resource = "t.csv"} .', base_dir=".")


def by_text(kb: KnowledgeBase, rows: Rows) -> None:
    kb.load("".join(f"triple({', '.join(map(term_text, row))}) .\n" for row in rows))


def by_script(kb: KnowledgeBase, rows: Rows) -> None:
    Path("u.upd").write_text("".join(f"+triple({', '.join(map(term_text, row))}) .\n" for row in rows))
    for update in kb.read_updates("u.upd"):
        kb.apply(update)


def by_update_table(kb: KnowledgeBase, rows: Rows) -> None:
    Path("u.csv").write_text(
        "op,predicate,arg1,arg2,arg3\n" + "".join(f"+,triple,{_line(row)}" for row in rows)
    )
    for update in kb.read_updates("u.csv"):
        kb.apply(update)


def _line(row: tuple[Term, ...]) -> str:
    return ",".join('"' + format_any(term).replace('"', '""') + '"' for term in row) + "\n"


DOORS: list[Callable[[KnowledgeBase, Rows], None]] = [
    by_rows,
    by_frame,
    by_cells,
    by_update,
    by_file,
    by_import,
    by_text,
    by_script,
    by_update_table,
]


@pytest.fixture
def kb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    monkeypatch.chdir(tmp_path)
    kb = tidalog.open()
    kb.load("used(?p) :- triple(_, ?p, _) .")
    kb.insert("triple", GOOD[:1])
    return kb


@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_triples_of_rdf(
    kb: KnowledgeBase, door: Callable[[KnowledgeBase, Rows], None]
) -> None:
    door(kb, GOOD)
    assert set(kb.facts("triple").to_terms()) == set(GOOD)


@pytest.mark.parametrize("bad", BAD, ids=lambda row: " ".join(map(term_text, row)))
@pytest.mark.parametrize("door", DOORS)
def test_no_door_takes_a_literal_in_their_place(
    kb: KnowledgeBase, door: Callable[[KnowledgeBase, Rows], None], bad: tuple[Term, Term, Term]
) -> None:
    with pytest.raises(tidalog.TidalogError, match="T165"):
        door(kb, [*GOOD, bad])
    assert kb.facts("triple").to_terms() == GOOD[:1]
    assert kb.facts("used").to_terms() == [(P,)]


@pytest.mark.parametrize("door", [by_text, by_script])
def test_the_message_about_a_text_shows_the_fact(
    kb: KnowledgeBase, door: Callable[[KnowledgeBase, Rows], None]
) -> None:
    with pytest.raises(tidalog.TidalogError) as raised:
        door(kb, [*GOOD, BAD[0]])
    assert ":4:" in str(raised.value)


@pytest.mark.parametrize("from_file", [False, True])
def test_such_rows_can_be_skipped(kb: KnowledgeBase, from_file: bool) -> None:
    Path("t.csv").write_text("".join(_line(row) for row in (*GOOD, *BAD)))
    data = "t.csv" if from_file else [*GOOD, *BAD]
    assert kb.insert("triple", data, on_error="skip", quarantine="bad.csv") == len(GOOD) - 1
    assert len(Path("bad.csv").read_text().splitlines()) == 1 + len(BAD)


def test_what_is_not_a_triple_may_have_any_terms(kb: KnowledgeBase) -> None:
    """`triple` with another number of arguments, and facts of a predicate that is an IRI."""
    kb.insert("http://e/p", [("ann", 7)])
    assert (String("ann"), P, Integer(7)) in kb.facts("triple").to_terms()
    other = tidalog.open()
    other.insert("triple", [("a", "b")])
    assert other.facts("triple").to_rows() == [("a", "b")]


def test_rules_may_derive_them_but_no_file_of_rdf_holds_them(kb: KnowledgeBase) -> None:
    kb.load("triple(?y, <http://e/q>, ?x) :- triple(?x, <http://e/p>, ?y) .")
    assert (String("x"), IRI("http://e/q"), A) in kb.facts("triple").to_terms()
    with pytest.raises(tidalog.DataError, match="T046"):
        kb.export("triple", "out.nt")
    assert not Path("out.nt").exists()


def test_one_that_is_there_can_be_deleted_as_a_triple(kb: KnowledgeBase) -> None:
    kb.insert("http://e/p", [("ann", 7)])
    assert kb.delete("triple", [("ann", P, 7)]) == 1
    assert set(kb.facts("triple").to_terms()) == set(GOOD[:1])
