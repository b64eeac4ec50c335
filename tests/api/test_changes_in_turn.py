"""One change after another, some of which fail: each finds what those before it have left."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import tidalog
from tidalog.analysis.rule_graph import RuleGraph
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.engine.facts import FactStore


def updated(program: str) -> KnowledgeBase:
    """A knowledge base that has been maintained once."""
    kb = tidalog.open()
    kb.load(program)
    kb.apply(tidalog.Update(insertions={"z": [(1,)]}))
    kb.apply(tidalog.Update(insertions={"z": [(2,)]}))
    return kb


def rows(kb: KnowledgeBase, predicate: str) -> list[tuple[object, ...]]:
    return sorted(kb.facts(predicate))


def test_a_rule_added_after_an_update_calls_a_function_registered_after_it() -> None:
    kb = updated("q(?x) :- z(?x).")
    kb.register("twice", lambda x: 2 * x)
    kb.rules.add("d(?y) :- z(?x), ?y = TWICE(?x).")
    assert rows(kb, "d") == [(2,), (4,)]
    kb.apply(tidalog.Update(insertions={"z": [(3,)]}, deletions={"z": [(1,)]}))
    assert rows(kb, "d") == [(4,), (6,)]


@pytest.mark.parametrize("removed_before", [False, True])
def test_an_edit_inserts_facts_of_a_predicate_that_removed_rules_had_with_another_arity(
    removed_before: bool,
) -> None:
    kb = updated("old: q(?x) :- p(?x, ?y).  w(?x) :- z(?x).")
    if removed_before:
        kb.rules.remove("old")
    gone: Sequence[str] = [] if removed_before else ["old"]
    delta = kb.apply(
        tidalog.Update(insertions={"p": [("a",)]}, add_rules=["v(?x) :- z(?x)."], remove_rules=gone)
    )
    assert list(delta["p"].inserted) == [("a",)]
    assert rows(kb, "p") == [("a",)]
    assert rows(kb, "v") == rows(kb, "w") == [(1,), (2,)]


def test_deletions_from_a_predicate_that_removed_rules_had_with_another_arity_are_ignored() -> None:
    kb = updated("old: q(?x) :- p(?x, ?y).  w(?x) :- z(?x).")
    kb.rules.remove("old")
    assert kb.apply(tidalog.Update(deletions={"p": [("a",)]})).ignored == 1
    assert kb.delete("p", [(n,) for n in range(1000)]) == 0
    assert rows(kb, "w") == [(1,), (2,)]


def test_deleting_nothing_leaves_what_is_derived() -> None:
    kb = updated("w(?x) :- z(?x).")
    assert kb.delete("z", []) == 0
    assert "to be" not in repr(kb)


@pytest.mark.parametrize("call", ["insert", "delete", "materialise"])
def test_ctrl_c_while_derived_facts_are_dropped_keeps_explicit_ones(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = updated("w(?x) :- z(?x).  v(?x) :- y(?x).")
    kb.insert("y", [(n,) for n in range(5)])

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    many = [(n,) for n in range(1000)]
    with monkeypatch.context() as patched, pytest.raises((KeyboardInterrupt, tidalog.RunError)):
        patched.setattr(FactStore, "insert", interrupted)
        if call == "insert":
            kb.insert("y", many)
        elif call == "delete":
            kb.delete("y", many)
        else:
            kb.load("u(?x) :- y(?x).")
            kb.materialise()
    assert rows(kb, "y") == rows(kb, "v") == [(n,) for n in range(5)]
    assert rows(kb, "w") == [(1,), (2,)]


def test_ctrl_c_within_an_edit_leaves_the_rules_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = updated("w(?x) :- z(?x).")
    kb.rules.add("unused(?x) :- w(?x), never(?x).")
    before, warnings = dict(kb.rules), [warning.render() for warning in kb.warnings]
    change = RuleGraph.change

    def interrupted(self: RuleGraph, *args: object) -> object:
        change(self, *args)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(RuleGraph, "change", interrupted)
        kb.rules.add("x: v(?x) :- w(?x).")
    assert dict(kb.rules) == before
    assert [warning.render() for warning in kb.warnings] == warnings
    kb.rules.add("x: v(?x) :- w(?x).")
    assert rows(kb, "v") == [(1,), (2,)]
    kb.rules.remove("x")
    assert dict(kb.rules) == before


@pytest.mark.parametrize("derived", [True, False])
def test_iris_are_predicates_of_their_own_again_when_no_rule_has_triples(derived: bool) -> None:
    kb = tidalog.open()
    kb.load("@prefix e: <http://e/> .  k(?x) :- e:K(?x).  all: used(?p) :- triple(?s, ?p, ?o).")
    kb.insert("e:K", [(0,)])
    kb.insert("e:a", [(0, 1)])
    kb.insert("rdf:type", [(2, 3)])
    if derived:
        kb.materialise()
    kb.rules.remove("all")
    assert rows(kb, "e:K") == rows(kb, "k") == [(0,)]
    assert rows(kb, "e:a") == [(0, 1)]
    assert rows(kb, "rdf:type") == [(2, 3)]
    kb.apply(tidalog.Update(deletions={"e:K": [(0,)]}))
    assert rows(kb, "k") == []
    kb.rules.add("all: used(?p) :- triple(?s, ?p, ?o).")
    assert kb.count("triple") == 2
