"""What a strategy is: one way to bring a component up to date after facts below it, or its own, have changed.

A strategy deletes, then inserts.  It keeps nothing between two updates but what is in the component and in
the engine, so one object serves every component.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tidalog.builtins import PythonFunction
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.counters import Counters
from tidalog.maintain.insertion import grow, grow_from_deleted
from tidalog.maintain.marks import Marks
from tidalog.maintain.runner import Runner
from tidalog.maintain.transaction import Transaction
from tidalog.model.facts import Ids


@dataclass(slots=True)
class ComponentUpdate:
    """One component in one update: what a strategy works on.  One object serves all components that an update
    reaches, one after the other."""

    txn: Transaction
    runner: Runner
    counters: Counters
    marks: Marks
    marked: Ids
    """Facts of any component that the update before has marked."""
    order: str
    """In which order B/F takes its steps."""
    functions: Mapping[str, PythonFunction]
    component: MaintainedComponent = field(init=False)
    spared: int = field(init=False)
    """Facts that were deleted without a search, by what was recorded."""
    pending: object = field(init=False)
    """What a strategy keeps from its deletion to its insertion."""
    begin: int = field(init=False)
    """Facts of the component that are new, or come back, have ids from here on."""
    deleted_below: Ids = field(init=False)
    """Facts that the component reads and that are deleted."""
    new_negated: Ids = field(init=False)
    """Facts that the component negates and that are new."""
    seeds: int = field(init=False)
    """Facts that may end instances or have lost a proof already: what a deletion begins with."""

    def start(self, component: MaintainedComponent) -> None:
        """This component is next."""
        txn = self.txn
        self.component, self.spared, self.pending = component, 0, None
        begin = self.begin = len(txn.engine.store)
        component.follow_growth(begin - txn.dead)
        deleted = self.deleted_below = txn.deleted_of(component.below)
        new = self.new_negated = txn.new_of(component.negated)
        seeds = len(deleted) + len(new)
        if txn.to_delete:
            for number in component.numbers:
                seeds += len(txn.to_delete.get(number, ()))
        if component.edit is not None:
            seeds += len(component.suspects()) + int(component.edit.searched)
        self.seeds = seeds

    @property
    def own_marked(self) -> Ids:
        """Facts of the component that the update before has marked."""
        ids = self.marked
        return ids[self.component.own[self.txn.predicates_of(ids)] != 0] if len(ids) else ids

    @property
    def derivations(self) -> int:
        """Derivations of the update so far."""
        return self.counters.derivations + self.runner.stats.derivations

    @property
    def new_from(self) -> int:
        """From which id on facts are new that the component reads or holds."""
        begin, grown = self.begin, self.txn.grown
        if grown:
            for number in self.component.below:
                begin = min(begin, grown.get(number, begin))
        return begin

    @property
    def explicit(self) -> int:
        """Facts that the update inserts into the component."""
        asked = self.txn.to_insert
        return sum(asked[number][1] for number in self.component.numbers if number in asked)

    def insert_explicit(self) -> None:
        """Inserts what the update inserts into the component."""
        txn, marks, numbers = self.txn, self.marks, self.component.numbers
        if txn.to_insert:
            for number in numbers:
                txn.insert(number)
        marks.insert_carried(txn, numbers)
        marks.find_announced(txn, numbers)

    def derive(self, *, counting: bool = False) -> None:
        """Semi-naive insertion: whatever follows from new facts, and from deleted ones that were negated."""
        component, txn, marks, runner = self.component, self.txn, self.marks, self.runner
        observed = marks.observed(component)
        if component.negated:
            grow_from_deleted(component, runner, txn)
        begin = self.new_from
        if begin == len(txn.engine.store):
            return  # nothing is new that it reads or holds
        only_new = marks.ignores_bodies and not counting
        if only_new and txn.deleted:
            only_new = not any(number in txn.deleted for number in component.numbers)
        grow(
            component,
            runner,
            begin,
            observed,
            unmarked=marks.unmarked,
            functions=self.functions,
            only_new=only_new,
            counting=counting,
        )
        if not observed:
            marks.derived_unseen(self.begin)


class Strategy:
    name: ClassVar[str]
    substitute: ClassVar[str] = "recompute"
    """The strategy that maintains what this one cannot."""
    reason: ClassVar[str] = ""
    """Why it is chosen, for those who ask how a component is maintained."""
    own_marks: ClassVar[Mapping[str, str]] = {}
    """Marks that users choose → those that it has instead."""
    starts_over: ClassVar[bool] = False
    """Whether it deletes even if no proof is lost, and can follow a strategy that was given up."""
    foresees: ClassVar[bool] = False
    """Whether marks of what windows lose next save it work, as `bench.windows.foresight` measures it."""
    keeps_expiries: ClassVar[bool] = False
    """Whether it keeps the times at which facts expire."""
    moves_are_insertions: ClassVar[bool] = False
    """How facts that are deleted and derived again are counted: as insertions, or as rederivations."""

    def misfit(self, component: MaintainedComponent) -> str:
        """Why it cannot maintain a component; empty if it can."""
        return ""

    def prepare(self, component: MaintainedComponent) -> None:
        """Compiles the plans that it will need, so that the first update does not wait for them."""

    def delete(self, work: ComponentUpdate) -> None:
        """Deletes what has lost its proofs; what it deletes and `insert` derives again is not a change."""
        raise NotImplementedError

    def insert(self, work: ComponentUpdate) -> None:
        """Inserts what the update inserts and what follows."""
        work.insert_explicit()
        work.derive()

    def give_up(self, work: ComponentUpdate) -> None:
        """Its deletion took more steps than it may: leaves the component for the next strategy to delete."""

    def leave(self, component: MaintainedComponent) -> None:
        """Another strategy maintains the component from here on."""
