"""Windows: content, expiry, late updates, times from everywhere; held against `reference.windows`."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from window_streams import RULES, WINDOWS, run

import tidalog
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.lang import format_text, parse, print_program
from tidalog.lang.updates import parse_updates, print_updates
from tidalog.model.program import Window
from tidalog.model.window_times import NEVER, expiry_of

FIG_4 = """
@window isIn :- range 10s step 1s .
within(?x, ?y) :- isIn(?x, ?y) .
within(?x, ?z) :- within(?x, ?y), within(?y, ?z) .
"""
ARRIVALS = {1: ["AB"], 2: ["BC"], 3: ["CD"], 4: ["AE", "ED"]}
EXPIRY = {"AB": 11, "AC": 11, "BC": 12, "CD": 13, "BD": 12, "AE": 14, "ED": 14, "AD": 14}
"""Paper 002, Fig. 4: when each fact expires, once all have come."""
SECOND = 1_000_000


def within(kb: KnowledgeBase) -> set[str]:
    return {"".join(map(str, row)) for row in kb.facts("within").to_rows()}


def apply(kb: KnowledgeBase, time: object, inserted: str = "", deleted: str = "") -> tidalog.Delta:
    """Facts of isIn, as two letters each."""
    with kb.update(time=time) as update:
        if inserted:
            update.insert("isIn", [tuple(pair) for pair in inserted.split()])
        if deleted:
            update.delete("isIn", [tuple(pair) for pair in deleted.split()])
    return update.delta


def opened(text: str = FIG_4, **options: object) -> KnowledgeBase:
    kb = tidalog.open(**options)  # type: ignore[call-overload]
    kb.load(text)
    assert isinstance(kb, KnowledgeBase)
    return kb


class TestFigure4:
    @pytest.mark.parametrize("strategy", ["auto", "ranked", "bf", "fbf", "dred", "recompute"])
    def test_second_by_second(self, strategy: str) -> None:
        kb = opened(strategy=strategy)
        for second in range(1, 16):
            delta = apply(kb, second, " ".join(ARRIVALS.get(second, [])))
            came = {"AB", "AC", "BC", "CD", "BD", "AD", "AE", "ED"} if second >= 4 else within(kb)
            assert within(kb) == {pair for pair in came if EXPIRY[pair] > second}
            expired = {"".join(map(str, row)) for row in delta["within"].expired.to_rows()}
            assert expired == {pair for pair, time in EXPIRY.items() if time == second and second > 4}

    def test_a_deleted_fact_takes_its_longer_proof_along(self) -> None:
        kb = opened()
        for second in range(1, 5):
            apply(kb, second, " ".join(ARRIVALS[second]))
        delta = apply(kb, 5, deleted="ED")
        assert "AD" in within(kb)
        assert not delta["within"].expired
        kb.advance(11)
        assert within(kb) == {"BC", "CD", "BD", "AE"}


class TestRandomStreams:
    @pytest.mark.parametrize("seed", range(48))
    def test_the_content_is_that_of_the_oracle_after_every_update(self, seed: int) -> None:
        run(seed, 12)

    def test_every_kind_of_window_and_program_is_there(self) -> None:
        kinds = {window.kind for text in WINDOWS.values() for window in parse(text).windows}
        assert kinds == {"range", "tumbling", "landmark", "count"}
        assert {"closure", "background", "negation", "aggregates"} <= set(RULES)

    def test_a_store_that_is_opened_again_and_again_agrees_with_memory(self, tmp_path: Path) -> None:
        program = WINDOWS["named"] + RULES["negation"]
        memory, stored = opened(program, late=4), tidalog.open(tmp_path / "store", late=4)
        stored.load(program)
        draw, time = random.Random(1), 100
        for number in range(60):
            time += draw.choice([0, 1, 3])
            rows = [
                [(draw.randrange(5), draw.randrange(5)) for _ in range(draw.randrange(4))] for _ in range(2)
            ]
            for kb in (memory, stored):
                update = tidalog.Update(time=time - number % 3)
                kb.apply(update.insert("edge", rows[0]).delete("edge", rows[1][:1]))
            if number % 5 == 0:
                stored.close()
                stored = tidalog.open(tmp_path / "store", late=4)
            if number % 20 == 3:
                stored.snapshot()
            for predicate in memory.predicates:
                facts = (set(kb.facts(predicate).to_rows()) for kb in (memory, stored))
                assert len({frozenset(rows) for rows in facts}) == 1, predicate
            assert memory.now == stored.now
        stored.close()


class TestTimes:
    @pytest.mark.parametrize(
        "time",
        [
            1_000_000_000,
            1_000_000_000.0,
            datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC),
            datetime(2001, 9, 9, 1, 46, 40),
            "2001-09-09T03:46:40+02:00",
            tidalog.Literal("2001-09-09T01:46:40Z", "http://www.w3.org/2001/XMLSchema#dateTime"),
        ],
    )
    def test_a_point_in_time_has_many_forms(self, time: object) -> None:
        kb = opened()
        apply(kb, time, "AB")
        assert kb.now == datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)
        kb.advance(datetime(2001, 9, 9, 1, 46, 50, tzinfo=UTC))
        assert within(kb) == set()

    @pytest.mark.parametrize("time", ["soon", True, [1], float("nan"), "2001-13-01T00:00:00", 10**30])
    def test_anything_else_is_refused(self, time: object) -> None:
        with pytest.raises(tidalog.UsageError, match="T179"):
            opened().update(time=time)

    def test_without_times_an_update_has_that_of_its_arrival(self) -> None:
        kb = opened()
        before = datetime.now(UTC)
        apply(kb, None, "AB")
        assert kb.now is not None and before - timedelta(seconds=1) <= kb.now <= datetime.now(UTC)
        assert kb.advance(kb.now + timedelta(seconds=11))["within"].expired.to_rows() == [("A", "B")]

    def test_what_comes_before_the_first_time_has_the_first_time(self) -> None:
        kb = opened()
        kb.insert("isIn", [("A", "B")])
        assert within(kb) == {"AB"} and kb.now is None
        apply(kb, 100, "BC")
        assert within(kb) == {"AB", "BC", "AC"}
        kb.advance(109)
        assert within(kb) == {"AB", "BC", "AC"}
        kb.advance(110)
        assert within(kb) == set()

    def test_time_does_not_go_back(self) -> None:
        kb = opened()
        apply(kb, 100, "AB")
        assert not kb.advance(50)
        assert kb.now == datetime(1970, 1, 1, 0, 1, 40, tzinfo=UTC)
        with pytest.raises(tidalog.UsageError, match=r"T175.*at 99 "):
            apply(kb, 99, "BC")
        assert within(kb) == {"AB"}

    def test_a_program_without_windows_has_no_time(self) -> None:
        kb = tidalog.open()
        with pytest.raises(tidalog.UsageError, match="no windows"):
            kb.advance(5)

    def test_scripts_and_tables_have_times(self, tmp_path: Path) -> None:
        script, table = tmp_path / "updates.upd", tmp_path / "updates.csv"
        script.write_text('+isIn(A, B). commit at 1.\n+isIn(B, C).\ncommit at "1970-01-01T00:00:11Z".\n')
        table.write_text(
            "update,op,predicate,arg1,arg2,time\n1,+,isIn,A,B,1\n2,+,isIn,B,C,1970-01-01T00:00:11Z\n"
        )
        for path in (script, table):
            kb = opened()
            assert [len(kb.facts("within")) for _ in kb.stream(path)] == [1, 1], path
            assert within(kb) == {"BC"}

    def test_a_script_with_times_prints_as_it_reads(self) -> None:
        updates = parse_updates(
            'commit at 12.5. +p(a). commit at "2026-05-31T18:30:00Z". commit at 0. commit.'
        )
        assert [update.time for update in updates] == [12_500_000, 1_780_252_200_000_000, 0, None]
        assert parse_updates(print_updates(updates)) == updates


class TestLateUpdates:
    def test_rows_that_come_too_late_go_to_the_quarantine(self, tmp_path: Path) -> None:
        table, quarantine = tmp_path / "updates.csv", tmp_path / "bad.csv"
        table.write_text(
            "update,op,predicate,arg1,arg2,time\n"
            "1,+,isIn,A,B,20\n2,+,isIn,B,C,17\n3,+,isIn,C,D,14\n4,+,isIn,D,E,soon\n5,+,isIn,E,F,21\n"
        )
        kb = opened(late="5s")
        labels = [delta.label for delta in kb.stream(table, on_error="skip", quarantine=quarantine)]
        assert labels == [1, 2, 5]
        bad = quarantine.read_text()
        assert "the update at 14 comes too late" in bad and "soon is not a time" in bad
        with pytest.raises(tidalog.DataError, match="T174"):
            opened(late="5s").read_updates(table)

    def test_an_insertion_that_is_older_than_a_deletion_is_void(self) -> None:
        kb = opened(late=5)
        apply(kb, 10, "AB")
        apply(kb, 14, deleted="AB CD")
        apply(kb, 12, "AB CD")
        assert within(kb) == set()
        apply(kb, 15, "AB")
        assert within(kb) == {"AB"}

    def test_a_late_fact_expires_by_its_own_time(self) -> None:
        kb = opened(late=5)
        apply(kb, 10, "AB")
        apply(kb, 6, "BC")
        kb.advance(16)
        assert within(kb) == {"AB"}


class TestChanges:
    def test_a_fact_that_comes_again_stays_longer(self) -> None:
        kb = opened()
        apply(kb, 1, "AB")
        assert not apply(kb, 8, "AB")
        assert not apply(kb, 11, "")
        assert apply(kb, 18)["within"].deleted_count == 1

    def test_a_fact_that_expires_and_comes_in_one_update_does_not_change(self) -> None:
        kb = opened()
        apply(kb, 1, "AB")
        assert not apply(kb, 11, "AB")
        assert within(kb) == {"AB"}

    def test_an_update_that_is_refused_leaves_windows_as_they_were(self) -> None:
        kb = opened(FIG_4 + ":- within(?x, ?x) .")
        apply(kb, 1, "AB")
        with pytest.raises(tidalog.RunError):
            apply(kb, 9, "BA")
        assert kb.now == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
        apply(kb, 5, "BC")
        kb.advance(11)
        assert within(kb) == {"BC"}

    def test_a_block_that_fails_leaves_windows_as_they_were(self) -> None:
        kb = opened()
        apply(kb, 1, "AB")
        with pytest.raises(ZeroDivisionError), kb.as_one():
            kb.insert("isIn", [("B", "C")])
            raise ZeroDivisionError
        kb.insert("isIn", [("B", "D")])
        assert within(kb) == {"AB", "BD", "AD"}
        kb.advance(11)
        assert within(kb) == set()

    def test_rules_change_over_windows(self) -> None:
        kb = opened()
        apply(kb, 1, "AB BC")
        kb.rules.add("far: far(?x) :- within(?x, C) .")
        assert set(kb.facts("far").to_rows()) == {("A",), ("B",)}
        with kb.update(time=11) as update:
            update.insert("isIn", [("D", "C")]).remove_rule("r2")
        assert within(kb) == {"DC"} and kb.facts("far").to_rows() == [("D",)]

    def test_several_updates_as_one(self) -> None:
        kb, single = opened(), opened()
        updates = [tidalog.Update(time=t, insertions={"isIn": [("A", str(t))]}) for t in (1, 5, 12, 13)]
        for update in updates:
            single.apply(update)
        list(kb.stream(updates, latest_only=True))
        assert within(kb) == within(single) == {"A5", "A12", "A13"}

    def test_facts_come_in_by_the_stream_only(self) -> None:
        kb = opened("@window recent :- edge, range 10s . p(?x) :- recent(?x) .")
        with pytest.raises(tidalog.UsageError, match="T176"):
            kb.insert("recent", [("a",)])
        kb.insert("edge", [("a",)])
        assert kb.facts("p").to_rows() == [("a",)]

    def test_many_rows_come_and_go(self) -> None:
        kb = opened("@window edge :- range 3s . p(?x) :- edge(?x, _) .")
        for time in range(40):
            with kb.update(time=time) as update:
                update.insert("edge", {"a": range(time * 9000, time * 9000 + 9000), "b": [time] * 9000})
            assert len(kb.facts("p")) == 9000 * min(time + 1, 3)


class TestSyntax:
    @pytest.mark.parametrize("text", sorted(WINDOWS.values()))
    def test_windows_print_and_format_as_they_read(self, text: str) -> None:
        program = parse(text)
        assert parse(print_program(program)) == program
        assert parse(format_text(text)).windows == program.windows

    def test_expiry(self) -> None:
        range_, step = (
            Window("p", "p", "range", 10 * SECOND),
            Window("p", "p", "range", 10 * SECOND, 3 * SECOND),
        )
        tumbling, landmark = Window("p", "p", "tumbling", 7 * SECOND), Window("p", "p", "landmark")
        assert [expiry_of(range_, t * SECOND) // SECOND for t in (0, 1, -3)] == [10, 11, 7]
        assert [expiry_of(step, t * SECOND) // SECOND for t in (0, 2, 3)] == [12, 12, 15]
        assert [expiry_of(tumbling, t * SECOND) // SECOND for t in (0, 6, 7)] == [7, 7, 14]
        assert expiry_of(landmark, 5) == NEVER


@pytest.mark.parametrize("window", ["range 40s", "tumbling 30s", "count 300000"])
def test_a_large_window_takes_several_updates_at_once(window: str) -> None:
    kb = tidalog.open()
    kb.load(f"@window reading :- {window} . high(?x) :- reading(?x, ?v), ?v > 990 .")
    numbers = np.arange(200_000)
    with kb.update(time=0) as u:
        u.insert("reading", pa.table({"x": numbers, "v": numbers % 1000}))
    updates = [tidalog.Update(time=n, insertions={"reading": [(-n, 995)]}) for n in range(1, 6)]
    list(kb.stream(updates, latest_only=True))
    assert len(kb.facts("high")) == 200 * 9 + 5
    kb.insert("other", [(n,) for n in range(5)])
    kb.insert("reading", pa.table({"x": numbers + 1_000_000, "v": numbers % 1000}))
    kb.advance(50)
    assert len(kb.facts("reading")) == (300_000 if "count" in window else 0)


@pytest.mark.parametrize("window", ["range 5s", "tumbling 3s", "count 7", "landmark"])
def test_updates_that_fail_together_leave_the_windows_as_they_were(window: str) -> None:
    """Several updates in one go, of which the last violates a constraint; then the same without it."""
    pick = random.Random(5)
    both = [tidalog.open() for _ in range(2)]
    for kb in both:
        kb.load(f"@window edge :- {window} . path(?x, ?y) :- edge(?x, ?y) .\n:- edge(?x, 99) .")
    time = 0
    for _ in range(60):
        updates = []
        for _ in range(pick.randint(1, 4)):
            time += pick.randint(0, 2)
            rows = [(pick.randrange(6), pick.randrange(6)) for _ in range(pick.randint(0, 3))]
            gone = [(pick.randrange(6), pick.randrange(6)) for _ in range(pick.randint(0, 1))]
            updates.append((time, rows, gone))
        checked, plain = both
        failing = [_update(*update) for update in updates]
        failing.append(_update(time + pick.randint(0, 9), [(pick.randrange(6), 99)], []))
        with pytest.raises(tidalog.TidalogError):
            list(checked.stream(failing, latest_only=True))
        for kb in both:
            list(kb.stream([_update(*update) for update in updates], latest_only=True))
        for name in ("edge", "path"):
            assert sorted(checked.facts(name).to_rows()) == sorted(plain.facts(name).to_rows())


def _update(time: int, rows: list[tuple[int, int]], gone: list[tuple[int, int]]) -> tidalog.Update:
    return tidalog.Update(time=time, insertions={"edge": rows}, deletions={"edge": gone})


def test_what_leaves_with_facts_in_bulk_is_gone() -> None:
    kb = tidalog.open()
    kb.load(
        "@declare reading(x: integer, at: dateTime) . @declare click(x: integer) ."
        "@window reading :- range 10s, time at . @window click :- count 1000 ."
        "seen(?x) :- reading(?x, _) . seen(?x) :- click(?x) ."
    )
    begin = datetime(2024, 5, 1, tzinfo=UTC)
    for second in (0, 60):
        times = [begin + timedelta(seconds=second)] * 40_000
        x = np.arange(40_000) + second * 1_000_000
        kb.insert("reading", pa.table({"x": x, "at": pa.array(times, pa.timestamp("us", "UTC"))}))
    assert len(kb.facts("reading")) == len(kb.facts("seen")) == 40_000
    for first in (-50_000, -100_000):
        kb.insert("click", pa.table({"x": np.arange(first, first + 40_000)}))
        assert sorted(kb.facts("click").to_rows()) == [(first + 39_000 + n,) for n in range(1000)]
    assert len(kb.facts("seen")) == 41_000
