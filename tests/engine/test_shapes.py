"""Shapes that generated programs do not reach: wide, long, many, skewed, deep, and the edges of blocks.

What is expected is computed by a formula or a comprehension beside the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import pytest

from engine_harness import evaluate_engine
from tidalog.analysis import analyse
from tidalog.engine.binding_blocks import BLOCK
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.limits import RunStats
from tidalog.lang import parse
from tidalog.maintain.materialise import materialise
from tidalog.model.program import Atom, Expression, Fact, Negation, Program, Rule, Variable
from tidalog.model.terms import Integer, String
from tidalog.reference import evaluate

Rows = set[tuple[int, ...]]


def run(
    text: str, functions: Mapping[str, Callable[..., object]] | None = None, **tables: np.ndarray
) -> tuple[EmbeddedEngine, RunStats]:
    """A program over tables of numbers, one row of the array for each column."""
    functions = functions or {}
    engine = EmbeddedEngine()
    highest = max((int(table.max()) for table in tables.values() if table.size), default=0)
    numbers = engine.dictionary.ids_of(map(Integer, range(highest + 1)))
    assert np.array_equal(numbers, np.arange(highest + 1)), "the id of a number is the number"
    for name, table in tables.items():
        engine.insert(name, [column.astype(np.int32) for column in table], table.shape[1])
    stats = materialise(engine, analyse(parse(text, "shape"), functions=list(functions)), functions=functions)
    return engine, stats


def rows(engine: EmbeddedEngine, name: str) -> Rows:
    """Rows as ids, which for the numbers of the tables are the numbers."""
    found = list(zip(*(column.tolist() for column in engine.columns(name)), strict=True))
    assert len(found) == len(set(found)) == engine.count(name), "no fact is there twice"
    return set(found)


def pairs(left: object, right: object) -> np.ndarray:
    return np.array([left, right], np.int64)


# --- wide and long ----------------------------------------------------------------------------------


@pytest.mark.parametrize("arity", [0, 1, 2, 3, 5, 16, 40])
def test_predicates_of_any_arity(arity: int) -> None:
    """Copied, reversed, joined on all columns, negated with one column open, grouped by all but one."""
    variables: tuple[Expression, ...] = tuple(Variable(f"v{n}") for n in range(arity))
    rest = (Variable("_#1"), *variables[1:]) if arity else ()
    facts = [Fact("e", tuple(Integer((n >> c) & 1 if c < 6 else 7) for c in range(arity))) for n in range(64)]
    facts += [Fact("f", fact.arguments) for fact in facts[: 1 if arity == 0 else 20]]
    body = Atom("e", variables)
    rules = (
        Rule((Atom("back", variables[::-1]),), (body,)),
        Rule((Atom("both", variables),), (body, Atom("f", variables))),
        Rule((Atom("none", variables),), (body, Negation(Atom("f", rest)))),
        Rule((Atom("twice", variables * 2),), (body,)),
        Rule((Atom("again", variables),), (Atom("back", variables[::-1]), Atom("both", variables))),
    )
    program = Program(rules=rules, facts=tuple(dict.fromkeys(facts)))
    expected = {p: found for p, found in evaluate(program).items() if found}
    assert evaluate_engine(program)[0] == expected


def test_a_rule_with_three_hundred_variables() -> None:
    """Thirty atoms of ten new variables each, all of them in the head."""
    count, width = 30, 10
    variables = [Variable(f"v{n}") for n in range(count * width)]
    body = tuple(Atom(f"e{n}", tuple(variables[n * width : (n + 1) * width])) for n in range(count))
    facts = [Fact(f"e{n}", tuple(Integer(n * width + c) for c in range(width))) for n in range(count)]
    facts.append(Fact("e0", tuple(Integer(1000 + c) for c in range(width))))
    program = Program(rules=(Rule((Atom("all", tuple(variables)),), body),), facts=tuple(facts))
    tail = tuple(map(Integer, range(width, count * width)))
    assert evaluate_engine(program)[0]["all"] == {
        (*(Integer(first + c) for c in range(width)), *tail) for first in (0, 1000)
    }


@pytest.mark.parametrize("atoms", [2, 40, 120])
def test_a_long_body_is_a_long_walk(atoms: int) -> None:
    body = ", ".join(f"e(?x{n}, ?x{n + 1})" for n in range(atoms))
    circle = np.arange(50)
    engine, stats = run(f"p(?x0, ?x{atoms}) :- {body}.", e=pairs(circle, (circle + 1) % 50))
    assert rows(engine, "p") == {(n, (n + atoms) % 50) for n in range(50)}
    assert stats.derivations == 50


def test_a_recursive_rule_with_a_long_body() -> None:
    """Each of the twenty atoms is a pivot in its turn; every instance is still found once."""
    body = ", ".join(f"p(?x{n}, ?x{n + 1})" for n in range(20))
    engine, stats = run(f"p(?x, ?y) :- e(?x, ?y). p(?x0, ?x20) :- {body}.", e=pairs(np.zeros(1), np.zeros(1)))
    assert rows(engine, "p") == {(0, 0)}
    assert stats.derivations == 2


# --- many -------------------------------------------------------------------------------------------


def test_three_thousand_rules_in_one_cycle() -> None:
    text = "\n".join(
        f"p{n % 1000}(?x) :- p{(n - 1) % 1000}(?x), e(?x), ?x != {n // 1000}." for n in range(3000)
    )
    engine, _ = run(f"p0(?x) :- start(?x). {text}", e=np.array([[0, 1, 2]]), start=np.array([[0, 1, 5]]))
    assert rows(engine, "p999") == {(0,), (1,)}
    assert rows(engine, "p0") == {(0,), (1,), (5,)}
    assert sum(engine.count(f"p{n}") for n in range(1000)) == 2 * 1000 + 1


def test_a_thousand_predicates_one_after_the_other() -> None:
    text = "\n".join(f"p{n + 1}(?y, ?x) :- p{n}(?x, ?y)." for n in range(1000))
    engine, _ = run(text, p0=pairs([1, 2], [3, 4]))
    assert rows(engine, "p999") == {(3, 1), (4, 2)}
    assert rows(engine, "p1000") == {(1, 3), (2, 4)}


def test_two_hundred_strata_of_negation() -> None:
    """Every layer is what the one before left out."""
    text = "\n".join(f"p{n + 1}(?x) :- e(?x), ~p{n}(?x)." for n in range(200))
    engine, _ = run(text, e=np.arange(10)[None], p0=np.arange(5)[None])
    assert rows(engine, "p199") == {(n,) for n in range(5, 10)}
    assert rows(engine, "p200") == {(n,) for n in range(5)}


def test_a_hundred_strata_of_aggregates() -> None:
    text = "\n".join(f"p{n + 1}(#max(?y)) :- p{n}(?x), ?y = ?x + 1." for n in range(100))
    engine, _ = run(text, p0=np.array([[3, 1, 2]]))
    (found,) = rows(engine, "p100")
    assert engine.dictionary.term(found[0]) == Integer(103)


# --- large ------------------------------------------------------------------------------------------


def test_a_product_with_a_filter() -> None:
    side = np.arange(2000)[None]
    engine, stats = run("p(?x, ?y) :- a(?x), b(?y), ?x + ?y = 2500, ?x < ?y.", a=side, b=side)
    assert rows(engine, "p") == {(x, 2500 - x) for x in range(501, 1250)}
    assert stats.derivations == 749


def test_a_skewed_key() -> None:
    """Half of the facts have one key; both directions of the join and a lookup of that key."""
    count = 200_000
    keys = np.where(np.arange(count) % 2 == 0, 0, np.arange(count))
    engine, stats = run(
        """p(?y) :- want(?x), e(?x, ?y). q(?x) :- e(?x, ?y), want(?y).
        r(#count(?y)) :- e(0, ?y). s(?y) :- e(0, ?y).""",
        e=pairs(keys, np.arange(count)),
        want=np.array([[0, 1, 77, 199_999, 2]]),
    )
    assert rows(engine, "p") == {(n,) for n in range(0, count, 2)} | {(1,), (77,), (199_999,)}
    assert rows(engine, "q") == {(0,), (1,), (77,), (199_999,)}
    assert engine.count("s") == count // 2
    ((counted,),) = rows(engine, "r")
    assert engine.dictionary.term(counted) == Integer(count // 2)
    assert stats.uncomputed == {}


def test_a_chain_of_twenty_thousand_steps() -> None:
    count = 20_000
    engine, stats = run(
        "p(?x) :- start(?x). p(?y) :- p(?x), e(?x, ?y).",
        e=pairs(np.arange(count), np.arange(1, count + 1)),
        start=np.zeros((1, 1)),
    )
    assert rows(engine, "p") == {(n,) for n in range(count + 1)}
    assert stats.derivations == count + 1


def test_counting_up_through_arithmetic() -> None:
    engine, stats = run("n(?m) :- n(?k), ?m = ?k + 1, ?k < 50000.", n=np.zeros((1, 1)))
    assert stats.derivations == stats.derived == 50_000
    assert engine.dictionary.term(rows_in_order(engine, "n")[-1]) == Integer(50_000)


def rows_in_order(engine: EmbeddedEngine, name: str) -> list[int]:
    return [int(number) for number in engine.columns(name)[0]]


# --- the edges of blocks ----------------------------------------------------------------------------

EDGES = [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 1]


@pytest.mark.parametrize("count", EDGES)
def test_blocks_of_every_size_are_taken_to_their_end(count: int) -> None:
    """Scan, probe, lookup, absence, test, computation, recursion and groups with `count` rows."""
    numbers = np.arange(count)
    engine, _ = run(
        """copy(?x, ?y) :- e(?x, ?y).
        turn(?y, ?x) :- e(?x, ?y).
        same(?x) :- e(?x, ?y), turn(?y, ?x).
        missing(?x) :- e(?x, ?y), ~even(?x).
        small(?x) :- e(?x, ?y), ?x < 3.
        next(?x, ?m) :- e(?x, ?y), ?m = ?x + 0.
        up(?x) :- e(?x, ?y). up(?y) :- up(?x), e(?x, ?y).
        size(?y, #count(?x)) :- e(?x, ?y).
        fan(?z) :- hub(?x), e2(?x, ?z).""",
        e=pairs(numbers, numbers),
        e2=pairs(np.zeros(count), numbers),
        hub=np.zeros((1, 1)),
        even=numbers[None, ::2],
    )
    whole = {(n, n) for n in range(count)}
    single = {(n,) for n in range(count)}
    assert rows(engine, "copy") == rows(engine, "turn") == rows(engine, "next") == whole
    assert rows(engine, "same") == rows(engine, "up") == rows(engine, "fan") == single
    assert rows(engine, "missing") == {(n,) for n in range(1, count, 2)}
    assert rows(engine, "small") == {(n,) for n in range(min(3, count))}
    assert engine.count("size") == count


@pytest.mark.parametrize("count", EDGES)
def test_duplicates_within_a_block_and_across_blocks(count: int) -> None:
    numbers = np.arange(count)
    engine, stats = run(
        "one(7) :- e(?x, ?y). few(?y) :- e(?x, ?y). wide(?y, ?y, ?y) :- e(?x, ?y). none() :- e(?x, ?y).",
        e=pairs(numbers, numbers % 5),
    )
    assert engine.count("one") == engine.count("none") == 1
    assert rows(engine, "few") == {(n,) for n in range(min(5, count))}
    assert rows(engine, "wide") == {(n, n, n) for n in range(min(5, count))}
    assert stats.derivations == 4 * count


def test_a_run_that_ends_with_the_block_and_one_that_goes_on() -> None:
    """Runs of lengths around a block, one after the other, expanded by one probe."""
    lengths = [BLOCK - 1, 1, BLOCK, BLOCK + 1, 2, 3 * BLOCK, 1]
    keys = np.repeat(np.arange(len(lengths)), lengths)
    values = np.concatenate([np.arange(n) for n in lengths])
    engine, _ = run("p(?x, ?y) :- k(?x), e(?x, ?y).", e=pairs(keys, values), k=np.arange(7)[None])
    assert rows(engine, "p") == set(zip(keys.tolist(), values.tolist(), strict=True))


# --- heads ------------------------------------------------------------------------------------------


def test_heads_that_repeat_variables_or_have_none() -> None:
    engine, _ = run(
        """twice(?x, ?x) :- e(?x, ?y). mixed(?x, 1, ?x, 2) :- e(?x, ?y). fixed(1, 2) :- e(?x, ?x).
        here() :- e(?x, ?y). nowhere() :- e(?x, ?y), ?x > ?y. alone(3, 4) . turned(?y, ?x) :- e(?x, ?y).
        e(?y, ?x) :- e(?x, ?y).""",
        e=pairs([1, 2, 3], [2, 3, 3]),
    )
    assert rows(engine, "twice") == {(1, 1), (2, 2), (3, 3)}
    assert rows(engine, "mixed") == {(n, 1, n, 2) for n in (1, 2, 3)}
    assert rows(engine, "fixed") == {(1, 2)}
    assert (engine.count("here"), engine.count("nowhere")) == (1, 1)
    assert rows(engine, "e") == rows(engine, "turned") == {(1, 2), (2, 1), (2, 3), (3, 2), (3, 3)}


def test_repeated_variables_in_bodies() -> None:
    cube = np.array(list(product(range(4), repeat=3))).T
    engine, _ = run(
        """all(?x) :- e(?x, ?x, ?x). ends(?x, ?y) :- e(?x, ?y, ?x). probe(?x, ?y) :- f(?x), e(?x, ?y, ?y).
        unless(?x) :- f(?x), ~g(?x, ?y, ?y). cycle(?x) :- f(?x), e(?x, ?x, ?y), e(?y, ?y, ?x), ?x != ?y.""",
        e=cube,
        f=np.arange(6)[None],
        g=np.array([[1, 2, 2, 3], [1, 0, 1, 3], [1, 1, 2, 2]]),
    )
    assert rows(engine, "all") == {(n,) for n in range(4)}
    assert rows(engine, "ends") == rows(engine, "probe") == set(product(range(4), repeat=2))
    assert rows(engine, "unless") == {(n,) for n in (0, 2, 3, 4, 5)}
    assert rows(engine, "cycle") == {(n,) for n in range(4)}


# --- memo relations ---------------------------------------------------------------------------------


def test_a_function_of_a_hundred_thousand_inputs_is_asked_once_each() -> None:
    asked: list[int] = []

    def scale(number: int) -> int:
        asked.append(number)
        return number // 10

    count = 100_000
    engine, _ = run(
        "p(?x, ?y) :- e(?x, ?z), ?y = SCALE(?z). q(?y) :- p(?x, ?y).",
        {"SCALE": scale},
        e=pairs(np.arange(count), np.arange(count)),
    )
    assert rows(engine, "p") == {(n, n // 10) for n in range(count)}
    assert engine.count("q") == count // 10
    assert sorted(asked) == list(range(count))


def test_a_function_inside_recursion() -> None:
    """Collatz: each number is asked for once, although several rules and rounds want it."""
    asked: list[int] = []

    def step(number: int) -> int | None:
        asked.append(number)
        if number == 1:
            return None
        return number // 2 if number % 2 == 0 else 3 * number + 1

    engine, stats = run(
        "reach(?x) :- start(?x). reach(?y) :- reach(?x), ?y = PC(?x).",
        {"PC": step},
        start=np.arange(1, 200)[None],
    )
    expected, waiting = set(range(1, 200)), list(range(1, 200))
    while waiting:
        number = waiting.pop()
        following = number // 2 if number % 2 == 0 else 3 * number + 1
        if number != 1 and following not in expected:
            expected.add(following)
            waiting.append(following)
    assert {engine.dictionary.term(n) for (n,) in rows(engine, "reach")} == set(map(Integer, expected))
    assert sorted(asked) == sorted(expected)
    assert stats.uncomputed == {"r2": 1}


def test_strings_that_grow_inside_recursion() -> None:
    program = parse(
        """w("a"). w(?v) :- w(?u), STRLEN(?u) < 40, ?v = CONCAT(?u, "b").
        pair(?s) :- w(?u), w(?v), STRLEN(?u) = 2, STRLEN(?v) = 3, ?s = CONCAT(?u, ?v, STR(STRLEN(?u))).""",
        "strings",
    )
    model = evaluate_engine(program)[0]
    assert model["w"] == {(String("a" + "b" * n),) for n in range(40)}
    assert model["pair"] == {(String("ababb2"),)}


def test_a_function_in_a_test_a_negation_and_an_aggregate() -> None:
    def odd(number: int) -> bool:
        return number % 2 == 1

    engine, _ = run(
        """picked(?x) :- e(?x), ODD(?x) = true. other(?x) :- e(?x), ~picked(?x).
        third(?x) :- e(?x), ~f(ODD(?x)).
        f(?y) :- e(?x), ?x = 1, ?y = ODD(?x). sums(?y, #count(?x)) :- e(?x), ?y = ODD(?x).""",
        {"ODD": odd},
        e=np.arange(10)[None],
    )
    assert rows(engine, "picked") == {(n,) for n in range(1, 10, 2)}
    assert rows(engine, "other") == rows(engine, "third") == {(n,) for n in range(0, 10, 2)}
    assert engine.count("sums") == 2
