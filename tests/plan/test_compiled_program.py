"""Laws of compiled programs: one plan for each rule and pivot, shared, and kept as long as it fits."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine_harness import loaded
from generators import EVERYTHING, programs
from tidalog.analysis import analyse
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.functions import is_native
from tidalog.engine.plan_code import Code
from tidalog.engine.plan_compiler import Filters, compile_plan
from tidalog.lang import parse
from tidalog.maintain.maintainer import Maintainer
from tidalog.maintain.materialise import materialise
from tidalog.model.program import Program
from tidalog.plan.compile import CompiledProgram, compile, growing_predicates, run_pivots
from tidalog.plan.join_order import HEAD, NoStatistics, plan, update_pivots

ROUNDS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

CLOSURE = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""


class Counts:
    """Statistics of relations by their numbers of facts."""

    def __init__(self, **counts: int) -> None:
        self.counts = counts

    def count(self, predicate: str, /) -> int:
        return self.counts.get(predicate, 0)

    def fan_out(self, predicate: str, columns: tuple[int, ...], arguments: object = (), /) -> float:
        return float(self.count(predicate) or 10**6) / 10 ** len(columns)


def compiled(text: str) -> CompiledProgram:
    return compile(analyse(parse(text, "test")), is_native)


@ROUNDS
@given(programs(EVERYTHING))
def test_rows_that_are_emitted_are_derivations(program: Program) -> None:
    analysis = analyse(program)
    engine = loaded(analysis)
    stats = materialise(engine, analysis)
    assert engine.executed.derivations == stats.derivations


@ROUNDS
@given(programs(EVERYTHING))
def test_a_run_executes_one_plan_for_each_rule_and_pivot(program: Program) -> None:
    analysis = analyse(program)
    whole = compile(analysis, is_native)
    engine = loaded(analysis)
    materialise(engine, whole)
    for stage in whole.stages:
        for rule in (*stage.asking, *stage.rules):
            growing = growing_predicates(stage)
            pivots = [one.pivot for one in engine.executed.of(rule)]
            wanted = run_pivots(rule, growing, engine)
            if any(atom.predicate in growing for atom in rule.atoms):
                assert pivots == wanted
            else:
                assert len(pivots) == 1
        if stage.fold is not None:
            assert len(engine.executed.of(stage.fold)) == 1


@given(st.lists(st.integers(0, 9), max_size=9))
def test_plans_are_found_by_the_predicate_of_their_pivot(pivots: list[int]) -> None:
    plans = Code(pivots=pivots, starts=list(range(len(pivots)))).plans()
    count = int(plans.first[0])
    with_plans, bounds = plans.first[1 : count + 1].tolist(), plans.first[count + 1 :].tolist()
    assert with_plans == sorted(set(pivots))
    for i, predicate in enumerate(with_plans):
        found = plans.order[bounds[i] : bounds[i + 1]].tolist()
        assert found == [number for number, pivot in enumerate(pivots) if pivot == predicate]


def test_code_knows_where_its_operators_start() -> None:
    (rule,) = compiled("p(?x) :- a(?x, ?y), b(?y), ~c(?y), ?y > 3 .").components[-1].rules
    engine, code = EmbeddedEngine(), Code()
    for pivot in (None, 0, 1, HEAD):
        logical = plan(rule, pivot, engine)
        number = compile_plan(logical, engine.catalogue, code, Filters(lambda _: (0, 0, 0)))
        starts = code.operators[number]
        assert len(starts) == len(logical.operators) + 1
        lengths = [code.numbers[at + 1] for at in starts]
        ends = code.starts[number + 1 :] or [len(code.numbers)]
        assert np.cumsum([starts[0], *lengths]).tolist() == [*starts, ends[0]]


def test_a_plan_is_kept_while_relations_have_about_the_same_size() -> None:
    (stage,) = compiled(CLOSURE).components[-1].stages
    rule = stage.rules[1]
    first = stage.plans.plan(rule, 0, Counts(path=1000, edge=100))
    assert stage.plans.plan(rule, 0, Counts(path=4000, edge=25)) is first
    assert stage.plans.plan(rule, 0, Counts(path=4001, edge=100)) is not first
    empty = stage.plans.plan(rule, 0, NoStatistics())
    assert stage.plans.plan(rule, 0, Counts(edge=1)) is not empty


def test_materialisation_and_maintenance_share_plans() -> None:
    whole = compiled(CLOSURE + "edge(1, 2) . edge(2, 3) . edge(3, 1) .")
    engine = loaded(whole.analysis)
    materialise(engine, whole)
    maintainer = Maintainer(engine, whole)
    assert maintainer.program is whole
    maintainer.prepare()
    (stage,) = whole.components[-1].stages
    for rule in stage.rules:
        for pivot in (HEAD, *update_pivots(rule)):
            chosen = stage.plans.plan(rule, pivot, engine)
            assert stage.plans.plan(rule, pivot, engine) is chosen


def test_a_rule_edit_keeps_the_components_that_it_does_not_change() -> None:
    before = compiled(CLOSURE + "far(?x) :- path(?x, ?y), ~near(?y) . :- far(0) .")
    after = before.edited(analyse(parse(CLOSURE + "far(?x) :- path(?x, ?x) . :- far(0) .", "test")))
    known = {component.predicates: component for component in before.components}
    same = [component for component in after.components if known.get(component.predicates) is component]
    assert [component.predicates for component in same] == [("edge",), ("path",)]
    assert after.constraints == before.constraints
    assert after.constraints[0] is before.constraints[0]
