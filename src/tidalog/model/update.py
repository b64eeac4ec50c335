"""`EncodedUpdate`: the one form of an update below the API; `tidalog.Update` is the one above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalog.model.facts import Facts
from tidalog.model.lifetimes import Lifetimes
from tidalog.model.program import Declaration
from tidalog.model.rule_edit import NO_EDIT, RuleEdit

Label = int | str
"""The name of an update: its number in a script, its label in a table."""


@dataclass(slots=True, eq=False)
class EncodedUpdate:
    """Facts to delete, facts to insert and a rule edit, as ids of one dictionary.

    Deletions apply before insertions, so a fact in both stays.  Ids never change, so an update can be encoded
    long before it is applied.
    """

    deletions: Sequence[Facts] = ()
    insertions: Sequence[Facts] = ()
    rules: RuleEdit = NO_EDIT
    label: Label | None = None
    dictionary: object = None
    """The dictionary of the ids; None if only one is possible."""
    routed: tuple[object, EncodedUpdate] | None = None
    """The same update by relation, and the layout that assigns facts to relations."""
    declarations: Sequence[Declaration] | None = None
    """What its facts were checked against when it was read from a file."""
    time: int | None = None
    """When it took place, in microseconds since 1970; None: at the present time of the windows."""
    times: Mapping[str, npt.NDArray[np.int64]] | None = None
    """When its insertions came, by predicate, if `time` is the latest of the times that they have."""
    arrived: bool = False
    """Whether that is the time of its arrival, and not one that came with the data."""
    lifetimes: Lifetimes | None = None
    """When its explicit facts expire, once windows have made it an update without a time."""
    accepted: bool = False
    """Whether it was found to be early enough for the windows when it was logged, and is not asked again."""

    @property
    def oldest(self) -> int | None:
        """The time by which it may come too late."""
        found = [] if self.times is None else [int(times.min()) for times in self.times.values()]
        return min([self.time, *found]) if self.time is not None else None

    @property
    def changes_rules(self) -> bool:
        return bool(self.rules)

    def __repr__(self) -> str:
        inserted, deleted = (sum(facts.count for facts in part) for part in (self.insertions, self.deletions))
        rules = f", +{len(self.rules.added)} −{len(self.rules.removed)} rules" if self.rules else ""
        name = "update" if self.label is None else f"update {self.label}"
        return f"<{name}: +{inserted:,} −{deleted:,} facts{rules}>"
