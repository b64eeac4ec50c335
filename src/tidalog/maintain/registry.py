"""The registry of strategies and marks: their names, and where their classes are.

`maintain.strategies` and `maintain.marks` import the classes; help texts name them without compiled code.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final, NamedTuple

AUTO: Final = "auto"


class Entry(NamedTuple):
    name: str
    module: str
    kind: str
    """The class in that module."""
    is_option: bool = True
    """Whether users may choose it."""

    def load(self) -> object:
        """The class."""
        found: object = getattr(import_module(f"tidalog.maintain.{self.module}"), self.kind)
        return found


STRATEGIES: Final = (
    Entry("ranked", "strategies.ranked", "Ranked"),
    Entry("expire", "strategies.expire", "Expire"),
    Entry("counting", "strategies.counting", "Counting"),
    Entry("bf", "strategies.backward_forward", "BackwardForward"),
    Entry("fbf", "strategies.backward_forward", "ForwardBackwardForward"),
    Entry("dred", "strategies.dred", "DRed"),
    Entry("recompute", "strategies.recompute", "Recompute"),
    Entry("groups", "strategies.groups", "Groups", is_option=False),
    Entry("bounded", "strategies.bounded", "Bounded", is_option=False),
)
MARKS: Final = (
    Entry("none", "marks.base", "Marks"),
    Entry("paper", "marks.paper", "PaperMarks"),
    Entry("linked", "marks.linked", "LinkedMarks"),
    Entry("complete", "marks.complete", "CompleteMarks"),
    Entry("dred", "marks.dred", "DRedMarks", is_option=False),
)

STRATEGY_OPTIONS: Final = (AUTO, *(entry.name for entry in STRATEGIES if entry.is_option))
MARKING_OPTIONS: Final = (AUTO, *(entry.name for entry in MARKS if entry.is_option))
ORDERS: Final = ("ours", "paper")
