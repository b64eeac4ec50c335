"""`RuleEdit`: the one form of a change of rules, below the API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tidalog.model.errors import Span
from tidalog.model.program import Rule


@dataclass(frozen=True, slots=True)
class RuleText:
    """Rules that have not been parsed.

    They are parsed when their update is applied, so that a rule with an error refuses this update only.
    """

    text: str
    name: str | None = None
    """The name of its only rule, if it was given apart from the text."""
    source: str = "<rule>"
    """Where the text stands, for messages."""


@dataclass(frozen=True, slots=True)
class NamedRemoval:
    """A rule to remove, and where that was asked for."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RuleEdit:
    """Rules to remove by name, then rules to add."""

    added: tuple[Rule | RuleText, ...] = ()
    removed: tuple[NamedRemoval, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def __add__(self, more: RuleEdit) -> RuleEdit:
        """Both edits as one."""
        return RuleEdit(self.added + more.added, self.removed + more.removed)


NO_EDIT: Final = RuleEdit()
