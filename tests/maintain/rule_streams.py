"""Streams in which rules come and go with facts, and the laws that hold after every step.

Every rule has a name of its own, as the rules of a knowledge base have; a step says which of a program's
rules hold after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from maintained import Fact, Maintained, Oracle, State, Update, script, steps_run, unused_at_most
from streams import TANGLED_POOL, layered_pool, tangled_programs, update_streams

from generators import EVERYTHING, Features, programs
from tidalog.analysis import analyse
from tidalog.lang import print_program
from tidalog.maintain.choose import Options
from tidalog.maintain.maintainer import Outcome
from tidalog.model.program import Atom, Negation, Program, Rule, Variable
from tidalog.model.program import Fact as FactOfProgram
from tidalog.model.terms import IRI

Rules = frozenset[int]


@dataclass(frozen=True)
class RuleScenario:
    """A program; which of its rules hold at first and after each update."""

    program: Program
    first: Rules
    steps: tuple[tuple[Update, Rules], ...]

    def __repr__(self) -> str:
        steps = "\n".join(f"rules {sorted(rules)}\n{script([update])}" for update, rules in self.steps)
        return f"{print_program(self.program)}\nat first rules {sorted(self.first)}\n{steps}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def with_rules(self, numbers: Rules) -> Program:
        rules = tuple(rule for number, rule in enumerate(self.program.rules) if number in numbers)
        return replace(self.program, rules=rules)


def named(program: Program) -> Program:
    rules = tuple(replace(rule, name=f"r{n}") for n, rule in enumerate(program.rules, start=1))
    return replace(program, rules=rules)


@st.composite
def rule_scenarios_of(draw: st.DrawFn, program: Program, pool: Sequence[Fact], length: int) -> RuleScenario:
    """Some steps change one rule, some several, some none; some take back the step before."""
    program = named(program)
    start = [(fact.predicate, fact.arguments) for fact in program.facts]
    updates = draw(update_streams(pool, start, length))
    numbers = range(len(program.rules))
    first = frozenset(draw(st.lists(st.sampled_from(numbers), unique=True))) if numbers else frozenset()
    steps: list[tuple[Update, Rules]] = []
    rules, before = first, first
    for update in updates:
        kind = draw(st.sampled_from(("one", "one", "several", "none", "back")))
        changed: list[int] = []
        if numbers and kind == "one":
            changed = [draw(st.sampled_from(numbers))]
        elif numbers and kind == "several":
            changed = draw(st.lists(st.sampled_from(numbers), unique=True, max_size=4))
        following = before if kind == "back" else rules ^ frozenset(changed)
        rules, before = following, rules
        steps.append((update if draw(st.booleans()) else ((), ()), rules))
    return RuleScenario(program, first, tuple(steps))


@st.composite
def tangled_rule_scenarios(draw: st.DrawFn, length: int = 8) -> RuleScenario:
    return draw(rule_scenarios_of(draw(tangled_programs()), TANGLED_POOL, length))


_NAMES = ("p", "s", "q", "t", "w")
_CONSTANTS = tuple(map(IRI, "abc"))
_X = Variable("x")


@st.composite
def chained_rule_scenarios(draw: st.DrawFn, length: int = 6) -> RuleScenario:
    """Many small rules over few facts: what a rule derives, others read that come and go with it."""
    rules: list[Rule] = []
    for _ in range(draw(st.integers(2, 8))):
        head = draw(st.sampled_from(_NAMES[2:]))
        body = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=2))
        literals: list[Atom | Negation] = [Atom(name, (_X,)) for name in body]
        if draw(st.integers(0, 3)) == 0:
            lower = _NAMES[: _NAMES.index(head)]
            literals.append(Negation(Atom(draw(st.sampled_from(lower)), (_X,))))
            literals[:-1] = [a for a in literals[:-1] if isinstance(a, Atom) and a.predicate in lower] or [
                Atom("p", (_X,))
            ]
        else:
            order = _NAMES.index(head) + 1
            literals = [a for a in literals if isinstance(a, Atom) and a.predicate in _NAMES[:order]]
            literals = literals or [Atom("p", (_X,))]
        rules.append(Rule((Atom(head, (_X,)),), tuple(literals)))
    pool = [(name, (constant,)) for name in _NAMES for constant in _CONSTANTS]
    given = draw(st.lists(st.sampled_from(pool), unique=True, max_size=8))
    program = Program(tuple(rules), tuple(FactOfProgram(name, row) for name, row in given))
    return draw(rule_scenarios_of(program, pool, length))


@st.composite
def layered_rule_scenarios(draw: st.DrawFn, features: Features = EVERYTHING, length: int = 6) -> RuleScenario:
    program = draw(programs(features))
    return draw(rule_scenarios_of(program, layered_pool(program), length))


def state_of(given: RuleScenario, rules: Rules, explicit: set[Fact]) -> State:
    oracle = Oracle(replace(given.with_rules(rules), facts=()))
    return oracle.with_explicit(explicit)


def check_rule_scenario(
    given: RuleScenario, configurations: Sequence[Options], unused: int = 1 << 16
) -> None:
    """All laws after every step, under each configuration."""
    explicit = {(fact.predicate, fact.arguments) for fact in given.program.facts}
    states = [state_of(given, given.first, explicit)]
    for update, rules in given.steps:
        explicit = explicit - set(update[0]) | set(update[1])
        states.append(state_of(given, rules, explicit))
    with unused_at_most(unused):
        for options in configurations:
            _check(given, states, options)


def _check(given: RuleScenario, states: Sequence[State], options: Options) -> None:
    kept = Maintained(given.with_rules(given.first), options)
    kept.check_state(states[0])
    rules = given.first
    for number, (update, following) in enumerate(given.steps):
        upcoming = [u for u, _ in given.steps[number + 1 :]]
        removed = _removed(following, given.steps[number + 1][1]) if upcoming else ()
        try:
            outcome = _step(given, kept, rules, update, following, upcoming, removed)
            kept.check_outcome(outcome, states[number], states[number + 1], update)
            kept.check_state(states[number + 1])
        except Exception as error:
            error.add_note(f"step {number + 1}, {options}")
            raise
        rules = following
        steps_run[options.strategy] += 1


def _step(
    given: RuleScenario,
    kept: Maintained,
    rules: Rules,
    update: Update,
    following: Rules,
    upcoming: Sequence[Update],
    removed: Iterable[str],
) -> Outcome:
    if rules == following:
        return kept.apply(update, upcoming, removed)
    return kept.apply(update, upcoming, removed, analysis=analyse(given.with_rules(following)))


def _removed(rules: Rules, following: Rules) -> list[str]:
    """The names of rules that a step removes (`named`)."""
    return [f"r{number + 1}" for number in rules - following]
