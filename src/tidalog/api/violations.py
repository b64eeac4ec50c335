"""Constraints that time violates.

A constraint refuses changes, and time is not one: an update is refused for a constraint that was not violated
before it, unless time alone, up to the same moment, violates that constraint too.  What time has violated
refuses nothing until it holds again; after that it refuses as before.

Most updates violate nothing.  Only one that does is compared with time alone, which is applied for that and
rolled back.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NoReturn

from tidalog.analysis.normal import NormalRule
from tidalog.api.diagnostics import ViolatedByTime
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.materialise import Violated, examples_of
from tidalog.model.amounts import times
from tidalog.model.errors import RunError
from tidalog.plan.lowering import constraint_predicate

_LOG: Final = logging.getLogger("tidalog")
Names = frozenset[str]
"""Of constraints."""


class Found(Exception):
    """Ends an update that was applied to see which constraints it violates."""

    def __init__(self, names: Names) -> None:
        self.names = names


def look(engine: EmbeddedEngine, constraints: Sequence[NormalRule]) -> NoReturn:
    """Judges an update that is only tried."""
    raise Found(violated_of(engine, (rule.name for rule in constraints)))


def violated_of(engine: EmbeddedEngine, names: Iterable[str]) -> Names:
    """The constraints among these that are violated."""
    return frozenset(name for name in names if engine.count(constraint_predicate(name)))


def refusing(error: RunError) -> Names:
    """The constraints for which a change was refused; none if there is another reason."""
    found = [one.values["rule"] for one in error.diagnostics if isinstance(one, Violated)]
    return frozenset(map(str, found)) if len(found) == len(error.diagnostics) else frozenset()


def unchanged(names: Names, before: Iterable[NormalRule], after: Collection[NormalRule]) -> Names:
    """The constraints among these that an edit of rules leaves as they are."""
    return frozenset(rule.name for rule in before if rule.name in names and rule in after)


def report(engine: EmbeddedEngine, constraints: Iterable[NormalRule], names: Names) -> None:
    """Warns of constraints that time has violated."""
    for rule in constraints:
        if rule.name in names:
            predicate = constraint_predicate(rule.name)
            shown = examples_of(engine, rule, predicate)
            warning = ViolatedByTime(rule=rule.name, times=times(engine.count(predicate)), examples=shown)
            _LOG.warning("%s", warning)
