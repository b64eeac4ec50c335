"""What a rule edit did to an edited program."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from tidalog.analysis.component_diff import ComponentDiff
from tidalog.analysis.edit_impact import EditImpact, impact_of_edit
from tidalog.analysis.model import Analysis, PredicateInfo
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.rule_graph import GraphDiff, RuleGraph
from tidalog.analysis.undo_journal import Journal
from tidalog.model.errors import Diagnostic
from tidalog.model.program import Fact, Rule
from tidalog.rdf.layout import Layout

_NUMBERED: Final = re.compile(r"r([1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class AlreadyThere:
    """A rule that was to be added and is there, up to the names of variables, as `name`."""

    rule: Rule
    name: str


@dataclass(frozen=True)
class RuleDiff:
    """The one account of a rule edit: maintenance follows `components`, reports follow `impact`."""

    added: tuple[Rule, ...]
    """Each with the name that it has from now on."""
    removed: tuple[Rule, ...]
    already_there: tuple[AlreadyThere, ...]
    components: ComponentDiff
    moved_triples: bool
    """Whether other relations than before hold the triples, so that facts have to move."""
    warnings: tuple[Diagnostic, ...]
    graph: RuleGraph = field(repr=False, compare=False)
    undo: Undo = field(repr=False, compare=False)

    def __bool__(self) -> bool:
        """Whether the rules are others than before."""
        return bool(self.added or self.removed)

    @property
    def normal_added(self) -> tuple[NormalRule, ...]:
        """Normal rules that are new or have another form."""
        return self.undo.graph.added

    @cached_property
    def impact(self) -> EditImpact:
        """All that the edit can reach.  To be asked for before the next edit."""
        return impact_of_edit(self.graph, self.undo.graph)


@dataclass(frozen=True, slots=True)
class Undo:
    """The state before an edit."""

    graph: GraphDiff
    journal: Journal
    state: State


@dataclass(frozen=True, slots=True)
class State:
    """The parts of an edited program that an edit replaces as a whole."""

    written: tuple[Entry, ...]
    """In the order in which they came."""
    rules: tuple[Rule, ...]
    """Those of `written`."""
    normal: tuple[NormalRule, ...]
    """In the same order; the bridges between relations of triples come last."""
    facts: tuple[Fact, ...]
    """Of the predicates that have explicit facts."""
    routed: tuple[Fact, ...]
    """The same facts by the relations that hold them."""
    layout: Layout
    fixed: Mapping[str, int]
    """The arities of predicates that are there whatever the rules."""
    given: frozenset[str]
    """Predicates that have facts from outside the rules."""
    predicates: Mapping[str, PredicateInfo]
    analysis: Analysis | None = None
    """What follows from the rest, if it was asked for."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """Which relations hold triples from now on, and the normal rules that come and go."""

    layout: Layout
    coming: list[NormalRule]
    going: set[str]
    facts: dict[tuple[str, int], Fact]
    """Predicates that have had no explicit facts, with the number of their arguments."""
    bridges: list[str] | None = None
    """All of them, in order; None if they stay as they are."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A written rule: when it came, the rule with its name, and the rule without any names."""

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
        """The names of its normal rules, one for each head."""
        return [self.name, *(f"{self.name}#{number}" for number in range(2, len(self.rule.heads) + 1))]


def number_of(name: str) -> int:
    found = _NUMBERED.fullmatch(name)
    return int(found[1]) if found else 0
