"""Whether expiries are the cheaper way to maintain a component, by what its updates have changed so far.

With expiries, a slide costs what comes and what stays longer; with deltas, what comes and about twice what
leaves.  So expiries win unless most of what comes has been there before, or rules over blocks of
facts are faster: where facts have one proof each, or the windows change much in one step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tidalog.model.lifetimes import Lifetimes

_MEMORY: Final = 0.5
"""How much the last update says about the next."""
_MOST_CHANGED: Final = 0.3
"""Expiries start if an update changes at most this share of the facts …"""
_MOST_KEPT: Final = 0.5
"""… and stay up to this share."""
_STAYS_PER_CHANGE: Final = 2
"""Facts that only stay longer cost as much as this share of those that come or go."""
_SPARE: Final = 4096
"""Facts that may stay longer before anything is decided."""
_FEW_PROOFS: Final = 1.1
"""Expiries stop at this mean number of proofs or fewer …"""
_MORE_PROOFS: Final = 1.3
"""… and do not start up to this one."""
_ENOUGH, _MANY = 1 << 10, 1 << 15
"""New facts from which on the number of their proofs is known, and of which half are forgotten."""
_FIRST_PAUSE, _LONGEST_PAUSE = 256, 1 << 16
"""Updates for which expiries are not tried again: to begin costs a pass over all facts."""


@dataclass
class Proofs:
    """How many proofs the facts of a component have, by what updates have derived lately."""

    derivations: int = 0
    facts: int = 0

    def note(self, derivations: int, facts: int) -> None:
        self.derivations += derivations
        self.facts += facts
        if self.facts > _MANY:
            self.derivations //= 2
            self.facts //= 2

    @property
    def are_known(self) -> bool:
        return self.facts >= _ENOUGH

    def are_at_most(self, mean: float) -> bool:
        return self.are_known and self.derivations <= mean * self.facts


@dataclass
class SlideCosts:
    share: float = 1.0
    """Of its facts and those of windows, how many an update changes, lately."""
    balance: int = 0
    """Facts that only stayed longer, less those that came or went, weighted; never below zero."""
    pause: int = 0
    last_pause: int = 0

    def favour_expiries(self, lifetimes: Lifetimes, facts: int, proofs: Proofs, *, kept: bool) -> bool:
        """`kept`: whether the component has expiries."""
        if self.pause:
            self.pause -= 1
            return False
        changed = sum(part.count for part, _ in lifetimes.changed)
        self.share += _MEMORY * (min(1.0, changed / (facts + 1)) - self.share)
        if self.balance > _SPARE:
            self.balance = 0
            self.pause = self.last_pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, 2 * self.last_pause))
            return False
        if proofs.are_at_most(_FEW_PROOFS if kept else _MORE_PROOFS):
            return False
        return self.share <= (_MOST_KEPT if kept else _MOST_CHANGED)

    def note(self, stay: int, change: int) -> None:
        """An update by expiries has let some facts stay longer; others came or went."""
        self.balance = max(0, self.balance + stay - _STAYS_PER_CHANGE * change)
        if not self.balance:
            self.last_pause = 0
