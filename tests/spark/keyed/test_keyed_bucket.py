"""A bucket of keys is one engine for each of them: the same changes, the same refusals, the same facts."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keyed_oracle import (
    Alone,
    Row,
    RuleRow,
    changes_in,
    config_for,
    in_batches,
    random_rows,
    row,
    rule_table,
    table_of,
)

import tidalog
from generators import EVERYTHING, programs, triple_programs
from tidalog.analysis.keyed import keyed_program
from tidalog.keyed.bucket import Bucket
from tidalog.keyed.config import BucketConfig, config_of
from tidalog.keyed.outcome import BatchOutcome
from tidalog.keyed.row_notes import KEY_OF_ROW
from tidalog.lang import parse, print_rule
from tidalog.model.errors import RunError, StoreError
from tidalog.model.program import Fact, Program, Rule
from tidalog.model.terms import IRI, Integer, String
from tidalog.storage.records import packed, unpacked

ROUNDS = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
KEYS = ("k1", "2", "", "a b\u001e", "k5")


class Keyed:
    """A bucket under test, which may be rebuilt from its records at any time."""

    def __init__(self, config: BucketConfig) -> None:
        self.config = config
        self.bucket = Bucket(config)
        self.records: list[bytes] = []

    def apply(self, rows: list[Row], now: int = 0, rules: Sequence[RuleRow] = ()) -> BatchOutcome:
        about_rules = rule_table(rules) if rules else None
        applied = self.bucket.apply(table_of(rows, self.config.arguments), now, about_rules)
        self.records.append(applied.record)
        return applied

    def rebuild(self) -> None:
        self.bucket = Bucket(self.config)
        for record in self.records:
            self.bucket.restore(record)

    def compact(self) -> None:
        self.records = [self.bucket.snapshot()]


def check_stream(program: Program, seed: int, *, rebuilt: bool = False) -> None:
    config = config_for(program)
    rows = random_rows(program.facts, seed, KEYS, 25)
    keyed, alone = Keyed(config), Alone(program, config.arguments)
    chance = random.Random(seed)
    for batch in in_batches(rows, seed, 4):
        before = len(alone.emitted)
        alone.apply(batch)
        again = chance.sample(batch, len(batch) // 3)
        applied = keyed.apply(batch)
        emitted = changes_in(applied.changes, config.arguments)
        assert sorted(emitted) == sorted(alone.emitted[before:])
        if again and alone.emitted:
            late = keyed.apply(again)
            assert (late.skipped, late.changes.num_rows) == (len(again), 0)
        refused = {(r["key"], r["update"]) for r in applied.refused.to_pylist()}
        assert refused == {r for r in alone.refused if r[:2] in {b[:2] for b in batch}}
        if rebuilt:
            if chance.random() < 0.3:
                keyed.compact()
            keyed.rebuild()


def with_facts(program: Program) -> Program:
    return program if program.facts else replace(program, facts=(Fact("lonely", (IRI("a"),)),))


@settings(ROUNDS, max_examples=40)
@given(programs(EVERYTHING), st.integers(0, 2**16))
def test_each_key_changes_as_it_would_alone(program: Program, seed: int) -> None:
    check_stream(with_facts(program), seed)


@ROUNDS
@given(triple_programs(), st.integers(0, 2**16))
def test_triples_of_each_key_change_as_they_would_alone(program: Program, seed: int) -> None:
    check_stream(program, seed)


@ROUNDS
@given(st.one_of(programs(EVERYTHING), triple_programs()), st.integers(0, 2**16))
def test_a_bucket_that_is_rebuilt_goes_on_as_it_was(program: Program, seed: int) -> None:
    check_stream(with_facts(program), seed, rebuilt=True)


@ROUNDS
@given(programs(EVERYTHING), st.integers(0, 2**16), st.booleans())
def test_one_key_is_refused_and_the_others_go_on(program: Program, seed: int, rebuilt: bool) -> None:
    """The rule that is made a constraint is one that the facts of the program alone do not violate."""
    program = with_facts(program)
    body = random.Random(seed).choice(program.rules).body
    forbidding = replace(program, rules=(*program.rules, Rule((), body, "forbidden")), facts=())
    try:
        config = config_for(forbidding)
    except RunError:  # it is violated without any fact
        return
    keyed, alone = Keyed(config), Alone(forbidding, config.arguments)
    for batch in in_batches(random_rows(program.facts, seed, KEYS, 20), seed, 3):
        known = {r[3]: len(r[4]) for r in batch}
        if any(width > config.arguments for width in known.values()):
            return
        before, refused_before = len(alone.emitted), set(alone.refused)
        alone.apply(batch)
        applied = keyed.apply(batch)
        assert sorted(changes_in(applied.changes, config.arguments)) == sorted(alone.emitted[before:])
        refused = {(r["key"], r["update"]) for r in applied.refused.to_pylist()}
        assert refused == alone.refused - refused_before
        if rebuilt:
            keyed.rebuild()


WRONG = (("+rule", "w", "odd(?x) :- "), ("+rule", "w", "p(?x, ?y) :- p(?x)"), ("-rule", "no", None))


def rule_rows(program: Program, seed: int, labels: Sequence[int]) -> list[RuleRow]:
    """Rules of the program leave and come back, under the names that they had; now and then none leaves that
    is there, or one comes that cannot be read."""
    chance = random.Random(seed)
    there = {f"n{number}": replace(rule, name=None) for number, rule in enumerate(program.rules)}
    gone: dict[str, Rule] = {}
    rows: list[RuleRow] = []
    for label in labels:
        if chance.random() < 0.15:
            rows.append((label, *chance.choice(WRONG)))
            continue
        for name in chance.sample(sorted(there), min(len(there), chance.randint(0, 2))):
            gone[name] = there.pop(name)
            rows.append((label, "-rule", name, None))
        back = chance.sample(sorted(gone), chance.randint(0, len(gone)))
        for name in (name for name in back if (label, "-rule", name, None) not in rows):
            there[name] = gone.pop(name)
            rows.append((label, "+rule", name, print_rule(there[name])))
    return rows


@settings(ROUNDS, max_examples=50)
@given(st.one_of(programs(EVERYTHING), triple_programs()), st.integers(0, 2**16), st.booleans())
def test_rules_change_for_every_key_as_they_would_alone(program: Program, seed: int, rebuilt: bool) -> None:
    named = [replace(rule, name=f"n{number}") for number, rule in enumerate(program.rules)]
    program = replace(with_facts(program), rules=tuple(named))
    config = config_for(program)
    keyed, alone = Keyed(config), Alone(program, config.arguments)
    rows = random_rows(program.facts, seed, KEYS, 25)
    batches = in_batches(rows, seed, 4)
    chance = random.Random(seed)
    top = max((int(row[1]) for row in rows), default=1) + 2
    labels = sorted(chance.sample(range(1, top + 3), min(4, top)))
    changes = rule_rows(program, seed, labels)
    for number, batch in enumerate(batches):
        own = [change for change in changes if labels.index(int(change[0])) == number]
        before = len(alone.emitted)
        alone.apply(batch, own)
        applied = keyed.apply(batch, rules=own)
        assert sorted(changes_in(applied.changes, config.arguments)) == sorted(alone.emitted[before:])
        refused = {one.update for one in applied.refused_rules}
        assert refused == {change[0] for change in own} & alone.rules_refused
        again = keyed.apply([], rules=own)
        assert (again.changes.num_rows, again.rule_rows[1]) == (0, len(own))
        if rebuilt:
            if chance.random() < 0.4:
                keyed.compact()
            keyed.rebuild()


PATHS = parse("path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) . edge(a, b) .")


def edge(*ends: str) -> Fact:
    return Fact("edge", tuple(map(String, ends)))


@pytest.mark.parametrize("rebuilt", [False, True])
def test_an_expired_key_leaves_nothing_behind(rebuilt: bool) -> None:
    config = config_for(PATHS, ttl=100)
    keyed, alone = Keyed(config), Alone(PATHS, config.arguments)
    first = [row("old", 7, "+", edge("b", f"c{n}")) for n in range(50)]
    for now, rows in ((0, first), (60, [row("young", 1, "+", edge("x", "y"))])):
        keyed.apply(rows, now)
        alone.apply(rows)
    if rebuilt:
        keyed.rebuild()
    before = len(alone.emitted)
    alone.forget("old")
    applied = keyed.apply([], 100)
    assert applied.expired == 1
    assert sorted(changes_in(applied.changes, config.arguments)) == sorted(alone.emitted[before:])
    if rebuilt:
        keyed.rebuild()
    assert len(keyed.bucket.keys) == 1
    keyed.compact()
    assert b"c17" not in keyed.records[0]
    keyed.rebuild()
    before = len(alone.emitted)
    rows = [row("old", 1, "+", edge("b", "d"))]  # a key that comes again is a new one
    alone.apply(rows)
    assert sorted(changes_in(keyed.apply(rows, 110).changes, 2)) == sorted(alone.emitted[before:])


def test_text_labels_go_by_text() -> None:
    config = config_for(PATHS, labels="text")
    bucket = Bucket(config)
    rows: list[Row] = [row("k", "b", "+", edge("b", "c")), row("k", "a", "-", edge("a", "b"))]
    applied = bucket.apply(table_of(rows, 2, text_labels=True), 0)
    emitted = changes_in(applied.changes, 2)
    assert [t[1] for t in emitted] == ["0", "0", "a", "a", "b", "b"]
    other = Bucket(config)
    other.restore(bucket.snapshot())
    late = other.apply(table_of([row("k", "aa", "+", edge("b", "d"))], 2, text_labels=True), 0)
    assert (late.skipped, late.changes.num_rows) == (1, 0)


def test_without_labels_a_batch_is_an_update_of_each_key() -> None:
    bucket = Bucket(config_for(PATHS, labels=None))
    rows: list[Row] = [row("k", 0, "+", edge("b", "c")), row("m", 0, "-", edge("a", "b"))]
    for number in (1, 2):
        applied = bucket.apply(table_of(rows, 2).drop_columns(["update"]), 0)
        assert applied.skipped == 0
        assert {t[1] for t in changes_in(applied.changes, 2)} == ({0, 1} if number == 1 else set())
    assert bucket.keys.labels.to_pylist() == [2, 2]


def test_rows_that_do_not_fit_a_declaration_are_bad_and_others_are_converted() -> None:
    program = parse(
        "@declare reading(turbine: string, value: double) . hot(?t) :- reading(?t, ?v), ?v > 20 ."
    )
    keyed = Keyed(config_for(program))
    rows: list[Row] = [
        ("k1", 1, "+", "reading", ("007", "21")),
        ("k1", 1, "+", "reading", ("8", "warm")),
        ("k2", 1, "+", "reading", ('"9"', "30.5")),
    ]
    outcome = keyed.apply(rows)
    (bad,) = [json.loads(note) for note in outcome.bad]
    assert bad["fault"] == {"number": "T156", "message": '"warm" is not a double', "column": "arg2"}
    assert (bad["values"][KEY_OF_ROW], bad["values"]["arg1"]) == ("k1", "8")
    assert outcome.rows == 2
    emitted = changes_in(outcome.changes, keyed.config.arguments)
    assert len([one for one in emitted if "hot" in str(one)]) == 2
    keyed.rebuild()
    assert keyed.apply([("k1", 2, "-", "reading", ("007", "21"))]).changes.num_rows == 2


@pytest.mark.parametrize(
    ("name", "number"),
    [("arguments", -1), ("arguments", 10**6), ("term_kind", 200), ("groups", -1), ("seen", None)],
)
def test_state_with_impossible_numbers_is_damage(name: str, number: int | None) -> None:
    kept = Keyed(config_for(PATHS))
    kept.apply([row("k", 1, "+", edge("b", "c"))])
    read = unpacked(memoryview(kept.bucket.snapshot()))
    arrays = {known: array.copy() for known, array in read.arrays.items()}
    if number is None:
        arrays[name] = arrays[name][:-1]
    else:
        arrays[name][0] = number
    bucket = Bucket(kept.config)
    with pytest.raises(StoreError) as error:
        bucket.restore(b"".join(packed(read.header, arrays)))
    assert error.value.diagnostics[0].number == "T094"
    assert "the state of a bucket" in str(error.value)


def test_registered_aggregates_work_in_every_bucket() -> None:
    functions = {"#spread": lambda values: max(values) - min(values)}
    program = parse("s(#spread(?v)) :- r(?v) .")
    with tidalog.open(functions=functions) as kb:
        kb.load(program)
        keyed_rules = keyed_program(program, {}, list(functions))
        config = config_of(keyed_rules, kb, arguments=1, labels="integer", ttl=None, functions=functions)
    keyed = Keyed(config)
    one, four, nine = (Fact("r", (Integer(n),)) for n in (1, 4, 9))
    keyed.apply([row("a", 1, "+", one), row("a", 1, "+", four), row("b", 1, "+", nine)])
    keyed.rebuild()
    applied = keyed.apply([row("a", 2, "+", nine), row("b", 2, "+", four), row("b", 2, "-", nine)])
    emitted = {change for change in changes_in(applied.changes, 1) if change[3] == "s"}
    assert emitted == {("a", 2, "-", "s", ("3",), "implicit"), ("a", 2, "+", "s", ("8",), "implicit")}
