"""Tables 1, 2 and 3 of the paper as data: what its authors measured.

"Old" is B/F, "new" B/F with marking.  Synthetic rows are averages over three seeds (and five runs for the
times); times are theirs, of a program in Prolog on a machine of 2019, and say nothing about another machine.
Insertions, explicit marks and, for `SEQ`, all counts are those of any right implementation; the others
depend on the order of work.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Both:
    """One quantity without marking and with it."""

    old: int
    new: int


@dataclass(frozen=True)
class Figures:
    """One row.  All but the times and their reduction are numbers of rule applications or of marks; the
    lines are those of the paper's Algorithm 1."""

    seconds_old: float
    seconds_new: float
    reduction_percent: float
    deletions: Both
    """Line 23: facts found to be affected by a deletion."""
    backward: Both
    """Line 20."""
    forward: Both
    """Line 11."""
    insertions: int
    """Line 28, the same with and without marking."""
    marks_explicit: int
    marks_implicit: int


def _row(
    seconds_old: float,
    seconds_new: float,
    reduction_percent: float,
    deletions: tuple[int, int],
    backward: tuple[int, int],
    forward: tuple[int, int],
    insertions: int,
    marks: tuple[int, int],
) -> Figures:
    return Figures(
        seconds_old,
        seconds_new,
        reduction_percent,
        Both(*deletions),
        Both(*backward),
        Both(*forward),
        insertions,
        *marks,
    )


TRANS: dict[int, Figures] = {
    10: _row(42.48, 39.17, 7.8, (1_603, 447), (11_253, 14_447), (18_777, 19_001), 545, (480, 991)),
    20: _row(38.55, 35.68, 7.4, (3_046, 594), (10_468, 13_199), (15_373, 15_516), 2_912, (960, 2_277)),
    30: _row(38.64, 35.57, 7.9, (5_146, 1_100), (10_206, 11_856), (11_154, 11_224), 7_288, (1_399, 4_153)),
    40: _row(41.35, 40.17, 2.9, (4_755, 682), (10_834, 13_036), (12_560, 12_612), 6_575, (1_816, 4_069)),
    50: _row(43.60, 45.09, -3.4, (3_778, 360), (11_514, 14_441), (15_060, 15_096), 4_570, (2_215, 3_660)),
    60: _row(45.78, 48.51, -6.0, (3_227, 213), (11_842, 15_254), (16_518, 16_547), 3_327, (2_604, 3_428)),
    70: _row(48.34, 52.76, -9.1, (2_724, 161), (11_919, 16_054), (17_780, 17_796), 2_158, (2_973, 3_085)),
    80: _row(50.04, 55.76, -11.4, (2_584, 126), (11_863, 16_323), (18_169, 18_183), 1_782, (3_293, 3_078)),
}
"""Table 1, by size of an update."""

SEQ: dict[int, Figures] = {
    10: _row(10.32, 8.73, 15.4, (1_960, 1_480), (0, 0), (0, 0), 2_360, (480, 480)),
    20: _row(18.69, 15.68, 16.1, (3_920, 2_960), (0, 0), (0, 0), 4_317, (960, 960)),
    30: _row(28.59, 23.33, 18.4, (5_880, 4_440), (0, 0), (0, 0), 6_265, (1_440, 1_440)),
    40: _row(43.14, 34.60, 19.8, (7_827, 5_910), (0, 0), (0, 0), 8_228, (1_917, 1_917)),
    50: _row(64.62, 52.67, 18.5, (9_709, 7_332), (0, 0), (0, 0), 10_173, (2_377, 2_377)),
    60: _row(107.12, 85.82, 19.9, (11_588, 8_744), (0, 0), (0, 0), 12_129, (2_844, 2_844)),
    70: _row(152.29, 120.46, 20.9, (13_457, 10_147), (0, 0), (0, 0), 14_069, (3_311, 3_311)),
    80: _row(220.44, 177.29, 19.6, (15_283, 11_516), (0, 0), (0, 0), 16_005, (3_767, 3_767)),
}
"""Table 2, by size of an update."""

REAL: dict[str, Figures] = {
    "track_0": _row(114.58, 106.22, 7.3, (859, 754), (4_329, 4_400), (3_299, 3_299), 4_638, (910, 70)),
    "track_1": _row(20.57, 20.29, 1.4, (684, 544), (2_697, 2_733), (2_317, 2_317), 2_653, (1_208, 119)),
    "track_2": _row(10.46, 10.24, 2.2, (558, 400), (1_484, 1_479), (1_206, 1_206), 1_704, (1_017, 137)),
}
"""Table 3, by track."""
