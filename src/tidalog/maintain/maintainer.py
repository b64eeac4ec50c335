"""`Maintainer`: a materialisation kept right under updates.

The driver walks the components in topological order.  Each gets the changes of what it reads and of its own
explicit facts, deletes, then inserts, and leaves its own changes for those above.  Facts leave the store when
everything is done; any error before that gives back the state as it was.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tidalog.analysis import Analysis
from tidalog.builtins import NO_FUNCTIONS, PythonFunction
from tidalog.engine.derivation_counts import DerivationCounts
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.limits import Limits, ProgressCallback
from tidalog.engine.undo_log import MOVES
from tidalog.maintain.aggregates import maintain_groups
from tidalog.maintain.choose import (
    Options,
    choose,
    give_up,
    learn,
    learn_of_trial,
    marking_of,
    steps_worth,
    trial,
)
from tidalog.maintain.component import Node
from tidalog.maintain.component_plans import FORWARD, LIKELY_FIRST
from tidalog.maintain.counters import Counters
from tidalog.maintain.delta import ChangeSet, PredicateDelta
from tidalog.maintain.insertion import grow, grow_from_deleted
from tidalog.maintain.marks.dred import DRedMarks, delete_with_marks
from tidalog.maintain.marks.marks import Marking
from tidalog.maintain.materialise import NO_LIMITS, check_constraints, compiled_program
from tidalog.maintain.rule_edit import RuleChange, begin_change, give_rules_facts, plan_change
from tidalog.maintain.runner import Interrupted, Runner, TooMuchWork
from tidalog.maintain.seminaive import SemiNaive
from tidalog.maintain.strategies.backward_forward import delete_exactly, forget_search
from tidalog.maintain.strategies.counting import (
    Losing,
    count_inserted,
    forget_affected,
    forget_all,
    lose_derivations,
)
from tidalog.maintain.strategies.ranked import (
    delete_overdeleted,
    delete_ranked,
    new_state,
    old_state,
    smaller_ranks,
)
from tidalog.maintain.strategies.recompute import delete_implicit, derive_anew
from tidalog.maintain.transaction import Transaction
from tidalog.maintain.workspace import Workspace
from tidalog.model.errors import RunError
from tidalog.model.facts import Ids
from tidalog.model.update import EncodedUpdate
from tidalog.plan.compile import CompiledProgram
from tidalog.plan.lowering import RULE, constraint_predicate


@dataclass
class Outcome:
    """What an update changed and what it cost."""

    changes: ChangeSet
    counters: Counters
    ignored: int
    """Deletions of facts that are not explicit, and insertions of facts that are."""
    touched: list[Node] = field(default_factory=list)
    """The components that it reached, in their order."""
    chosen: dict[str, str] = field(default_factory=dict)
    """Component → strategy."""

    @cached_property
    def delta(self) -> dict[str, PredicateDelta]:
        """Net changes by the names of relations."""
        return self.changes.by_predicate()


class _Touched(NamedTuple):
    """A component that an update has reached, and its ranks before."""

    node: Node
    in_rank_order: bool
    unranked: tuple[Ids, ...]

    def undo(self) -> None:
        self.node.in_rank_order, self.node.unranked = self.in_rank_order, self.unranked
        self.node.forget_plans()


class _Concerned(NamedTuple):
    """Which components a predicate concerns, by their places in the order."""

    holder: dict[int, int]
    """The one that derives it."""
    readers: dict[int, list[int]]
    """Those above that read it."""


def _concerned(nodes: Sequence[Node]) -> _Concerned:
    holder = {number: place for place, node in enumerate(nodes) for number in node.numbers}
    readers: dict[int, list[int]] = {}
    for place, node in enumerate(nodes):
        for number in node.lower:
            readers.setdefault(number, []).append(place)
    return _Concerned(holder, readers)


class _Worklist:
    """Components that are to be looked at, in topological order, each once."""

    def __init__(self) -> None:
        self._heap: list[int] = []
        self._known: set[int] = set()

    def add(self, places: Iterable[int]) -> None:
        for place in places:
            if place not in self._known:
                self._known.add(place)
                heapq.heappush(self._heap, place)

    def pop(self) -> int:
        return heapq.heappop(self._heap)

    def __bool__(self) -> bool:
        return bool(self._heap)


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
        self.program = compiled_program(program)
        self.options = options or Options()
        engine.counts = DerivationCounts()
        engine.predicate(RULE, 1)
        self._workspace = Workspace()
        wanted = list(self.program.stages)
        missing = [stage for stage in wanted if engine.derived and not all(map(engine.has, stage.hidden))]
        self.nodes = [Node(engine, stage, self._workspace) for stage in wanted]
        for stage in missing:
            SemiNaive(engine, Runner(engine, NO_LIMITS, None), functions).run_stage(stage)
        for node in self.nodes:
            node.asked = node.questions
        self.marking = self._marking()
        self._concerned = _concerned(self.nodes)
        constraints = self.program.analysis.constraints
        self._constraints = {constraint_predicate(rule.name): rule for rule in constraints}
        self._losing: Losing | None = None

    def prepare(self) -> None:
        """Makes the plans that updates will need, so that the first one does not wait for them."""
        for node in self.nodes:
            if node.incremental and node.stage.fold is None:
                node.plans.growing_at(False)
                if self.marking.kind != "none":
                    node.plans.growing_at(True)
                node.plans.searches((FORWARD, old_state), (LIKELY_FIRST, smaller_ranks))
                node.plans.searches((LIKELY_FIRST, new_state))

    def use(self, options: Options) -> None:
        """Other options from the next update on.  Marks of another kind begin with none."""
        self.options = options
        if self._kind_of_marks() != self.marking.kind:
            self.marking.close()
            self.marking = self._marking()
        self.marking.look_ahead = options.look_ahead
        self.marking.sparing = options.marking == "auto"

    def _marking(self) -> Marking:
        look_ahead, kind = self.options.look_ahead, self._kind_of_marks()
        if kind == "dred":
            return DRedMarks(self.engine, look_ahead)
        return Marking(self.engine, kind, look_ahead, sparing=self.options.marking == "auto")

    def _kind_of_marks(self) -> str:
        """Marks save joins, so `auto` makes none where there is no join."""
        if self.options.marking == "auto" and not any(node.joins for node in self.nodes):
            return "none"
        return marking_of(self.options)

    def apply(
        self,
        update: EncodedUpdate,
        upcoming: Sequence[EncodedUpdate] = (),
        *,
        limits: Limits = NO_LIMITS,
        progress: ProgressCallback | None = None,
        analysis: Analysis | None = None,
    ) -> Outcome:
        """Carries an update out, whole or not at all.  With an `analysis` the rules are those of it from here
        on; it lays facts out as the one before."""
        if analysis is None:
            return self._apply(update, upcoming, limits, progress)
        before = self.nodes, self.program, self._concerned, self._constraints
        program = self.program.edited(analysis)
        mark, predicates = self.engine.mark(), len(self.engine.names)
        change = plan_change(self.engine, self.nodes, program.stages, self._workspace)
        self._forget_records()
        give_rules_facts(self.engine, change.removed)
        self.nodes, self.program = change.nodes, program
        self._concerned = _concerned(self.nodes)
        constraints = self.program.analysis.constraints
        self._constraints = {constraint_predicate(rule.name): rule for rule in constraints}
        if self._kind_of_marks() != self.marking.kind:
            self.marking = self._marking()
        try:
            outcome = self._apply(update, upcoming, limits, progress, change)
        except BaseException:
            self.nodes, self.program, self._concerned, self._constraints = before
            if self._kind_of_marks() != self.marking.kind:
                self.marking = self._marking()
            self.engine.back_to(mark)
            self.engine.forget_predicates(predicates)
            raise
        for node in change.passing:
            node.has_passed()
        return outcome

    def _forget_records(self) -> None:
        """What has been recorded and counted is of other rules.  Facts that are marked are looked at first,
        whatever the rules, and links say no more."""
        if self.marking.kind not in ("paper", "linked"):
            self.marking.close()
            self.marking = self._marking()
        self.engine.counts = DerivationCounts()
        for node in self.nodes:
            node.counted = False

    def _apply(
        self,
        update: EncodedUpdate,
        upcoming: Sequence[EncodedUpdate],
        limits: Limits,
        progress: ProgressCallback | None,
        rules: RuleChange | None = None,
    ) -> Outcome:
        start = time.perf_counter()
        engine = self.engine
        counters = Counters()
        change = Transaction(engine)
        runner = Runner(engine, limits, progress, counting=False)
        runner.components = len(self.nodes)
        touched: list[_Touched] = []
        try:
            change.ask(update.deletions, update.insertions)
            if rules is not None:
                begin_change(change, rules)
            marked = self.marking.begin(change, [(u.deletions, u.insertions) for u in upcoming])
            self.marking.at_risk = self._at_risk(upcoming)
            self._explicit_alone(change)
            todo = self._worklist(change, rules)
            while todo:
                place = todo.pop()
                node = self.nodes[place]
                runner.component = place
                if not self._concerns(node, change):
                    self.marking.doom(change, node.numbers)
                    continue
                touched.append(_Touched(node, node.in_rank_order, node.unranked))
                self._maintain(node, change, runner, counters, marked)
                for number in node.numbers:
                    if number in change.deleted or number in change.grown:
                        todo.add(self._concerned.readers.get(number, ()))
                runner.look_at(change)
            runner.look_at(change)
            predicates = (name for one in touched for name in one.node.predicates)
            check_constraints(engine, [self._constraints[p] for p in predicates if p in self._constraints])
            counters.marks_explicit, counters.marks_implicit = self.marking.end(engine.log.pairs)
            if isinstance(self.marking, DRedMarks):
                counters.marks_positive = self.marking.positive
                counters.insertions -= self.marking.carried_in
        except BaseException as stop:
            change.undo()
            self.marking.failed()
            for one in touched:
                one.undo()
            self._workspace.forget_rooms()
            if isinstance(stop, KeyboardInterrupt):
                raise RunError(Interrupted(rule=runner.rule or "(none)")) from None
            raise
        found = change.finish()
        self.marking.finished(change.gone)
        counters.derivations += runner.stats.derivations
        counters.insertions += found.insertions
        ids_before = len(engine.store)
        self.marking.rows_have_moved(*engine.tidy())
        if len(engine.store) != ids_before:
            for node in self.nodes:
                node.ids_have_changed()
        counters.seconds = time.perf_counter() - start
        nodes = [one.node for one in touched]
        return Outcome(found, counters, change.ignored, nodes, {node.name: node.chosen for node in nodes})

    def _at_risk(self, upcoming: Sequence[EncodedUpdate]) -> frozenset[int]:
        """Predicates that lose proofs with the next update though none of their body facts is deleted: a rule
        goes, or a fact comes that a rule negates."""
        if not upcoming or self.marking.kind not in ("paper", "linked"):
            return frozenset()
        engine = self.engine
        removed = {removal.name for removal in upcoming[0].rules.removed}
        found = {
            engine.predicate(rule.head.predicate)
            for rule in self.program.analysis.rules
            if removed
            and rule.head is not None
            and rule.name.split("#")[0] in removed
            and engine.has(rule.head.predicate)
        }
        coming = {batch.predicate for batch in upcoming[0].insertions}
        for rule in (rule for node in self.nodes if node.negated for rule in node.rules):
            if rule.head is not None and any(atom.predicate in coming for atom in rule.negations):
                found.add(engine.predicate(rule.head.predicate))
        return frozenset(found)

    def _explicit_alone(self, change: Transaction) -> None:
        """Facts of predicates that no rule derives."""
        derived = self._concerned.holder
        for number in sorted({*change.to_delete, *change.to_insert} - derived.keys()):
            if number in change.to_delete:
                change.delete(number, change.to_delete[number])
            begin = len(self.engine.store)
            if change.insert(number):
                change.grown[number] = begin
        self.marking.doom(change, sorted(self.marking.coming.keys() - derived.keys()))

    def _worklist(self, change: Transaction, rules: RuleChange | None) -> _Worklist:
        """The components that an update reaches before any has been maintained."""
        holder, readers = self._concerned.holder, self._concerned.readers
        todo = _Worklist()
        for number in {*change.deleted, *change.grown}:
            todo.add(readers.get(number, ()))
        named = {*change.to_delete, *change.to_insert, *self.marking.coming}
        if isinstance(self.marking, DRedMarks):
            named |= {number for number, _ in self.marking.carried}
        todo.add([holder[number] for number in named if number in holder])
        if rules is not None:
            todo.add([place for place, node in enumerate(self.nodes) if node.passing is not None])
        return todo

    def _concerns(self, node: Node, change: Transaction) -> bool:
        """Whether anything that a component holds or reads has changed."""
        if isinstance(self.marking, DRedMarks) and self.marking.concerns(node.numbers):
            return True
        if node.passing is not None:
            return True
        asked = any(n in change.to_delete or n in change.to_insert for n in node.numbers)
        return asked or change.has_changed(node.below)

    def _maintain(
        self, node: Node, change: Transaction, runner: Runner, counters: Counters, marked: Ids
    ) -> None:
        seeds = sum(len(change.to_delete.get(n, ())) for n in node.numbers)
        seeds += len(change.deleted_of(node.below)) + len(node.suspects()) + len(change.new_of(node.negated))
        strategy = choose(node, self.options, seeds)
        if isinstance(self.marking, DRedMarks):
            self.marking.doom(change, node.numbers)  # before deletion too, which asks what will stay
        store = self.engine.store
        before, moved = len(store), int(self.engine.log.arrays.counts[MOVES])
        rows = [store.count(number) for number in node.numbers]
        self._losing = None
        if seeds and strategy not in ("recompute", "groups"):
            node.spared = 0
            strategy = self._delete(node, strategy, seeds, change, runner, counters, marked)
            self.marking.saved(node.spared * node.joins)
        node.chosen = strategy
        if strategy == "recompute":
            forget_all(node)
            delete_implicit(node, change)
        given = len(self.engine.store)
        if strategy != "groups":
            for number in node.numbers:
                change.insert(number)
        if isinstance(self.marking, DRedMarks):
            self.marking.insert_carried(change, node.numbers)
        if node.counted or strategy == "counting":
            count_inserted(node, given)
        self.marking.doom(change, node.numbers)
        if strategy in ("recompute", "groups"):
            evaluation = SemiNaive(self.engine, runner, self.functions, in_update=True)
            if strategy == "groups":
                maintain_groups(node, change, evaluation)
            else:
                self.marking.miss()
                derive_anew(node, evaluation)
            self.marking.missed(before)
        else:
            self._grow(node, change, runner, before)
            if self._losing is not None:
                self._losing.judge()
        change.settle(node.numbers, rows, before, moved)
        moved = int(self.engine.log.arrays.counts[MOVES]) - moved
        if strategy in ("bf", "fbf"):
            counters.insertions += moved
        else:
            counters.rederivations += moved

    def _grow(self, node: Node, change: Transaction, runner: Runner, before: int) -> None:
        """Insertion.  Instances that negate are not put on record: they come and go with other facts too."""
        observed = self.marking.observed
        if self.marking.kind == "complete" and node.negated:
            observed = 0
            self.marking.miss()
        grow_from_deleted(node, runner, change)
        begin = min([before, *(change.grown[n] for n in node.below if n in change.grown)])
        if begin == len(self.engine.store):
            return  # there is no new fact that it reads
        spared = {"spared": self.marking.spared} if isinstance(self.marking, DRedMarks) else {}
        only_new = not (observed or spared or node.counted or self.engine.log.book.is_open)
        only_new = only_new and not any(number in change.deleted for number in node.numbers)
        grow(node, runner, begin, observed, functions=self.functions, only_new=only_new, **spared)
        if not observed:
            self.marking.missed(before)

    def _of(self, node: Node, change: Transaction, ids: Ids) -> Ids:
        """The facts of a component among some."""
        return ids[node.own[change.predicates_of(ids)] != 0] if len(ids) else ids

    def _delete(
        self,
        node: Node,
        strategy: str,
        seeds: int,
        change: Transaction,
        runner: Runner,
        counters: Counters,
        marked: Ids,
    ) -> str:
        """Deletes by a strategy; gives the one that is to go on, which is `recompute` if `auto` finds that
        the work is more than to start over."""
        marked = self._of(node, change, marked)
        if self.options.strategy != "auto":
            self._delete_by(strategy, node, change, runner, counters, marked)
            return strategy
        may_try = strategy == "ranked" and self.marking.kind in ("none", "complete")
        steps = trial(node, seeds) if may_try else 0
        if steps and self._tried(node, steps, change, runner, counters):
            return "bf"
        worth = runner.searches = steps_worth(node)
        seeds += sum(map(len, node.unranked))
        try:
            self._delete_by(strategy, node, change, runner, counters, marked)
            learn(node, seeds, worth - runner.searches)
            return strategy
        except TooMuchWork:
            give_up(node, seeds, worth)
            return "recompute"
        finally:
            runner.searches = None

    def _tried(self, node: Node, steps: int, change: Transaction, runner: Runner, counters: Counters) -> bool:
        """Whether B/F has decided all in so many steps; if not, nothing is decided."""
        runner.searches = steps
        found = Counters()
        try:
            self._delete_by("bf", node, change, runner, found, np.empty(0, np.int32))
        except TooMuchWork:
            forget_search(node, change)
            learn_of_trial(node, found=False)
            return False
        finally:
            runner.searches = None
        counters.add(found)
        learn_of_trial(node, found=True)
        return True

    def _delete_by(
        self,
        strategy: str,
        node: Node,
        change: Transaction,
        runner: Runner,
        counters: Counters,
        marked: Ids,
    ) -> None:
        if strategy == "counting":
            self._losing = lose_derivations(node, change, runner, counters)
            return
        if (
            isinstance(self.marking, DRedMarks)
            and strategy == "dred"
            and not node.negated
            and not node.passing
        ):
            delete_with_marks(node, change, runner, counters, self.marking, marked)
        elif strategy in ("bf", "fbf"):
            proofs = delete_exactly(
                node,
                change,
                runner,
                counters,
                order="layers" if strategy == "fbf" else self.options.order,
                waiting=marked,
                marks=self.marking.kind == "paper",
                links=self.marking.kind == "linked",
            )
            self.marking.proofs_marked(proofs)
        else:
            delete = delete_ranked if strategy == "ranked" else delete_overdeleted
            delete(node, change, runner, counters, marked)
        forget_affected(node, change)
