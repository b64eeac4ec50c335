"""Rules that an update adds and removes, as they were given: parsed, or as text.

Text is parsed when its update is applied, so that a rule which cannot be read refuses this update and no
other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidalog.analysis.rule_edit import NamedRemoval, RuleChange
from tidalog.api.diagnostics import BadArgument, TwoNames
from tidalog.api.update import RuleChanges
from tidalog.lang import parse_rules, print_rule
from tidalog.model.errors import ProgramError, UsageError
from tidalog.model.program import Rule

Prefixes = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RuleText:
    """Text of rules; `name` is that of the only one of them, if it is told apart from the text."""

    text: str
    name: str | None = None
    source: str = "<rule>"
    """Where the text stands, for messages."""

    def rules(self, prefixes: Prefixes) -> list[Rule]:
        """Raises `ProgramError` for what cannot be read."""
        found = parse_rules(self.text, prefixes, self.source)
        if self.name is None:
            return found
        if len(found) > 1 or found[0].name not in (None, self.name):
            written = "several rules" if len(found) > 1 else f"a rule with the name {found[0].name}"
            raise ProgramError(TwoNames(found[-1].span, name=self.name, written=written))
        return [replace(found[0], name=self.name)]

    def called(self, name: str, prefixes: Prefixes) -> RuleText:
        """The same with a name, unless it says its own.  Raises `ProgramError` if it is not one rule."""
        own = parse_rules(self.text, prefixes, self.source)[0].name
        return replace(self, name=name if own is None else own)


@dataclass(frozen=True, slots=True)
class RuleEdits:
    """Rules to remove by name, and rules to add after that."""

    added: tuple[Rule | RuleText, ...] = ()
    removed: tuple[NamedRemoval, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def __add__(self, more: RuleEdits) -> RuleEdits:
        """Both as those of one update."""
        return RuleEdits(self.added + more.added, self.removed + more.removed)

    def rules_added(self, prefixes: Prefixes) -> list[Rule]:
        """Raises `ProgramError` with all that cannot be read."""
        found: list[Rule] = []
        wrong: list[ProgramError] = []
        for one in self.added:
            try:
                found += [one] if isinstance(one, Rule) else one.rules(prefixes)
            except ProgramError as error:
                wrong.append(error)
        if wrong:
            raise ProgramError([diagnostic for error in wrong for diagnostic in error.diagnostics])
        return found

    def texts(self) -> tuple[list[tuple[str, str | None]], list[str]]:
        """Texts with their names, and names: what a log keeps."""
        added = [
            (print_rule(one), None) if isinstance(one, Rule) else (one.text, one.name) for one in self.added
        ]
        return added, [removal.name for removal in self.removed]


NO_EDITS = RuleEdits()


def rule_edits(added: Sequence[str | RuleText], removed: Sequence[str], source: str = "<rule>") -> RuleEdits:
    """What somebody gave in Python.  Raises `UsageError` for what is no text."""
    for what, given in (("a rule", added), ("the name of a rule", removed)):
        for one in given:
            if not isinstance(one, str | RuleText):
                problem = f"{what} is text, and this is a {type(one).__name__}"
                hint = 'a rule is added by its text, "far(?x) :- path(a, ?x)", and removed by its name, "r3"'
                raise UsageError(BadArgument(problem=problem, why="nothing was changed", hint=hint))
    texts = (one if isinstance(one, RuleText) else RuleText(one, None, source) for one in added)
    return RuleEdits(tuple(texts), tuple(map(NamedRemoval, removed)))


def told(change: RuleChange, prefixes: Prefixes) -> RuleChanges:
    """What a change of rules did, for people."""
    return RuleChanges(
        {str(rule.name): print_rule(rule, prefixes) for rule in change.added},
        {str(rule.name): print_rule(rule, prefixes) for rule in change.removed},
        tuple((print_rule(known.rule, prefixes), known.name) for known in change.already_there),
    )
