"""`dred`: delete whatever an instance with a deleted fact derives, then rederive (DR2 and DR4 of DRed).

With its own marks it overdeletes at once what is marked, passes marks on to what it rederives, and finds what
comes back with the next update (section 5 of ALGORITHMS).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from tidalog.engine.bits import DELETED
from tidalog.maintain.strategies.base import ComponentUpdate, Strategy
from tidalog.maintain.strategies.by_blocks import rederive, retract
from tidalog.maintain.strategies.searching import affected_first, note_deleted, seeds_of

_DELETED: Final = int(DELETED)


class DRed(Strategy):
    name: ClassVar[str] = "dred"
    own_marks: ClassVar[Mapping[str, str]] = {"paper": "dred"}

    def delete(self, work: ComponentUpdate) -> None:
        component = work.component
        passes_on = work.marks.pass_on and not component.negated and component.edit is None
        known = (*affected_first(work), work.own_marked)
        gone = retract(work, seeds_of(work), known, _DELETED, spreads=True, passes_on=passes_on)
        if len(gone) > work.spared:
            rederive(work, gone, passes_on=passes_on)
        note_deleted(work, gone)
        work.marks.overdeleted(gone)
