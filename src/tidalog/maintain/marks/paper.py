"""`paper`: Algorithm 1 of paper 001 to the letter.

The head of an instance that is applied now and holds a DOOMED fact is MARKED, and waits in the W of the next
update.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tidalog.engine.emit import MARK
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.marks.base import Offsets
from tidalog.maintain.marks.next_update import NextUpdateMarks
from tidalog.maintain.marks.pairs import heads_of


class PaperMarks(NextUpdateMarks):
    name: ClassVar[str] = "paper"
    marks_proofs: ClassVar[bool] = True

    def observed(self, component: MaintainedComponent) -> int:
        return MARK if self._doomed else 0

    @property
    def ignores_bodies(self) -> bool:
        return not self._doomed

    def _marked_heads(self, doomed: Offsets) -> Offsets:
        return np.concatenate([self._proved_heads(), heads_of(self.engine.log.pairs)])
