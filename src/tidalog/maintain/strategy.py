"""Which strategy maintains a component in an update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tidalog.maintain.node import Node

STRATEGIES: Final = ("auto", "ranked", "bf", "fbf", "dred", "recompute")
MARKINGS: Final = ("auto", "none", "paper", "linked", "complete")
ORDERS: Final = ("ours", "paper")


@dataclass(frozen=True, slots=True)
class Options:
    strategy: str = "auto"
    marking: str = "auto"
    order: str = "ours"
    look_ahead: int = 1


def marking_of(options: Options) -> str:
    """Complete marks cost nothing where nothing is announced, and save most."""
    return "complete" if options.marking == "auto" else options.marking


def choose(node: Node, options: Options) -> str:
    """The strategy for a component; why is in `node.reason`."""
    if not node.incremental:
        node.reason = "its rules negate, aggregate or call Python"
        return "recompute"
    wanted = options.strategy
    if wanted == "auto":
        wanted = "ranked"
        node.reason = "ids are ranks"
    if wanted == "ranked" and not node.in_rank_order:
        node.reason = "its facts are no longer in the order of ranks"
        return "recompute"
    return wanted
