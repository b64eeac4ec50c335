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


_CHECKS_PER_FACT: Final = 8
"""Facts that are derived anew in the time that one is looked at."""
_MEMORY: Final = 0.5
"""How much the last update says about the next."""


def checks_worth(node: Node) -> int:
    """Facts that may be looked at before deriving the component anew is cheaper."""
    return 1000 + node.facts // _CHECKS_PER_FACT


def learn(node: Node, seeds: int, checks: int) -> None:
    if seeds:
        node.checks_per_seed += _MEMORY * (checks / seeds - node.checks_per_seed)


def choose(node: Node, options: Options, seeds: int) -> str:
    """The strategy for a component, of which `seeds` facts are deleted below or in it; why is in
    `node.reason`."""
    if not node.incremental:
        node.reason = "its rules negate, aggregate or call Python"
        return "recompute"
    wanted = options.strategy
    if wanted == "auto":
        wanted = "ranked"
        node.reason = "its ids are ranks" if node.recursive else "one step proves or disproves a fact"
        if seeds * node.checks_per_seed > checks_worth(node):
            node.reason = f"{seeds:,} deletions are expected to reach most of its {node.facts:,} facts"
            node.checks_per_seed *= _MEMORY  # what is not tried is forgotten, so that it is tried again
            return "recompute"
    if wanted == "ranked" and not node.in_rank_order:
        node.reason = "its facts are no longer in the order of ranks"
        return "recompute"
    return wanted
