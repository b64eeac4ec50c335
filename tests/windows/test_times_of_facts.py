"""Facts that come together have times of their own: windows do not depend on how facts are grouped."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import tidalog
from tidalog.lang import parse
from tidalog.model.errors import UsageError
from tidalog.model.terms import Integer, Term
from tidalog.model.values import DATE_TIME
from tidalog.reference.windows import WindowOracle

DECLARED = "@declare reading(x: integer, at: dateTime) ."
RULES = "seen(?x) :- reading(?x, _) . pair(?x, ?y) :- seen(?x), seen(?y), ?x < ?y ."
WINDOWS = {
    "range": "@window reading :- range 10s, time at .",
    "step": "@window reading :- range 10s step 3s, time at .",
    "tumbling": "@window reading :- tumbling 7s, time at .",
    "landmark": "@window reading :- landmark, time at .",
    "count": "@window reading :- count 4, time at .",
    "two": "@window near :- reading, range 4s, time at . @window last :- reading, count 6, time at ."
    "close(?x) :- near(?x, _), last(?x, _) .",
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
READINGS = DECLARED + WINDOWS["range"] + RULES
Reading = tuple[int, int]
"""A number and a time in seconds."""


def moment(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def rows_of(readings: list[Reading]) -> list[tuple[int, datetime]]:
    return [(x, moment(at)) for x, at in readings]


def as_terms(reading: Reading) -> tuple[Term, ...]:
    x, at = reading
    return Integer(x), tidalog.Literal(f"{moment(at):%Y-%m-%dT%H:%M:%S}Z", DATE_TIME)


@pytest.mark.parametrize("strategy", ["auto", "expire", "recompute"])
@pytest.mark.parametrize("kind", sorted(WINDOWS))
def test_windows_hold_what_the_oracle_says(kind: str, strategy: str, tmp_path: Path) -> None:
    """Updates of facts with many times and deletions, some too late; a store is opened again."""
    text = DECLARED + WINDOWS[kind] + RULES
    for seed in range(4):
        draw = random.Random(seed)
        folder, now, late = tmp_path / str(seed), 100, draw.choice((0, 6))
        kb = tidalog.open(folder, late=late, strategy=strategy)
        kb.load(text)
        oracle = WindowOracle(parse(text).windows, late * SECOND)
        known: list[Reading] = []
        for step in range(25):
            now += draw.choice((0, 1, 3, 8))
            times = [now - draw.choice((0, 0, 1, 3, 7, 12)) for _ in range(draw.choice((0, 1, 3, 20)))]
            come = [(draw.randrange(9), at) for at in times]
            gone = draw.sample(known, min(len(known), draw.randrange(3)))
            known += come
            update = tidalog.Update(
                insertions={"reading": rows_of(come)}, deletions={"reading": rows_of(gone)}
            )
            is_late = come and oracle.now is not None and min(times) * SECOND < oracle.now - late * SECOND
            try:
                kb.apply(update)
                assert not is_late, (seed, step)
            except UsageError:
                assert is_late, (seed, step)
                continue
            for at in sorted(set(times)):
                oracle.update(at * SECOND, [], [("reading", as_terms(one)) for one in come if one[1] == at])
            if oracle.now is not None:
                left = [("reading", as_terms(one)) for one in gone if one not in come]
                oracle.update(oracle.now, left, [])
            for name, rows in oracle.explicit().items():
                assert set(kb.facts(name).to_terms()) == rows, (seed, step, name)
            numbers = {row[0].value for row in oracle.explicit()["reading"]}  # type: ignore[union-attr]
            assert set(kb.facts("seen").to_rows()) == {(x,) for x in numbers}, (seed, step)
            assert kb.count("pair") == len(numbers) * (len(numbers) - 1) // 2, (seed, step)
            if draw.random() < 0.15:
                kb.close()
                kb = tidalog.open(folder, late=late, strategy=strategy)
        kb.close()


def test_an_insertion_of_several_times_is_as_if_they_had_come_one_by_one() -> None:
    rows = rows_of([(1, 100), (2, 195), (3, 200)])
    together, apart = tidalog.open(), tidalog.open()
    for kb in (together, apart):
        kb.load(READINGS)
    together.insert("reading", rows)
    for row in rows:
        apart.insert("reading", [row])
    for kb in (together, apart):
        assert kb.facts("reading", expiry=True).to_rows() == [
            (2, moment(195), moment(205)),
            (3, moment(200), moment(210)),
        ]


def test_an_update_is_as_late_as_the_oldest_of_its_facts() -> None:
    kb = tidalog.open(late="5s")
    kb.load(READINGS)
    kb.insert("reading", rows_of([(1, 200)]))
    for _ in range(2):
        with pytest.raises(UsageError, match=r"T175.*at 100 "):
            kb.insert("reading", rows_of([(2, 100), (3, 201)]))
        assert (kb.now, kb.count("reading")) == (moment(200), 1)
        kb.materialise()
    kb.insert("reading", rows_of([(2, 195), (3, 201)]))
    assert [row[2] for row in kb.facts("reading", expiry=True).to_rows()] == [
        moment(n) for n in (210, 205, 211)
    ]


def test_an_update_with_a_time_keeps_it() -> None:
    kb = tidalog.open()
    kb.load(READINGS)
    with kb.update(time=300) as u:
        u.insert("reading", rows_of([(1, 100), (2, 200)]))
    assert [row[2] for row in kb.facts("reading", expiry=True).to_rows()] == [moment(310)] * 2


def test_a_fact_that_is_deleted_and_inserted_stays() -> None:
    kb = tidalog.open(late="20s")
    kb.load(READINGS)
    kb.insert("reading", rows_of([(1, 195), (2, 196)]))
    with kb.update() as u:
        u.delete("reading", rows_of([(1, 195), (2, 196)])).insert("reading", rows_of([(1, 195), (3, 200)]))
    assert kb.facts("seen").to_rows() == [(1,), (3,)]


def test_periods_before_the_latest_time_of_an_update_do_not_make_it_late() -> None:
    kb = tidalog.open()
    kb.load(READINGS)
    answers: list[tuple[float, list[tuple[int, ...]]]] = []
    kb.register("all", "?x :- seen(?x)", emit="rstream", every="10s")
    kb.queries["all"].subscribe(lambda rows, time: answers.append((time.timestamp(), rows.to_rows())))
    kb.insert("reading", rows_of([(1, 101)]))
    kb.insert("reading", rows_of([(2, 105), (3, 122), (4, 127)]))
    kb.advance(130)
    assert answers[-1] == (130, [(3,), (4,)])


def test_a_fact_of_a_stream_with_another_arity_is_refused() -> None:
    kb = tidalog.open()
    kb.load(READINGS)
    kb.insert("reading", rows_of([(1, 100)]))
    kb.materialise()
    for part in ("insertions", "deletions"):
        with pytest.raises(tidalog.ProgramError, match="T153"):
            kb.apply(tidalog.Update(**{part: {"reading": [(1,)]}}))  # type: ignore[arg-type]
    assert kb.now == moment(100) and kb.count("reading") == 1


# --- tables without labels ----------------------------------------------------------------------------------


def test_each_time_in_a_table_without_labels_is_an_update(tmp_path: Path) -> None:
    table = tmp_path / "updates.csv"
    table.write_text(
        "op,predicate,arg1,time\n+,e,new,200\n+,e,old,100\n+,e,mid,195\n-,e,old,100\n+,e,timeless,\n-,e,mid,201\n"
    )
    kb = tidalog.open()
    kb.load("@window e :- range 10s . p(?x) :- e(?x) .")
    deltas = list(kb.stream(table))
    assert [delta.label for delta in deltas] == [f"{table} at {time}" for time in (100, 195, 200, 201)]
    came = [delta["p"].inserted.to_rows() for delta in deltas]
    assert came == [[("old",)], [("mid",)], [("new",)], [("timeless",)]]
    assert [delta["p"].expired_count for delta in deltas] == [0, 1, 0, 0]
    assert kb.facts("e", expiry=True).to_rows() == [
        ("new", moment(210)),
        ("timeless", moment(211)),
    ]


def test_rows_without_labels_are_late_one_by_one(tmp_path: Path) -> None:
    table, quarantine = tmp_path / "updates.ndjson", tmp_path / "bad.csv"
    row = '{{"op": "+", "predicate": "reading", "arg1": {}, "arg2": "{}"}}\n'
    table.write_text(
        "".join(row.format(x, f"{moment(at):%Y-%m-%dT%H:%M:%SZ}") for x, at in [(1, 100), (2, 196), (3, 300)])
    )
    kb = tidalog.open(late="5s")
    kb.load(READINGS)
    kb.insert("reading", rows_of([(0, 200)]))
    with pytest.raises(tidalog.DataError, match="T174"):
        kb.read_updates(table)
    updates = kb.read_updates(table, on_error="skip", quarantine=quarantine)
    assert updates.bad.count == 1 and "the update at 100 comes too late" in quarantine.read_text()
    list(kb.stream(updates))
    assert kb.facts("seen").to_rows() == [(3,)]


def test_a_table_without_labels_is_one_update_where_no_time_matters(tmp_path: Path) -> None:
    table = tmp_path / "updates.csv"
    table.write_text("op,predicate,arg1,time\n+,e,a,100\n+,e,b,200\n")
    kb = tidalog.open()
    kb.load("p(?x) :- e(?x) .")
    assert [delta.label for delta in kb.stream(table)] == [str(table)]


def test_a_labelled_update_is_as_late_as_the_oldest_of_its_facts(tmp_path: Path) -> None:
    table = tmp_path / "updates.csv"
    lines = [
        f"{label},+,reading,{x},{moment(at):%Y-%m-%dT%H:%M:%SZ}\n"
        for label, x, at in [(1, 1, 200), (2, 2, 203), (2, 3, 190), (3, 4, 196), (3, 5, 210)]
    ]
    table.write_text("update,op,predicate,arg1,arg2\n" + "".join(lines))
    kb = tidalog.open(late="5s")
    kb.load(READINGS)
    updates = kb.read_updates(table, on_error="skip")
    assert ([update.label for update in updates], updates.bad.count) == ([1, 3], 2)
    list(kb.stream(updates))
    assert kb.facts("reading", expiry=True).to_rows() == [(5, moment(210), moment(220))]


# --- scripts ------------------------------------------------------------------------------------------------


def test_late_updates_of_scripts_are_skipped_like_rows_of_tables(tmp_path: Path) -> None:
    script, table, quarantine = tmp_path / "a.upd", tmp_path / "b.csv", tmp_path / "bad.csv"
    script.write_text(
        "+e(a). commit at 10.\n+e(b). commit at 20.\n+e(x),\n  e(y). commit at 14.\n+e(z). commit.\n"
    )
    table.write_text("update,op,predicate,arg1,time\n1,+,e,u,15\n2,+,e,v,21\n")
    kb = tidalog.open(late="2s")
    kb.load("@window e :- range 10s .")
    updates = kb.read_updates([script, table], on_error="skip", quarantine=quarantine)
    assert [update.label for update in updates] == [1, 2, 4, 2]
    assert updates.bad.count == 2
    assert [line.split(",")[0] for line in quarantine.read_text().splitlines()] == ["line", "3", "2"]
    assert '"+e(x), e(y). commit at 14."' in quarantine.read_text()
    list(kb.stream(updates))
    assert {x for (x,) in kb.facts("e").to_rows()} == {"b", "z", "v"}
    with pytest.raises(UsageError, match="T175"):
        list(kb.stream(script))
