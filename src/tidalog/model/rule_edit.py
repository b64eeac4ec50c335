"""`RuleEdit`: the one form of a rule edit below the API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tidalog.model.errors import Span
from tidalog.model.program import Rule


@dataclass(frozen=True, slots=True)
class RuleText:
    """Rules as text.

    They are parsed when their update is applied, so that a rule with an error fails only this update.
    """

    text: str
    name: str | None = None
    """The name of its only rule, if given separately."""
    source: str = "<rule>"
    """The position of the text, for messages."""


@dataclass(frozen=True, slots=True)
class NamedRemoval:
    """A rule to remove, with the position of the request."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RuleEdit:
    """Rules to remove by name, then rules to add."""

    added: tuple[Rule | RuleText, ...] = ()
    removed: tuple[NamedRemoval, ...] = ()
    exact: bool = False
    """Whether a rule is added even if another name has the same rule."""

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def __add__(self, more: RuleEdit) -> RuleEdit:
        """Both edits as one."""
        return RuleEdit(self.added + more.added, self.removed + more.removed)


NO_EDIT: Final = RuleEdit()
