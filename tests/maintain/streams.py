"""Generated programs and streams of updates, with rare and difficult cases.

*Tangled* programs have few predicates and few terms, and any of them anywhere, so most are circular in
several ways at once; the generators of layered programs add depth, odd terms, negation, aggregates and
functions.  Streams have facts that are explicit and derived at once, deletions of what is not there, a fact
in both halves of an update, facts that support each other in a circle, updates that take back the one before,
empty ones, unknown predicates, and announcements of updates that never come.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from maintained import CONFIGURATIONS, ORDERS_OF_WORK, Fact, Oracle, Scenario, Update

from generators import EVERYTHING, Features, programs
from tidalog.maintain.choose import Options
from tidalog.model.program import (
    Atom,
    BodyLiteral,
    Call,
    Condition,
    Expression,
    Program,
    Rule,
    Variable,
    variables,
)
from tidalog.model.program import Fact as ProgramFact
from tidalog.model.terms import IRI, Integer, Term

HURRIED = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
TERMS: tuple[Term, ...] = (IRI("a"), IRI("b"), Integer(0), Integer(1))
UNUSED = st.sampled_from((1 << 16, 0, 1, 8))
"""How many ids and rows may be unused before they are closed up."""
LARGEST = 3  # no rule counts further
ARITIES = {"p": 2, "e": 2, "q": 1, "f": 1, "r": 2, "z": 0, "t": 3}
HEADS = ("p", "q", "r", "p", "q", "r", "z", "t", "e")
UNHEARD_OF: tuple[Fact, ...] = (("new", (TERMS[0],)), ("new", (TERMS[1],)), ("newer", ()))
POSITIVE = Features(negation=False, aggregates=(), functions=False, wide=False, choices=False)

Argument = Variable | Term


@st.composite
def atoms(draw: st.DrawFn, names: Sequence[str], arguments: Sequence[Expression]) -> Atom:
    name = draw(st.sampled_from(names))
    return Atom(name, tuple(draw(st.sampled_from(arguments)) for _ in range(ARITIES[name])))


@st.composite
def tangled_rules(draw: st.DrawFn) -> Rule:
    """Joins of up to three atoms with constants and repeated variables; comparisons; a value that is counted
    up; seldom no atom at all."""
    places: tuple[Argument, ...] = (*map(Variable, "xyz"), *map(Variable, "xyz"), TERMS[0])
    size = draw(st.sampled_from((1, 2, 2, 1, 3, 0)))
    body: list[BodyLiteral] = [draw(atoms(tuple(ARITIES), places)) for _ in range(size)]
    if body and draw(st.integers(0, 7)) == 7:
        body.append(body[0])
    bound: list[Expression] = list(dict.fromkeys(v for literal in body for v in variables(literal)))
    if len(bound) > 1 and draw(st.integers(0, 3)) == 3:
        body.append(Condition(Call(draw(st.sampled_from(("!=", "<", "="))), (bound[0], bound[1]))))
    if bound and draw(st.integers(0, 3)) == 3:
        body += [
            Condition(Call(">=", (bound[0], Integer(0)))),
            Condition(Call("<", (bound[0], Integer(LARGEST)))),
        ]
        following = Call("+", (bound[0], Integer(1)))
        if draw(st.booleans()):
            bound = [following, *bound]
        else:
            body.append(Condition(Call("=", (Variable("m"), following))))
            bound = [Variable("m"), *bound]
    elif not size:
        body.append(Condition(Call("=", (Variable("m"), Call("+", (Integer(0), Integer(1)))))))
        bound = [Variable("m")]
    return Rule((draw(atoms(HEADS, (*bound, *bound, TERMS[1]))),), tuple(body))


TANGLED_POOL: tuple[Fact, ...] = tuple(
    (name, row)
    for name, arity in ARITIES.items()
    for row in product(TERMS, repeat=min(arity, 2))
    if arity < 3
) + tuple(("t", row) for row in product(TERMS[:2], repeat=3))


@st.composite
def tangled_programs(draw: st.DrawFn) -> Program:
    rules = draw(st.lists(tangled_rules(), min_size=1, max_size=6))
    facts = draw(st.lists(st.sampled_from(TANGLED_POOL), min_size=2, max_size=10, unique=True))
    return Program(rules=tuple(rules), facts=tuple(ProgramFact(*fact) for fact in facts))


@st.composite
def update_streams(
    draw: st.DrawFn, pool: Sequence[Fact], start: Sequence[Fact], length: int
) -> tuple[Update, ...]:
    """Deletions are of explicit facts or of anything; many updates take back part of the one before."""
    explicit = dict.fromkeys(start)
    result: list[Update] = []
    for _ in range(length):
        kind = draw(st.sampled_from(("plain", "put back", "put back", "take back", "undo", "empty")))
        deletable = tuple(explicit) if explicit and draw(st.integers(0, 2)) else pool
        deletions = draw(st.lists(st.sampled_from(deletable), max_size=4))
        insertions = draw(st.lists(st.sampled_from(pool), max_size=3))
        if kind == "empty":
            deletions, insertions = [], []
        elif result and kind == "put back":
            insertions += result[-1][0]
        elif result and kind == "take back":
            deletions += result[-1][1]
        elif result and kind == "undo":
            deletions, insertions = list(result[-1][1]), list(result[-1][0])
        result.append((tuple(deletions), tuple(insertions)))
        explicit = {fact: None for fact in explicit if fact not in deletions} | dict.fromkeys(insertions)
    return tuple(result)


@st.composite
def scenarios_of(draw: st.DrawFn, program: Program, pool: Sequence[Fact], length: int) -> Scenario:
    start = [(fact.predicate, fact.arguments) for fact in program.facts]
    updates = draw(update_streams(pool, start, length))
    if draw(st.integers(0, 4)) < 4:
        return Scenario(program, updates)
    false = draw(update_streams(pool, start, length))
    announced = tuple((update, *updates[number + 2 :]) for number, update in enumerate(false))
    return Scenario(program, updates, announced)


@st.composite
def tangled_scenarios(draw: st.DrawFn, length: int = 6) -> Scenario:
    pool = TANGLED_POOL if draw(st.booleans()) else (*TANGLED_POOL, *UNHEARD_OF)
    return draw(scenarios_of(draw(tangled_programs()), pool, length))


@st.composite
def fleeting_scenarios(draw: st.DrawFn, length: int = 12) -> Scenario:
    """Almost every fact goes one to three updates after it came; some come again later."""
    program = draw(tangled_programs())
    facts = st.lists(st.sampled_from(TANGLED_POOL), min_size=1, max_size=4, unique=True)
    due: list[list[Fact]] = [[] for _ in range(length + 4)]
    updates: list[Update] = []
    for number in range(length):
        insertions = draw(facts)
        for fact in insertions:
            life = draw(st.sampled_from((1, 1, 2, 2, 3, 4)))
            if life < 4:
                due[number + life].append(fact)
        updates.append((tuple(due[number]), tuple(insertions)))
    return Scenario(program, tuple(updates))


FLEETING_CONFIGURATIONS = [
    Options(strategy, "complete", look_ahead=ahead)
    for strategy in ("ranked", "dred", "bf")
    for ahead in (1, 2, 3)
] + [Options("auto", "auto", look_ahead=3)]


@st.composite
def layered_scenarios(draw: st.DrawFn, features: Features = EVERYTHING, length: int = 4) -> Scenario:
    """Updates of given facts, of some derived ones, and of given rows reversed."""
    program = draw(programs(features))
    return draw(scenarios_of(program, [*layered_pool(program), *UNHEARD_OF[:1]], length))


def layered_pool(program: Program) -> list[Fact]:
    """The given facts of a program, some derived ones, and the given rows reversed."""
    state = Oracle(program).state
    given = sorted(state.explicit, key=repr)
    derived = sorted(state.facts - state.explicit, key=repr)
    return [*given, *derived[:: max(1, len(derived) // 10)], *((name, row[::-1]) for name, row in given)]


def positive_scenarios() -> st.SearchStrategy[Scenario]:
    return st.one_of(tangled_scenarios(), tangled_scenarios(), layered_scenarios(POSITIVE))


@st.composite
def configurations(draw: st.DrawFn) -> list[Options]:
    """Every strategy, each with some marking and some look-ahead."""
    return [
        draw(st.sampled_from([o for o in CONFIGURATIONS if (o.strategy, o.order) == wanted]))
        for wanted in ORDERS_OF_WORK
    ]
