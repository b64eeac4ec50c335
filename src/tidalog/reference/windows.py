"""What windows hold, from the list of everything that has come: slow, and right by its definition.

Operations count in the order of their times, those of one time in the order in which they came.  A fact is in
a window by time exactly if its last operation is an insertion that does not expire before or at `now`; in a
window of the last n arrivals, if that insertion is among the last n insertions of its stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidalog.model.program import Window
from tidalog.model.terms import Term
from tidalog.model.window_times import expiry_of

Row = tuple[Term, ...]


@dataclass(frozen=True)
class Operation:
    time: int
    number: int
    """The order in which operations came."""
    inserts: bool
    predicate: str
    row: Row


@dataclass
class WindowOracle:
    windows: Sequence[Window]
    late: int = 0
    now: int | None = None
    operations: list[Operation] = field(default_factory=list)

    def update(
        self, time: int, deletions: Sequence[tuple[str, Row]], insertions: Sequence[tuple[str, Row]]
    ) -> bool:
        """Takes an update; False if it comes too late and has no effect."""
        if self.now is not None and time < self.now - self.late:
            return False
        self.now = time if self.now is None else max(self.now, time)
        for inserts, facts in ((False, deletions), (True, insertions)):
            for predicate, row in facts:
                number = len(self.operations)
                self.operations.append(Operation(time, number, inserts, predicate, row))
        return True

    def content(self, window: Window) -> set[Row]:
        """The facts of a window at the present time."""
        own = [one for one in self.operations if one.predicate == window.source]
        own.sort(key=lambda one: (one.time, one.number))
        last = {one.row: one for one in own}
        found = {row: one for row, one in last.items() if one.inserts}
        if window.kind == "count":
            arrivals = [one for one in own if one.inserts]
            recent = set(arrivals[-window.length :])
            return {row for row, one in found.items() if one in recent}
        now = self.now
        return {row for row, one in found.items() if now is None or expiry_of(window, one.time) > now}

    def explicit(self) -> dict[str, set[Row]]:
        """The explicit facts of all streams and windows: a stream that has no window of its own holds what
        one of its windows holds."""
        facts: dict[str, set[Row]] = {}
        for window in self.windows:
            content = self.content(window)
            facts[window.name] = content
        for window in self.windows:
            if not any(one.name == window.source for one in self.windows):
                facts.setdefault(window.source, set()).update(facts[window.name])
        return facts
