"""Table 2 of the paper on the Backward/Forward algorithm.

Its data had up to 255 million facts and its machine 256 GB of memory: what can be compared are ratios, and
counts in relation to the facts that were deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Deletion:
    """A row.  Facts and rule instances are rounded as printed."""

    explicit: float
    """Deleted explicit facts."""
    implicit: float
    """Facts that this made untrue."""
    again: float
    """Seconds of starting over."""
    dred: float
    """Seconds of DRed."""
    overdeleted: float
    dr2: float
    """Instances of overdeletion, then of rederivation and of insertion."""
    dr4: float
    dr5: float
    bf: float
    """Seconds of B/F."""
    checked: float
    backward: float
    """Instances looked at backwards, then those of proved and of deleted facts."""
    saturated: float
    propagated: float

    @property
    def dred_over_bf(self) -> float | None:
        """None where the paper prints no time above zero."""
        return self.dred / self.bf if self.bf else None

    @property
    def again_over_bf(self) -> float | None:
        return self.again / self.bf if self.bf else None

    @property
    def considered(self) -> float:
        """Facts that DRed considers for deletion, for each that B/F does."""
        return self.overdeleted / self.checked


_PRINTED: Mapping[str, str] = {
    "LUBM-1k-L": """
        100 113 139.4 0.0 1.0k 1.1k 800 1.0k 0.0 500 200 300 200
        5.0k 5.5k 101.8 0.2 55.5k 67.2k 46.9k 59.8k 0.2 23.0k 9.3k 13.7k 7.4k
        2.5M 2.7M 138.5 39.4 10.3M 15.2M 6.6M 11.5M 32.8 10.0M 4.1M 5.6M 3.7M
        5.0M 5.5M 91.8 54.8 17.8M 26.3M 10.5M 18.9M 62.3 18.8M 7.8M 10.1M 7.5M
        7.5M 8.3M 89.2 71.5 24.3M 35.5M 13.6M 24.3M 85.4 26.7M 11.0M 14.0M 11.2M
        10.0M 11.0M 99.5 127.9 30.0M 43.1M 15.9M 28.1M 102.2 34.1M 14.0M 17.4M 15.0M
    """,
    "UOBM-1k-Uo": """
        100 160 3482.0 8797.6 1.8G 2.6G 53.2M 2.6G 5.4 800 500 1.3k 500
        5.0k 85.2k 3417.8 9539.3 1.8G 2.6G 53.2M 2.6G 28.2 105.9k 17.9k 42.1k 104.1k
        17.0M 130.9M 3903.1 8934.3 1.8G 2.7G 63.7M 2.5G 988.8 175.8M 47.6M 104.0M 196.7M
        34.0M 269.0M 4084.1 9492.5 1.9G 2.8G 68.4M 2.4G 1877.2 340.7M 87.5M 182.3M 401.1M
        51.0M 422.8M 4010.0 10659.3 1.9G 2.9G 71.5M 2.2G 2772.7 513.7M 125.2M 246.8M 622.0M
        68.0M 581.4M 3981.9 11351.6 1.9G 2.9G 73.3M 2.1G 3737.3 687.0M 162.5M 289.5M 848.6M
    """,
    "Claros-L": """
        100 212 62.9 0.0 800 1.0k 200 500 0.0 600 300 700 500
        5.0k 11.3k 62.8 0.4 37.8k 50.7k 10.9k 23.9k 0.4 29.1k 18.8k 35.3k 26.8k
        600.0k 1.3M 62.3 32.3 4.1M 5.5M 1.1M 2.5M 14.9 3.1M 2.0M 3.6M 3.0M
        1.2M 2.6M 61.2 53.2 7.8M 10.8M 2.0M 4.8M 33.6 6.1M 3.8M 6.7M 6.0M
        1.7M 4.0M 60.5 73.6 11.4M 15.9M 2.8M 6.8M 47.8 8.9M 5.6M 9.5M 9.1M
        2.3M 5.5M 60.0 91.0 14.8M 20.9M 3.6M 8.6M 60.6 11.7M 7.3M 12.0M 12.3M
    """,
    "Claros-LE": """
        100 500 3992.8 0.0 1.3k 2.0k 300 900 0.0 1.0k 700 1.0k 1.1k
        2.5k 178.9k 5235.1 8077.4 5.5M 11.7G 176.6k 11.7G 10.3 216.4k 161.2k 8.8M 320.0k
        5.0k 427.5k 4985.1 7628.2 6.0M 11.7G 186.0k 11.7G 16.5 485.6k 369.0k 8.9M 769.3k
        7.5k 609.6k 4855.0 7419.1 6.5M 11.7G 193.9k 11.7G 19.5 683.4k 516.8k 9.0M 1.1M
        10.0k 780.8k 5621.3 7557.9 6.8M 11.7G 207.6k 11.7G 3907.2 6.0M 723.0M 11.7G 16.9M
    """,
}
"""Rows with the fields of `Deletion`."""
_UNITS = {"k": 1e3, "M": 1e6, "G": 1e9}


def _number(text: str) -> float:
    return float(text[:-1]) * _UNITS[text[-1]] if text[-1] in _UNITS else float(text)


TABLE: Mapping[str, Sequence[Deletion]] = {
    name: [Deletion(*map(_number, row.split())) for row in rows.strip().splitlines()]
    for name, rows in _PRINTED.items()
}


@dataclass(frozen=True)
class Materialised:
    """Explicit and implicit facts, seconds and instances of materialisation."""

    explicit: float
    implicit: float
    seconds: float
    instances: float


DATA: Mapping[str, Materialised] = {
    "LUBM-1k-L": Materialised(133.6e6, 182.4e6, 121.5, 212.5e6),
    "UOBM-1k-Uo": Materialised(254.8e6, 2.2e9, 5034.0, 3.6e9),
    "Claros-L": Materialised(18.8e6, 74.2e6, 78.9, 128.6e6),
    "Claros-LE": Materialised(18.8e6, 533.7e6, 4024.5, 12.9e9),
}
