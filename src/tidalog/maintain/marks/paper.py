"""`paper`: Algorithm 1 of paper 001 to the letter.

The head of an instance that is applied now and has a DELETED_NEXT fact is MARKED, and is in the W of the next
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
    observes: ClassVar[int] = MARK

    def observed(self, component: MaintainedComponent) -> int:
        return self.observes if self._deleted_next else 0

    @property
    def ignores_bodies(self) -> bool:
        return not self._deleted_next

    def _marked_heads(self, deleted_next: Offsets) -> Offsets:
        return np.concatenate([self._proved_heads(), heads_of(self.engine.log.pairs)])
