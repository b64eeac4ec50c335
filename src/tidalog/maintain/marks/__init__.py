"""Marks: what is known about the next updates while this one is maintained.  One file and one class each."""

from __future__ import annotations

from typing import Final

from tidalog.maintain.marks.base import Marks, Parts
from tidalog.maintain.marks.complete import CompleteMarks
from tidalog.maintain.marks.dred import DRedMarks
from tidalog.maintain.marks.linked import LinkedMarks
from tidalog.maintain.marks.paper import PaperMarks

MARKS: Final[dict[str, type[Marks]]] = {
    marks.name: marks
    for marks in (
        Marks,
        PaperMarks,
        LinkedMarks,
        CompleteMarks,
        DRedMarks,
    )
}
"""Every kind of marks by its name."""

__all__ = ["MARKS", "Marks", "Parts"]
