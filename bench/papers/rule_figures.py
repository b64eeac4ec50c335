"""What the ZodiacEdge paper prints of its evaluation: Tables 1 to 3, and what its text says of Fig. 7 and 8.

Its figures are pictures without numbers, so that nothing else can be set beside ours.  Times are of a program
in Python on a laptop, and say nothing about another machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FACTS: Mapping[str, int] = {"RS1": 160_800, "RS2": 424_300, "RS3": 423_101}
"""Table 1; rule set 1 with 400 turbines."""


@dataclass(frozen=True)
class Times:
    """Seconds of an operation: of starting over, and of carrying it out alone."""

    scratch: float
    incremental: float


TABLES: Mapping[tuple[str, str], Times] = {
    ("add", "r6"): Times(24.134, 0.2789),
    ("add", "r10new"): Times(24.134, 2.335),
    ("delete", "r6"): Times(24.7, 7.304),
    ("delete", "r10new"): Times(23.347, 6.073),
}
"""Table 2 and Table 3."""

RULES_OF_FIGURES: tuple[tuple[str, ...], ...] = (
    ("r10", "r15", "r17"),
    ("r10", "r15", "r18"),
    ("r3",),
    ("r4",),
    ("r18",),
)
"""Rules that the text names as left out and then added, or deleted."""

GAINS: Mapping[tuple[str, str], str] = {
    ("add", "r18"): "375",
    ("add", "r4"): "5",
    ("add", "r3"): "< 1",
}
"""Time of starting over ÷ time of the operation, where the text gives it for certain rules."""

GAIN_RANGES: Mapping[str, str] = {"add": "3 to 375 (r3: less than 1)", "delete": "3 to about 1,000"}
"""The same for all sets of rules of Fig. 7 and of Fig. 8; the most is that of leaves."""
