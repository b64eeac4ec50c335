"""Strategies: how a component is brought up to date.  One file and one class each, one line in the
registry."""

from __future__ import annotations

from typing import Final, cast

from tidalog.maintain import registry
from tidalog.maintain.strategies.base import ComponentUpdate, Strategy

STRATEGIES: Final[dict[str, Strategy]] = {
    entry.name: cast(type[Strategy], entry.load())() for entry in registry.STRATEGIES
}
"""Every strategy by its name."""

__all__ = ["STRATEGIES", "ComponentUpdate", "Strategy"]
