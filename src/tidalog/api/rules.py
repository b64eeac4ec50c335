"""`kb.rules`, and rule edits: from text, parsed, and as text again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from tidalog.analysis.rule_edit import RuleDiff
from tidalog.api.delta import Delta, RuleChanges
from tidalog.api.diagnostics import TwoNames, bad_argument
from tidalog.api.shown import SHOWN_PARTS, html_table, more
from tidalog.lang import parse_rules, print_rule
from tidalog.model.amounts import article
from tidalog.model.errors import ProgramError
from tidalog.model.program import Rule
from tidalog.model.registered import is_of_query
from tidalog.model.rule_edit import NamedRemoval, RuleEdit, RuleText

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase

Prefixes = Mapping[str, str]


def rules_added(edit: RuleEdit, prefixes: Prefixes) -> list[Rule]:
    """The rules that an edit adds, parsed.  Raises `ProgramError` with everything that cannot be parsed."""
    found: list[Rule] = []
    wrong: list[ProgramError] = []
    for one in edit.added:
        try:
            found += [one] if isinstance(one, Rule) else _parsed(one, prefixes)
        except ProgramError as error:
            wrong.append(error)
    if wrong:
        raise ProgramError([diagnostic for error in wrong for diagnostic in error.diagnostics])
    return found


def _parsed(given: RuleText, prefixes: Prefixes) -> list[Rule]:
    found = parse_rules(given.text, prefixes, given.source)
    if given.name is None:
        return found
    if len(found) > 1 or found[0].name not in (None, given.name):
        written = "several rules" if len(found) > 1 else f"a rule with the name {found[0].name}"
        raise ProgramError(TwoNames(found[-1].span, name=given.name, written=written))
    return [replace(found[0], name=given.name)]


def replacement(name: str, text: str, prefixes: Prefixes) -> RuleEdit:
    """The edit that replaces a rule; the new one keeps the name unless its text has one.  Raises
    `ProgramError` if the text is not one rule."""
    edit = rule_edit([text], [name])
    own = parse_rules(text, prefixes, "<rule>")[0].name
    return replace(edit, added=(RuleText(text, name if own is None else own),))


def rule_edit(added: Sequence[str], removed: Sequence[str]) -> RuleEdit:
    """An edit as texts of rules and names of rules.  Raises `UsageError` for anything but text."""
    for what, given in (("a rule", added), ("the name of a rule", removed)):
        for one in given:
            if not isinstance(one, str):
                problem = f"{what} is text, and this is {article(type(one).__name__)}"
                hint = 'a rule is added by its text, "far(?x) :- path(a, ?x)", and removed by its name, "r3"'
                raise bad_argument(problem, "nothing was changed", hint)
    return RuleEdit(tuple(map(RuleText, added)), tuple(map(NamedRemoval, removed)))


def rule_changes(change: RuleDiff, prefixes: Prefixes) -> RuleChanges:
    """What a rule edit changed, as text."""
    return RuleChanges(
        {str(rule.name): print_rule(rule, prefixes) for rule in _written(change.added)},
        {str(rule.name): print_rule(rule, prefixes) for rule in _written(change.removed)},
        tuple(
            (print_rule(known.rule, prefixes), known.name)
            for known in change.already_there
            if not is_of_query(known.name)
        ),
    )


def _written(rules: Iterable[Rule]) -> Iterator[Rule]:
    """Those that are not of continuous queries."""
    return (rule for rule in rules if not is_of_query(rule.name))


class Rules(Mapping[str, str]):
    """The rules of a knowledge base by name, as text, in the order in which they were added.  A live view."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    def add(self, text: str) -> Delta:
        """Adds one rule or several, with or without names: `far(?x) :- path(a, ?x)`.  `rules` of the delta
        says which names they have now, and which of them were there already, up to names of variables."""
        return self._kb._edit_rules(rule_edit([text], []))

    def remove(self, *names: str) -> Delta:
        """Removes rules by their names."""
        return self._kb._edit_rules(rule_edit([], names))

    def replace(self, name: str, text: str) -> Delta:
        """Replaces a rule; the new one keeps the name unless its text has one."""
        return self._kb._edit_rules(replacement(name, text, self._kb.program.prefixes))

    def __getitem__(self, name: str) -> str:
        return self._kb._named_rules()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kb._named_rules())

    def __len__(self) -> int:
        return len(self._kb._named_rules())

    def __repr__(self) -> str:
        rules = self._bodies()
        width = max(map(len, rules), default=0)
        indented = "\n" + " " * (width + 2)
        lines = [f"{name:<{width}}  {text}".replace("\n", indented) for name, text in rules.items()]
        return "\n".join([*lines, *more(len(self), SHOWN_PARTS, "rules")]) or "no rules"

    def _repr_html_(self) -> str:
        return html_table(("name", "rule"), self._bodies().items(), *more(len(self), SHOWN_PARTS, "rules"))

    def _bodies(self) -> dict[str, str]:
        """The rules that are shown, without their names."""
        rules = self._kb._named_rules().items()
        return {name: text.removeprefix(f"{name}: ") for name, text in islice(rules, SHOWN_PARTS)}
