"""Laws of the meaning, on generated programs: what is written in another order means the same."""

import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from generators import EVERYTHING, SHUFFLES, Features, programs
from tidalog.model.program import Aggregate, Atom, Condition, Negation, Program
from tidalog.reference import evaluate
from tidalog.reference.clauses import clauses_of
from tidalog.reference.naive import _apply_all

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.mark.parametrize("change", SHUFFLES)
@settings(RELAXED, max_examples=100)
@given(program=programs(), seed=st.integers(0, 2**16))
def test_order_and_names_change_nothing(change: str, program: Program, seed: int) -> None:
    assert evaluate(SHUFFLES[change](program, random.Random(seed))) == evaluate(program)


@settings(RELAXED, max_examples=100)
@given(programs())
def test_the_model_holds_the_facts_and_is_closed_under_the_rules(program: Program) -> None:
    model = evaluate(program)
    for fact in program.facts:
        assert fact.arguments in model[fact.predicate]
    known = {predicate: set(rows) for predicate, rows in model.items()}
    assert not _apply_all(clauses_of(program, {}), known, {})


@settings(RELAXED, max_examples=40)
@given(programs(Features(negation=False, aggregates=())), st.data())
def test_without_negation_and_aggregates_fewer_facts_give_no_more(
    program: Program, data: st.DataObject
) -> None:
    kept = data.draw(st.lists(st.sampled_from(program.facts), unique=True))
    smaller = evaluate(Program(rules=program.rules, facts=tuple(kept)))
    larger = evaluate(program)
    assert all(rows <= larger[predicate] for predicate, rows in smaller.items())


def test_generated_programs_use_the_whole_language_and_derive_something() -> None:
    """Guards the generator: a change that makes most programs empty or tame would weaken every law."""
    seen: Counter[str] = Counter()

    @settings(RELAXED, max_examples=150, derandomize=True, database=None)
    @given(programs(EVERYTHING))
    def look(program: Program) -> None:
        seen["programs"] += 1
        given_rows = Counter(fact.predicate for fact in program.facts)
        seen["derive"] += any(len(rows) > given_rows[name] for name, rows in evaluate(program).items())
        kinds = set()
        for rule in program.rules:
            kinds |= {type(literal).__name__ for literal in rule.body}
            kinds |= {a.operator for head in rule.heads for a in head.arguments if isinstance(a, Aggregate)}
            kinds |= {f"arity {head.arity}" for head in rule.heads}
            own = [
                x
                for x in rule.body
                if isinstance(x, Atom) and x.predicate in {h.predicate for h in rule.heads}
            ]
            kinds |= {"linear recursion"} if len(own) == 1 else {"non-linear recursion"} if own else set()
            kinds |= {"several heads"} if len(rule.heads) > 1 else set()
        seen.update(kinds)

    look()
    assert seen["derive"] >= 0.6 * seen["programs"]
    wanted = {
        Atom.__name__,
        Negation.__name__,
        Condition.__name__,
        "count",
        "sum",
        "min",
        "max",
        "avg",
        "median",
    }
    wanted |= {"linear recursion", "non-linear recursion", "several heads", "arity 0", "arity 8"}
    assert wanted <= seen.keys()
