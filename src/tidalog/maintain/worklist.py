"""Which components an update reaches: by the predicates that they read, in topological order."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from tidalog.analysis.component_diff import Order
from tidalog.maintain.component import MaintainedComponent
from tidalog.plan.lowering import is_hidden

Position = tuple[tuple[int, ...], int, int]
"""The rank of a component of the program, which of these comes first if two have the same, and the stage."""

_NUMBERS: Final = count()
_LAST: Final = (1 << 62,)
"""The rank of constraints, which read all components and are read by none."""


@dataclass(frozen=True, eq=False, slots=True)
class Stages:
    """A component of the program, or a constraint, in the stages that are maintained one after the other."""

    predicates: tuple[str, ...]
    stages: tuple[MaintainedComponent, ...]
    number: int = field(default_factory=_NUMBERS.__next__)
    """Constraints come in this order, which an edit that fails leaves as it was."""


class ComponentIndex:
    """The components under maintenance by the predicates that they derive and read.

    Invariant: in the order of `position` each component comes after all that it reads.  `replace` costs what
    it replaces; the order is that of the rule graph, and an edit moves only the components that it must.
    """

    def __init__(self, order: Order, groups: Iterable[Stages]) -> None:
        self.order = order
        self.holder: dict[int, MaintainedComponent] = {}
        """Predicate → the component that derives it."""
        self.joining = 0
        """How many components have a join."""
        self._readers: dict[int, dict[int, MaintainedComponent]] = {}
        self._group_of: dict[str, Stages] = {}
        self._positions: dict[int, tuple[str, int, int]] = {}
        self._all: dict[int, MaintainedComponent] = {}
        self._bounded: dict[int, MaintainedComponent] = {}
        self.held: list[MaintainedComponent] = []
        """Those that bounded components depend on."""
        self.replace((), groups)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[MaintainedComponent]:
        """In topological order."""
        return iter(sorted(self._all.values(), key=self.position))

    def unordered(self) -> Collection[MaintainedComponent]:
        return self._all.values()

    def readers(self, predicate: int) -> Iterable[MaintainedComponent]:
        """The components above that read a predicate."""
        return self._readers.get(predicate, {}).values()

    @property
    def bounded(self) -> Collection[MaintainedComponent]:
        """Components that hold what others hold for long enough."""
        return self._bounded.values()

    def groups_of(self, predicates: Iterable[str]) -> list[Stages]:
        """The components of the program that some predicates belong to."""
        found = set(map(self._group_of.get, predicates))
        return sorted((group for group in found if group is not None), key=lambda group: group.number)

    def position(self, component: MaintainedComponent) -> Position:
        predicate, number, stage = self._positions[id(component)]
        return _LAST if is_hidden(predicate) else self.order(predicate), number, stage

    def replace(self, old: Iterable[Stages], new: Iterable[Stages]) -> None:
        """Removes components and adds others; some stages may be in both."""
        for group in old:
            for predicate in group.predicates:
                del self._group_of[predicate]
            for component in group.stages:
                self._remove(component)
        for group in new:
            self._group_of.update(dict.fromkeys(group.predicates, group))
            for stage, component in enumerate(group.stages):
                self._positions[id(component)] = group.predicates[0], group.number, stage
                self._add(component)
        if self._bounded or self.held:
            self._hold()

    def _hold(self) -> None:
        for component in self.held:
            component.is_held = False
        self.held.clear()
        waiting = list(self._bounded.values())
        while waiting:
            for number in waiting.pop().lower:
                lower = self.holder.get(number)
                if lower is not None and not lower.is_held:
                    lower.is_held = True
                    self.held.append(lower)
                    waiting.append(lower)

    def _add(self, component: MaintainedComponent) -> None:
        self._all[id(component)] = component
        if component.traits.bounded:
            self._bounded[id(component)] = component
        self.joining += component.joins > 0
        self.holder.update(dict.fromkeys(component.numbers, component))
        for predicate in component.lower:
            self._readers.setdefault(predicate, {})[id(component)] = component

    def _remove(self, component: MaintainedComponent) -> None:
        del self._all[id(component)], self._positions[id(component)]
        self._bounded.pop(id(component), None)
        self.joining -= component.joins > 0
        for predicate in component.numbers:
            del self.holder[predicate]
        for predicate in component.lower:
            del self._readers[predicate][id(component)]


class Worklist:
    """Components to visit, the lowest first, each once."""

    def __init__(self, index: ComponentIndex) -> None:
        self._index = index
        self._added: list[MaintainedComponent] = []
        """Components added since the last one was popped: a single one needs no position."""
        self._heap: list[tuple[Position, MaintainedComponent]] = []
        self._known: set[int] = set()

    def add(self, components: Iterable[MaintainedComponent]) -> None:
        known = self._known
        for component in components:
            if id(component) not in known:
                known.add(id(component))
                self._added.append(component)

    def pop(self) -> MaintainedComponent:
        if not self._heap and len(self._added) == 1:
            return self._added.pop()
        for component in self._added:
            heapq.heappush(self._heap, (self._index.position(component), component))
        self._added.clear()
        return heapq.heappop(self._heap)[1]

    def __bool__(self) -> bool:
        return bool(self._added or self._heap)
