"""A component under maintenance: its plans, its rank order, and what earlier updates have cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from tidalog.analysis.normal import NormalRule
from tidalog.engine.bits import EXPLICIT, NEW
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.fact_kernels import COUNT
from tidalog.engine.opcodes import MOST_ATOMS
from tidalog.maintain.component_plans import ComponentPlans
from tidalog.maintain.default_strategy import RuleTraits
from tidalog.maintain.large_groups import LargeGroup
from tidalog.maintain.slide_costs import Mean, SlideCosts
from tidalog.maintain.workspace import Workspace
from tidalog.model.facts import Ids
from tidalog.plan.lowering import RULE, Stage, asks

if TYPE_CHECKING:
    from tidalog.maintain.strategies.base import Strategy

MANY_QUESTIONS: Final = 1 << 16
"""Answers that are kept however few of them are wanted."""
_MOST_UNRANKED: Final = 4096
_SHARE_UNRANKED: Final = 8
_MOST_PARTS: Final = 64
_GROWTH: Final = 4  # plans are compiled again once the store is this many times larger
_NO_IDS: Ids = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class ComponentEdit:
    """The rules that a component has gained and lost, in the one update in which they change."""

    added: tuple[NormalRule, ...]
    removed: tuple[NormalRule, ...]
    """Removed rules with fewer instances than their predicate has facts: these are searched for."""
    rechecked: frozenset[str]
    """Predicates of the other removed rules: each of their facts is checked."""
    searched: float
    """Instances of the rules that are searched for, estimated."""
    lost: float
    """Instances of all rules that it has lost, estimated."""
    from_scratch: bool
    """Whether the component is derived from scratch."""


@dataclass
class Bodies:
    """What the rules of a component read, rule by rule, so that an edit costs what it changes."""

    rules: int = 0
    read: dict[int, int] = field(default_factory=dict)
    """Predicate → in how many atoms."""
    negated: dict[int, int] = field(default_factory=dict)
    joins: int = 0
    long: int = 0
    """Rules with too many atoms to be searched for single instances."""
    empty: int = 0
    """Rules without atoms."""

    def edited(
        self, engine: EmbeddedEngine, added: Iterable[NormalRule], removed: Iterable[NormalRule] = ()
    ) -> Bodies:
        found = replace(self, read=dict(self.read), negated=dict(self.negated))
        for rule in removed:
            found._count(engine, rule, -1)
        for rule in added:
            found._count(engine, rule, 1)
        return found

    def _count(self, engine: EmbeddedEngine, rule: NormalRule, times: int) -> None:
        predicate, head = engine.predicate, rule.head
        assert head is not None
        predicate(head.predicate, len(head.arguments))
        for atoms, counts in ((rule.atoms, self.read), (rule.negations, self.negated)):
            for atom in atoms:
                number = predicate(atom.predicate, len(atom.arguments))
                counts[number] = counts.get(number, 0) + times
                if not counts[number]:
                    del counts[number]
        self.rules += times
        self.empty += times * (not rule.atoms)
        if not asks(head.predicate):
            self.joins += times * max(0, len(rule.atoms) - 1)
            self.long += times * (len(rule.atoms) >= MOST_ATOMS)


@dataclass(eq=False)
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
    """Deletions left without a trial of another strategy, and the length of the last such pause."""
    last_pause: int = 0
    _plans: ComponentPlans | None = None
    _size: int = 0
    expires_with: tuple[int, frozenset[int]] | None = None
    """Expiries of its facts are right: for ranks of this version, with expiries of these lower predicates."""
    is_held: bool = False
    """Whether a bounded component depends on it, and so on its expiries."""
    slides: SlideCosts = field(default_factory=SlideCosts)
    proofs: Mean = field(default_factory=Mean)
    """Proofs of each new fact."""
    stays: Mean = field(default_factory=Mean)
    """Of the facts that a slide of windows makes affected, the share that stays."""
    asked: int = 0
    """Questions to Python that were open when it was last derived from scratch; 0: not known."""
    carries_on: bool = False
    large_groups: dict[tuple[int, ...], LargeGroup] = field(default_factory=dict)
    """Of a fold: groups that have changed before and are large, by their keys."""
    bodies: Bodies = field(default_factory=Bodies)
    numbers: list[int] = field(default_factory=list)
    negated: list[int] = field(init=False)
    lower: list[int] = field(init=False)

    def __post_init__(self) -> None:
        stage, engine = self.stage, self.engine
        self.name, self.predicates, self.recursive = stage.name, stage.predicates, stage.recursive
        self.rules = stage.rules
        for memo in stage.memos:
            engine.predicate(memo.ask, len(memo.inputs))
            engine.predicate(memo.memo, len(memo.inputs) + 1)
        if not self.bodies.rules:
            self.bodies = self.bodies.edited(engine, stage.every_rule)
        read = self.bodies.read.keys() | self.bodies.negated.keys()
        if stage.fold is not None:
            engine.predicate(stage.fold.head.predicate, len(stage.fold.head.arguments))
            read |= {engine.predicate(column.relation, column.arity) for column in stage.fold.columns}
        if len(self.numbers) != len(self.predicates):
            self.numbers = sorted(engine.predicate(p) for p in self.predicates if engine.has(p))
        self.negated = sorted(self.bodies.negated)
        self.lower = sorted(read.difference(self.numbers))
        self.joins, self.incremental = self.bodies.joins, not self.bodies.long
        """The joins of a search that finds no proof (without joins, a search is as fast as the derivation
        log); whether its rules can be searched for single instances."""
        self._reads_itself = len(self.lower) < len(read)
        self.traits = RuleTraits(
            folds=stage.fold is not None,
            recursive=stage.recursive,
            negates=bool(self.negated),
            begins=self.bodies.empty > 0,
            long=self.bodies.long > 0,
            bounded=any(rule.lasting for rule in stage.rules),
        )

    @property
    def chosen(self) -> str:
        """The name of its strategy."""
        return self.strategy.name if self.strategy is not None else ""

    @property
    def countable(self) -> bool:
        """Whether its facts are derived from lower components alone, so that all derivations of a fact are
        there once these are done, and each is met once."""
        is_plain = not self.negated and self.stage.fold is None
        return self.incremental and is_plain and not self._reads_itself

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
        ranks = self.in_rank_order, self.unranked, self.asked, self.carries_on, self.expires_with
        learnt = self.strategy, self.reason, self.steps_per_seed, self.worth, self.pause, self.last_pause

        def restore() -> None:
            self.in_rank_order, self.unranked, self.asked, self.carries_on, self.expires_with = ranks
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
        store, numbers = self.engine.store, self.numbers
        if len(numbers) == 1:
            return store.count(numbers[0])
        return int(store.arrays.extent[numbers, COUNT].sum())

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
            return ComponentPlans(self.engine, self.predicates, stage.every_rule, stage.plans)
        added = set(map(id, edit.added))
        staying = [rule for rule in stage.every_rule if id(rule) not in added]
        plans = ComponentPlans(self.engine, self.predicates, staying, stage.plans)
        plans.begin_edit(edit.added, edit.removed)
        return plans

    def followed_by(
        self, stage: Stage, edit: ComponentEdit, lost: Iterable[NormalRule]
    ) -> MaintainedComponent:
        """The component with the rules of an edit, for the same predicates; `lost` are the rules that it has
        lost.  It takes the compiled plans of the others; this one compiles them again if it is used again."""
        bodies, numbers = self.bodies.edited(self.engine, edit.added, lost), self.numbers
        found = MaintainedComponent(
            self.engine, stage, self.workspace, edit=edit, bodies=bodies, numbers=numbers
        )
        if self._plans is not None:
            found._plans, found._size, self._plans = self._plans, self._size, None
            found._plans.remove(lost)
            found._plans.begin_edit(edit.added, edit.removed)
        return found

    def end_edit(self) -> None:
        """The update is over in which its rules have changed."""
        plans, edit = self._plans, self.edit
        self._plans, self.edit = None, None
        if plans is not None and edit is not None:
            plans.end_edit(edit.added)
            self._plans = plans

    @property
    def questions(self) -> int:
        """How many questions Python has been asked, needed or not."""
        return sum(self.engine.count(memo.ask) for memo in self.stage.memos)

    @property
    def asks_in_vain(self) -> bool:
        """Whether there are many answers of Python, most of which no rule may need any more."""
        return bool(self.stage.memos) and self.questions > 2 * self.asked + MANY_QUESTIONS

    def suspects(self) -> Ids:
        """Implicit facts that a removed rule may have derived."""
        if self.edit is None or not self.edit.rechecked:
            return _NO_IDS
        numbers = [self.engine.predicate(name) for name in sorted(self.edit.rechecked)]
        return np.concatenate([self.engine.store.ids(n, 0, int(EXPLICIT | NEW), 0) for n in numbers])

    @property
    def below(self) -> list[int]:
        """What it reads of lower components; while its rules change, also the relation of rules, and what the
        removed ones have read."""
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
