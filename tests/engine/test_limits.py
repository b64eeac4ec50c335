"""A run that is stopped leaves everything as it was, names the rule at work, and can be tried again."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine_harness import loaded, model_of
from generators import EVERYTHING, programs
from tidalog.analysis import analyse
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.limits import Limits, Progress
from tidalog.lang import parse
from tidalog.maintain.materialise import NO_LIMITS, materialise
from tidalog.model.errors import RunError
from tidalog.model.program import Fact, Program
from tidalog.model.terms import Integer, Term
from tidalog.reference import evaluate

CHAIN = "".join(f"e({n}, {n + 1})." for n in range(16))
RUNAWAY = "n(0). runaway: n(?m) :- n(?k), ?m = ?k + 1."
CLOSURE = f"""{CHAIN} p(0, 0). p(5, 5). q(1). name("a"). name("b").
    first: p(?x, ?y) :- e(?x, ?y).
    more: p(?x, ?z) :- e(?x, ?y), p(?y, ?z).
    upper: name(?u) :- name(?n), ?u = UCASE(?n).
    counted: c(?x, #count(?y)) :- p(?x, ?y).
    rest: q(?x) :- e(?x, ?y), ~c(?x, 3)."""
ENOUGH = 100_000


def digest(engine: EmbeddedEngine) -> tuple[object, ...]:
    """All that a later run could see: terms by id, facts by id, counts, what is explicit."""
    facts = [
        (name, [c.tolist() for c in engine.columns(name)], engine.ids(name).tolist(), engine.count(name))
        for name in engine.names
        if engine.count(name)
    ]
    terms = [repr(engine.dictionary.term(i)) for i in range(len(engine.dictionary))]
    return len(engine.store), facts, terms, engine.derived


def fails(
    engine: EmbeddedEngine,
    program: Program,
    number: str,
    rule: str,
    limits: Limits = NO_LIMITS,
    progress: Callable[[Progress], None] | None = None,
    functions: dict[str, Callable[..., object]] | None = None,
) -> None:
    """The run raises this diagnostic with the rule's name, and nothing has changed."""
    functions = functions or {}
    before = digest(engine)
    with pytest.raises(RunError) as raised:
        analysis = analyse(program, functions=list(functions))
        materialise(engine, analysis, limits=limits, progress=progress, functions=functions)
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.number == number
    assert rule in diagnostic.message
    assert digest(engine) == before


def succeeds(engine: EmbeddedEngine, program: Program) -> None:
    analysis = analyse(program)
    materialise(engine, analysis)
    assert model_of(engine, analysis) == {p: rows for p, rows in evaluate(program).items() if rows}


def insert(engine: EmbeddedEngine, facts: list[Fact]) -> None:
    for fact in facts:
        engine.insert(fact.predicate, [engine.dictionary.ids_of([t]) for t in fact.arguments], 1)


def interrupt(_: Progress) -> None:
    raise KeyboardInterrupt


STOPS = {
    "facts": ("T050", Limits(max_facts=ENOUGH), None),
    "seconds": ("T051", Limits(max_seconds=0.0), None),
    "memory": ("T052", Limits(max_memory=1_000_000), None),
    "interrupt": ("T053", Limits(), interrupt),
}


@pytest.mark.parametrize("stop", STOPS)
def test_a_rule_that_runs_away_is_stopped_and_named(stop: str) -> None:
    number, limits, progress = STOPS[stop]
    program = parse(f"{CLOSURE} {RUNAWAY}", "program")
    engine = loaded(analyse(parse("n(0).", "facts")))
    fails(engine, parse(RUNAWAY, "program"), number, "runaway", limits, progress)
    engine = loaded(analyse(program))
    for _ in range(2):
        fails(engine, program, number, "", limits, progress)
    succeeds(engine, parse(f"{CLOSURE} n(0). n(?m) :- n(?k), ?m = ?k + 1, ?k < 9.", "program"))


@pytest.mark.parametrize("most", [22, 30, 60, 120, 180])
def test_stopped_anywhere_the_next_run_is_right(most: int) -> None:
    """Explicit and derived facts of one predicate; the run is stopped at different places."""
    program = parse(CLOSURE, "program")
    engine = loaded(analyse(program))
    for _ in range(2):
        fails(engine, program, "T050", "", Limits(max_facts=most))
    succeeds(engine, program)


@pytest.mark.parametrize("most", [25, 60, 150])
def test_after_a_stop_facts_are_inserted_as_if_it_had_not_been(most: int) -> None:
    program = parse(CLOSURE, "program")
    engine = loaded(analyse(program))
    fails(engine, program, "T050", "", Limits(max_facts=most))
    more = parse('p(3, 4). p(7, 70). e(16, 17). q(15). name("c"). c(1, 1).', "more")
    insert(engine, list(more.facts))
    succeeds(engine, Program(rules=program.rules, facts=(*program.facts, *more.facts)))


@pytest.mark.parametrize("most", [25, 60, 150])
def test_after_a_stop_other_rules_see_only_what_was_there(most: int) -> None:
    """The stopped run derived facts of predicates that the next one only reads."""
    program = parse(CLOSURE, "program")
    engine = loaded(analyse(program))
    fails(engine, program, "T050", "", Limits(max_facts=most))
    reading = parse(
        """r(?x) :- p(?x, ?y). s(#count(?x)) :- p(?x, ?y). t(?x) :- e(?x, ?y), ~p(?x, ?x). u(?u) :- name(?u).
        v(?x, ?y) :- q(?x), p(?y, ?x). w(?x) :- p(?x, ?x), q(?x).""",
        "reading",
    )
    succeeds(engine, Program(rules=reading.rules, facts=program.facts))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs(EVERYTHING), most=st.integers(0, 30), more=st.integers(0, 20))
def test_any_program_stopped_anywhere_can_be_run_again(program: Program, most: int, more: int) -> None:
    analysis = analyse(program)
    engine = loaded(analysis)
    for limit in (most, most + more):
        before = digest(engine)
        try:
            materialise(engine, analysis, limits=Limits(max_facts=limit))
        except RunError:
            assert digest(engine) == before
    succeeds(engine, program)


def test_a_violated_constraint_is_named_with_examples() -> None:
    program = parse(f"{CLOSURE} p(9, 2). never: :- p(?x, ?y), ?x > ?y, ?x = 9.", "program")
    engine = loaded(analyse(program))
    fails(engine, program, "T055", "never")
    with pytest.raises(RunError, match=r"\?x = 9, \?y = 2"):
        materialise(engine, analyse(program))
    succeeds(engine, parse(f"{CLOSURE} p(9, 2).", "program"))


def test_a_run_that_fails_after_one_that_did_not_leaves_the_explicit_facts() -> None:
    program = parse(f"{CLOSURE} never: :- p(?x, ?y), ?x > ?y.", "program")
    engine = loaded(analyse(program))
    materialise(engine, analyse(program))
    insert(engine, list(parse("p(9, 2).", "more").facts))
    with pytest.raises(RunError):
        materialise(engine, analyse(program))
    assert {name: engine.count(name) for name in "epqc"} == {"e": 16, "p": 3, "q": 1, "c": 0}
    succeeds(engine, parse(f"{CLOSURE} p(9, 2).", "program"))


@pytest.mark.parametrize(
    "body", ["d(?x), ?y = 1 / ?x", "d(?x), ?y = STRLEN(?x)", "d(?x), ?x < ?x + 1, ?y = ?x + 1, ?x / ?x = 1"]
)
def test_strict_makes_a_failed_computation_an_error(body: str) -> None:
    text = f'{CLOSURE} d(0). d(1). d("a"). strictly: f(?y) :- {body}.'
    engine = loaded(analyse(parse(text, "program")))
    fails(engine, parse(text, "program"), "T054", "strictly", Limits(strict=True))
    succeeds(engine, parse(text, "program"))


def test_strict_passes_what_can_be_computed() -> None:
    program = parse(f"{CLOSURE} d(2). f(?y) :- d(?x), ?y = 1 / ?x.", "program")
    engine = loaded(analyse(program))
    materialise(engine, analyse(program), limits=Limits(strict=True))
    assert engine.count("f") == 1


CALLS = f"{CLOSURE} calls: g(?y) :- e(?x, ?z), ?y = ASK(?x)."


def test_an_interrupt_inside_a_function_stops_the_run() -> None:
    def ask(number: int) -> int:
        if number == 7:
            raise KeyboardInterrupt
        return number * 1_000_003

    program = parse(CALLS, "program")
    engine = loaded(analyse(program, functions={"ASK": (1, 1)}))
    fails(engine, program, "T053", "calls", functions={"ASK": ask})
    succeeds(engine, parse(CLOSURE, "program"))


@pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit(3), MemoryError(), RecursionError()])
def test_an_error_inside_a_function_is_the_callers_and_changes_nothing(error: BaseException) -> None:
    def ask(number: int) -> int:
        if number == 7:
            raise error
        return number * 1_000_003

    analysis = analyse(parse(CALLS, "program"), functions={"ASK": (1, 1)})
    engine = loaded(analysis)
    before = digest(engine)
    for _ in range(2):
        with pytest.raises(type(error)):
            materialise(engine, analysis, functions={"ASK": ask})
        assert digest(engine) == before
    succeeds(engine, parse(CLOSURE, "program"))


@pytest.mark.parametrize("failure", [ZeroDivisionError, ValueError, TypeError, KeyError])
def test_a_function_that_cannot_cope_has_no_value_there(failure: type[Exception]) -> None:
    def ask(number: int) -> Term | None:
        if number % 3 == 0:
            raise failure
        return None if number % 3 == 1 else Integer(-number)

    analysis = analyse(parse(CALLS, "program"), functions={"ASK": (1, 1)})
    engine = loaded(analysis)
    stats = materialise(engine, analysis, functions={"ASK": ask})
    assert engine.count("g") == 5
    assert stats.uncomputed["calls"] == 11
    assert model_of(engine, analysis) == {
        p: rows for p, rows in evaluate(parse(CALLS, "program"), functions={"ASK": ask}).items() if rows
    }


def test_progress_only_goes_up() -> None:
    seen: list[Progress] = []
    analysis = analyse(parse(CLOSURE, "program"))
    engine = loaded(analysis)
    stats = materialise(engine, analysis, progress=seen.append)
    assert seen
    for earlier, later in pairwise(seen):
        assert (earlier.component, earlier.seconds) <= (later.component, later.seconds)
        assert earlier.rounds <= later.rounds
        assert earlier.facts <= later.facts
        assert earlier.derivations <= later.derivations
    assert all(0 <= step.component <= step.components for step in seen)
    assert seen[-1].derivations <= stats.derivations
