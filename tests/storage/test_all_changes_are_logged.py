"""Whatever changes a stored knowledge base is in its log: reopened, it holds the same."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import tidalog
from tidalog.storage import records
from tidalog.storage.segments import read_log

PROGRAM = """
step: path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
base: path(?x, ?y) :- edge(?x, ?y) .
edge(a, b) . edge(b, c) .
"""
KB = tidalog.StoredKnowledgeBase
Change = Callable[[tidalog.StoredKnowledgeBase], object]


def _update(kb: tidalog.StoredKnowledgeBase) -> None:
    with kb.update() as update:
        update.delete("edge", [("a", "b")]).insert("edge", [("a", "d")]).add_rule(
            "far: far(?x) :- path(a, ?x)"
        )


def _batch(kb: tidalog.StoredKnowledgeBase) -> None:
    kb.log_updates([tidalog.Update(insertions={"edge": [("c", "e")]})], source="s", batch=0)
    list(kb.apply_pending())


def _as_one(kb: tidalog.StoredKnowledgeBase) -> None:
    with kb.as_one():
        kb.insert("edge", [("c", "d")])
        kb.rules.add("far: far(?x) :- path(a, ?x)")


def _advance(kb: tidalog.StoredKnowledgeBase) -> None:
    kb.load("@window tick :- range 10s . now(?x) :- tick(?x) .")
    kb.apply(tidalog.Update(time=1, insertions={"tick": [("a",)]}))
    kb.apply(tidalog.Update(time=9, insertions={"tick": [("b",)]}))
    kb.advance(15)


def _read_rdf(kb: tidalog.StoredKnowledgeBase) -> None:
    path = kb.path.with_name("data.trig")
    path.write_text("@prefix ex: <http://e/> . ex:s ex:p [] . ex:g { ex:s ex:p ex:o }")
    kb.read_rdf(path)


def _ontology(kb: tidalog.StoredKnowledgeBase) -> None:
    kb.load("@prefix ex: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .")
    kb.ontology("ex:A rdfs:subClassOf ex:B .", profile="rdfs")


CHANGES: dict[str, Change] = {
    "advance": _advance,
    "as_one": _as_one,
    "load": lambda kb: kb.load("rest: back(?y, ?x) :- path(?x, ?y) . edge(x, y) ."),
    "insert": lambda kb: kb.insert("edge", [("c", "d")]),
    "read_rdf": _read_rdf,
    "delete": lambda kb: kb.delete("edge", [("a", "b")]),
    "apply": lambda kb: kb.apply(tidalog.Update(insertions={"edge": [("c", "d")]})),
    "update": _update,
    "sparql_update": lambda kb: kb.sparql_update("INSERT DATA { <e:s> <e:p> <e:o> }"),
    "ontology": _ontology,
    "register": lambda kb: kb.register("pairs", "?x, ?y :- path(?x, ?y)", emit="changes").pause(),
    "stream": lambda kb: list(
        kb.stream([tidalog.Update(insertions={"edge": [("c", str(i))]}) for i in "pq"])
    ),
    "apply_pending": _batch,
    "rules.add": lambda kb: kb.rules.add("far: far(?x) :- path(a, ?x)"),
    "rules.remove": lambda kb: kb.rules.remove("step"),
    "rules.replace": lambda kb: kb.rules.replace("base", "path(?x, ?y) :- edge(?y, ?x)"),
}
WITHOUT_FACTS = {
    *(
        "accept_updates",
        "acknowledge",
        "close",
        "function",
        "get_ready",
        "log_updates",
        "materialise",
        "snapshot",
    ),
    *("asserted_id_rows", "count", "export", "facts", "id_rows", "last_applied", "last_batch", "last_label"),
    *("plan", "prepare_updates", "profile", "query", "read_updates", "seen", "stats", "subscribe"),
    *("graph", "sparql"),
    *("aggregate", "encoded", "register_aggregate", "write_exports", "write_rdf"),
}
"""Public methods that change no fact and no rule, of themselves."""


def content(kb: tidalog.KnowledgeBase) -> tuple[object, ...]:
    facts = {name: set(kb.facts(name).to_terms()) for name in kb.predicates}
    explicit = {name: set(kb.facts(name, True).to_terms()) for name in kb.predicates}
    queries = [(query.name, query.text, query.emit, query.paused) for query in kb.queries.values()]
    return dict(kb.rules), facts, explicit, queries


def test_every_public_method_is_classified() -> None:
    methods = {name for name, one in inspect.getmembers(KB, inspect.isfunction) if not name.startswith("_")}
    assert methods == {name for name in CHANGES if "." not in name} | WITHOUT_FACTS


@pytest.mark.parametrize("derived", [False, True], ids=["before anything is derived", "materialised"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_there_after_reopening(tmp_path: Path, change: str, derived: bool) -> None:
    path = tmp_path / "store"
    with tidalog.open(path) as kb:
        kb.load(PROGRAM)
        if derived:
            kb.materialise()
        before = _logged(path)
        CHANGES[change](kb)
        assert _logged(path) > before
        changed = content(kb)
    with tidalog.open(path) as again:
        assert content(again) == changed


def _logged(path: Path) -> int:
    """How many changes the log has."""
    segments = sorted(one.name for one in path.glob("log-*.wal"))
    entries = read_log(path, segments, None, 0, 0).entries
    return sum(
        entry.record.last - entry.record.first + 1
        for entry in entries
        if entry.record.kind in records.CHANGES
    )
