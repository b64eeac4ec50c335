"""`Outcome`: what a change did to a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidalog.analysis import RuleDiff
from tidalog.maintain.counters import Counters
from tidalog.maintain.delta import PredicateDelta
from tidalog.model.facts import Facts
from tidalog.model.update import Label


@dataclass(frozen=True)
class Outcome:
    """What an update changed, by the predicates that users know, and what it cost."""

    changes: Mapping[str, PredicateDelta] = field(default_factory=dict)
    counters: Counters = field(default_factory=Counters)
    ignored: int = 0
    """Deletions of facts that were not explicit, and insertions of facts that were."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Component → strategy."""
    rules: RuleDiff | None = None
    explicit: int = 0
    """Explicit facts after the update."""
    facts: int = 0
    label: Label | None = None
    updates: int = 1
    """How many updates were applied as one."""
    uncomputed: Mapping[str, int] = field(default_factory=dict)
    """Rule → computations that failed."""
    expired: tuple[Facts, ...] = ()
    """Explicit facts that left windows because they are too old."""
    time: int | None = None
    """The time of the windows after it."""
    new: int = 0
    """Of a change that derives nothing: how many facts became explicit, or stopped being explicit."""
    by_relation: Mapping[str, PredicateDelta] = field(default_factory=dict)
    """Of updates: the changes of at least those relations that have the answers of continuous queries."""
