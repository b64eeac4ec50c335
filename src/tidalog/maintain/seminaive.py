"""Materialisation from scratch: component by component, semi-naive inside one.

Invariant.  When a component is done, the store holds exactly the consequences of its rules over what lies
below it, and every rule instance has been derived once: by the plan whose pivot is the instance's fact with
the largest id (the first such atom, where it occurs twice), with the atoms before it below that id and the
atoms after it up to it.  Atoms of lower components match any id: they are complete before.

A component runs in stages, each to its fixpoint: rules that collect groups; folds; everything else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tidalog.analysis.normal import NormalAtom, NormalRule
from tidalog.builtins import NO_FUNCTIONS, PythonFunction
from tidalog.engine import opcodes as op
from tidalog.engine.binding_blocks import BLOCK, FROM_SCRATCH, IN_UPDATE, MODE, Frame, new_frame
from tidalog.engine.bits import NEW_STATE, STATUS_DERIVED, STATUS_NEW
from tidalog.engine.block_executor import run_frame
from tidalog.engine.delta_scan import CURRENT, ROUND, Plans, new_sweep, run_sweep, start_empty, start_plan
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.expressions import is_native
from tidalog.engine.fact_kernels import FIRST, LAST
from tidalog.engine.plan_compiler import Code, Filters, compile_fold, compile_plan, group_index
from tidalog.maintain.group_scan import GroupedFolds
from tidalog.maintain.memos import answer_all
from tidalog.maintain.runner import Runner
from tidalog.model.program import Variable
from tidalog.plan.join_order import best_start, plan
from tidalog.plan.lowering import Fold, Memo, Stage, is_hidden, stages


class SemiNaive:
    """Evaluates sets of rules on an engine; the rules' lower predicates are complete."""

    def __init__(
        self,
        engine: EmbeddedEngine,
        runner: Runner,
        functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
        in_update: bool = False,
    ) -> None:
        """`in_update`: facts go to the log of the update under way, and only its new state is read."""
        self.engine, self.runner, self.functions = engine, runner, functions
        self.in_update = in_update
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

    def _frame(self, code: Code) -> Frame:
        frame = new_frame(code.levels, code.registers, code.arity, bitmaps=code.bitmaps)
        frame.control[MODE] = IN_UPDATE if self.in_update else FROM_SCRATCH
        return frame

    def run_component(self, rules: Sequence[NormalRule], predicates: Iterable[str]) -> None:
        """All rules for some predicates that depend on each other; constraints count as rules for a hidden
        predicate of their own."""
        rules = [constraint_rule(r) if r.head is None else r for r in rules]
        heads = Counter(r.head.predicate for r in rules if r.head is not None)
        self._alone = {p for p, count in heads.items() if count == 1 and self.engine.count(p) == 0}
        for stage in stages(rules, predicates, False, is_native):
            self.run_stage(stage)

    # --- one stage ----------------------------------------------------------------------------------

    def run_stage(self, stage: Stage) -> None:
        before = self.runner.stats.derivations
        if stage.fold is not None:
            self._fold(stage.fold)
        else:
            self._fixpoint((*stage.asking, *stage.rules), set(stage.predicates), stage.memos)
        self.engine.derivations[stage.predicates] = self.runner.stats.derivations - before

    def _fixpoint(self, rules: Sequence[NormalRule], own: set[str], memos: Sequence[Memo]) -> None:
        """Runs rules over the facts there are and those they derive."""
        if not rules:
            return
        self._declare(rules, memos)
        growing = own | {m.memo for m in memos}
        answered = [len(self.engine.store) if self.in_update else 0] * len(memos)
        self._run_base([r for r in rules if not _pivots(r, growing)])
        recursive = [r for r in rules if _pivots(r, growing)]
        code = Code()
        for rule in recursive:
            for pivot in _pivots(rule, growing):
                logical = plan(rule, pivot, self.engine.fan_out)
                filters = self._filters(_order(rule, pivot, growing))
                compile_plan(logical, self.engine.catalogue, code, filters)
        if recursive:
            self._sweep(
                code,
                self._begin(growing),
                -1,
                lambda: answer_all(self.engine, self.runner, self.functions, memos, answered, self._status),
            )

    def _run_base(self, rules: Sequence[NormalRule]) -> None:
        """Rules whose bodies are complete: one pass over the facts of one atom each."""
        scanning, single = Code(), Code()
        for rule in rules:
            start = best_start(rule, self.engine.fan_out)
            logical = plan(rule, start, self.engine.fan_out)
            code = single if start is None else scanning
            filters = self._filters(lambda _: op.ANY_ID)
            compile_plan(logical, self.engine.catalogue, code, filters, self._is_new(rule))
        self._run_single(single)
        self._run_scans(scanning)

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
        if not self._some_may_be_gone() and self._grouped.run(fold, is_new):
            return
        index = group_index(fold.columns[0], engine.catalogue)
        self.run_groups(fold, engine.indexes.groups(index, engine.store.arrays), is_new)

    def run_groups(self, fold: Fold, facts: npt.NDArray[np.int32], is_new: bool = False) -> None:
        """Derives the facts of the groups that some facts stand for, one of each."""
        code = Code()
        compile_fold(fold, self.engine.catalogue, code, is_new)
        self._run_list(code, facts)

    def _declare(self, rules: Sequence[NormalRule], memos: Sequence[Memo]) -> None:
        for memo in memos:
            self.engine.predicate(memo.ask, len(memo.inputs))
            self.engine.predicate(memo.memo, len(memo.inputs) + 1)
        for rule in rules:
            assert rule.head is not None
            for atom in (rule.head, *rule.atoms, *rule.negations):
                self.engine.predicate(atom.predicate, len(atom.arguments))

    def _begin(self, predicates: set[str]) -> int:
        """The first fact of any of these predicates, or the end of the store."""
        engine = self.engine
        extents = [engine.store.arrays.extent[engine.predicate(p)] for p in predicates if engine.count(p) > 0]
        return min((int(e[FIRST]) for e in extents), default=len(engine.store))

    # --- driving the machine ------------------------------------------------------------------------

    def _run_single(self, code: Code) -> None:
        """Plans that begin with one empty row."""
        if not code.starts:
            return
        plans = self._plans(code)
        frame = self._frame(code)
        for number, at in enumerate(code.starts):
            start_empty(plans.code, at, frame)
            self._run_plan(plans, frame, code, number)

    def _run_list(self, code: Code, ids: npt.NDArray[np.int32]) -> None:
        """One plan over given facts."""
        plans = self._plans(code)
        frame = self._frame(code)
        for begin in range(0, len(ids), BLOCK):
            block = ids[begin : begin + BLOCK]
            start_plan(self.engine.store.arrays, plans.filters, plans.code, 0, block, len(block), frame)
            self._run_plan(plans, frame, code, 0)

    def _run_plan(self, plans: Plans, frame: Frame, code: Code, number: int) -> None:
        engine = self.engine
        self.runner.drive(
            lambda: int(
                run_frame(
                    engine.store.arrays,
                    engine.dictionary.arrays,
                    engine.indexes.meta,
                    plans.filters,
                    plans.code,
                    frame,
                    engine.log.arrays,
                    self._status,
                )
            ),
            code,
            frame,
            lambda: code.names[number],
            lambda: 0,
        )

    def _run_scans(self, code: Code) -> None:
        """Plans over all facts of their pivots' predicates as they are now."""
        extents = [self.engine.store.arrays.extent[p] for p in set(code.pivots) if self.engine.store.count(p)]
        if extents:
            begin, end = min(int(e[FIRST]) for e in extents), max(int(e[LAST]) for e in extents) + 1
            self._sweep(code, begin, end, lambda: False)

    def _sweep(self, code: Code, begin: int, limit: int, between: Callable[[], bool]) -> None:
        """Sweeps, and goes on as long as `between` adds facts."""
        engine = self.engine
        plans = self._plans(code)
        frame = self._frame(code)
        sweep = new_sweep(len(engine.names), BLOCK, begin, limit)
        control = sweep.control

        def step() -> int:
            return int(
                run_sweep(
                    engine.store.arrays,
                    engine.dictionary.arrays,
                    engine.indexes.meta,
                    plans,
                    frame,
                    sweep,
                    engine.log.arrays,
                    self._status,
                )
            )

        def rule() -> str:
            return code.names[control[CURRENT]] if control[CURRENT] >= 0 else ""

        while True:
            self.runner.drive(step, code, frame, rule, lambda: int(control[ROUND]))
            if not between():
                break
        self.runner.stats.rounds += int(control[ROUND])

    def _plans(self, code: Code) -> Plans:
        pivots = np.array(code.pivots, np.int32)
        order = np.argsort(pivots, kind="stable").astype(np.int32)
        first = np.searchsorted(pivots[order], np.arange(len(self.engine.names) + 1)).astype(np.int32)
        return Plans(code.array(), code.filter_array(), np.array(code.starts, np.int32), first, order)


def constraint_rule(rule: NormalRule) -> NormalRule:
    """A constraint collects the bindings that violate it."""
    bound = dict.fromkeys(v for atom in rule.atoms for v in atom.arguments if isinstance(v, Variable))
    bound |= dict.fromkeys(c.variable for c in rule.computations)
    return replace(rule, head=NormalAtom(constraint_predicate(rule.name), tuple(bound)))


def constraint_predicate(name: str) -> str:
    return f"#constraint:{name}"


def _pivots(rule: NormalRule, growing: set[str]) -> list[int]:
    return [i for i, atom in enumerate(rule.atoms) if atom.predicate in growing]


def _order(rule: NormalRule, pivot: int, growing: set[str]) -> Callable[[int], int]:
    """Atoms of growing predicates before the pivot match smaller ids, after it up to its own."""

    def order(position: int) -> int:
        if rule.atoms[position].predicate not in growing:
            return op.ANY_ID
        return op.BELOW_PIVOT if position < pivot else op.UP_TO_PIVOT

    return order
