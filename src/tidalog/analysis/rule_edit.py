"""What goes into a change of rules and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidalog.analysis.edit_impact import EditImpact
from tidalog.analysis.model import Analysis
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.rule_graph import GraphDiff
from tidalog.analysis.triples import TripleLayout
from tidalog.analysis.undo_journal import Journal
from tidalog.model.errors import Diagnostic
from tidalog.model.program import Fact, Rule


@dataclass(frozen=True, slots=True)
class AlreadyThere:
    """A rule that was to be added and is there, up to the names of variables, as `name`."""

    rule: Rule
    name: str


@dataclass(frozen=True)
class RuleDiff:
    """What a change of rules did."""

    added: tuple[Rule, ...]
    """Each with the name that it has from now on."""
    removed: tuple[Rule, ...]
    already_there: tuple[AlreadyThere, ...]
    graph: EditImpact
    moved_triples: bool
    """Whether other relations than before hold the triples, so that facts have to move."""
    warnings: tuple[Diagnostic, ...]
    undo: Undo = field(repr=False, compare=False)

    def __bool__(self) -> bool:
        """Whether there are other rules now."""
        return bool(self.added or self.removed)


@dataclass(frozen=True, slots=True)
class Undo:
    """What there was before."""

    movement: GraphDiff
    journal: Journal
    layout: TripleLayout
    fixed: dict[str, int]
    analysis: Analysis | None


@dataclass(frozen=True, slots=True)
class Lowered:
    """Which relations hold triples from now on, and the normal rules that come and go."""

    layout: TripleLayout
    coming: list[NormalRule]
    going: set[str]
    bridges: list[str]
    """All of them, in order."""
    facts: dict[tuple[str, int], Fact]
    """Predicates that have had no explicit facts, with the number of their arguments."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule that somebody wrote: when it came, the rule with its name, and the rule without any names."""

    sequence: int
    rule: Rule
    canonical: Rule

    @property
    def name(self) -> str:
        assert self.rule.name is not None
        return self.rule.name

    @property
    def normal_names(self) -> list[str]:
        """The names of the normal rules that it is, one for each head."""
        return [self.name, *(f"{self.name}#{number}" for number in range(2, len(self.rule.heads) + 1))]
