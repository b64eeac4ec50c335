"""The result of a rule edit, and the state that it replaces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from tidalog.analysis.component_diff import ComponentDiff
from tidalog.analysis.edit_impact import EditImpact, impact_of_edit
from tidalog.analysis.expand import expanded
from tidalog.analysis.model import Analysis, PredicateInfo
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.rule_graph import GraphDiff, RuleGraph
from tidalog.model.errors import Diagnostic
from tidalog.model.program import Fact, Rule
from tidalog.model.undo_journal import UndoJournal
from tidalog.rdf.layout import Layout

_NUMBERED: Final = re.compile(r"r([1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class AlreadyThere:
    """A rule that was not added because `name` is the same rule up to the names of variables."""

    rule: Rule
    name: str


@dataclass(frozen=True)
class RuleDiff:
    """The one account of a rule edit: maintenance follows `components`, reports follow `impact`."""

    added: tuple[Rule, ...]
    """Each with its name after the edit."""
    removed: tuple[Rule, ...]
    already_there: tuple[AlreadyThere, ...]
    components: ComponentDiff
    moved_triples: bool
    """Whether the relations that hold the triples change, so that some of them move."""
    warnings: tuple[Diagnostic, ...]
    graph: RuleGraph = field(repr=False, compare=False)
    undo: Undo = field(repr=False, compare=False)

    def __bool__(self) -> bool:
        """Whether the edit changes any rule."""
        return bool(self.added or self.removed)

    @property
    def normal_added(self) -> tuple[NormalRule, ...]:
        """Normal rules that are new or changed."""
        return self.undo.graph.added

    @cached_property
    def impact(self) -> EditImpact:
        """Everything that the edit can reach.  Valid only before the next edit."""
        return impact_of_edit(self.graph, self.undo.graph)


@dataclass(frozen=True, slots=True)
class Undo:
    """The state before an edit."""

    graph: GraphDiff
    journal: UndoJournal
    state: State


@dataclass(frozen=True, slots=True)
class State:
    """The parts of an edited program that an edit replaces as a whole."""

    written: tuple[Entry, ...]
    """In the order in which they were added."""
    rules: tuple[Rule, ...]
    """The entries of `written`."""
    normal: tuple[NormalRule, ...]
    """In the same order; the bridges between relations of triples come last."""
    facts: tuple[Fact, ...]
    """One fact for each predicate that has explicit facts."""
    routed: tuple[Fact, ...]
    """The same, as facts of the relations that hold them."""
    layout: Layout
    fixed: Mapping[str, int]
    """The arities of predicates that exist independently of the rules."""
    given: frozenset[str]
    """Predicates that have explicit facts."""
    predicates: Mapping[str, PredicateInfo]
    bridges: tuple[str, ...] = ()
    """The normal rules that connect relations of triples."""
    analysis: Analysis | None = None
    """Derived from the other fields on first use."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """The layout of triples after the edit, and the normal rules to add and remove."""

    layout: Layout
    coming: list[NormalRule]
    going: set[str]
    facts: dict[tuple[str, int], Fact]
    """Predicates that get explicit facts for the first time, with their arities."""
    bridges: list[str] | None = None
    """All of them, in order; None if they do not change."""
    is_split: bool = False
    """Whether its layout has relations that are split off, and is otherwise that before the edit."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A written rule: its sequence number, the rule with its name, and its canonical form without names."""

    sequence: int
    rule: Rule
    canonical: Rule
    number: int
    """8 for a rule called `r8`, else 0."""

    @property
    def name(self) -> str:
        assert self.rule.name is not None
        return self.rule.name

    @property
    def normal_names(self) -> list[str]:
        """The names of its normal rules."""
        return [rule.name or "" for rule in expanded(self.canonical, self.name)]


def number_of(name: str) -> int:
    found = _NUMBERED.fullmatch(name)
    return int(found[1]) if found else 0
