"""How the updates of a stream are applied, and how long they wait."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Applying:
    """How updates are applied; the same as for `KnowledgeBase.stream`."""

    look_ahead: int = 1
    look_ahead_wait: float = 0.0
    """How many seconds the last updates of a batch wait for later ones; 0 applies all at once."""
    latest_only: bool = False
    strategy: str | None = None
    marking: str | None = None
    order: str | None = None
    update_wait: float = 0.0
    """How many seconds the last update of a batch waits, since it may continue in the next one; 0 if batches
    contain only whole updates."""

    @property
    def ahead(self) -> int:
        """How many updates stay in the log until there are later ones to look at."""
        return self.look_ahead if self.look_ahead_wait > 0 and not self.latest_only else 0

    @property
    def held(self) -> int:
        """How many updates stay in the log until more have arrived."""
        return max(self.ahead, int(self.update_wait > 0))

    @property
    def wait(self) -> float:
        return max(self.look_ahead_wait, self.update_wait)
