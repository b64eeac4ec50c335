"""Continuous queries that were evaluated, emitted or undone wrongly: refused updates, errors in evaluations,
snapshots, periods without windows, feeds with several evaluations at one time."""

from __future__ import annotations

import logging
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidalog
from tidalog.api.continuous import register_all
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.io.update_tables import read_update_table
from tidalog.model.errors import ProgramError, RunError, TidalogError, UsageError

Emitted = list[tuple[str, float | None, list[list[tuple[object, ...]]]]]
STRATEGIES = ("auto", "expire", "ranked", "fbf", "dred", "counting", "recompute")
E = "http://e/"


def opened(folder: Path | None, text: str, **how: Any) -> KnowledgeBase:
    kb = tidalog.open(**how) if folder is None else tidalog.open(folder, fsync="off", **how)
    kb.load(text)
    return kb


def listened(kb: KnowledgeBase, *names: str) -> Emitted:
    found: Emitted = []

    def listen(name: str) -> None:
        def show(*results: tidalog.Result, time: object) -> None:
            seconds = None if time is None else time.timestamp()  # type: ignore[attr-defined]
            found.append((name, seconds, [sorted(result.to_rows(), key=str) for result in results]))

        kb.queries[name].subscribe(show)

    for name in names or kb.queries:
        listen(name)
    return found


def rows(kb: KnowledgeBase, predicate: str, time: float, *values: object) -> tidalog.Delta:
    with kb.update(time=time) as u:
        if values:
            u.insert(predicate, [(value,) for value in values])
    return u.delta


# --- refused updates ----------------------------------------------------------------------------------------

REFUSED = """
@prefix ex: <http://e/> .
@window e :- range 3s . @window few :- e, count 3 . @window long :- e, range 8s step 2s .
@window bad :- range 5s .
p(?x, ?y) :- e(?x, ?y) . p(?x, ?z) :- p(?x, ?y), e(?y, ?z) .
alone(?x) :- long(?x, _), ~p(?x, _) . n(?x, #count(?y)) :- p(?x, ?y) . last(?x) :- few(?x, _) .
triple(?x, ex:to, ?y) :- long(?x, ?y) . ex:to(?x, ?z) :- ex:to(?x, ?y), ex:to(?y, ?z) .
road(1, 2) . near(?x, ?y) :- p(?x, ?y), road(?x, _) .
:- bad(_) .
"""
QUERIES = """
REGISTER QUERY every COMPUTED EVERY 2s AS CHANGES SELECT ?x ?y WHERE { ?x <http://e/to> ?y }
REGISTER STREAM moves COMPUTED EVERY 1s AS ISTREAM CONSTRUCT { ?x <http://e/moved> ?y }
FROM STREAM <http://e/s> [RANGE 4s] WHERE { ?x ?p ?y }
REGISTER QUERY moved AS CHANGES SELECT ?x ?p ?y FROM STREAM <moves> [RANGE 3s] WHERE { ?x ?p ?y }
"""


def refusing(folder: Path | None, strategy: str, late: int) -> KnowledgeBase:
    kb = opened(folder, REFUSED, strategy=strategy, late=late)
    register_all(kb, QUERIES)
    kb.register("alone", "?x :- alone(?x)", every="1s", emit="changes")
    kb.register("asked", "?x, ?n :- n(?x, ?n)", every="3s", materialise=False)
    kb.register("always", "?x, ?y :- near(?x, ?y)", emit="istream")
    return kb


def contents(kb: KnowledgeBase) -> dict[str, object]:
    facts = {
        name: sorted(kb.facts(name, expiry=True).to_rows(), key=str)
        for name in kb.predicates
        if name != "bad"
    }
    queries = {name: sorted(query.result().to_rows(), key=str) for name, query in kb.queries.items()}
    return {"now": kb.now, **facts, **{f"query {name}": found for name, found in queries.items()}}


@pytest.mark.parametrize(
    ("strategy", "seeds", "is_stored"),
    [
        *[(strategy, range(1), False) for strategy in STRATEGIES],
        ("expire", range(1, 3), True),
        *[pytest.param(s, range(3, 8), True, marks=pytest.mark.slow) for s in STRATEGIES],
    ],
)
def test_a_refused_update_changes_nothing_and_emits_nothing(
    tmp_path: Path, strategy: str, seeds: range, is_stored: bool
) -> None:
    """A knowledge base that has refused updates is as one that never had them."""
    for seed in seeds:
        draw, refused = random.Random(seed), 0
        late, folder = draw.choice([0, 2]), tmp_path / str(seed) if is_stored else None
        kb, other = refusing(folder, strategy, late), refusing(None, strategy, late)
        found, expected = listened(kb), listened(other)
        now = 10.0
        for step in range(30):
            now += draw.choice([0, 0.5, 1, 1, 3, 7])
            update = tidalog.Update(time=now - draw.choice([0, 0, 0, late / 2]))
            for _ in range(draw.randrange(4)):
                change = update.insert if draw.random() < 0.7 else update.delete
                change("e", [(draw.randrange(4), draw.randrange(4))])
            for _ in range(draw.randrange(2)):
                update.insert(
                    f"<{E}s>", [tuple(f"<{E}{draw.choice('abc')}>" for _ in "spo")], formats=["any"] * 3
                )
            if draw.random() < 0.4:
                then = tidalog.Update(time=now + draw.choice([2, 5, 20]))
                then.insert("e", [(draw.randrange(4), 1)])
                then.insert("bad", [(1,)])
                before = contents(kb) if step % 3 else None
                with pytest.raises(RunError, match="T055"):
                    kb.apply(then)
                refused += 1
                assert before is None or contents(kb) == before
            kb.apply(update)
            other.apply(update)
            assert found == expected
            assert contents(kb) == contents(other)
            if folder is not None and step == 20:
                kb.close()
                kb = tidalog.open(folder, fsync="off", strategy=strategy, late=late)
                found = listened(kb)
                found[:0] = expected
                assert contents(kb) == contents(other)
        assert refused > 5
        kb.close()


@pytest.mark.parametrize(
    ("number", "change", "how"),
    [
        ("T130", lambda u: u.remove_rule("none"), {}),
        ("T020", lambda u: u.add_rule("p(?x) :- ~p(?x), e(?x) ."), {}),
        ("T176", lambda u: u.insert("w", [(1,)]), {}),
        ("T050", lambda u: u.insert("e", [(n,) for n in range(90)]), {"max_facts": 40}),
        ("T055", lambda u: u.insert("e", [("bad",)]), {}),
    ],
)
def test_whatever_the_reason(number: str, change: Callable[[Any], None], how: dict[str, Any]) -> None:
    kb = opened(
        None, "@window e :- range 2s . @window w :- e, range 5s . p(?x) :- e(?x) . :- e(bad) .", **how
    )
    kb.register("z", "?x :- e(?x)", every="1s", emit="changes")
    found = listened(kb)
    rows(kb, "e", 1, "x")
    kb.materialise()
    stats = kb.stats()
    before, emitted = contents(kb), [*found]
    with pytest.raises(TidalogError, match=number), kb.update(time=10) as u:
        change(u)
    assert contents(kb) == before and found == emitted
    assert kb.stats().predicates == stats.predicates and kb.stats().uncomputed == stats.uncomputed
    rows(kb, "e", 2, "y")
    assert found[1:] == [("z", 2, [[("y",)], []])]


def test_a_store_and_its_memory_agree_after_a_refused_update(tmp_path: Path) -> None:
    kb = opened(tmp_path / "store", "@window e :- range 2s . :- e(bad) .")
    kb.register("z", "?x :- e(?x)", emit="changes", every="1s", changes=tmp_path / "feed")
    rows(kb, "e", 1, "x")
    with pytest.raises(RunError, match="T055"):
        rows(kb, "e", 10, "bad")
    kb.insert("e", [("k",)])
    logged = [
        tidalog.Update(time=2, insertions={"e": [("y",)]}, label=1),
        tidalog.Update(time=20, insertions={"e": [("bad",)]}, label=2),
    ]
    kb.log_updates(logged, source="s", batch=1)  # type: ignore[attr-defined]
    with pytest.raises(RunError, match="T055"):
        list(kb.apply_pending())  # type: ignore[attr-defined]
    before = contents(kb)
    kb.close()
    kb = tidalog.open(tmp_path / "store")
    assert contents(kb) == before
    assert sorted(kb.facts("e").to_rows()) == [("k",), ("x",), ("y",)]
    kb.close()
    feed = (tmp_path / "feed" / "z.csv").read_text().splitlines()[1:]
    assert sorted(feed) == ["1,+,z,x,implicit", "2,+,z,k,implicit", "2,+,z,y,implicit"]


def test_a_function_that_is_interrupted_undoes_the_periods_before() -> None:
    kb = tidalog.open()

    def slow(x: object) -> object:
        if x == "stop":
            signal.raise_signal(signal.SIGINT)
        return x

    kb.register("slow", slow)
    kb.load("@window e :- range 2s . p(?x, SLOW(?x)) :- e(?x) .")
    kb.register("z", "?x :- p(?x, _)", every="1s", emit="changes")
    found = listened(kb)
    rows(kb, "e", 1, "x")
    before, emitted = contents(kb), [*found]
    with pytest.raises((RunError, KeyboardInterrupt)):
        rows(kb, "e", 10, "stop")
    assert contents(kb) == before and found == emitted


# --- errors in evaluations ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("?x :- e(?x, ?y)", "T010"),
        ("?x :- e(?x), NOSUCH(?x) > 1", "T018"),
        ("?x :- e(?y)", "T0"),
    ],
)
@pytest.mark.parametrize("materialise", [True, False, None])
def test_what_cannot_be_evaluated_cannot_be_registered(
    tmp_path: Path, text: str, number: str, materialise: bool | None
) -> None:
    kb = opened(tmp_path / "store", "@window e :- range 10s . p(?x) :- e(?x) .")
    kb.register("good", "?x :- e(?x)")
    with pytest.raises((ProgramError, UsageError), match=number):
        kb.register("z", text, materialise=materialise)
    assert list(kb.queries) == ["good"]
    rows(kb, "e", 1, "x")
    kb.close()
    kb = tidalog.open(tmp_path / "store")
    assert list(kb.queries) == ["good"] and kb.count("p") == 1


@pytest.mark.parametrize("every", [None, "1s"])
def test_an_error_in_an_evaluation_is_logged_and_the_update_is_done(
    tmp_path: Path, every: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    kb = opened(tmp_path / "store", "@window e :- range 10s . p(?x) :- e(?x) .", strict=True)
    kb.register("z", "?x, ?y :- e(?x), ?y = ?x + 1", materialise=False, every=every, emit="changes")
    kb.register("other", "?x :- p(?x)", every=every, emit="istream")
    found = listened(kb)
    with caplog.at_level(logging.ERROR, "tidalog"):
        for time, value in ((1, 1), (2, "abc"), (3, 3), (11.5, 4), (12, 5)):
            rows(kb, "e", time, value)
    assert "the query z was not evaluated" in caplog.text and "T054" in caplog.text
    before = sorted(kb.facts("p").to_rows(), key=str)
    assert kb.now is not None and kb.now.second == 12 and before == [(3,), (4,), (5,)]
    of_z = [emitted for emitted in found if emitted[0] == "z"]
    assert of_z[0] == ("z", 1, [[(1, 2)], []])
    assert of_z[-1] == ("z", 12, [[(3, 4), (4, 5), (5, 6)], [(1, 2)]])
    assert [seconds for name, seconds, _ in found if name == "other"][:3] == [1, 2, 3]
    kb.close()
    kb = tidalog.open(tmp_path / "store", strict=True)
    assert sorted(kb.facts("p").to_rows(), key=str) == before


def test_ctrl_c_in_an_evaluation_ends_what_comes_next(tmp_path: Path) -> None:
    stops = [True]

    def slow(x: object) -> object:
        if x == "stop" and stops and stops.pop():
            signal.raise_signal(signal.SIGINT)
        return x

    functions = {"slow": slow}
    kb = tidalog.open(tmp_path / "store", functions=functions)
    kb.load("p(?x) :- e(?x) .")
    kb.register("z", "?x, ?y :- p(?x), ?y = SLOW(?x)", materialise=False, emit="istream")
    found = listened(kb)
    kb.insert("e", [("x",)])
    with pytest.raises(KeyboardInterrupt):
        kb.insert("e", [("stop",)])
    assert sorted(kb.facts("p").to_rows()) == [("stop",), ("x",)] and len(found) == 1
    kb.insert("e", [("y",)])
    assert found[1:] == [("z", None, [[("stop", "stop"), ("y", "y")]])]
    kb.close()
    kb = tidalog.open(tmp_path / "store", functions=functions)
    assert kb.count("p") == 3


# --- snapshots ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("materialise", [True, False])
@pytest.mark.parametrize("is_saved", [False, True])
def test_a_query_that_was_never_evaluated_is_evaluated_after_a_snapshot(
    tmp_path: Path, is_saved: bool, materialise: bool
) -> None:
    kb: Any = opened(tmp_path / "store", "@window e :- range 10s . p(?x) :- e(?x) .")
    rows(kb, "e", 100.5, "x")
    kb.register("q", "?x :- p(?x)", emit="changes", every="1s", materialise=materialise)
    if is_saved:
        kb.snapshot()
    kb.close()
    kb = tidalog.open(tmp_path / "store")
    found = listened(kb)
    kb.advance(160)
    assert found == [("q", 101, [[("x",)], []]), ("q", 111, [[], [("x",)]])]


# --- periods without windows --------------------------------------------------------------------------------


@pytest.mark.parametrize("is_stored", [False, True])
def test_time_moves_for_periods_without_windows(tmp_path: Path, is_stored: bool) -> None:
    folder = tmp_path / "store" if is_stored else None
    kb = opened(folder, "p(?x) :- e(?x) .")
    rows(kb, "e", 7, 0)
    assert kb.now is None, "nothing has a time"
    kb.register("q", "?x :- p(?x)", emit="changes", every="1s")
    found = listened(kb)
    rows(kb, "e", 1, 1)
    rows(kb, "e", 2.5, 2)
    if folder is not None:
        kb.close()
        kb, before = tidalog.open(folder), found
        found = listened(kb)
        found[:0] = before
    assert kb.queries["q"].result().to_rows() == [(0,), (1,)]
    kb.advance(4)
    assert found == [("q", 1, [[(0,), (1,)], []]), ("q", 3, [[(2,)], []])]
    with pytest.raises(UsageError, match="T175"):
        rows(kb, "e", 3, 3)
    kb.insert("e", [(4,)])
    assert kb.now is not None and kb.now.second == 4, "what has no time comes now"
    (tmp_path / "more.upd").write_text("+ e(5) .\ncommit at 6 .\n+ e(6) .\ncommit at 7 .\n")
    for _ in kb.stream(tmp_path / "more.upd"):
        pass
    assert found[2:] == [("q", 5, [[(4,)], []]), ("q", 6, [[(5,)], []]), ("q", 7, [[(6,)], []])]
    kb.queries["q"].drop()
    rows(kb, "e", 1, 9)


# --- changes of queries -------------------------------------------------------------------------------------


def test_a_change_of_queries_emits_what_it_concerns() -> None:
    kb = opened(None, "@window e :- range 10s .")
    for name in "ab":
        kb.register(name, "?x :- e(?x)")
    kb.register("all", f"SELECT ?x FROM STREAM <{E}s> WHERE {{ ?x ?p ?y }}")
    found = listened(kb)
    with kb.update(time=1) as u:
        u.insert("e", [(1,)])
        u.insert(f"<{E}s>", [(f"<{E}x>",) * 3], formats=["any"] * 3)
    found.clear()
    other = kb.register("other", f"SELECT ?x FROM STREAM <{E}s> [RANGE 5s] WHERE {{ ?x ?p ?y }}")
    kb.queries["a"].pause()
    assert not found
    kb.queries["a"].resume()
    assert found == [("a", 1, [[(1,)]])]
    other.drop()
    assert found[1:] == [("all", 1, [[]])], "the stream ended with its window"


# --- feeds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "@window e :- range 10s ."])
@pytest.mark.parametrize("begin", [0, 1_700_000_000])
def test_a_feed_is_replayed_when_evaluations_share_a_time(tmp_path: Path, text: str, begin: int) -> None:
    for seed in range(5):
        draw, folder = random.Random(seed), tmp_path / f"{seed}"
        folder.mkdir()
        kb: Any = opened(folder / "store", text)
        kb.register("q", "?x :- e(?x)", emit="changes", changes=folder)
        now = begin
        for step in range(30):
            now += draw.choice([0, 0, 0, 0.5, 1, 1, 4, 11])
            update = tidalog.Update(time=now)
            for _ in range(draw.randrange(1, 3)):
                change = update.insert if draw.random() < 0.6 else update.delete
                change("e", [(draw.randrange(4),)])
            kb.apply(update)
            if step in (9, 19):
                if step == 19:
                    kb.snapshot()
                kb.close()
                kb = tidalog.open(folder / "store")
        last = sorted(kb.queries["q"].result().to_rows())
        kb.close()
        other = tidalog.open()
        other.load("r(?x) :- q(?x) .")
        for _ in other.stream(folder / "q.csv"):
            pass
        assert sorted(other.facts("q").to_rows()) == last


def test_evaluations_at_one_time_are_numbered(tmp_path: Path) -> None:
    kb = opened(None, "@window e :- range 10s .")
    kb.register("q", "?x :- e(?x)", emit="changes", changes=tmp_path)
    for time, came, went in ((5, "xy", ""), (5, "", "x"), (5, "", ""), (5, "x", ""), (6, "z", "")):
        with kb.update(time=time) as u:
            u.insert("e", [(x,) for x in came]) if came else None
            u.delete("e", [(x,) for x in went]) if went else None
    kb.close()
    lines = (tmp_path / "q.csv").read_text().splitlines()[1:]
    assert [line.removesuffix(",implicit") for line in lines] == [
        "5,+,q,x",
        "5,+,q,y",
        "5#2,-,q,x",
        "5#3,+,q,x",
        "6,+,q,z",
    ]


def test_labels_that_are_times_are_ordered_as_times(tmp_path: Path) -> None:
    def order(*labels: str) -> list[object]:
        rows = pa.table({"update": labels, "op": ["+"] * len(labels), "predicate": ["p"] * len(labels)})
        path = tmp_path / "rows.parquet"
        pq.write_table(rows, path)
        return list(read_update_table(path).updates)

    day = "2024-01-01T00:00:05"
    assert order("10", "9.5", "9.5#10", "9.5#2") == ["9.5", "9.5#2", "9.5#10", "10"]
    assert order(f"{day}Z", f"{day}.5Z#2", f"{day}.5Z", "7") == ["7", f"{day}Z", f"{day}.5Z", f"{day}.5Z#2"]
    assert order("10", "9", "b") == ["10", "9", "b"]
    assert order("10", "9#x") == ["10", "9#x"]
