"""Materialisation from scratch: component by component, semi-naive inside one.

Invariant.  When a component is done, the store holds exactly the consequences of its rules over what lies
below it, and every rule instance has been derived once: by the plan whose pivot is the instance's fact with
the largest id (the first such atom, where it occurs twice).  Atoms before the pivot match smaller ids, atoms
after it ids up to the pivot's.  Atoms of lower components match any id: they are complete before.

A component runs in stages, each to its fixpoint: rules that collect groups; folds; everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidalog.analysis.normal import NormalRule
from tidalog.builtins import NO_FUNCTIONS, PythonFunction
from tidalog.engine import opcodes as op
from tidalog.engine.addresses import Owner
from tidalog.engine.binding_blocks import (
    BLOCK,
    COUNTS_AT,
    COUNTS_SIZE,
    FROM_SCRATCH,
    IN_UPDATE,
    LEFT,
    LEFT_AT,
    LEFT_SIZE,
    MODE,
    BindingBlocks,
    new_blocks,
)
from tidalog.engine.bits import NEW_STATE, STATUS_DERIVED, STATUS_NEW
from tidalog.engine.block_executor import NEW_FACTS
from tidalog.engine.delta_scan import (
    CURRENT,
    ROUND,
    Plans,
    new_delta_scan,
    scan_delta,
    start_empty,
    start_plan,
)
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.fact_kernels import FIRST, LAST
from tidalog.engine.plan_code import Code
from tidalog.engine.plan_compiler import Catalogue, Filters, compile_fold, compile_plan, group_index
from tidalog.maintain.exact_groups import fold_groups_exactly
from tidalog.maintain.group_scan import GroupedFolds
from tidalog.maintain.memos import answer_all
from tidalog.maintain.runner import Runner
from tidalog.plan.compile import CompiledComponent, growing_predicates, run_pivots
from tidalog.plan.executed import Executed, ExecutedPlan
from tidalog.plan.join_order import LogicalPlan, Statistics
from tidalog.plan.lowering import Fold, Memo, Stage, is_hidden


class SemiNaive:
    """Evaluates sets of rules on an engine; the rules' lower predicates are complete."""

    def __init__(
        self,
        engine: EmbeddedEngine,
        runner: Runner,
        functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
        in_update: bool = False,
        executed: Executed | None = None,
        catalogue: Catalogue | None = None,
        statistics: Statistics | None = None,
    ) -> None:
        """`in_update`: facts go to the log of the current update, and only its new state is read.
        `executed`: gets the plans that were run, with their counts of rows.  `catalogue` and `statistics`:
        others than those of the engine, for plans that are compiled."""
        self.catalogue = catalogue or engine.catalogue
        self.statistics: Statistics = statistics or engine
        self.engine, self.runner, self.functions = engine, runner, functions
        self.in_update, self.executed = in_update, executed
        self._status = STATUS_NEW if in_update else STATUS_DERIVED
        self._alone: set[str] = set()
        self._grouped = GroupedFolds(engine, runner)

    def _some_may_be_gone(self) -> bool:
        """Whether there are ids whose facts are deleted."""
        return self.in_update or self.engine.store.live < len(self.engine.store)

    def _filters(self, order: Callable[[int], int]) -> Filters:
        """From scratch every id has a fact; in an update the new state counts, after one what is left."""
        some_may_be_gone = self._some_may_be_gone()
        mask, want = NEW_STATE if some_may_be_gone else (0, 0)
        negation = (mask, want, op.ANY_ID)
        return Filters(
            lambda position: (mask, want, order(position)), negation, negation, not some_may_be_gone
        )

    def run_component(self, component: CompiledComponent) -> None:
        """Runs all rules for some predicates that depend on each other."""
        self._alone = {predicate for predicate in component.single if self.engine.count(predicate) == 0}
        for stage in component.stages:
            self.run_stage(stage)

    # --- one stage ----------------------------------------------------------------------------------

    def run_stage(self, stage: Stage) -> None:
        before = self.runner.stats.derivations
        if stage.fold is not None:
            self._fold(stage.fold)
        else:
            self._fixpoint(stage)
        self.engine.note_derivations(stage.predicates, self.runner.stats.derivations - before)

    def _fixpoint(self, stage: Stage) -> None:
        """Runs the rules of a stage over the facts there are and those they derive."""
        rules, memos = (*stage.asking, *stage.rules), stage.memos
        self._declare(rules, memos)
        growing = growing_predicates(stage)
        answered = [len(self.engine.store) if self.in_update else 0] * len(memos)
        self._run_base([r for r in rules if not _grows(r, growing)], stage)
        recursive = _Plans()
        for rule in rules:
            if _grows(rule, growing):
                for pivot in run_pivots(rule, growing, self.statistics):
                    plan = stage.plans.plan(rule, pivot, self.statistics)
                    self._add(recursive, plan, self._filters(_order(plan, growing)))
        if recursive.logical:
            self._run_delta_scan(
                recursive,
                self._begin(growing),
                -1,
                lambda: answer_all(self.engine, self.runner, self.functions, memos, answered, self._status),
            )

    def _run_base(self, rules: Sequence[NormalRule], stage: Stage) -> None:
        """Rules whose bodies are complete: one pass over the facts of one atom each."""
        scanning, single = _Plans(), _Plans()
        for rule in rules:
            plan = stage.plans.from_scratch(rule, self.statistics)
            filters = self._filters(lambda _: op.ANY_ID)
            self._add(single if plan.pivot is None else scanning, plan, filters, self._is_new(rule))
        self._run_single(single)
        self._run_scans(scanning)

    def _add(self, plans: _Plans, plan: LogicalPlan, filters: Filters, is_new: bool = False) -> None:
        compile_plan(plan, self.catalogue, plans.code, filters, is_new)
        plans.logical.append(plan)

    def _is_new(self, rule: NormalRule) -> bool:
        """Whether no head comes twice: nothing else gives facts of its predicate, and it names every variable
        that the body's facts differ in."""
        assert rule.head is not None
        if self.in_update:
            return False
        if rule.head.predicate not in self._alone and not is_hidden(rule.head.predicate):
            return False
        return all(atom.variables <= rule.head.variables for atom in rule.atoms)

    def _fold(self, fold: Fold) -> None:
        engine = self.engine
        head = fold.head.predicate
        is_new = (head in self._alone or is_hidden(head)) and not self.in_update
        engine.predicate(head, len(fold.head.arguments))
        groups, facts = self.runner.stats.derivations, len(engine.store)
        if not self._some_may_be_gone() and self._grouped.run(fold, is_new):
            if self.executed is not None:
                rows = self.runner.stats.derivations - groups
                every = (rows,) * (len(fold.columns) + 1)
                self.executed.add(ExecutedPlan(fold, every, len(engine.store) - facts))
            return
        index = group_index(fold.columns[0], self.catalogue)
        self.run_groups(fold, engine.indexes.groups(index, engine.store), is_new)

    def run_groups(self, fold: Fold, facts: npt.NDArray[np.int32], is_new: bool = False) -> None:
        """Derives the facts of the groups that some facts stand for, one of each."""
        plans = _Plans()
        compile_fold(fold, self.catalogue, plans.code, is_new)
        plans.logical.append(fold)
        left = self._run_list(plans, facts)
        if len(left):
            operators = plans.code.operators[0]
            groups = [(int(fact), operators.index(at)) for fact, at in left.tolist()]
            derivations, size = self.runner.stats.derivations, len(self.engine.store)
            fold_groups_exactly(self.engine, self.runner, self.functions, fold, groups, self._status)
            if len(plans.counts):
                plans.counts[operators[-1]] += self.runner.stats.derivations - derivations
                plans.counts[operators[-1] + NEW_FACTS] += len(self.engine.store) - size
        self._finish(plans)

    def _declare(self, rules: Sequence[NormalRule], memos: Sequence[Memo]) -> None:
        for memo in memos:
            self.engine.predicate(memo.ask, len(memo.inputs))
            self.engine.predicate(memo.memo, len(memo.inputs) + 1)
        for rule in rules:
            assert rule.head is not None
            for atom in (rule.head, *rule.atoms, *rule.negations):
                self.engine.predicate(atom.predicate, len(atom.arguments))

    def _begin(self, predicates: frozenset[str]) -> int:
        """The first fact of any of these predicates, or the end of the store."""
        engine = self.engine
        extents = [engine.store.arrays.extent[engine.predicate(p)] for p in predicates if engine.count(p) > 0]
        return min((int(e[FIRST]) for e in extents), default=len(engine.store))

    # --- driving the block executor -----------------------------------------------------------------

    def _run_single(self, plans: _Plans) -> None:
        """Plans that begin with one empty row."""
        if plans.logical:
            arrays, blocks = self._start(plans)
            for number, at in enumerate(plans.code.starts):
                start_empty(arrays.code, at, blocks.at)
                self.runner.drive_plan(plans.code, arrays, number, blocks, self._status)
            self._finish(plans)

    def _run_list(self, plans: _Plans, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """One plan over given facts.  Returns those that it leaves to Python, and the operator that did."""
        arrays, blocks = self._start(plans)
        left = np.empty((len(ids), 2), np.int32)
        control = blocks.arrays.control
        control[LEFT_AT], control[LEFT_SIZE] = left.ctypes.data, left.size
        for begin in range(0, len(ids), BLOCK):
            block = ids[begin : begin + BLOCK]
            start_plan(self.engine.store.at, arrays.filters, arrays.code, 0, block, len(block), blocks.at)
            self.runner.drive_plan(plans.code, arrays, 0, blocks, self._status)
        return left[: int(control[LEFT])]

    def _run_scans(self, plans: _Plans) -> None:
        """Plans over all facts of their pivots' predicates as they are now."""
        store = self.engine.store
        extents = [store.arrays.extent[p] for p in set(plans.code.pivots) if store.count(p)]
        if extents:
            begin, end = min(int(e[FIRST]) for e in extents), max(int(e[LAST]) for e in extents) + 1
            self._run_delta_scan(plans, begin, end, lambda: False)
        else:
            self._finish(plans)

    def _run_delta_scan(self, plans: _Plans, begin: int, limit: int, between: Callable[[], bool]) -> None:
        """Scans, and continues as long as `between` adds facts."""
        engine = self.engine
        arrays, blocks = self._start(plans)
        scan = new_delta_scan(len(engine.names), BLOCK, begin, limit)
        control = scan.control
        of_plans, of_scan = Owner(arrays), Owner(scan)

        def proceed() -> int:
            return int(scan_delta(*engine.at, of_plans.at, blocks.at, of_scan.at, self._status))

        def rule() -> str:
            return plans.code.names[control[CURRENT]] if control[CURRENT] >= 0 else ""

        while True:
            self.runner.drive(proceed, plans.code, blocks.arrays.control, rule, lambda: int(control[ROUND]))
            if not between():
                break
        self.runner.stats.rounds += int(control[ROUND])
        self._finish(plans)

    def _start(self, plans: _Plans) -> tuple[Plans, Owner[BindingBlocks]]:
        """The arrays of some plans, and blocks for their bindings."""
        code = plans.code
        blocks = new_blocks(code.levels, code.registers, code.arity, bitmaps=code.bitmaps)
        control = blocks.control
        control[MODE] = IN_UPDATE if self.in_update else FROM_SCRATCH
        if self.executed is not None:
            plans.counts = np.zeros(len(code.numbers), np.int64)
            control[COUNTS_AT], control[COUNTS_SIZE] = plans.counts.ctypes.data, len(plans.counts)
        return code.plans(), Owner(blocks)

    def _finish(self, plans: _Plans) -> None:
        if self.executed is None:
            return
        counts: list[int] = plans.counts.tolist() or [0] * len(plans.code.numbers)
        for plan, operators in zip(plans.logical, plans.code.operators, strict=True):
            rows = tuple(counts[at] for at in operators)
            self.executed.add(ExecutedPlan(plan, rows, counts[operators[-1] + NEW_FACTS]))


class _Plans:
    """Plans that run together, and their code."""

    def __init__(self) -> None:
        self.code = Code()
        self.logical: list[LogicalPlan | Fold] = []
        self.counts: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        """[offset in the code]: rows, see `count_rows`."""


def _grows(rule: NormalRule, growing: frozenset[str]) -> bool:
    return any(atom.predicate in growing for atom in rule.atoms)


def _order(plan: LogicalPlan, growing: frozenset[str]) -> Callable[[int], int]:
    """Atoms of growing predicates before the pivot match smaller ids, after it up to its own."""
    atoms, pivot = plan.rule.atoms, plan.pivot
    assert pivot is not None

    def order(position: int) -> int:
        if atoms[position].predicate not in growing:
            return op.ANY_ID
        return op.BELOW_PIVOT if position < pivot else op.UP_TO_PIVOT

    return order
