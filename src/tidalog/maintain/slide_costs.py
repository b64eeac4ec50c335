"""Whether expiries are the cheaper way to maintain a component, by what its updates have cost so far.

With expiries, a slide costs what comes and what stays longer; with deltas, what comes and about twice what
leaves.  Which is less depends on the data, so both are measured: a component that has expiries does without
them now and then, for a few deletions.  A trial costs the pass over all facts that brings expiries back;
there is one for as much as that has been spent, after a trial in vain for twice as much.  A small component
is not worth a trial.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf
from statistics import median
from typing import Final

from tidalog.model.lifetimes import Lifetimes

_MEMORY: Final = 0.5
"""How much the last update says about the next."""
_MOST_CHANGED: Final = 0.3
"""Expiries start if an update changes at most this share of the facts …"""
_MOST_KEPT: Final = 0.5
"""… and stay up to this share."""
_FEW_PROOFS: Final = 1.1
"""Expiries stop at this mean number of proofs or fewer …"""
_MORE_PROOFS: Final = 1.3
"""… and do not start up to this one."""
_ENOUGH, _MANY = 1 << 10, 1 << 15
"""Things from which on their mean is known, and of which half are forgotten."""
_LEAST: Final = 1 << 12
"""Facts of a component from which on it is worth a trial."""
_SLIDES: Final = 8
"""Slides with expiries before a trial, at least."""
_TRIAL: Final = 6
"""Deletions that a trial takes …"""
_FIRST: Final = 2
"""… of which so many only show which strategy is best."""
_FIXED: Final = 16
"""Rows that cost as much as what every update costs."""
_MOST_PATIENCE: Final = 1 << 10
"""Times the cost of a trial that are spent before the next, at most."""
_FIRST_PAUSE, _LONGEST_PAUSE = 256, 1 << 16
"""Updates after a trial until expiries are tried again."""


@dataclass
class Mean:
    """A mean of what updates have met lately."""

    total: int = 0
    count: int = 0

    def note(self, total: int, count: int) -> None:
        self.total += total
        self.count += count
        if self.count > _MANY:
            self.total //= 2
            self.count //= 2

    @property
    def is_known(self) -> bool:
        return self.count >= _ENOUGH

    def is_at_most(self, mean: float) -> bool:
        return self.is_known and self.total <= mean * self.count


@dataclass
class SlideCosts:
    """Costs are CPU seconds, those of an update for each row that it changes."""

    share: float = 1.0
    """Of its facts and those of windows, how many an update changes, lately."""
    rows: int = 0
    """What the update under way changes."""
    with_expiries: deque[float] = field(default_factory=lambda: deque(maxlen=_SLIDES))
    """Costs of the last slides with expiries since they began."""
    without: list[float] = field(default_factory=list)
    """Costs of the deletions of a trial."""
    begin: float = inf
    """Seconds of the update in which expiries began."""
    spent: float = 0.0
    """Seconds of slides with expiries since then."""
    is_trial: bool = False
    patience: int = 1
    """Times the cost of a trial that are spent before the next."""
    pause: int = 0
    last_pause: int = 0

    def favour_expiries(self, lifetimes: Lifetimes, facts: int, proofs: Mean, *, kept: bool) -> bool:
        """`kept`: whether the component has expiries."""
        self.rows = sum(part.count for part, _ in lifetimes.changed)
        self.share += _MEMORY * (min(1.0, self.rows / (facts + 1)) - self.share)
        if self.is_trial:
            return False
        if self.pause:
            self.pause -= 1
            return False
        if proofs.is_at_most(_FEW_PROOFS if kept else _MORE_PROOFS):
            return False
        if self.share > (_MOST_KEPT if kept else _MOST_CHANGED):
            return False
        if not kept or facts < _LEAST or len(self.with_expiries) < _SLIDES:
            return True
        self.is_trial = self.spent >= self.patience * self.begin
        return not self.is_trial

    def note(self, seconds: float, *, kept: bool, begins: bool, slides: bool) -> None:
        """What an update of the component has cost, with expiries (`kept`) that may have begun with it, or
        without.  Only slides tell: those that may let facts go or, without expiries, do."""
        each = seconds / (self.rows + _FIXED)
        if begins:
            self.begin, self.spent = seconds, 0.0
            self.with_expiries.clear()
        elif not slides:
            return
        elif kept:
            self.with_expiries.append(each)
            self.spent += seconds
        elif self.is_trial:
            self.without.append(each)
            if len(self.without) == _TRIAL:
                self._decide()

    def _decide(self) -> None:
        """The trial is over."""
        without, self.without, self.is_trial = median(self.without[_FIRST:]), [], False
        if without < median(self.with_expiries):
            self.pause = self.last_pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, 2 * self.last_pause))
            self.patience = 1
        else:
            self.patience = min(_MOST_PATIENCE, 2 * self.patience)
            self.last_pause = 0
