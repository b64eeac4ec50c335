"""A component under maintenance: its plans, its rank order, and what earlier updates have cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from tidalog.analysis.normal import NormalRule
from tidalog.engine.bits import EXPLICIT, NEW
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.component_plans import ComponentPlans
from tidalog.maintain.kernels.counters import MOST_ATOMS
from tidalog.maintain.large_groups import LargeGroup
from tidalog.maintain.workspace import Workspace
from tidalog.model.facts import Ids
from tidalog.plan.lowering import RULE, Stage, guarded_rule

if TYPE_CHECKING:
    from tidalog.maintain.strategies.base import Strategy

MANY_QUESTIONS: Final = 1 << 16
"""Answers that are kept however few of them are wanted."""
_MOST_UNRANKED: Final = 4096
_SHARE_UNRANKED: Final = 8
_MOST_PARTS: Final = 64
_GROWTH: Final = 4  # plans are compiled again once the store is so many times larger
_NO_IDS: Ids = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class ComponentEdit:
    """The rules that a component has gained and lost, in the one update in which they change."""

    added: frozenset[NormalRule]
    removed: tuple[NormalRule, ...]
    """Removed rules with fewer instances than their predicate has facts: these are searched for."""
    rechecked: frozenset[str]
    """Predicates of the other removed rules: each of their facts is checked."""
    instances: float
    """Instances of the rules that it has from now on, estimated."""
    from_scratch: bool
    """Whether the component is derived from scratch."""


@dataclass
class MaintainedComponent:
    """Rules that are maintained together: a component of the program, or a stage of one.

    `in_rank_order`: every implicit fact, but for those that are `unranked`, has an instance whose body
    facts of this stage all have smaller ids.  From scratch that is so for all.  B/F leaves the facts that it
    has proved unranked; `ranked` looks at them too, and they are ranked again."""

    engine: EmbeddedEngine
    stage: Stage
    workspace: Workspace
    in_rank_order: bool = True
    unranked: tuple[Ids, ...] = ()
    """From one deletion each, or from many."""
    edit: ComponentEdit | None = None
    strategy: Strategy | None = None
    """What the last update that reached it was maintained by, and why."""
    reason: str = ""
    steps_per_seed: float = 0.0
    """Steps of searches for each fact that a deletion began with, lately."""
    worth: int = 0
    """Steps of searches that the last deletion was worth, if its strategy was to be chosen."""
    pause: int = 0
    """Deletions for which another strategy is not tried, and for how many it was not the last time."""
    last_pause: int = 0
    _plans: ComponentPlans | None = None
    _size: int = 0
    asked: int = 0
    """Questions to Python that were open when it was last derived from scratch; 0: not known."""
    carries_on: bool = False
    large_groups: dict[tuple[int, ...], LargeGroup] = field(default_factory=dict)
    """Of a fold: groups that have changed before and are large, by their keys."""
    numbers: list[int] = field(init=False)
    reads: list[int] = field(init=False)
    negated: list[int] = field(init=False)

    def __post_init__(self) -> None:
        stage, engine = self.stage, self.engine
        self.name, self.predicates, self.recursive = stage.name, stage.predicates, stage.recursive
        self.rules = stage.rules
        negated: set[int] = set()
        read: set[int] = set()
        for memo in stage.memos:
            engine.predicate(memo.ask, len(memo.inputs))
            engine.predicate(memo.memo, len(memo.inputs) + 1)
        for rule in (*stage.asking, *stage.rules):
            assert rule.head is not None
            engine.predicate(rule.head.predicate, len(rule.head.arguments))
            read |= {engine.predicate(atom.predicate, len(atom.arguments)) for atom in rule.atoms}
            negated |= {engine.predicate(atom.predicate, len(atom.arguments)) for atom in rule.negations}
        if stage.fold is not None:
            engine.predicate(stage.fold.head.predicate, len(stage.fold.head.arguments))
            read |= {engine.predicate(column.relation, column.arity) for column in stage.fold.columns}
        self.numbers = sorted(engine.predicate(p) for p in self.predicates if engine.has(p))
        self.reads = sorted(read | negated)
        self.negated = sorted(negated)
        self.lower = sorted(set(self.reads) - set(self.numbers))

    @property
    def chosen(self) -> str:
        """The name of its strategy."""
        return self.strategy.name if self.strategy is not None else ""

    @cached_property
    def incremental(self) -> bool:
        """Whether its rules can be searched for single instances."""
        return all(len(rule.atoms) < MOST_ATOMS for rule in self.rules)

    @cached_property
    def countable(self) -> bool:
        """Whether its facts are derived from lower components alone, so that all derivations of a fact are
        there once these are done, and each is met once."""
        recursive = set(self.reads) & set(self.numbers)
        return self.incremental and not self.negated and not recursive and self.stage.fold is None

    @cached_property
    def joins(self) -> int:
        """Joins that looking for a proof takes, if there is none.  Where there is not one to make, what a
        fact derives is found as fast as in a record."""
        return sum(max(0, len(rule.atoms) - 1) for rule in self.rules)

    @property
    def own(self) -> npt.NDArray[np.uint8]:
        """[predicate]: whether the component derives it.  True until another component is at work."""
        return self.workspace.own(self.numbers, len(self.engine.names) + 1)

    @property
    def is_ranked(self) -> bool:
        """Whether all its facts are in rank order."""
        return self.in_rank_order and not self.unranked

    def restorer(self) -> Callable[[], None]:
        """Restores what an update may change: see `Savepoint.on_rollback`."""
        ranks = self.in_rank_order, self.unranked, self.asked, self.carries_on
        learnt = self.strategy, self.reason, self.steps_per_seed, self.worth, self.pause, self.last_pause

        def restore() -> None:
            self.in_rank_order, self.unranked, self.asked, self.carries_on = ranks
            self.strategy, self.reason, self.steps_per_seed, self.worth, self.pause, self.last_pause = learnt
            self.forget_plans()

        return restore

    def unrank(self, ids: Ids) -> None:
        """Facts have lost proofs and have others, of any rank.  If there are too many of them, the component
        as a whole is no longer in rank order."""
        if self.in_rank_order and len(ids):
            self.unranked = (*self.unranked, ids)
            if len(self.unranked) > _MOST_PARTS:
                self.unranked = (np.unique(np.concatenate(self.unranked)),)
            if sum(map(len, self.unranked)) > _MOST_UNRANKED + self.facts // _SHARE_UNRANKED:
                self.in_rank_order = False
                self.rank()

    def rank(self) -> None:
        """No fact is known to be unranked."""
        self.unranked = ()

    def ids_have_changed(self) -> None:
        """It is no longer known which facts are unranked."""
        self.in_rank_order = self.is_ranked
        self.rank()

    @property
    def facts(self) -> int:
        count, numbers = self.engine.store.count, self.numbers
        return count(numbers[0]) if len(numbers) == 1 else sum(map(count, numbers))

    def follow_growth(self, live: int) -> None:
        """There are `live` facts in all: plans that were compiled for far fewer are dropped."""
        if live > _GROWTH * max(self._size, 1024):
            self._plans = None

    @property
    def plans(self) -> ComponentPlans:
        """What its rules are compiled to, when they are first needed."""
        if self._plans is None:
            self._plans, self._size = self._new_plans(), self.engine.store.live
        return self._plans

    def _new_plans(self) -> ComponentPlans:
        stage, edit = self.stage, self.edit
        if edit is None:
            return ComponentPlans(self.engine, stage.rules, self.predicates, stage.asking, plans=stage.plans)

        def marked(rules: tuple[NormalRule, ...]) -> list[NormalRule]:
            return [guarded_rule(rule) if rule in edit.added else rule for rule in rules]

        return ComponentPlans(
            self.engine,
            marked(stage.rules),
            self.predicates,
            marked(stage.asking),
            [guarded_rule(rule) for rule in edit.removed],
        )

    def end_edit(self) -> None:
        """The update is over in which its rules have changed."""
        self.edit = None
        self.forget_plans()

    @property
    def questions(self) -> int:
        """What has been asked of Python, wanted still or not."""
        return sum(self.engine.count(memo.ask) for memo in self.stage.memos)

    @property
    def asks_in_vain(self) -> bool:
        """Whether most of what Python has answered may no longer be asked for, and is a lot."""
        return bool(self.stage.memos) and self.questions > 2 * self.asked + MANY_QUESTIONS

    def suspects(self) -> Ids:
        """Implicit facts that a removed rule may have derived."""
        if self.edit is None or not self.edit.rechecked:
            return _NO_IDS
        numbers = [self.engine.predicate(name) for name in sorted(self.edit.rechecked)]
        return np.concatenate([self.engine.store.ids(n, 0, int(EXPLICIT | NEW), 0) for n in numbers])

    @property
    def below(self) -> list[int]:
        """What it reads of others; while its rules change, these too, and what the removed ones have read."""
        if self.edit is None:
            return self.lower
        engine = self.engine
        read = {engine.predicate(a.predicate) for rule in self.edit.removed for a in rule.atoms}
        return [*sorted({*self.lower, *(read - set(self.numbers))}), engine.predicate(RULE, 1)]

    def forget_plans(self) -> None:
        """After an update that failed: plans name indexes and terms that came with it, and large groups name
        its facts."""
        self._plans = None
        self.large_groups = {}
