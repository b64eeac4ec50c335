"""Strategies: how a component is brought up to date.  One file and one class each, one line here."""

from __future__ import annotations

from typing import Final

from tidalog.maintain.strategies.backward_forward import BackwardForward, ForwardBackwardForward
from tidalog.maintain.strategies.base import ComponentUpdate, Strategy
from tidalog.maintain.strategies.counting import Counting
from tidalog.maintain.strategies.dred import DRed
from tidalog.maintain.strategies.expire import Expire
from tidalog.maintain.strategies.groups import Groups
from tidalog.maintain.strategies.ranked import Ranked
from tidalog.maintain.strategies.recompute import Recompute

STRATEGIES: Final[dict[str, Strategy]] = {
    strategy.name: strategy
    for strategy in (
        Ranked(),
        Expire(),
        Counting(),
        BackwardForward(),
        ForwardBackwardForward(),
        DRed(),
        Recompute(),
        Groups(),
    )
}
"""Every strategy by its name."""

__all__ = ["STRATEGIES", "ComponentUpdate", "Strategy"]
