"""`Maintainer`: keeps a materialisation up to date under updates.

It visits the components that an update reaches, in topological order.  Each gets the changes of what it reads
and of its own explicit facts, deletes, then inserts, and leaves its own changes to those above.  Facts leave
the store when all are done; an error before that rolls everything back.  An update costs what the components
cost that it reaches, however many there are.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tidalog.analysis import Analysis
from tidalog.analysis.component_diff import ComponentDiff, diff_of_analyses, order_of
from tidalog.analysis.normal import NormalRule
from tidalog.builtins import NO_FUNCTIONS, PythonFunction
from tidalog.engine.derivation_counts import DerivationCounts
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.finished_update import INSERTED_IMPLICIT
from tidalog.engine.limits import Limits, ProgressCallback
from tidalog.engine.savepoint import Savepoint
from tidalog.maintain.choose import Options, kind_of_marks, maintain, strategy_to_prepare
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.counters import Counters
from tidalog.maintain.delta import Deltas
from tidalog.maintain.expiring import Expiring
from tidalog.maintain.marks import Marks, Parts
from tidalog.maintain.materialise import NO_LIMITS, Judge, check_constraints, compiled_program
from tidalog.maintain.registry import AUTO
from tidalog.maintain.rule_edit import EditPlan, begin_change, give_rules_facts, plan_edit
from tidalog.maintain.runner import Interrupted, Runner
from tidalog.maintain.seminaive import SemiNaive
from tidalog.maintain.split import SplitOff, split_off
from tidalog.maintain.strategies import ComponentUpdate, Strategy
from tidalog.maintain.transaction import Transaction
from tidalog.maintain.uncomputed import example_of
from tidalog.maintain.worklist import ComponentIndex, Stages, Worklist
from tidalog.maintain.workspace import Workspace
from tidalog.model.errors import RunError
from tidalog.model.update import EncodedUpdate
from tidalog.plan.compile import CompiledComponent, CompiledProgram
from tidalog.plan.lowering import RULE, constraint_predicate


@dataclass
class Outcome:
    """What an update changed and what it cost."""

    delta: Deltas
    """Net changes by the names of relations."""
    counters: Counters
    ignored: int
    """Deletions of facts that are not explicit, and insertions of facts that are."""
    touched: list[MaintainedComponent] = field(default_factory=list)
    """The components that it reached, in their order."""
    chosen: dict[str, str] = field(default_factory=dict)
    """Component → strategy."""
    uncomputed: Mapping[str, int] = field(default_factory=dict)
    """Rule → computations that failed."""


class Maintainer:
    """Keeps one engine, which has been materialised by the same analysis."""

    def __init__(
        self,
        engine: EmbeddedEngine,
        program: Analysis | CompiledProgram,
        *,
        functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
        options: Options | None = None,
    ) -> None:
        self.engine, self.functions = engine, functions
        self.options = options or Options()
        engine.counts = DerivationCounts()
        engine.predicate(RULE, 1)
        self._workspace = Workspace()
        self.program = compiled_program(program)
        parts = [*self.program.components, *self.program.constraints]
        missing = [
            stage
            for part in parts
            for stage in part.stages
            if engine.derived and not all(map(engine.has, stage.hidden))
        ]
        self._index = ComponentIndex(order_of(self.program.analysis), map(self._stages, parts))
        self._expiring = Expiring(engine, self._index)
        self._constraints = {
            constraint_predicate(rule.name): rule for rule in self.program.analysis.constraints
        }
        for stage in missing:
            SemiNaive(engine, Runner(engine, NO_LIMITS, None), functions).run_stage(stage)
        for component in self._index.unordered():
            component.asked = component.questions
        self.marks: Marks = self._new_marks()

    def _stages(self, part: CompiledComponent) -> Stages:
        components = (MaintainedComponent(self.engine, stage, self._workspace) for stage in part.stages)
        return Stages(part.predicates, tuple(components))

    @property
    def components(self) -> list[MaintainedComponent]:
        """All components in topological order."""
        return list(self._index)

    def prepare(self) -> None:
        """Compiles the plans that updates will need, so that the first one does not wait for them."""
        strategy = strategy_to_prepare(self.options)
        for component in self.components:
            if component.incremental and component.stage.fold is None:
                component.plans.growing(False)
                if self.marks.observes:
                    component.plans.growing(True)
                strategy.prepare(component)

    # --- marks --------------------------------------------------------------------------------------

    def use(self, options: Options) -> None:
        """Other options from the next update on.  Marks of another kind begin with none."""
        self.options = options
        with self.engine.savepoint():
            self._change_marks()
        self.marks.look_ahead, self.marks.sparing = options.look_ahead, options.marking == AUTO

    def _change_marks(self, *, rules_changed: bool = False) -> None:
        """Replaces the marks if the options mean another kind, or if they do not outlast a rule edit."""
        stale = rules_changed and not self.marks.survives_rule_edits
        if stale or type(self.marks) is not self._kind_of_marks():
            self.marks.close()
            self.marks = self._new_marks()

    def _new_marks(self) -> Marks:
        options = self.options
        return self._kind_of_marks()(self.engine, options.look_ahead, sparing=options.marking == AUTO)

    def _kind_of_marks(self) -> type[Marks]:
        return kind_of_marks(self.options, joins=self._index.joining > 0)

    # --- updates ------------------------------------------------------------------------------------

    def apply(
        self,
        update: EncodedUpdate,
        upcoming: Sequence[EncodedUpdate] = (),
        *,
        limits: Limits = NO_LIMITS,
        progress: ProgressCallback | None = None,
        analysis: Analysis | None = None,
        diff: ComponentDiff | None = None,
        splits: Sequence[SplitOff] = (),
        judge: Judge = check_constraints,
    ) -> Outcome:
        """Applies an update, whole or not at all.  With an `analysis` the rules are those of it from here on;
        `diff` says how it differs, if that is known.  It lays facts out as the one before, except that some
        relations are split off others.  `judge` checks constraints."""
        with self.engine.savepoint() as savepoint:
            if analysis is None:
                return self._apply(savepoint, update, upcoming, limits, progress, judge)
            diff = diff or diff_of_analyses(self.program.analysis, analysis)
            change = self._edit(savepoint, analysis, diff, splits)
            outcome = self._apply(savepoint, update, upcoming, limits, progress, judge, change)
        for component in change.edited:
            component.end_edit()
        return outcome

    def _edit(
        self, savepoint: Savepoint, analysis: Analysis, diff: ComponentDiff, splits: Sequence[SplitOff]
    ) -> EditPlan:
        """The rules are those of `analysis` from here on."""
        engine, index, before = self.engine, self._index, (self.program, self._index.order, self.marks)
        program = self.program.edited(analysis, diff)
        change = plan_edit(engine, index, program.of_edit(diff), diff, self._workspace)

        def restore() -> None:
            self.program, index.order, self.marks = before
            index.replace(change.after, change.before)
            self._change_constraints(diff.constraints_added, diff.constraints_removed)

        savepoint.on_rollback(restore)
        index.replace(change.before, change.after)
        self.program, index.order = program, diff.order
        self._change_constraints(diff.constraints_removed, diff.constraints_added)
        self._change_marks(rules_changed=True)
        give_rules_facts(engine, change.removed)
        change.split = split_off(engine, splits)
        engine.counts = DerivationCounts()  # of other rules
        engine.counts.begin(len(engine.store))
        return change

    def _change_constraints(self, removed: Iterable[NormalRule], added: Iterable[NormalRule]) -> None:
        for rule in removed:
            del self._constraints[constraint_predicate(rule.name)]
        self._constraints.update((constraint_predicate(rule.name), rule) for rule in added)

    def _apply(
        self,
        savepoint: Savepoint,
        update: EncodedUpdate,
        upcoming: Sequence[EncodedUpdate],
        limits: Limits,
        progress: ProgressCallback | None,
        judge: Judge,
        rules: EditPlan | None = None,
    ) -> Outcome:
        start = time.perf_counter()
        engine, marks, expiring = self.engine, self.marks, self._expiring
        counters = Counters()
        txn = Transaction(engine, savepoint)
        runner = Runner(engine, limits, progress, counting=False)
        runner.components = len(self._index)
        runner.example = lambda rule: example_of(engine, self.program.analysis.rules, rule, self.functions)
        touched: list[MaintainedComponent] = []
        chosen: dict[str, str] = {}
        savepoint.on_rollback(self._workspace.drop_scans)
        try:
            expiring.begin(update)
            txn.ask(update.deletions, update.insertions)
            if rules is not None:
                begin_change(txn, rules)
            expiring.forget(rules.dropped if rules is not None else ())
            marked = marks.begin(txn, upcoming, Parts(self.program.analysis.rules, self._index))
            self._change_explicit(txn)
            txn.finish_component((), txn.begin)  # what no component has
            expiring.change_explicit()
            worklist = self._first_reached(txn, rules)
            work = ComponentUpdate(txn, runner, counters, marks, marked, self.options.order, self.functions)
            announced = bool(marks.announced)
            while worklist:
                component = worklist.pop()
                if announced and not self._concerns(component, txn):
                    marks.find_announced(txn, component.numbers)
                    continue
                runner.component = len(touched)
                touched.append(component)
                savepoint.on_rollback(component.restorer())
                chosen[component.name] = self._maintain(component, work).name
                for predicate in component.numbers:
                    if predicate in txn.deleted or predicate in txn.grown:
                        worklist.add(self._index.readers(predicate))
                    else:
                        worklist.add(expiring.readers(predicate))
                runner.look_at(txn)
            runner.look_at(txn)
            if self._constraints:
                names = (name for component in touched for name in component.predicates)
                judge(engine, [self._constraints[n] for n in names if n in self._constraints])
            marks.end(counters)
        except KeyboardInterrupt:
            raise RunError(Interrupted(where=runner.where)) from None
        found = txn.finish()
        expiring.finish()
        marks.finished(txn.gone)
        counters.derivations += runner.stats.derivations
        counters.insertions += found.counts[INSERTED_IMPLICIT]
        ids_before = len(engine.store)
        marks.rows_have_moved(*engine.compact())
        if len(engine.store) != ids_before:
            for component in self._index.unordered():
                component.ids_have_changed()
        counters.seconds = time.perf_counter() - start
        return Outcome(found, counters, txn.ignored, touched, chosen, runner.stats.uncomputed)

    def check_constraints(self) -> None:
        """Raises `RunError` if a constraint is violated."""
        check_constraints(self.engine, list(self._constraints.values()))

    def _change_explicit(self, txn: Transaction) -> None:
        """Facts of predicates that no rule derives."""
        holder = self._index.holder
        for number in sorted(n for n in {*txn.to_delete, *txn.to_insert} if n not in holder):
            if number in txn.to_delete:
                txn.delete(number, txn.to_delete[number])
            begin = len(self.engine.store)
            if txn.insert(number):
                txn.grown[number] = begin
        self.marks.find_announced(txn, sorted(n for n in self.marks.announced if n not in holder))

    def _first_reached(self, txn: Transaction, rules: EditPlan | None) -> Worklist:
        """The components that an update reaches before any is maintained."""
        holder = self._index.holder
        worklist = Worklist(self._index)
        for predicate in {*txn.deleted, *txn.grown}:
            worklist.add(self._index.readers(predicate))
        named = {*txn.to_delete, *txn.to_insert, *self.marks.announced}
        worklist.add([holder[predicate] for predicate in named if predicate in holder])
        if rules is not None:
            worklist.add(rules.edited)
        worklist.add(self._expiring.first_reached())
        return worklist

    def _concerns(self, component: MaintainedComponent, txn: Transaction) -> bool:
        """Whether anything that a component holds or reads has changed: it may have been reached because a
        coming update deletes from it."""
        if component.edit is not None or self.marks.carries(component.numbers):
            return True
        if self._expiring.concerns(component):
            return True
        asked = any(n in txn.to_delete or n in txn.to_insert for n in component.numbers)
        return asked or txn.has_changed(component.below)

    def _maintain(self, component: MaintainedComponent, work: ComponentUpdate) -> Strategy:
        """Brings a component up to date; gives the strategy that did."""
        txn, marks = work.txn, work.marks
        marks.before_deletion(txn, component.numbers)
        work.start(component)
        strategy = maintain(work, self.options)
        if work.spared:
            marks.saved(work.spared * component.joins)
        if len(self.engine.store) > work.begin:
            moved = txn.finish_component(component.numbers, work.begin)
            if strategy.moves_are_insertions:
                work.counters.insertions += moved
            else:
                work.counters.rederivations += moved
        return strategy
