"""`Steps`: updates of a database that are undone together.

A database rolls back the update that fails.  Those before it are undone by their inverse, which costs what
they have changed, and the windows by their journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tidalog.api.merged import merged
from tidalog.api.outcome import Outcome
from tidalog.api.transitions import inverse
from tidalog.maintain.delta import PredicateDelta
from tidalog.model.registered import is_of_query
from tidalog.model.undo_journal import UndoJournal
from tidalog.model.update import EncodedUpdate


@dataclass(frozen=True)
class Steps:
    journal: UndoJournal = field(default_factory=UndoJournal)
    """What undoes the changes of windows."""
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def inverse(self) -> EncodedUpdate | None:
        """Undoes all of them; None if there is none."""
        if not self.outcomes:
            return None
        return inverse(merged([replace(one, changes=_explicit(one)) for one in self.outcomes]).changes)


def _explicit(outcome: Outcome) -> Mapping[str, PredicateDelta]:
    """The changes of all predicates that have explicit facts: those of users, and the windows of queries."""
    of_queries = {name: change for name, change in outcome.by_relation.items() if is_of_query(name)}
    return {**outcome.changes, **of_queries}
