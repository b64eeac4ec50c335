"""Plans as text and as data.  The texts are in `golden/`: NAME.rls, and what `check --plan` (NAME.check.txt),
`run --plan` (NAME.run.txt) and `check --plan-updates` (NAME.updates.txt) print for it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import tidalog
from engine_harness import loaded
from generators import EVERYTHING, programs
from tidalog.analysis import analyse
from tidalog.api.plans import program_plan
from tidalog.engine.functions import is_native
from tidalog.lang import parse
from tidalog.maintain.materialise import materialise
from tidalog.model.errors import UsageError
from tidalog.model.program import Program
from tidalog.plan.compile import compile
from tidalog.plan.join_order import HEAD, update_pivots
from tidalog.plan.program_plan import ProgramPlan, RulePlan

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.rls"))
ROUNDS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def plans_of(plan: ProgramPlan) -> list[RulePlan]:
    return [one for component in plan.components for stage in component.stages for one in stage.plans]


def explained(name: str, kind: str) -> ProgramPlan:
    path = GOLDEN / f"{name}.rls"
    if kind == "run":
        with tidalog.open() as kb:
            kb.load(path)
            kb.materialise()
            return kb.plan()
    analysis = analyse(parse(path.read_text(), name))
    return program_plan(compile(analysis, is_native), updates=kind == "updates")


@pytest.mark.parametrize("kind", ["check", "run", "updates"])
@pytest.mark.parametrize("name", NAMES)
def test_text(name: str, kind: str) -> None:
    assert f"{explained(name, kind)}\n" == (GOLDEN / f"{name}.{kind}.txt").read_text()


@ROUNDS
@given(programs(EVERYTHING))
def test_every_rule_has_one_plan_for_each_pivot(program: Program) -> None:
    analysis = analyse(program)
    whole = compile(analysis, is_native)
    for updates in (False, True):
        plans = plans_of(program_plan(whole, updates=updates))
        assert {rule.name for rule in analysis.rules} == {plan.rule for plan in plans}
    lowered = Counter(
        (rule.name, pivot)
        for stage in whole.stages
        for rule in (*stage.asking, *stage.rules)
        for pivot in update_pivots(rule)
    )
    lowered += Counter((rule.name, HEAD) for stage in whole.stages for rule in stage.rules)
    lowered += Counter((stage.fold.name, None) for stage in whole.stages if stage.fold is not None)
    assert Counter((plan.rule, plan.pivot) for plan in plans) == lowered


@ROUNDS
@given(programs(EVERYTHING))
def test_emitted_rows_are_the_derivations_of_the_run(program: Program) -> None:
    analysis = analyse(program)
    whole, engine = compile(analysis, is_native), loaded(analysis)
    stats = materialise(engine, whole)
    plans = plans_of(program_plan(whole, statistics=engine, executed=engine.executed))
    assert sum(plan.operators[-1].rows or 0 for plan in plans) == stats.derivations
    for plan in plans:
        assert plan.operators[-1].operator == "emit"
        assert all(one.rows is not None for one in plan.operators)
        new = plan.operators[-1].new
        assert new is not None and new <= (plan.operators[-1].rows or 0)


def test_one_predicate_or_rule() -> None:
    with tidalog.open() as kb:
        kb.load(GOLDEN / "literals.rls")
        assert {plan.rule for plan in plans_of(kb.plan("total"))} == {"r2"}
        assert {plan.rule for plan in plans_of(kb.plan("paid"))} == {"paid"}
        with pytest.raises(UsageError, match="did you mean total"):
            kb.plan("totl")
        kb.insert("http://example.org/p", [("a",)])
        for name in ("sale", "http://example.org/p", "<http://example.org/p>"):
            assert str(kb.plan(name)) == "no rules", "it has facts and no rules"
    with tidalog.open() as kb:
        kb.load(GOLDEN / "triples.rls")
        assert {plan.rule for plan in plans_of(kb.plan("ex:meets"))} == {"r1"}


def test_estimates_before_a_run_and_rows_after_it() -> None:
    with tidalog.open() as kb:
        kb.load("p(1, 2) . p(2, 3) . q(?x, ?z) :- p(?x, ?y), p(?y, ?z) .")
        (before,) = plans_of(kb.plan())
        assert [one.rows for one in before.operators] == [None] * 3
        assert before.operators[0].estimate == 2
        kb.materialise()
        (after,) = plans_of(kb.plan())
        assert [one.rows for one in after.operators] == [2, 1, 1]
        kb.rules.add("r(?x) :- q(?x, _) .")
        later = {plan.rule: plan.operators[-1].rows for plan in plans_of(kb.plan())}
        assert set(later.values()) == {1, None}, "a rule edit keeps the rows of other rules"


def test_as_data() -> None:
    plan = explained("closure", "run").to_dict()
    component = plan["components"][0]  # type: ignore[index]
    assert (component["number"], component["predicates"], component["recursive"]) == (2, ("path",), True)
    scan, emit = component["stages"][0]["plans"][0]["operators"]
    assert (scan["operator"], scan["rows"], emit["new"]) == ("scan", 4, 4)


def test_no_rules() -> None:
    with tidalog.open() as kb:
        kb.load("p(1) .")
        assert str(kb.plan()) == "no rules"
