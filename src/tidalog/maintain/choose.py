"""Which strategy maintains a component in an update, and when it is given up for another.

`auto` begins with the default strategy (`ranked`) unless B/F (many proofs for each fact) or DRed (one)
promises more, and derives the component from scratch as soon as that is found to be cheaper. Costs are learnt
per component.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import thread_time
from typing import Final

from tidalog.engine.undo_log import MOVES
from tidalog.maintain import default_strategy as by_rules
from tidalog.maintain import marks, registry
from tidalog.maintain import strategies as registered
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.counters import Counters
from tidalog.maintain.expiring import drop_expiries
from tidalog.maintain.registry import AUTO
from tidalog.maintain.runner import TooMuchWork
from tidalog.maintain.slide_costs import Mean
from tidalog.maintain.strategies import ComponentUpdate, Strategy

STRATEGIES: Final = registry.STRATEGY_OPTIONS
MARKINGS: Final = registry.MARKING_OPTIONS
ORDERS: Final = registry.ORDERS

START_OVER: Final = registered.STRATEGIES[by_rules.START_OVER]
_DEFAULT: Final = registered.STRATEGIES[by_rules.DEFAULT]
_BY_TIME: Final = registered.STRATEGIES[by_rules.BY_TIME]
_FIRST_TRIED: Final = registered.STRATEGIES["bf"]
_BOUNDED: Final = registered.STRATEGIES[by_rules.BOUNDED]
_BY_BLOCKS: Final = registered.STRATEGIES["dred"]


@dataclass(frozen=True, slots=True)
class Options:
    strategy: str = AUTO
    marking: str = AUTO
    order: str = "ours"
    look_ahead: int = 1


def keeps_expiries(options: Options) -> bool:
    """Whether components may be maintained by the times at which their facts go."""
    return options.strategy == AUTO or registered.STRATEGIES[options.strategy].keeps_expiries


def foresees(options: Options) -> bool:
    """Whether it pays to mark what windows lose next before an update says so."""
    return options.strategy != AUTO and registered.STRATEGIES[options.strategy].foresees


def strategy_to_prepare(options: Options) -> Strategy:
    """The strategy that most components will have."""
    return _DEFAULT if options.strategy == AUTO else registered.STRATEGIES[options.strategy]


def kind_of_marks(options: Options, *, joins: bool) -> type[marks.Marks]:
    """Complete marks cost nothing where nothing is announced, and save most; they save joins, so `auto` uses
    none where there is no join.  A strategy may have marks of its own."""
    if options.marking == AUTO:
        return marks.MARKS["complete" if joins else "none"]
    own = {} if options.strategy == AUTO else registered.STRATEGIES[options.strategy].own_marks
    return marks.MARKS[own.get(options.marking, options.marking)]


def maintain(work: ComponentUpdate, options: Options) -> Strategy:
    """Brings a component up to date; gives the strategy that did."""
    component = work.component
    strategy = choose(component, options, work.seeds)
    slides = options.strategy == AUTO and component.engine.expiries.lifetimes is not None
    slide = _Slide(work, strategy) if slides else None
    if component.strategy is not None and component.strategy is not strategy:
        component.strategy.leave(component)
    if not strategy.keeps_expiries:
        drop_expiries(component)
    if strategy.starts_over:
        strategy.delete(work)
    elif work.seeds:
        if options.strategy == AUTO and strategy is _DEFAULT:
            strategy = _delete_or_start_over(strategy, work)
        else:
            strategy.delete(work)
    derivations, facts = work.derivations, len(work.txn.engine.store)
    begins = strategy.keeps_expiries and component.expires_with is None
    strategy.insert(work)
    if not begins:  # otherwise the proofs of all facts were looked at
        new = len(work.txn.engine.store) - facts - work.explicit
        component.proofs.note(work.derivations - derivations, max(0, new))
    if slide is not None:
        slide.end(work, strategy, begins=begins)
    component.strategy = strategy
    return strategy


class _Slide:
    """What a component costs in an update in which windows slide."""

    __slots__ = ("_affected", "_began", "_gone")

    def __init__(self, work: ComponentUpdate, strategy: Strategy) -> None:
        is_measured = strategy.keeps_expiries or work.component.slides.is_trial
        self._began = thread_time() if is_measured else None
        self._affected, self._gone = work.counters.deletions, _gone(work)

    def end(self, work: ComponentUpdate, strategy: Strategy, *, begins: bool) -> None:
        component, asked = work.component, work.txn.to_delete
        affected = work.counters.deletions - self._affected
        if affected and not strategy.keeps_expiries:
            own = sum(len(asked[number]) for number in component.numbers if number in asked)
            component.stays.note(max(0, affected + own - (_gone(work) - self._gone)), affected)
        if self._began is None:
            return
        kept, seconds = strategy.keeps_expiries, thread_time() - self._began
        slides = component.engine.expiries.slides if kept else work.seeds > 0
        component.slides.note(seconds, kept=kept, begins=begins, slides=slides)


def _gone(work: ComponentUpdate) -> int:
    """Facts that the update has deleted so far, without those that have come back."""
    return work.txn.deleted_count - int(work.txn.engine.log.arrays.counts[MOVES])


def choose(component: MaintainedComponent, options: Options, seeds: int) -> Strategy:
    """The strategy for a component whose deletion begins with `seeds` facts; why is in `component.reason`."""
    if component.traits.bounded:
        component.reason = by_rules.BOUNDED_REASON
        return _fitting(component, _BOUNDED)
    if component.is_held and not _BY_TIME.misfit(component):
        component.reason = "a bounded component reads its expiries"
        return _BY_TIME
    if component.edit is not None and component.edit.from_scratch:
        component.reason = "a fold has become one of several rules, or the only one"
        return START_OVER
    if component.asks_in_vain:
        component.reason = "most results of Python functions are no longer needed"
        return START_OVER
    name = options.strategy
    if name == AUTO:
        by_time = _goes_by_time(component)
        name, component.reason = by_rules.default_strategy(component.traits, by_time=by_time)
    elif name != START_OVER.name and (only := by_rules.only_strategy(component.traits)):
        name, component.reason = only
    strategy = registered.STRATEGIES[name]
    if options.strategy != AUTO:
        component.reason = strategy.reason or component.reason
    elif seeds and strategy is _DEFAULT:
        facts = component.facts
        component.worth = steps_worth(component, facts)
        if seeds * _steps_per_seed(component) > component.worth:
            component.reason = f"{seeds:,} deletions are expected to reach most of its {facts:,} facts"
            component.steps_per_seed *= _MEMORY  # what is not tried is forgotten, and tried again
            return START_OVER
    return _fitting(component, strategy)


def _fitting(component: MaintainedComponent, strategy: Strategy) -> Strategy:
    """A strategy, or the one that maintains what it cannot."""
    while problem := strategy.misfit(component):
        component.reason = problem
        strategy = registered.STRATEGIES[strategy.substitute]
    return strategy


def _goes_by_time(component: MaintainedComponent) -> bool:
    """Whether windows slide over a component, and its expiries cost less than its deltas."""
    lifetimes = component.engine.expiries.lifetimes
    if lifetimes is None or _BY_TIME.misfit(component):
        return False
    kept = component.expires_with is not None
    if lifetimes.wanted:
        return True
    slides = component.slides
    by_time = slides.favour_expiries(lifetimes, component.facts, component.proofs, kept=kept)
    if kept and slides.is_trial:  # what was learnt while a window was filling does not hold any more
        component.steps_per_seed, component.stays = 0.0, Mean()
    return by_time


# --- what a deletion costs ---------------------------------------------------------------------------

_STEPS_BY_BLOCKS: Final = 1.25
"""Steps of a search that cost as much as to delete a fact by blocks, and to insert another one."""
_STEPS_PER_FACT: Final = 0.4
_STEPS_PER_DERIVATION: Final = 0.1
_NEAR: Final = 0.5
"""Costs from scratch, in steps of a search: to delete and insert a fact, and to find an instance; the latter
is multiplied by `_NEAR` if all facts fit the caches of the machine."""
_FEW_FACTS: Final = 1 << 16
_TOO_MUCH: Final = 8
"""Times the worth of starting over: the steps assumed to be ahead of a deletion that was given up."""
_LEAST_PER_SEED: Final = 2
"""Steps that every deleted fact costs, whatever it affects."""
_MANY_PROOFS: Final = 5.0
"""From this mean number of derivations per fact on, B/F is tried first: it stops at the first proof, whatever
its rank, and facts keep their ids."""
_SINGLE_PROOFS: Final = 1.1
"""Up to this mean number of derivations per fact, DRed overdeletes little."""
_FEW_STAY: Final = 0.1
"""The same if at most this share of the facts that slides affect stays."""
_MANY_SEEDS: Final = 50
"""Deletions that are worth another strategy: what B/F leaves unranked costs something later."""
_TRIAL_PER_SEED: Final = 128
"""Steps after which that is given up."""
_FIRST_PAUSE, _LONGEST_PAUSE = 32, 1024
"""Deletions for which it is not tried again then."""
_MEMORY: Final = 0.5
"""How much the last update says about the next."""


def steps_worth(component: MaintainedComponent, facts: int) -> int:
    """Steps of searches that may be taken before deriving the `facts` of a component from scratch is
    cheaper."""
    derivations = component.engine.derivations.get(component.predicates, facts)
    if component.edit is not None:
        derivations = int(max(0.0, derivations - component.edit.lost))
    each = _STEPS_PER_DERIVATION * (_NEAR if facts < _FEW_FACTS else 1.0)
    return 2000 + int(_STEPS_PER_FACT * facts + each * derivations)


def _steps_per_seed(component: MaintainedComponent) -> float:
    """Steps that a deletion is expected to take for each fact it begins with: as many as in recent updates;
    without recursion at least the mean number of instances of a lower fact, since each of them is visited."""
    steps = max(component.steps_per_seed, _LEAST_PER_SEED)
    if component.recursive:
        return steps
    engine = component.engine
    derivations = engine.derivations.get(component.predicates, 0)
    if derivations <= steps:
        return steps
    return max(steps, derivations / max(1, sum(map(engine.store.count, component.lower))))


def _learn(component: MaintainedComponent, seeds: int, steps: int) -> None:
    if seeds:
        component.steps_per_seed += _MEMORY * (steps / seeds - component.steps_per_seed)


def _delete_or_start_over(strategy: Strategy, work: ComponentUpdate) -> Strategy:
    """Deletes as long as that is cheaper than to start over; gives the strategy that deleted."""
    component, runner = work.component, work.runner
    seeds, worth = work.seeds, component.worth
    if seeds >= _MANY_SEEDS and work.marks.allows_trials:
        if _has_single_proofs(component):
            affected = work.counters.deletions
            _BY_BLOCKS.delete(work)
            _learn(component, seeds, int(_STEPS_BY_BLOCKS * (work.counters.deletions - affected)))
            component.reason = "most facts have one proof"
            return _BY_BLOCKS
        steps = _trial(component, seeds, worth)
        if steps and _tried(work, steps):
            return _FIRST_TRIED
    runner.searches = worth
    if component.unranked:
        seeds += sum(map(len, component.unranked))
    try:
        strategy.delete(work)
        _learn(component, seeds, worth - runner.searches)
        return strategy
    except TooMuchWork:
        strategy.give_up(work)
    finally:
        runner.searches = None
    component.reason = "looking for proofs takes longer than to start over"
    _learn(component, seeds, _TOO_MUCH * worth)
    START_OVER.delete(work)
    return START_OVER


def _has_single_proofs(component: MaintainedComponent) -> bool:
    """Whether a fact that loses a derivation has, as a rule, no other."""
    if component.edit is not None or component.negated or component.engine.log.derivation_log.is_open:
        return False
    if component.engine.expiries.lifetimes is not None:
        if component.stays.is_known:
            return component.stays.is_at_most(_FEW_STAY)
        if component.slides.is_trial:
            return True
    if component.proofs.is_known:
        return component.proofs.is_at_most(_SINGLE_PROOFS)
    derivations = component.engine.derivations.get(component.predicates, 0)
    return 0 < derivations <= _SINGLE_PROOFS * component.facts


def _trial(component: MaintainedComponent, seeds: int, worth: int) -> int:
    """Steps that B/F may take before the default strategy; 0 if it is not worth a trial."""
    if not component.recursive or component.edit is not None:
        return 0
    if component.engine.log.derivation_log.is_open:
        return 0
    if component.pause:
        component.pause -= 1
        return 0
    derivations = component.engine.derivations.get(component.predicates, 0)
    if derivations < _MANY_PROOFS * component.facts:
        return 0
    return min(worth, _TRIAL_PER_SEED * seeds)


def _tried(work: ComponentUpdate, steps: int) -> bool:
    """Whether B/F has decided everything within these steps; if not, it has decided nothing."""
    component, runner, counters = work.component, work.runner, work.counters
    runner.searches, work.counters = steps, Counters()
    try:
        _FIRST_TRIED.delete(work)
    except TooMuchWork:
        _FIRST_TRIED.give_up(work)
        longer = min(_LONGEST_PAUSE, 2 * component.last_pause)
        component.pause = component.last_pause = max(_FIRST_PAUSE, longer)
        return False
    else:
        counters.add(work.counters)
        component.reason = "most facts have another proof at hand"
        component.last_pause //= 2
        return True
    finally:
        runner.searches, work.counters = None, counters
