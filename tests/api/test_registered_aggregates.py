"""Registered aggregates: what the oracle says, after every update, from scratch and from a store."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings

import tidalog
from generators import Features, programs
from tidalog import Update
from tidalog.lang import parse
from tidalog.model.program import Program
from tidalog.model.terms import Integer, String, Term
from tidalog.reference import evaluate


def spread(values: list[int]) -> int:
    return max(values) - min(values)


def weighted(values: list[int], weights: list[int]) -> float:
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def picky(values: list[int]) -> object:
    """No value for some groups, in each of the ways that there are."""
    if len(values) == 1:
        raise ValueError("one value is not enough")
    return {0: None, 1: object()}.get(sum(values) % 4, ",".join(map(str, values)))


FUNCTIONS = {"#spread": spread, "#Weighted": weighted, "#picky": picky}
PROGRAM = """
s(?g, #spread(?v)) :- r(?g, ?k, ?v) .
both(#spread(?v), ?g, #count(?k), #SPREAD(?v, ?k)) :- r(?g, ?k, ?v) .
w(?g, #weighted(?v, ?k)) :- r(?g, ?k, ?v) .
inside(?g, #spread(?v) * 2 + #sum(?v)) :- r(?g, ?k, ?v), ~off(?g) .
all(#spread(?v)) :- r(?g, ?k, ?v) .
p(?g, #picky(?v, ?k)) :- r(?g, ?k, ?v) .
over(?n, #count(?g)) :- s(?g, ?n) .
"""
ZODIAC = "z(G, N) :- AGGREGATE(r(G, K, V) and not off(G)) ON G WITH SPREAD(V) AS N ."
Row = tuple[Term, ...]


def oracle(text: str, facts: dict[str, set[Row]], dialect: str = "main") -> dict[str, set[Row]]:
    model = evaluate(parse(text, dialect=dialect), facts, functions=FUNCTIONS)
    return {name: set(rows) for name, rows in model.items()}


def state(kb: tidalog.KnowledgeBase, names: dict[str, set[Row]]) -> dict[str, set[Row]]:
    return {name: set(kb.facts(name).to_terms()) for name in names}


def changes(chance: random.Random) -> dict[str, list[Row]]:
    rows = {
        (String(f"g{chance.randrange(4)}"), Integer(chance.randrange(1, 4)), Integer(chance.randrange(7)))
        for _ in range(chance.randrange(5))
    }
    return {"r": list(rows), "off": [(String(f"g{chance.randrange(4)}"),)] if chance.random() < 0.3 else []}


@pytest.mark.parametrize("strategy", ["auto", "recompute", "dred", "bf", "counting"])
@pytest.mark.parametrize("text, dialect", [(PROGRAM, "main"), (ZODIAC, "zodiac")], ids=["main", "zodiac"])
def test_after_every_update_groups_are_those_of_the_oracle(strategy: str, text: str, dialect: str) -> None:
    kb = tidalog.open(strategy=strategy, functions=FUNCTIONS)
    kb.load(text, dialect=dialect)
    chance = random.Random(f"{strategy} {dialect}")
    facts: dict[str, set[Row]] = {"r": set(), "off": set()}
    derived = 0
    for _ in range(25):
        deletions, insertions = changes(chance), changes(chance)
        kb.apply(Update(deletions=deletions, insertions=insertions))
        for name in facts:
            facts[name] = (facts[name] - set(deletions[name])) | set(insertions[name])
        wanted = oracle(text, facts, dialect)
        assert state(kb, wanted) == wanted
        derived += sum(len(rows) for name, rows in wanted.items() if name not in facts)
    assert derived > 30


def listed(values: list[object], *more: list[object]) -> str:
    """Total, and different for different groups."""
    return " ".join(map(repr, [values, *more]))


@settings(max_examples=25, deadline=None)
@given(programs(Features(aggregates=("listed", "sum", "listed"), wide=False)))
def test_generated_programs_mean_what_the_oracle_says(program: Program) -> None:
    functions = {"#listed": listed}
    wanted = evaluate(program, functions=functions)
    kb = tidalog.open(functions=functions)
    kb.load(program)
    assert {name: set(kb.facts(name).to_terms()) for name in wanted} == dict(wanted)


def test_groups_of_every_size_are_those_of_the_oracle() -> None:
    """More facts than a block of the executor has rows."""
    rows = {
        (String(f"g{n % 3 if n % 7 else n}"), Integer(n % 50 + 1), Integer(n * n % 101)) for n in range(3000)
    }
    kb = tidalog.open(functions=FUNCTIONS)
    kb.load(PROGRAM)
    kb.insert("r", list(rows))
    wanted = oracle(PROGRAM, {"r": rows})
    assert state(kb, wanted) == wanted


def test_no_value_is_counted_and_strict_makes_it_an_error() -> None:
    text = "p(?g, #picky(?v)) :- r(?g, ?v) . r(a, 1) . r(b, 2) . r(b, 3) . r(c, 1) . r(c, 3) ."
    kb = tidalog.open()
    kb.aggregate(picky)
    kb.load(text)
    assert kb.facts("p").to_rows() == []
    assert sum(kb.stats().uncomputed.values()) == 3
    with pytest.raises(tidalog.RunError, match="T05"):
        kb.materialise(strict=True)


def test_a_query_may_use_one_that_is_registered_by_decorator() -> None:
    kb = tidalog.open()

    @kb.aggregate("width")
    def width(values: list[int]) -> int:
        return max(values) - min(values)

    kb.insert("r", [("a", 1), ("a", 5), ("b", 2)])
    assert sorted(kb.query("?g, #width(?v) :- r(?g, ?v)").to_rows()) == [("a", 4), ("b", 0)]


def test_registering_another_function_under_the_name_derives_everything_again() -> None:
    kb = tidalog.open()
    kb.register_aggregate("f", max)
    kb.load("p(#f(?v)) :- r(?v) . r(1) . r(2) .")
    assert kb.facts("p").to_rows() == [(2,)]
    kb.register_aggregate("f", min)
    assert kb.facts("p").to_rows() == [(1,)]


def test_a_store_needs_it_when_it_is_opened_again(tmp_path: Path) -> None:
    with tidalog.open(tmp_path / "s", functions={"#spread": spread}) as kb:
        kb.load("p(#spread(?v)) :- r(?v) . r(1) . r(4) .")
        assert kb.facts("p").to_rows() == [(3,)]
    with pytest.raises(tidalog.TidalogError, match="#spread"):
        tidalog.open(tmp_path / "s")
    with tidalog.open(tmp_path / "s", functions={"#spread": spread}) as kb:
        kb.insert("r", [(9,)])
        assert kb.facts("p").to_rows() == [(8,)]


@pytest.mark.parametrize(
    "name, function",
    [("count", max), ("Median", max), ("a b", max), ("", max), ("f", 5), ("f", lambda: 1)],
    ids=["built in", "built in, any case", "space", "empty", "no function", "no argument"],
)
def test_what_cannot_be_one_is_refused(name: str, function: object) -> None:
    with pytest.raises(tidalog.UsageError, match="T074"):
        tidalog.open().register_aggregate(name, function)  # type: ignore[arg-type]


def test_an_unknown_one_gets_a_suggestion_and_too_few_arguments_an_error() -> None:
    kb = tidalog.open(functions={"#spread": spread, "#weighted": weighted})
    with pytest.raises(tidalog.ProgramError, match=r"did you mean #spread\?"):
        kb.load("p(#spred(?v)) :- r(?v) .")
    with pytest.raises(tidalog.ProgramError, match="T019"):
        kb.load("p(#weighted(?v)) :- r(?v) .")
