"""Laws of maintenance programs: run by the engine, their text derives what maintenance and the oracle do.

Volz's is compared with the deltas of `kb.apply`.  That of IMaRS is compared with the window's content from
scratch: a fact has an expiry of at least t exactly if it follows from the facts that expire at t or later.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maintained import Scenario, Update
from streams import HURRIED, scenarios_of, tangled_scenarios

import tidalog
from engine_harness import Model, evaluate_engine
from generators import EVERYTHING, programs, triple_programs
from tidalog.analysis import analyse
from tidalog.analysis.maintenance_program import NEVER, volz_program, window_program
from tidalog.lang import parse, parse_with_warnings, print_program
from tidalog.model.errors import RunError
from tidalog.model.program import Fact, Program
from tidalog.model.terms import IRI, Double, Integer, String, Term
from tidalog.reference import evaluate

Given = tuple[str, tuple[Term, ...]]
Expiries = dict[Given, float]

PLAIN = {"triple": "triple_current"}
"""P of Volz's programs where it is not the predicate itself."""
POSITIVE = replace(EVERYTHING, negation=False, aggregates=())


@st.composite
def positive_scenarios(draw: st.DrawFn) -> Scenario:
    program = draw(programs(POSITIVE))
    given = [(fact.predicate, fact.arguments) for fact in program.facts]
    return draw(scenarios_of(program, [*given, *((name, row[::-1]) for name, row in given)], 4))


@st.composite
def triple_scenarios(draw: st.DrawFn) -> Scenario:
    whole = draw(triple_programs())
    program = replace(whole, rules=whole.rules[:-2])  # the last two count and negate
    given = [(fact.predicate, fact.arguments) for fact in program.facts]
    swapped = [("triple", (o, p, s)) for _, (s, p, o) in given if isinstance(o, IRI)]
    return draw(scenarios_of(program, [*given, *swapped], 4))


SCENARIOS = st.one_of(tangled_scenarios(), positive_scenarios(), triple_scenarios())


def printed(program: Program) -> Program:
    """The program, printed and read again."""
    again = parse(print_program(program))
    assert again == program
    return again


def with_facts(program: Program, facts: Iterable[Given]) -> Program:
    return replace(program, facts=tuple(Fact(*fact) for fact in facts))


def named(facts: Iterable[Given], kind: str) -> list[Given]:
    return [(f"{predicate}_{kind}", row) for predicate, row in facts]


def facts_of(model: Model, kind: str) -> set[Given]:
    """The facts of a maintenance predicate, by the predicates of the original."""
    ending = f"_{kind}"
    return {(n.removesuffix(ending), row) for n, rows in model.items() if n.endswith(ending) for row in rows}


def everything(model: Model) -> set[Given]:
    return {(name, row) for name, rows in model.items() for row in rows}


def known_facts(program: Program, update: Update) -> tuple[set[Given], set[Given]]:
    """The deletions and insertions of an update that are about predicates of the program."""
    known = analyse(program).predicates
    deletions, insertions = ({fact for fact in half if fact[0] in known} for half in update)
    return deletions, insertions


# --- Volz ---------------------------------------------------------------------------------------------


def by_predicate(facts: Iterable[Given]) -> dict[str, list[tuple[Term, ...]]]:
    found: dict[str, list[tuple[Term, ...]]] = {}
    for predicate, row in sorted(facts, key=repr):
        found.setdefault(predicate, []).append(row)
    return found


def check_volz(scenario: Scenario) -> set[str]:
    """Checks the law after every update; says what the updates showed."""
    shown: set[str] = set()
    program = scenario.program
    rewritten = printed(volz_program(program))
    kb = tidalog.open()
    kb.load(program)
    explicit = {(fact.predicate, fact.arguments) for fact in program.facts}
    state = everything(evaluate_engine(program)[0])
    assert facts_of(evaluate_engine(rewritten)[0], "plus") == state, "the text alone"
    for update in scenario.updates:
        deletions, insertions = known_facts(program, update)
        delta = kb.apply(
            tidalog.Update(deletions=by_predicate(deletions), insertions=by_predicate(insertions))
        )
        deletions &= explicit
        explicit -= deletions
        current = ((PLAIN.get(name, name), row) for name, row in state)
        given = [*current, *named(deletions, "del"), *named(insertions, "ins"), *named(explicit, "red")]
        explicit |= insertions
        model, _ = evaluate_engine(with_facts(rewritten, given))
        plus, minus = facts_of(model, "plus"), facts_of(model, "minus")
        assert plus == {(name, row) for name in delta for row in delta[name].inserted.to_terms()}
        assert minus == {(name, row) for name in delta for row in delta[name].deleted.to_terms()}
        state = state - minus | plus
        assert facts_of(model, "new") == state
        again = facts_of(model, "del") & (facts_of(model, "red") - explicit)
        cases = {"inserted": plus, "deleted": minus, "deleted and derived again": again}
        shown |= {case for case, facts in cases.items() if facts}
    return shown


@settings(HURRIED, max_examples=80)
@given(SCENARIOS)
def test_volz_derives_the_delta_of_an_update(scenario: Scenario) -> None:
    check_volz(scenario)


# --- IMaRS --------------------------------------------------------------------------------------------


def expiries(program: Program, given: Expiries, now: float) -> Expiries:
    """The oracle: the expiry of every fact in the window."""
    found: Expiries = {}
    for least in sorted({*(e for e in given.values() if e > now), NEVER.value}, reverse=True):
        lasting = [fact for fact, expiry in given.items() if expiry >= least]
        for fact in everything(evaluate(with_facts(program, lasting))):
            found.setdefault(fact, least)
    return found


def timed(facts: Expiries) -> set[Given]:
    """Facts with their expiry as last argument."""
    return {
        (name, (*row, Double(expiry) if expiry == NEVER.value else Integer(int(expiry))))
        for (name, row), expiry in facts.items()
    }


class Window:
    """A window that only the printed program maintains."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.rewritten = printed(window_program(program))
        self.facts: set[Given] = set()
        self.given: Expiries = {}

    def slide(self, now: int, entering: Expiries) -> tuple[set[Given], set[Given]]:
        """Applies the changes to the window and returns them."""
        given = [("now", (Integer(now),)), *self.facts, *named(timed(entering), "ins")]
        model, _ = evaluate_engine(with_facts(self.rewritten, given))
        plus, minus = facts_of(model, "plus"), facts_of(model, "minus")
        assert minus <= self.facts and not plus & self.facts
        self.facts = self.facts - minus | plus
        for fact, expiry in entering.items():
            self.given[fact] = max(expiry, self.given.get(fact, expiry))
        return plus, minus

    def check(self, now: int) -> None:
        assert self.facts == timed(expiries(self.program, self.given, now))


def check_window(scenario: Scenario, chance: random.Random) -> set[str]:
    """Checks the law after every step; says what the steps showed."""
    shown: set[str] = set()
    program, now = scenario.program, 0
    window = Window(program)
    background = {(f.predicate, f.arguments): chance.choice((5, NEVER.value)) for f in program.facts}
    window.slide(now, background)
    window.check(now)
    for update in scenario.updates:
        now += chance.choice((1, 1, 1, 2, 4))
        entering = [fact for half in known_facts(program, update) for fact in sorted(half, key=repr)]
        lives = (1, 2, 3, 5, 8, 0, -2, NEVER.value)
        plus, minus = window.slide(now, {fact: now + chance.choice(lives) for fact in entering})
        window.check(now)
        came, gone = ({(name, row[:-1]) for name, row in facts} for facts in (plus, minus))
        cases = {"entered": came - gone, "expired": gone - came, "lives longer": came & gone}
        cases["derived, lives longer"] = (came & gone) - set(entering)
        shown |= {case for case, facts in cases.items() if facts}
    return shown


@settings(HURRIED, max_examples=80)
@given(SCENARIOS, st.randoms(use_true_random=False))
def test_the_window_has_every_fact_until_its_expiry(scenario: Scenario, chance: random.Random) -> None:
    check_window(scenario, chance)


R = "R: isIn(?x, ?z) :- isIn(?x, ?y), isIn(?y, ?z) ."
ENTERING = {1: ["AB"], 2: ["BC"], 3: ["CD"], 4: ["AE", "ED"]}
"""Fig. 4 of the paper: what enters the window in each second, to stay for ten."""
WINDOW = {
    1: {"AB": 11},
    2: {"AB": 11, "BC": 12, "AC": 11},
    3: {"AB": 11, "BC": 12, "AC": 11, "CD": 13, "BD": 12, "AD": 11},
    4: {"AB": 11, "BC": 12, "AC": 11, "CD": 13, "BD": 12, "AD": 14, "AE": 14, "ED": 14},
    11: {"BC": 12, "CD": 13, "BD": 12, "AD": 14, "AE": 14, "ED": 14},
    12: {"CD": 13, "AD": 14, "AE": 14, "ED": 14},
    13: {"AD": 14, "AE": 14, "ED": 14},
    14: {},
}
"""The window after each second in which it changes."""


def pairs(facts: dict[str, int]) -> Expiries:
    return {("isIn", tuple(map(String, pair))): expiry for pair, expiry in facts.items()}


def test_figure_4_second_by_second() -> None:
    window = Window(parse(R))
    wanted: set[Given] = set()
    for now in range(1, 16):
        before, wanted = wanted, timed(pairs(WINDOW[now])) if now in WINDOW else wanted
        plus, minus = window.slide(now, pairs(dict.fromkeys(ENTERING.get(now, ()), now + 10)))
        assert (plus, minus) == (wanted - before, before - wanted)
        assert window.facts == wanted
        window.check(now)


def test_a_fact_whose_expiry_grows_is_in_both_changes() -> None:
    window = Window(parse(R))
    window.slide(1, pairs({"AB": 3}))
    plus, minus = window.slide(2, pairs({"AB": 9}))
    assert plus == timed(pairs({"AB": 9})) and minus == timed(pairs({"AB": 3}))
    assert window.slide(3, pairs({"AB": 7, "CD": 3})) == (set(), set()), "shorter, and expired"


# --- both ---------------------------------------------------------------------------------------------


@settings(HURRIED, max_examples=100)
@given(SCENARIOS)
def test_what_has_no_warnings_is_rewritten_without_warnings(scenario: Scenario) -> None:
    program, warnings = parse_with_warnings(print_program(scenario.program))
    if warnings or analyse(program).warnings:
        return
    for rewriting in (volz_program, window_program):
        again, warnings = parse_with_warnings(print_program(rewriting(program)))
        # an alternative of a rule with variables may have none
        assert {w.number for w in (*warnings, *analyse(again).warnings)} <= {"W001"}


def test_a_constraint_is_checked_on_the_new_state() -> None:
    text = "edge(a, b).  path(?x, ?y) :- edge(?x, ?y).  c: :- path(?x, ?x)."
    for rewriting, more in ((volz_program, ()), (window_program, (Integer(9),))):
        rewritten = printed(rewriting(parse(text)))
        loop = Fact("edge_ins", (String("b"), String("b"), *more))
        clock = Fact("now", (Integer(1),))
        evaluate_engine(replace(rewritten, facts=(*rewritten.facts, clock)))
        with pytest.raises(RunError):
            evaluate_engine(replace(rewritten, facts=(*rewritten.facts, loop, clock)))


def test_generated_updates_and_windows_show_every_case() -> None:
    shown: Counter[str] = Counter()

    @settings(HURRIED, max_examples=30, database=None, derandomize=True)
    @given(SCENARIOS, st.randoms(use_true_random=False))
    def count(scenario: Scenario, chance: random.Random) -> None:
        shown.update(check_volz(scenario) | check_window(scenario, chance))

    count()
    wanted = {"inserted", "deleted", "deleted and derived again"}
    wanted |= {"entered", "expired", "lives longer", "derived, lives longer"}
    assert set(shown) == wanted and min(shown.values()) >= 3, shown
