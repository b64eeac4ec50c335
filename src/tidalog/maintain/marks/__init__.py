"""Marks: what is known about the next updates while this one is maintained.  One file and one class each, one
line in the registry."""

from __future__ import annotations

from typing import Final, cast

from tidalog.maintain import registry
from tidalog.maintain.marks.base import Marks, Parts

MARKS: Final[dict[str, type[Marks]]] = {
    entry.name: cast(type[Marks], entry.load()) for entry in registry.MARKS
}
"""Every kind of marks by its name."""

__all__ = ["MARKS", "Marks", "Parts"]
