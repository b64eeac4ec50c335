"""The rules that an update of a script adds and removes, with their positions in the script."""

from __future__ import annotations

import re

from tidalog.lang.updates import ScriptUpdate
from tidalog.model.errors import Span
from tidalog.model.program import Rule
from tidalog.model.rule_edit import NamedRemoval
from tidalog.model.term_text import quote


def changed_rules(update: ScriptUpdate) -> tuple[tuple[Rule, ...], tuple[NamedRemoval, ...]]:
    """The arguments of `EditedProgram.change`."""
    removed = tuple(NamedRemoval(name, _position(update.span, name)) for name in update.rules_removed)
    return update.rules_added, removed


def _position(span: Span | None, name: str) -> Span | None:
    """The span of the rule's name in its removal; the whole update if the name is written differently."""
    if span is None:
        return None
    written = span.source.text
    pattern = rf"-\s*rule\s+({re.escape(name)}|{re.escape(quote(name))})\s*\."
    found = re.compile(pattern).search(written, span.start, span.end)
    return span if found is None else Span(span.source, found.start(1), found.end(1))
