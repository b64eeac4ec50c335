"""The compiled plans of a component under maintenance: forward by every body atom, backward by the head.

The logical plans are those of the stage; every algorithm uses the same ones.  What differs is which facts
each atom may match: `AtomFilters` says so for each kind of atom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from tidalog.analysis.normal import NormalRule
from tidalog.engine import opcodes as op
from tidalog.engine.addresses import Owner
from tidalog.engine.bits import DELETED, NEW, NEW_STATE, PRESENT
from tidalog.engine.delta_scan import Plans
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.plan_code import Code, Filter
from tidalog.engine.plan_compiler import Filters, compile_plan
from tidalog.engine.tuple_executor import PLAN, STATE, new_search
from tidalog.engine.update_kernels import READY, catch_up_with
from tidalog.plan.join_order import HEAD, negation, update_pivots
from tidalog.plan.lowering import asks, guarded_rule
from tidalog.plan.plan_cache import PlanCache

# Kinds of atoms, beside the pivot.
PIVOT: Final = 0
OWN_BEFORE: Final = 1  # of the component itself, before the pivot in the body
OWN_AFTER: Final = 2
LOWER_BEFORE: Final = 3  # of a lower component
LOWER_AFTER: Final = 4
NEGATED: Final = 5
NEGATED_PIVOT: Final = 6

T = TypeVar("T")
AtomFilters = Callable[[int], Filter]
"""Kind of an atom → which facts it may match."""

_PRESENT: Final[Filter] = (int(PRESENT), int(PRESENT), op.ANY_ID)
_NEW: Final[Filter] = (int(PRESENT | NEW), int(PRESENT | NEW), op.ANY_ID)
_OLDER: Final[Filter] = (int(PRESENT | DELETED | NEW), int(PRESENT), op.ANY_ID)
_GONE: Final[Filter] = (int(PRESENT | DELETED | NEW), int(PRESENT | DELETED), op.ANY_ID)
_NOT_DELETED: Final[Filter] = (*NEW_STATE, op.ANY_ID)

# Ways to search.
FORWARD: Final = 0  # instances that a given fact takes part in
BACKWARD: Final = 1  # instances that derive a given fact, rules in their order
LIKELY_FIRST: Final = 2  # the same, where one is enough: rules over large relations, which derive most, first


class Searches:
    """Plans that a kernel searches by, and its scratch buffers; one update at a time uses them."""

    def __init__(self, parts: Sequence[tuple[Code, Owner[Plans]]]) -> None:
        self.codes = [code for code, _ in parts]
        self.plans = [plans.at for _, plans in parts]
        """The block of each."""
        self.search = Owner(new_search(self.codes, depth=len(parts)))
        self._states = self.search.arrays.cursors[:, STATE]
        self._owners = [plans for _, plans in parts]
        self._work: object = None
        indexes = sorted({index for code in self.codes for index in code.indexes})
        looked_up = sorted({predicate for code in self.codes for predicate in code.looked_up})
        self._read = np.array([len(indexes), *indexes, *looked_up], np.int64)

    def work_of(self, kind: Callable[[Sequence[Code]], T]) -> T:
        """The arrays of an algorithm that searches by these plans, allocated once."""
        if self._work is None:
            self._work = kind(self.codes)
        return cast(T, self._work)

    @property
    def read(self) -> npt.NDArray[np.int64]:
        """The number of indexes, these, then the predicates that are looked up."""
        return self._read

    def catch_up(self, engine: EmbeddedEngine) -> None:
        """Before every deletion: searches are idle, and read indexes and the table as they are."""
        self._states.fill(0)
        while (wanting := catch_up_with(engine.store.at, engine.indexes.meta, self._read)) != READY:
            if wanting >= 0:
                engine.indexes.grow(wanting)
            else:
                engine.store.add_to_table(-1 - wanting)

    def rule(self, way: int = 0) -> str:
        """The rule of the plan that a way to search has started last; none may have been."""
        names, number = self.codes[way].names, self.search.arrays.cursors[way, PLAN]
        return names[number] if number < len(names) else ""


# Kinds of plans, beside the ways to search.
GROW: Final = 3  # semi-naive insertion
GROW_WITH_BODY: Final = 4  # the same, the facts of an instance in registers
ALLOW: Final = 5  # insertion because a negated fact is deleted
ASK: Final = 6  # semi-naive insertion of what memos answer alone

# What a rule is to its component, and the kinds of plans that it has for that.
RULES: Final = 0
ASKING: Final = 1  # it collects what memos answer: new facts add questions, and deleted ones remove none
LEAVING: Final = 2  # this update removes it: it has instances in the state before and none after
_KINDS: Final = (
    (FORWARD, BACKWARD, LIKELY_FIRST, GROW, GROW_WITH_BODY, ALLOW),
    (GROW, GROW_WITH_BODY, ALLOW, ASK),
    (FORWARD,),
)


_Key = tuple[int, str, str]
"""What identifies a rule of a component: its role, its name and the predicate that it derives."""


def _role_of(rule: NormalRule) -> int:
    """What a rule of a stage is to its component."""
    assert rule.head is not None
    return ASKING if asks(rule.head.predicate) else RULES


def _key_of(rule: NormalRule, role: int) -> _Key:
    assert rule.head is not None
    return role, rule.name, rule.head.predicate


class _PlanSet:
    """The plans of one kind, each found by its rule."""

    def __init__(self) -> None:
        self.code = Code()
        self.of_rule: dict[_Key, range] = {}
        self.dropped = 0
        self.arrays: dict[AtomFilters | None, Owner[Plans]] = {}


class ComponentPlans:
    """The compiled plans of a stage's rules, with native expressions alone.

    Plans of a kind are compiled when they are first needed.  Rules are added and removed one by one, at a
    cost proportional to them: the plans of the others do not move."""

    def __init__(
        self,
        engine: EmbeddedEngine,
        predicates: frozenset[str],
        rules: Iterable[NormalRule] = (),
        plans: PlanCache | None = None,
    ) -> None:
        """`plans` has the logical plans of rules that stay."""
        self.engine, self.predicates = engine, predicates
        self._logical = plans or PlanCache()
        self._rules: tuple[dict[_Key, NormalRule], ...] = ({}, {}, {})
        for rule in rules:
            role = _role_of(rule)
            self._rules[role][_key_of(rule, role)] = rule
        self._guarded: list[tuple[NormalRule, int]] = []
        self._sets: dict[int, _PlanSet] = {}
        self._prepared: dict[tuple[tuple[int, AtomFilters], ...], Searches] = {}

    # --- rule edits ---------------------------------------------------------------------------------

    def begin_edit(self, added: Iterable[NormalRule], removed: Iterable[NormalRule]) -> None:
        """For one update, rules that are new or leave have one more atom: see `guarded_rule`."""
        changed = [(guarded_rule(rule), _role_of(rule)) for rule in added]
        changed += [(guarded_rule(rule), LEAVING) for rule in removed]
        for rule, role in changed:
            self._add(rule, role)
        self._guarded += changed

    def end_edit(self, added: Iterable[NormalRule]) -> None:
        """The update is over: its new rules are like all others."""
        for rule, role in self._guarded:
            self._remove(rule, role)
        self._guarded = []
        for rule in added:
            self._add(rule, _role_of(rule))

    def remove(self, rules: Iterable[NormalRule]) -> None:
        """Rules of the stage are no longer there."""
        for rule in rules:
            self._remove(rule, _role_of(rule))

    def _add(self, rule: NormalRule, role: int) -> None:
        key = _key_of(rule, role)
        self._rules[role][key] = rule
        for kind in _KINDS[role]:
            if kind in self._sets:
                self._compile(kind, self._sets[kind], key, rule)
        self._outdate()

    def _remove(self, rule: NormalRule, role: int) -> None:
        key = _key_of(rule, role)
        self._logical.forget(self._rules[role].pop(key))
        for kind in _KINDS[role]:
            known = self._sets.get(kind)
            if known is None:
                continue
            plans = known.of_rule.pop(key)
            known.code.drop(plans)
            known.arrays.clear()
            known.dropped += len(plans)
            if 2 * known.dropped > len(known.code.starts):
                del self._sets[kind]
        self._outdate()

    def _outdate(self) -> None:
        self._prepared.clear()

    # --- kinds of plans -----------------------------------------------------------------------------

    def growing(self, with_body: bool) -> tuple[Code, Owner[Plans]]:
        """Semi-naive insertion: a pivot is a new fact, or one of the component that got a new id."""
        return self._plans(GROW_WITH_BODY if with_body else GROW)

    def asking(self) -> tuple[Code, Owner[Plans]]:
        """`growing` by the rules alone that collect what memos answer."""
        return self._plans(ASK)

    def allowing(self) -> tuple[Code, Owner[Plans]]:
        """Insertion because a negated fact is deleted, which is the pivot.  Instances that have a new fact
        are found by `growing`."""
        return self._plans(ALLOW)

    def searches(self, *wanted: tuple[int, AtomFilters]) -> Searches:
        """Everything that searches of these ways, with these filters, need."""
        known = self._prepared.get(wanted)
        if known is None:
            known = self._prepared[wanted] = Searches([self._plans(*one) for one in wanted])
        return known

    def _plans(self, kind: int, allowed: AtomFilters | None = None) -> tuple[Code, Owner[Plans]]:
        """The plans of a kind.  Those of searches have kinds of atoms for filters: `allowed` says what they
        mean."""
        known = self._sets.get(kind)
        if known is None:
            known = self._sets[kind] = _PlanSet()
            for role, rules in enumerate(self._rules):
                for key, rule in rules.items() if kind in _KINDS[role] else ():
                    self._compile(kind, known, key, rule)
        if allowed not in known.arrays:
            filters = None if allowed is None else [allowed(kind) for kind, _, _ in known.code.filters]
            known.arrays[allowed] = Owner(known.code.plans(filters))
        return known.code, known.arrays[allowed]

    def _compile(self, kind: int, plans: _PlanSet, key: _Key, rule: NormalRule) -> None:
        code, first = plans.code, len(plans.code.starts)
        own = None if kind in (GROW, ALLOW, ASK) else self.predicates
        for pivot, filters in self._pivots(kind, rule):
            logical = self._logical.plan(rule, pivot, self.engine)
            compile_plan(logical, self.engine.catalogue, code, filters, own=own)
            if kind == LIKELY_FIRST:
                code.weights.append(self._facts_of(rule))
        plans.of_rule[key] = range(first, len(code.starts))
        plans.arrays.clear()

    def _pivots(self, kind: int, rule: NormalRule) -> Iterator[tuple[int, Filters]]:
        """The pivots that a rule has in the plans of a kind, and which facts match."""
        if kind in (GROW, GROW_WITH_BODY, ASK):
            for pivot, atom in enumerate(rule.atoms):
                given = _PRESENT if atom.predicate in self.predicates else _NEW
                yield pivot, Filters(self._growing_order(rule, pivot), given, _NOT_DELETED)
        elif kind == ALLOW:
            for number in range(len(rule.negations)):
                yield negation(number), Filters(lambda _: _OLDER, _GONE, _NOT_DELETED)
        else:
            for pivot in update_pivots(rule) if kind == FORWARD else [HEAD]:
                chosen = PIVOT if pivot >= HEAD else NEGATED_PIVOT
                yield pivot, Filters(self._kinds(rule, pivot), (chosen, 0, 0), (NEGATED, 0, 0))

    def _growing_order(self, rule: NormalRule, pivot: int) -> Callable[[int], Filter]:
        """An instance is found at its fact with the largest id among those that are pivots."""

        def chosen(position: int) -> Filter:
            before = position < pivot
            if rule.atoms[position].predicate in self.predicates:
                order = op.BELOW_PIVOT if before else op.UP_TO_PIVOT
            else:
                order = op.NEW_BELOW_PIVOT if before else op.NEW_UP_TO_PIVOT
            return (*NEW_STATE, order)

        return chosen

    def _kinds(self, rule: NormalRule, pivot: int) -> Callable[[int], Filter]:
        def chosen(position: int) -> Filter:
            before = position < pivot
            if rule.atoms[position].predicate in self.predicates:
                return OWN_BEFORE if before else OWN_AFTER, 0, 0
            return LOWER_BEFORE if before else LOWER_AFTER, 0, 0

        return chosen

    def _facts_of(self, rule: NormalRule) -> int:
        """How many facts the relations of a body have."""
        return sum(self.engine.count(atom.predicate) for atom in rule.atoms)
