"""Explains a compiled program: which operators run in which order, with estimated and actual rows.

    scan       the facts of the pivot: all of them, or the new ones
    probe      facts that agree with the rows found so far in some columns, by an index or the fact table
    anti-join  rows for which there is no such fact
    filter     rows for which a test is true
    compute    a value for each row
    aggregate  a value for each group
    emit       one head fact for each row

The rows of an operator are those that it passes on; of emit, the rule instances.  An estimate is the
planner's, from when it chose the plan.  It counts what scans and probes find: filters, anti-joins and probes
on all columns are estimated to keep all rows.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tidalog.analysis.normal import Argument, NormalAtom, NormalRule
from tidalog.model.program import Expression, Variable
from tidalog.plan.compile import CompiledComponent, CompiledProgram, growing_predicates, run_pivots
from tidalog.plan.executed import Executed, ExecutedPlan
from tidalog.plan.join_order import (
    HEAD,
    AntiJoin,
    Compute,
    Filter,
    LogicalPlan,
    Lookup,
    NoStatistics,
    Operator,
    Probe,
    Statistics,
    negated,
    update_pivots,
)
from tidalog.plan.lowering import Fold, Stage
from tidalog.plan.program_plan import ComponentPlan, OperatorPlan, ProgramPlan, RulePlan, StagePlan


class Writer(Protocol):
    """How a program's parts are written."""

    def predicate(self, name: str, /) -> str: ...
    def expression(self, expression: Expression, /) -> str: ...
    def rule(self, name: str, /) -> str: ...


def explain(
    program: CompiledProgram,
    writer: Writer,
    statistics: Statistics | None = None,
    executed: Executed | None = None,
    *,
    only: Container[str] | None = None,
    updates: bool = False,
) -> ProgramPlan:
    """The plans of a run from scratch, or with `updates` those that maintain it.  Plans that were `executed`
    come with their rows; others are chosen by the `statistics`, or without any.  `only`: names of rules."""
    explainer = _Explainer(writer, statistics or NoStatistics(), executed or Executed(), only, updates)
    components = [*program.components, *program.constraints]
    found = [explainer.component(number, one) for number, one in enumerate(components, 1) if one.rules]
    return ProgramPlan(tuple(one for one in found if one.stages))


@dataclass(frozen=True)
class _Explainer:
    writer: Writer
    statistics: Statistics
    executed: Executed
    only: Container[str] | None
    updates: bool

    def component(self, number: int, component: CompiledComponent) -> ComponentPlan:
        stages = [self._stage(stage) for stage in component.stages]
        return ComponentPlan(
            number,
            tuple(self.writer.predicate(name) for name in component.predicates),
            component.recursive,
            tuple(stage for stage in stages if stage.plans),
        )

    def _stage(self, stage: Stage) -> StagePlan:
        plans = [
            plan
            for rule in (*stage.asking, *stage.rules)
            if self._is_wanted(rule.name)
            for plan in (self._update_plans(rule, stage) if self.updates else self._run_plans(rule, stage))
        ]
        fold = stage.fold
        if fold is not None and self._is_wanted(fold.name):
            plans.append(self._fold(fold, next(iter(self.executed.of(fold)), None)))
        memos = [memo for memo in stage.memos if self._is_wanted(memo.name)]
        python = [self.writer.expression(memo.expression) for memo in memos]
        return StagePlan(stage.name, tuple(plans), tuple(python))

    def _is_wanted(self, rule: str) -> bool:
        return self.only is None or rule in self.only

    def _run_plans(self, rule: NormalRule, stage: Stage) -> Iterator[RulePlan]:
        growing = growing_predicates(stage)
        executed = {one.pivot: one for one in self.executed.of(rule)}
        for pivot in executed or run_pivots(rule, growing, self.statistics):
            run = executed.get(pivot)
            plan = run.plan if run is not None else stage.plans.plan(rule, pivot, self.statistics)
            assert isinstance(plan, LogicalPlan)
            atom = plan.pivot_atom
            yield self._plan(plan, "new " if atom is not None and atom.predicate in growing else "", run)

    def _update_plans(self, rule: NormalRule, stage: Stage) -> Iterator[RulePlan]:
        """Of rules that ask Python functions no proof is looked for."""
        for pivot in (*update_pivots(rule), *([] if _is_asking(rule, stage) else [HEAD])):
            plan = stage.plans.plan(rule, pivot, self.statistics)
            kind = "unproved " if pivot == HEAD else "changed " if negated(pivot) is None else "changed ~"
            yield self._plan(plan, kind, None)

    def _plan(self, plan: LogicalPlan, kind: str, run: ExecutedPlan | None) -> RulePlan:
        """`kind`: which facts of the pivot are scanned; empty: all."""
        head = plan.rule.head
        assert head is not None
        rows: Sequence[int | None] = run.rows if run is not None else [None] * (len(plan.operators) + 1)
        operators: list[OperatorPlan] = []
        estimate: float | None = None if isinstance(self.statistics, NoStatistics) else 1.0
        if plan.pivot_atom is not None:
            estimate = estimate if kind else plan.given
            scanned = f"{kind}{self._atom(plan.pivot_atom)}"
            operators.append(OperatorPlan("scan", scanned, None, None if kind and run else estimate, rows[0]))
            if kind and run:
                estimate = run.rows[0]  # the planner cannot know how many facts there will be
        for operator, found in zip(plan.operators, rows[1:], strict=True):
            if isinstance(operator, Probe) and estimate is not None:
                estimate = None if operator.fan_out is None else estimate * operator.fan_out
            operators.append(self._operator(operator, estimate, found))
        new = run.new if run is not None else None
        operators.append(OperatorPlan("emit", self._atom(head), None, estimate, rows[-1], new))
        per_fact = bool(kind) and run is None
        return RulePlan(
            plan.rule.name, self.writer.rule(plan.rule.name), plan.pivot, per_fact, tuple(operators)
        )

    def _operator(self, operator: Operator, estimate: float | None, rows: int | None) -> OperatorPlan:
        match operator:
            case Probe(atom, _, bound):
                return OperatorPlan("probe", self._keyed(atom, bound), bound, estimate, rows)
            case Lookup(atom, _):
                columns = tuple(range(len(atom.arguments)))
                return OperatorPlan("probe", self._keyed(atom, columns), columns, estimate, rows)
            case AntiJoin(atom, _, bound):
                return OperatorPlan("anti-join", self._keyed(atom, bound), bound, estimate, rows)
            case Compute(variable, expression):
                text = f"{self._argument(variable)} = {self.writer.expression(expression)}"
                return OperatorPlan("compute", text, None, estimate, rows)
            case Filter(expression):
                return OperatorPlan("filter", self.writer.expression(expression), None, estimate, rows)

    def _fold(self, fold: Fold, run: ExecutedPlan | None) -> RulePlan:
        rows: Sequence[int | None] = run.rows if run is not None else [None] * (len(fold.columns) + 1)
        group = ", ".join(map(self._argument, fold.group))
        first = fold.columns[0]
        relation = self.writer.predicate(first.relation)
        scan = f"{relation}, one row for each {group}" if group else f"{relation}, all in one group"
        operators = [OperatorPlan("scan", scan, first.group, None, rows[0])]
        for column, found in zip(fold.columns, rows[1:], strict=True):
            values = ", ".join(f"{self.writer.predicate(column.relation)}.{c + 1}" for c in column.columns)
            text = f"{self._argument(column.variable)} = #{column.operator}({values})"
            operators.append(OperatorPlan("aggregate", text, None, None, found))
        new = run.new if run is not None else None
        operators.append(OperatorPlan("emit", self._atom(fold.head), None, None, rows[-1], new))
        return RulePlan(fold.name, self.writer.rule(fold.name), None, False, tuple(operators))

    def _atom(self, atom: NormalAtom) -> str:
        name = self.writer.predicate(atom.predicate)
        return f"{name}({', '.join(map(self._argument, atom.arguments))})" if atom.arguments else name

    def _keyed(self, atom: NormalAtom, columns: tuple[int, ...]) -> str:
        """An atom and what it is looked up by."""
        if not columns:
            return f"{self._atom(atom)}, every fact" if atom.arguments else self._atom(atom)
        if len(columns) == len(atom.arguments):
            return f"{self._atom(atom)} on all columns"
        return f"{self._atom(atom)} on {', '.join(self._argument(atom.arguments[c]) for c in columns)}"

    def _argument(self, argument: Argument) -> str:
        if isinstance(argument, Variable) and argument.name.startswith("#"):
            return argument.name  # the value of an aggregate, which no program names
        return self.writer.expression(argument)


def _is_asking(rule: NormalRule, stage: Stage) -> bool:
    return any(one is rule for one in stage.asking)
