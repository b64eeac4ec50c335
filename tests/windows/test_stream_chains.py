"""`REGISTER STREAM` feeds `FROM STREAM`: two queries in one knowledge base emit what two knowledge bases do,
the second of which gets what the first emits."""

from __future__ import annotations

import logging
import random
from pathlib import Path

import pytest

import tidalog
from tidalog.api.continuous import register_all
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.model.errors import UsageError

E = "http://e/"
INPUT = f"<{E}s>"
RULES = f"@prefix ex: <{E}> .\n@window clock :- range 1s .\nex:in(?x, ?z) :- ex:in(?x, ?y), ex:in(?y, ?z) .\n"
Emitted = list[tuple[float, list[tuple[str, ...]], list[tuple[str, ...]]]]


def first(emit: str, every: str, name: str = "moves") -> str:
    return f"""PREFIX ex: <{E}>
    REGISTER STREAM {name} {every} AS {emit} CONSTRUCT {{ ?y ex:in ?x . ?x ex:seen ?y }}
    FROM STREAM {INPUT} [RANGE 5s STEP 1s] WHERE {{ ?x ex:in ?y FILTER (?x != ?y) }}
    """


def second(every: str, window: str, stream: str = "moves") -> str:
    return f"""PREFIX ex: <{E}>
    REGISTER QUERY found {every} AS CHANGES SELECT ?x ?p ?y
    FROM STREAM <{stream}> {window} WHERE {{ ?x ?p ?y }}
    """


def listened(kb: KnowledgeBase, name: str) -> Emitted:
    found: Emitted = []

    def show(came: tidalog.Result, went: tidalog.Result, time: object) -> None:
        found.append((time.timestamp(), sorted(came.to_rows()), sorted(went.to_rows())))  # type: ignore[attr-defined]

    kb.queries[name].subscribe(show)
    return found


class TwoKnowledgeBases:
    """The oracle."""

    def __init__(self, stream: str, query: str) -> None:
        self.first, self.second = tidalog.open(), tidalog.open()
        self._emissions: list[tuple[float, list[tuple[str, ...]], list[tuple[str, ...]]]] = []
        for kb, text in ((self.first, stream), (self.second, query)):
            kb.load(RULES)
            register_all(kb, text)
        (moves,) = self.first.queries.values()
        self._emit = moves.emit
        moves.subscribe(self._emitted)
        self.found = listened(self.second, "found")

    def _emitted(self, *emitted: tidalog.Result, time: object) -> None:
        came, went = (*emitted, None)[:2]
        rows = [[] if part is None else part.to_rows() for part in (came, went)]
        self._emissions.append((time.timestamp(), rows[0], rows[1]))  # type: ignore[attr-defined]

    def apply(self, time: float, update: tidalog.Update) -> None:
        self.first.apply(update)
        for at, came, went in self._emissions:
            if came or went:
                change = tidalog.Update(time=at)
                for rows, add in ((went, change.delete), (came, change.insert)):
                    if rows:
                        add("moves", rows, formats=["any"] * 3)
                self.second.apply(change)
        self._emissions.clear()
        self.second.advance(time)


def random_updates(seed: int, count: int) -> list[tuple[float, tidalog.Update]]:
    chance, now = random.Random(seed), 10
    found: list[tuple[float, tidalog.Update]] = []
    for _ in range(count):
        now += chance.choice([0, 1, 1, 2, 3, 9])
        update = tidalog.Update(time=now)
        for _ in range(chance.randrange(4)):
            s, o = (f"<{E}n{chance.randrange(4)}>" for _ in "so")
            change = update.insert if chance.random() < 0.75 else update.delete
            change(INPUT, [(s, f"<{E}in>", o)], formats=["any"] * 3)
        found.append((now, update))
    return found


def opened(folder: Path | None) -> KnowledgeBase:
    return tidalog.open() if folder is None else tidalog.open(folder, fsync="off")


PAIRS = [
    ("ISTREAM", "COMPUTED EVERY 1s", "COMPUTED EVERY 1s", "[RANGE 3s]"),
    ("CHANGES", "COMPUTED EVERY 2s", "COMPUTED EVERY 3s", "[RANGE 7s STEP 1s]"),
    ("DSTREAM", "COMPUTED EVERY 1s", "COMPUTED EVERY 1s", "[RANGE 4s STEP 2s]"),
    ("RSTREAM", "COMPUTED EVERY 3s", "COMPUTED EVERY 1s", "[RANGE 5s]"),
    ("ISTREAM", "", "", "[TRIPLES 3]"),
    ("CHANGES", "", "COMPUTED EVERY 2s", ""),
    ("ISTREAM", "COMPUTED EVERY 2s", "", "[RANGE 3s]"),
    ("CHANGES", "COMPUTED EVERY 2s", "", "[RANGE 1s]"),
    ("RSTREAM", "COMPUTED EVERY 3s", "", "[TRIPLES 3]"),
    ("DSTREAM", "", "COMPUTED EVERY 1s", "[RANGE 2s STEP 1s]"),
]


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize(("emit", "every", "then", "window"), PAIRS)
def test_two_queries_in_a_chain_emit_what_two_knowledge_bases_do(
    tmp_path: Path, emit: str, every: str, then: str, window: str, is_stored: bool
) -> None:
    folder = tmp_path if is_stored else None
    total = 0
    for seed in range(6):
        own = None if folder is None else folder / str(seed)
        kb = opened(own)
        kb.load(RULES)
        oracle = TwoKnowledgeBases(first(emit, every), second(then, window))
        register_all(kb, second(then, window) + first(emit, every))
        found = listened(kb, "found")
        for number, (time, update) in enumerate(random_updates(seed, 25)):
            if own is not None and number in (9, 17):
                if number == 17:
                    kb.snapshot()  # type: ignore[attr-defined]
                kb.close()
                kb, before = opened(own), found
                found = listened(kb, "found")
                found[:0] = before
            kb.apply(update)
            oracle.apply(time, update)
            assert sorted(kb.facts("moves").to_rows()) == sorted(oracle.second.facts("moves").to_rows())
            result = kb.queries["found"].result().to_rows()
            assert sorted(result) == sorted(oracle.second.queries["found"].result().to_rows())
        assert found == oracle.found
        total += len(found)
        kb.close()
    assert total > 5


def test_streams_that_feed_each_other_are_refused_and_change_nothing() -> None:
    kb = tidalog.open()
    cycle = first("ISTREAM", "", "a").replace(INPUT, "<b>") + first("ISTREAM", "", "b").replace(INPUT, "<a>")
    for text in (cycle, first("ISTREAM", "", "a").replace(INPUT, "<a>")):
        with pytest.raises(UsageError, match="T185"):
            register_all(kb, text)
        assert not kb.queries
    register_all(kb, first("ISTREAM", "", "a").replace(f"{INPUT} [RANGE 5s STEP 1s]", "<late>"))
    with pytest.raises(UsageError, match="T185"):
        kb.load("@window late :- a, range 10s .")
    assert not kb.program.windows


def triple(name: str) -> tuple[str, str, str]:
    return f"<e:{name}>", "<e:p>", "<e:y>"


def test_three_queries_and_rules_of_the_program_read_streams(caplog: pytest.LogCaptureFixture) -> None:
    kb = tidalog.open()
    kb.load(
        "@window seen :- c, range 10s . alarm(?x) :- seen(?x, _, _) . @prefix e: <e:> . :- alarm(e:bad) ."
    )
    copies = "".join(
        f"REGISTER STREAM {name} AS ISTREAM CONSTRUCT {{ ?x ?p ?y }} FROM STREAM <{source}> [RANGE 5s] "
        "WHERE { ?x ?p ?y }\n"
        for source, name in (("b", "c"), ("a", "b"), ("s", "a"))
    )
    register_all(kb, copies)
    with kb.update(time=1) as u:
        u.insert("s", [triple("x")], formats=["any"] * 3)
    assert kb.facts("alarm").to_rows() == [("<e:x>",)]
    assert sorted(u.delta) == ["a", "alarm", "b", "c", "s", "seen"]
    with caplog.at_level(logging.ERROR, "tidalog"), kb.update(time=2) as u:
        u.insert("s", [triple("bad")], formats=["any"] * 3)
    assert "what c emits is not in its stream" in caplog.text
    assert sorted(kb.facts("a").to_rows()) == [triple("bad"), triple("x")]
    assert kb.facts("alarm").to_rows() == [("<e:x>",)]
    kb.advance(12)
    assert kb.count("a") == kb.count("alarm") == 0


@pytest.mark.parametrize("every", ["", "COMPUTED EVERY 1s"])
def test_a_stream_without_a_period_passes_on_what_it_reads_at_the_time_when_it_comes(every: str) -> None:
    kb = tidalog.open()
    for name, own, source in (("a", "COMPUTED EVERY 2s", "<s> [RANGE 5s]"), ("b", "", "<a> [RANGE 1s]")):
        kb.register(
            name,
            f"REGISTER STREAM {name} {own} AS ISTREAM CONSTRUCT {{ ?x ?p ?y }} FROM STREAM {source} "
            "WHERE { ?x ?p ?y }",
        )
    register_all(kb, second(every, "[RANGE 3s]", "b"))
    found = listened(kb, "found")
    with kb.update(time=1) as u:
        u.insert("s", [triple("x")], formats=["any"] * 3)
    kb.advance(4.5)
    kb.advance(20)
    assert found == [(2, [triple("x")], []), (5 if every else 20, [], [triple("x")])]


def test_what_has_changed_otherwise_feeds_with_the_next_update(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "store")
    kb.load("@window clock :- range 1s .")
    register_all(kb, "REGISTER STREAM a AS ISTREAM CONSTRUCT { ?x ?p ?y } FROM STREAM <s> WHERE { ?x ?p ?y }")
    register_all(kb, second("", "[RANGE 9s]", "a"))
    with kb.update(time=1) as u:
        u.insert("clock", [(1,)])
    with kb.as_one():
        kb.insert("s", [triple("x"), triple("z")], formats=["any"] * 3)
        kb.delete("s", [triple("z")], formats=["any"] * 3)
    kb.close()
    kb = tidalog.open(tmp_path / "store")
    assert kb.count("a") == 0
    with kb.update(time=2) as u:
        u.insert("clock", [(2,)])
    assert kb.facts("a").to_rows() == [triple("x")]
