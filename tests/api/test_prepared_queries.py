"""A query that was asked before is answered as if it were new, and its indexes and plans are still there."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import tidalog
from tidalog.api.recent import _MOST
from tidalog.engine import engine as embedded
from tidalog.engine import facts as fact_store
from tidalog.engine.index import _LAST_USED

PROGRAM = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
degree(?x, #count(?y)) :- edge(?x, ?y) .
lonely(?x) :- node(?x), ~edge(?x, _) .
"""
QUERIES = (
    "path($a, ?x)",
    "path(?x, $a)",
    "edge($a, $b)",
    "?y :- edge($a, ?x), edge(?x, ?y), ~edge(?y, $a)",
    "?x :- node(?x), ~path($a, ?x)",
    "?x, #count(?y) :- path(?x, ?y), edge(?y, $a)",
    "#count(?x) :- path($a, ?x)",
    "?z :- edge($a, ?x), ?z = ?x * 2 + 1",
    "?z :- edge($a, ?x), ?z = UCASE(STR(?x))",
    "?z :- edge($a, ?x), ?z = shift(?x)",
    "?x :- path($a, ?x), ?x > $b",
    "?x, $b :- edge($a, ?x)",
    "?x :- (edge($a, ?x) ; edge(?x, $a)), ?x != $a",
    "?x :- edge($a, ?x), edge(?x, $a)",
    "lonely(?x)",
    "degree($a, ?n)",
)
NODES = range(8)


def opened() -> tidalog.KnowledgeBase:
    return tidalog.open(functions={"shift": lambda value: value + 10})


def fresh(kb: tidalog.KnowledgeBase) -> tidalog.KnowledgeBase:
    """Another knowledge base with the same program and explicit facts, which was never asked anything."""
    other = opened()
    other.load(kb.program)
    for name in kb.predicates:
        if rows := kb.facts(name, True).to_terms():
            other.insert(name, rows)
    return other


def some_edges(chance: random.Random, most: int = 4) -> list[tuple[int, int]]:
    return [(chance.choice(NODES), chance.choice(NODES)) for _ in range(chance.randint(1, most))]


def change(kb: tidalog.KnowledgeBase, chance: random.Random) -> None:
    """Something that a kept query must survive."""
    rule = "back: path(?y, ?x) :- edge(?x, ?y), ?x < ?y"
    changes: tuple[Callable[[], object], ...] = (
        lambda: kb.insert("edge", some_edges(chance)),
        lambda: kb.delete("edge", some_edges(chance)),
        lambda: kb.apply(
            tidalog.Update(deletions={"edge": some_edges(chance)}, insertions={"edge": some_edges(chance)})
        ),
        lambda: kb.rules.remove("back") if "back" in kb.rules else kb.rules.add(rule),
        lambda: refused(kb, chance),
        lambda: kb.load(f"edge({chance.choice(NODES)}, {chance.choice(NODES)}) ."),
        lambda: kb.insert(f"other{chance.randrange(3)}", [(1,)]),
        lambda: kb._open()._outdate(),
        lambda: kb._open().engine.compact(),
    )
    chance.choice(changes)()


def refused(kb: tidalog.KnowledgeBase, chance: random.Random) -> None:
    edges = {"edge": [*some_edges(chance), (99, 99)]}
    with pytest.raises(tidalog.RunError, match="T055"):
        kb.apply(tidalog.Update(insertions=edges, add_rules=":- edge(99, 99)"))


@pytest.mark.parametrize("seed", range(12))
def test_answers_are_those_of_a_knowledge_base_that_was_never_asked(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_store, "UNUSED", 4)  # so that ids are compacted
    monkeypatch.setattr(embedded, "_TEMPORARY_BYTES", 1 << 12)  # so that indexes are emptied
    monkeypatch.setattr("tidalog.engine.index._CHECKED_AFTER", 0)
    monkeypatch.setattr("tidalog.engine.index._LAST_USED", 2)
    chance = random.Random(seed)
    kb = opened()
    kb.load(PROGRAM + "@parameter $b = 3 .")
    kb.insert("node", [(n,) for n in NODES])
    kb.insert("edge", some_edges(chance, 12))
    for _ in range(12):
        other = fresh(kb)
        for text in chance.sample(QUERIES, 6):
            values = {"a": chance.choice(NODES)} if "$a" in text else {}
            if "$b" in text and chance.random() < 0.7:
                values["b"] = chance.choice(NODES)
            for written in (text, text.replace("$a", str(values.get("a")))):
                found = kb.query(written, **(values if written is text else {"b": values.get("b", 3)}))
                expected = other.query(text, **values)
                assert sorted(found.to_rows()) == sorted(expected.to_rows()), (written, values)
                assert found.columns == expected.columns
        change(kb, chance)


def test_texts_that_differ_in_constants_share_a_plan() -> None:
    kb = opened()
    kb.load(PROGRAM + "edge(1, 2) . edge(2, 3) .")
    for text in ("path(1, ?x)", "path(2, ?x)", "path(3, ?x)"):
        kb.query(text)
    kb.query("path($a, ?x)", a=2)
    kb.query("path($a, ?x)", a=1)
    prepared = kb._queries._prepared._known.values()
    assert [len(one.compiled._known) for one in prepared] == [1, 1]


def test_a_value_that_is_compared_is_part_of_the_query() -> None:
    kb = opened()
    kb.load("n(1) . n(2) . n(3) .")
    assert sorted(kb.query("n(?x), ?x > $a", a=1).to_rows()) == [(2,), (3,)]
    assert sorted(kb.query("n(?x), ?x > $a", a=2).to_rows()) == [(3,)]
    assert kb.query("n($a), $a > 1", a=1).to_rows() == []
    assert len(kb.query("n($a), $a > 1", a=2)) == 1


def test_no_text_stands_for_the_value_of_a_constant() -> None:
    kb = tidalog.open()
    texts = ["b", *(f"\0{name}" for name in ("0", "#0", "a", "$a")), "#0", "a"]
    kb.insert("p", [(text,) for text in texts])
    for text in texts:
        written = text.replace("\0", "\\u0000")
        assert kb.query(f'?x :- p(?x), p(b), ?x = "{written}"').to_rows() == [(text,)]
        assert kb.query(f'?x :- p(?x), p($a), ?x = "{written}"', a="b").to_rows() == [(text,)]


def test_constants_over_triples_choose_the_relation() -> None:
    kb = opened()
    kb.load(
        "@prefix ex: <http://e/> . ex:p(ex:a, ex:b) . ex:q(ex:a, ex:c) . t(?p) :- triple(_, ?p, _) ."
        "r(?x) :- ex:p(?x, _) ."
    )
    for predicate, found in (("p", "b"), ("q", "c"), ("p", "b")):
        answers = [(tidalog.IRI(f"http://e/{found}"),)]
        assert kb.query(f"triple(ex:a, ex:{predicate}, ?o)").to_terms() == answers
        assert kb.query(f"ex:{predicate}(ex:a, ?o)").to_terms() == answers
        value = tidalog.IRI(f"http://e/{predicate}")
        assert kb.query("triple(ex:a, $p, ?o)", p=value).to_terms() == answers


def test_a_kept_index_is_not_built_again() -> None:
    kb = opened()
    kb.load("edge(?x, ?y) :- raw(?x, ?y) .")
    kb.insert("raw", [(n, n % 7) for n in range(5_000)])
    kb.query("edge(?x, 3)")
    indexes = kb._open().engine.indexes
    before, arrays = indexes.meta.copy(), [*indexes._pools]
    for n in (1, 5, 2):
        assert len(kb.query(f"edge(?x, {n})")) in (714, 715)
    assert (indexes.meta == before).all()
    assert all(pool is known for pool, known in zip(indexes._pools, arrays, strict=True))
    kb.insert("raw", [(9_000, 3)])
    assert len(kb.query("edge(?x, 3)")) == 715
    assert all(pool is known for pool, known in zip(indexes._pools, arrays, strict=False))


def test_a_query_leaves_no_relation_and_no_index_of_its_own() -> None:
    kb = opened()
    kb.load(PROGRAM)
    kb.insert("edge", [(n, n + 1) for n in range(20)])
    kb.materialise()
    engine = kb._open().engine
    names = [*engine.names]
    for text in QUERIES:
        kb.query(text, **{name: 3 for name in "ab" if f"${name}" in text})
        assert engine.names == names
        assert all(predicate < len(names) for predicate, _ in engine.indexes._numbers)
    assert len(engine.indexes._numbers) == len(engine.indexes)


def test_indexes_of_queries_are_emptied_when_they_take_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_TEMPORARY_BYTES", 0)
    monkeypatch.setattr("tidalog.engine.index._CHECKED_AFTER", 0)
    kb = opened()
    wide = 12
    kb.insert("wide", [tuple(n + c for c in range(wide)) for n in range(3_000)])
    kb.materialise()
    engine = kb._open().engine
    for column in range(wide):
        arguments = ", ".join("5" if c == column else f"?x{c}" for c in range(wide))
        assert len(kb.query(f"wide({arguments})")) == (1 if column <= 5 else 0)
    filled = sum(engine.indexes._capacity(n) > 10_000 for n in engine.indexes._temporary)
    assert filled <= max(_LAST_USED, engine.store.nbytes // 10_000) < wide or filled == _LAST_USED
    kb.delete("wide", [tuple(5 + c for c in range(wide))])
    assert not kb.query("wide(5, " + ", ".join(f"?x{c}" for c in range(1, wide)) + ")")


def test_indexes_of_queries_do_not_count_against_the_memory_of_an_update() -> None:
    rows = [(n, -n) for n in range(20_000)]
    free = tidalog.open()
    free.insert("n", rows)
    free.materialise()
    kb = tidalog.open(max_memory=int(1.2 * free.stats().peak_bytes))
    kb.insert("n", rows)
    for _ in range(3):
        assert len(kb.query("n(?x, -5)")) == 1
        assert len(kb.query("n(5, ?y)")) == 1
        kb.apply(tidalog.Update(insertions={"n": [(1, 1)]}, deletions={"n": [(1, 1)]}))


def test_caches_are_bounded() -> None:
    kb = opened()
    kb.load("n(1) . n(2) .")
    for n in range(2 * _MOST):
        assert len(kb.query(f"n(?x), ?x < {n}")) == min(max(n - 1, 0), 2)
        kb.query("n(?x), ?x < $n", n=n)
    queries = kb._queries
    assert len(queries._written._known) == len(queries._prepared._known) == _MOST
    assert all(len(one.compiled._known) <= _MOST for one in queries._prepared._known.values())


@pytest.mark.parametrize(
    ("text", "number"), [("edge(?x)", "T010"), ("?z :- edge(1, ?y)", "T012"), ("edge($q, ?x)", "T022")]
)
def test_a_wrong_query_is_wrong_every_time_and_shows_what_was_written(text: str, number: str) -> None:
    kb = opened()
    kb.load("edge(1, 2) .")
    messages = []
    for _ in range(2):
        with pytest.raises(tidalog.ProgramError) as raised:
            kb.query(text)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert text in messages[0]
    assert number in messages[0]
    assert "\0" not in messages[0]
    assert "#0" not in messages[0]


def test_another_function_under_the_same_name_is_used() -> None:
    kb = opened()
    kb.load("n(1) .")
    assert kb.query("?y :- n(?x), ?y = shift(?x)").to_rows() == [(11,)]
    kb.register("shift", lambda value: value + 20)
    assert kb.query("?y :- n(?x), ?y = shift(?x)").to_rows() == [(21,)]
