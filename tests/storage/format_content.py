"""What the stores in `formats/` hold.  `python format_content.py FOLDER` makes one in the format of today; a
format that was released is never made again, only read."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import tidalog
from tidalog.model.terms import XSD, BlankNode, LangString, Literal

PROGRAM = """
@prefix ex: <http://example.org/> .
@parameter $limit = 3 .
@export path :- csv{resource = "path.csv"} .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
:- path(?x, ?x) .
degree(?x, #count(?y)) :- edge(?x, ?y) .
small(?x) :- degree(?x, ?n), ?n < $limit, ~large(?x) .
name(STRLEN(?t)) :- text(?t) .
ex:knows(?y, ?x) :- ex:knows(?x, ?y) .
edge(a, b). text("two words"). text("ü@\\"\\n"). large(b).
ex:knows(ex:anna, ex:bob). ex:anna ex:likes "something"@en .
"""
ODD = [
    (LangString("hei", "fi"), 2.5),
    (Literal("2024-01-01", XSD + "date"), True),
    (BlankNode("b1"), -(2**63)),
    (float("inf"), float("nan")),
    ("", "x" * 300),
]
SOURCE = "query-1"


def edge(*pair: object, delete: bool = False) -> tidalog.Update:
    kinds = {"deletions" if delete else "insertions": {"edge": [pair]}}
    return tidalog.Update(**kinds, label=f"{pair[0]}-{pair[1]}")  # type: ignore[arg-type]


def begin(kb: tidalog.KnowledgeBase) -> None:
    """What the older snapshot holds."""
    kb.load(PROGRAM, parameters={"limit": 2}, base_dir="/data")
    kb.insert("odd", ODD)
    kb.apply(edge("b", "c"))
    with contextlib.suppress(tidalog.RunError):
        kb.apply(edge("c", "a"))


def go_on(kb: tidalog.KnowledgeBase) -> None:
    """What the newer snapshot holds on top."""
    kb.delete("odd", ODD[:1])
    kb.apply(edge("b", "c", delete=True))
    list(kb.stream([edge("c", "d"), edge("d", "c"), edge("c", "d", delete=True)], latest_only=True))


def end(kb: tidalog.KnowledgeBase) -> None:
    """What is in the log behind it."""
    kb.insert("edge", [(n, n + 1) for n in range(5)])
    kb.apply(tidalog.Update(insertions={"new": [()]}))


BATCHES = ([edge("p", "q"), edge("q", "r")], [edge("r", "s")])
"""Of these the first update is applied and acknowledged."""


def make(folder: Path) -> None:
    with tidalog.open(folder) as kb:
        begin(kb)
        kb.snapshot()
        go_on(kb)
        kb.snapshot()
        end(kb)
        for number, batch in enumerate(BATCHES):
            kb.log_updates(batch, source=SOURCE, batch=number)
        next(kb.apply_pending())


if __name__ == "__main__":
    make(Path(sys.argv[1]))
