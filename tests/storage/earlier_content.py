"""What the stores in `earlier/` hold: names that were IRIs when format 1 was written.  The last version that
wrote it has made them (`python earlier_content.py FOLDER`); now they are only read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import tidalog
from tidalog.model.terms import IRI, Literal, String, Term

Name = Callable[[str], Term]
"""The term that a bare name is: an IRI in format 1, a string today."""
EX = "http://example.org/"
PROGRAM = """
@prefix ex: <http://example.org/> .
@parameter $who = ada .
count(#count(?x)) :- person(?x) .
both(?x) :- person(?x), tall(?x) .
alone(?x) :- person(?x), ~tall(?x) .
chosen(?x) :- person(?x), ?x = $who .
fan(?x, ?y) :- triple(?x, likes, ?y) .
friend(?y, ?x) :- ex:knows(?x, ?y) .
friend(?x, ?z) :- friend(?x, ?y), friend(?y, ?z) .
person(ada). person("ada"). person(Bob). person(ex:cy). tall("ada").
"""
TABLE = 'x,y\n"""x""",y\n'
LIKES = (IRI(EX + "cy"), IRI("likes"), IRI("tea"))
"""A property that is a name."""
SOURCE = "orders"


def begin(kb: tidalog.KnowledgeBase, name: Name, folder: Path) -> None:
    """What the snapshot holds, but for `LIKES`."""
    kb.load(PROGRAM, base_dir="/data")
    kb.insert(
        "odd",
        [
            (name("ada"), String("ada")),
            (Literal("5", "unit"), name("unit")),
            (IRI(EX + "a"), IRI("a/b")),
            (String("007"), String("true")),
        ],
    )
    kb.insert("triple", [(IRI(EX + "cy"), IRI(EX + "knows"), name("ada"))])
    table = folder / "table.csv"
    table.write_text(TABLE, encoding="utf-8")
    kb.insert("table", table)
    table.unlink()


def go_on(kb: tidalog.KnowledgeBase, name: Name) -> None:
    """What the log has after the snapshot."""
    kb.apply(tidalog.Update(insertions={"tall": [(name("Bob"),)]}, deletions={"person": [(name("ada"),)]}))
    kb.apply(tidalog.Update(add_rules="r9: dan(?x) :- person(?x), tall(dan) ."))
    kb.apply(tidalog.Update(insertions={"tall": [(String("dan"),)]}))


def batch(name: Name) -> list[tidalog.Update]:
    """Updates that wait."""
    knows = (IRI(EX + "d"), IRI(EX + "knows"), name("eve"))
    return [
        tidalog.Update(insertions={"person": [(name("eve"),), (String("eve"),)]}, label="1"),
        tidalog.Update(insertions={"triple": [knows], "tall": [(name("eve"),)]}, label="2"),
    ]


def make(folder: Path) -> None:
    for store in ("log.tidalog", "snapshot.tidalog"):
        with tidalog.open(folder / store) as kb:
            begin(kb, IRI, folder)
            kb.insert("triple", [LIKES])
            kb.snapshot()
            if store.startswith("log"):
                go_on(kb, IRI)
                kb.log_updates(batch(IRI), source=SOURCE, batch=0)
    with tidalog.open(folder / "empty.tidalog"):
        pass


if __name__ == "__main__":
    make(Path(sys.argv[1]))
