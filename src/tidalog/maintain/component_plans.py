"""The compiled plans of a component under maintenance: forward by every body atom, backward by the head.

The logical plans are those of the stage; every algorithm uses the same ones.  What differs is which facts
each atom may match: `AtomFilters` says so for each kind of atom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

import numpy as np

from tidalog.analysis.normal import NormalRule
from tidalog.engine import opcodes as op
from tidalog.engine.addresses import Block, block_of
from tidalog.engine.bits import DELETED, NEW, NEW_STATE, PRESENT
from tidalog.engine.delta_scan import Plans
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.plan_compiler import Code, Filter, Filters, compile_plan
from tidalog.engine.tuple_executor import PLAN, STATE, new_search, search_arrays
from tidalog.engine.update_kernels import READY, catch_up_with
from tidalog.plan.join_order import HEAD, LogicalPlan, negation, update_pivots
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

# Ways to search.
FORWARD: Final = 0  # instances that a given fact takes part in
BACKWARD: Final = 1  # instances that derive a given fact, rules in their order
LIKELY_FIRST: Final = 2  # the same, where one is enough: rules over large relations, which derive most, first


class Searches:
    """Plans that a kernel searches by, and its scratch buffers; one update at a time uses them."""

    def __init__(self, parts: Sequence[tuple[Code, Plans]]) -> None:
        self.codes = [code for code, _ in parts]
        self.plans = [plans for _, plans in parts]
        self.search = new_search(self.codes, depth=len(parts))
        self._states = self.search.cursors[:, STATE]
        arrays = [array for plans in self.plans for array in plans]
        self.at = block_of([*arrays, *search_arrays(self.search)])
        """The addresses of all this, in this order."""
        self._work: object = None
        indexes = sorted({index for code in self.codes for index in code.indexes})
        looked_up = sorted({predicate for code in self.codes for predicate in code.looked_up})
        self._read = np.array([len(indexes), *indexes, *looked_up], np.int64)

    def work_of(self, kind: Callable[[Sequence[Code]], T]) -> T:
        """The arrays of an algorithm that searches by these plans, allocated once."""
        if self._work is None:
            self._work = kind(self.codes)
        return cast(T, self._work)

    def catch_up(self, engine: EmbeddedEngine) -> None:
        """Before every deletion: searches are idle, and read indexes and the table as they are."""
        self._states.fill(0)
        while (wanting := catch_up_with(engine.shared, self._read)) != READY:
            if wanting >= 0:
                engine.indexes.grow(wanting)
            else:
                engine.store.add_to_table(-1 - wanting)

    def rule(self, way: int = 0) -> str:
        """The rule of the plan that a way to search has started last; none may have been."""
        names, number = self.codes[way].names, self.search.cursors[way, PLAN]
        return names[number] if number < len(names) else ""


@dataclass
class ComponentPlans:
    """The rules of a stage, with native expressions alone.  Everything is compiled on first use."""

    engine: EmbeddedEngine
    rules: Sequence[NormalRule]
    predicates: frozenset[str]
    asking: Sequence[NormalRule] = ()
    """Rules that collect what memos answer: new facts add questions, and deleted ones remove none."""
    leaving: Sequence[NormalRule] = ()
    """Rules that this update removes: they have instances in the state before it and none after."""
    plans: PlanCache = field(default_factory=PlanCache)
    _grow: dict[bool, tuple[Code, Plans]] = field(default_factory=dict)
    _allow: tuple[Code, Plans] | None = None
    _grow_at: dict[bool, tuple[Code, Block]] = field(default_factory=dict)
    _search: dict[tuple[int, AtomFilters], tuple[Code, Plans]] = field(default_factory=dict)
    _codes: dict[int, Code] = field(default_factory=dict)
    _prepared: dict[tuple[tuple[int, AtomFilters], ...], Searches] = field(default_factory=dict)

    def growing(self, with_body: bool) -> tuple[Code, Plans]:
        """Semi-naive insertion: a pivot is a new fact, or one of the component that got a new id."""
        if with_body not in self._grow:
            code = Code()
            own_predicates = self.predicates if with_body else None
            for rule in (*self.asking, *self.rules):
                for pivot in range(len(rule.atoms)):
                    own = rule.atoms[pivot].predicate in self.predicates
                    chosen = (int(PRESENT), int(PRESENT), op.ANY_ID)
                    if not own:
                        chosen = (int(PRESENT | NEW), int(PRESENT | NEW), op.ANY_ID)
                    filters = Filters(self._growing_order(rule, pivot), chosen, (*NEW_STATE, op.ANY_ID))
                    logical = self._plan(rule, pivot)
                    compile_plan(logical, self.engine.catalogue, code, filters, own=own_predicates)
            self._grow[with_body] = code, code.plans()
        return self._grow[with_body]

    def growing_at(self, with_body: bool) -> tuple[Code, Block]:
        """The same, the plans by address."""
        known = self._grow_at.get(with_body)
        if known is None:
            code, plans = self.growing(with_body)
            known = self._grow_at[with_body] = code, block_of(plans)
        return known

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

    def allowing(self) -> tuple[Code, Plans]:
        """Insertion because a negated fact is deleted, which is the pivot.  Instances that have a new fact
        are found by `growing`."""
        if self._allow is None:
            code = Code()
            older = (int(PRESENT | DELETED | NEW), int(PRESENT), op.ANY_ID)
            gone = (int(PRESENT | DELETED | NEW), int(PRESENT | DELETED), op.ANY_ID)
            for rule in (*self.asking, *self.rules):
                for number in range(len(rule.negations)):
                    filters = Filters(lambda _: older, gone, (*NEW_STATE, op.ANY_ID))
                    logical = self._plan(rule, negation(number))
                    compile_plan(logical, self.engine.catalogue, code, filters)
            self._allow = code, code.plans()
        return self._allow

    def searches(self, *wanted: tuple[int, AtomFilters]) -> Searches:
        """Everything that searches of these ways, with these filters, need."""
        known = self._prepared.get(wanted)
        if known is None:
            known = self._prepared[wanted] = Searches([self._searching(*one) for one in wanted])
        return known

    def _searching(self, way: int, allowed: AtomFilters) -> tuple[Code, Plans]:
        known = self._search.get((way, allowed))
        if known is None:
            if way not in self._codes:
                self._codes[way] = self._compiled(way)
            code = self._codes[way]
            filters = [allowed(kind) for kind, _, _ in code.filters]
            known = self._search[way, allowed] = code, code.plans(filters)
        return known

    def _compiled(self, way: int) -> Code:
        """All plans with kinds of atoms for filters, and the facts of an instance in registers."""
        code = Code()
        rules = self.rules
        if way == FORWARD:
            rules = [*rules, *self.leaving]
        elif way == LIKELY_FIRST:
            rules = sorted(rules, key=self._facts_of, reverse=True)
        for rule in rules:
            for pivot in update_pivots(rule) if way == FORWARD else [HEAD]:
                filters = Filters(
                    lambda position, rule=rule, pivot=pivot: (self._kind(rule, position, pivot), 0, 0),  # type: ignore[misc]
                    (PIVOT if pivot >= HEAD else NEGATED_PIVOT, 0, 0),
                    (NEGATED, 0, 0),
                )
                logical = self._plan(rule, pivot)
                compile_plan(logical, self.engine.catalogue, code, filters, own=self.predicates)
        return code

    def _plan(self, rule: NormalRule, pivot: int) -> LogicalPlan:
        return self.plans.plan(rule, pivot, self.engine)

    def _facts_of(self, rule: NormalRule) -> int:
        """How many facts the relations of a body have."""
        return sum(self.engine.count(atom.predicate) for atom in rule.atoms)

    def _kind(self, rule: NormalRule, position: int, pivot: int) -> int:
        before = position < pivot
        if rule.atoms[position].predicate in self.predicates:
            return OWN_BEFORE if before else OWN_AFTER
        return LOWER_BEFORE if before else LOWER_AFTER
