"""`kb.profile()`: how each component of a program is maintained, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, overload

from tidalog.analysis import Analysis
from tidalog.api.shown import SHOWN_PARTS, html_table, more, text_table
from tidalog.maintain.component import MaintainedComponent
from tidalog.maintain.marks import Marks
from tidalog.model.update import Label
from tidalog.plan.lowering import constraint_predicate

_COLUMNS: Final = ("part", "rules", "facts", "strategy", "why", "updates")
_UNREACHED: Final = "no update has reached it"


@dataclass
class Choice:
    """The last strategy of a component, and how often each was chosen."""

    strategy: str
    reason: str
    update: Label | None
    times: Counter[str] = field(default_factory=Counter)


class Choices(dict[str, Choice]):
    """What was chosen for each component, by its name."""

    def note(self, components: Iterable[MaintainedComponent], label: Label | None) -> None:
        """Notes the components that an update has reached."""
        for one in components:
            if one.chosen:
                known = self.setdefault(one.name, Choice(one.chosen, one.reason, label))
                known.strategy, known.reason, known.update = one.chosen, one.reason, label
                known.times[one.chosen] += 1


@dataclass(frozen=True)
class PartProfile:
    """A component, or what collects the groups of an aggregate, or a constraint."""

    name: str
    rules: tuple[str, ...]
    recursive: bool
    facts: int
    strategy: str | None
    """Of the last update that reached it; None if none has."""
    reason: str
    update: Label | None
    """Which one that was."""
    times: Mapping[str, int]
    """Strategy → updates."""
    marked: int = 0
    """Its derived facts that are marked, because the next update may delete them."""


class Profile(Sequence[PartProfile]):
    """The parts of a program in the order in which an update visits them."""

    def __init__(self, parts: Iterable[PartProfile]) -> None:
        self._parts = tuple(parts)

    @overload
    def __getitem__(self, index: int, /) -> PartProfile: ...
    @overload
    def __getitem__(self, index: slice, /) -> Sequence[PartProfile]: ...
    def __getitem__(self, index: int | slice, /) -> PartProfile | Sequence[PartProfile]:
        return self._parts[index]

    def __len__(self) -> int:
        return len(self._parts)

    def to_json(self) -> list[dict[str, object]]:
        return [asdict(part) for part in self._parts]

    def __repr__(self) -> str:
        if not self._parts:
            return "no rules"
        return "\n".join([*text_table(self._header, list(self._cells()), right={2, 6}), *self._left_out()])

    def _repr_html_(self) -> str:
        return html_table(self._header, self._cells(), *self._left_out())

    @property
    def _has_marks(self) -> bool:
        return any(part.marked for part in self._parts)

    @property
    def _header(self) -> tuple[str, ...]:
        return (*_COLUMNS, "marked") if self._has_marks else _COLUMNS

    def _left_out(self) -> list[str]:
        return more(len(self._parts), SHOWN_PARTS, "parts")

    def _cells(self) -> Iterator[tuple[str, ...]]:
        for part in self._parts[:SHOWN_PARTS]:
            times = ", ".join(f"{name} {count:,}" for name, count in part.times.items())
            rules = " ".join(part.rules) + (" (recursive)" if part.recursive else "")
            marked = (f"{part.marked:,}",) if self._has_marks else ()
            yield part.name, rules, f"{part.facts:,}", part.strategy or "", part.reason, times, *marked


def profile_of(
    components: Sequence[MaintainedComponent], choices: Choices, analysis: Analysis, marks: Marks
) -> Profile:
    constraints = {constraint_predicate(rule.name): rule.name for rule in analysis.constraints}

    def part(component: MaintainedComponent) -> PartProfile:
        choice = choices.get(component.name)
        fold = component.stage.fold
        rules = tuple(dict.fromkeys(rule.name for rule in component.rules)) or ((fold.name,) if fold else ())
        shown = [analysis.label(name) for name in sorted(component.predicates) if not name.startswith("#")]
        if component.name in constraints:
            name = f"constraint {constraints[component.name]}"
        else:
            name = " ".join(shown) or f"groups of {rules[0]}"
        what = (name, rules, component.recursive, component.facts)
        if choice is None:
            return PartProfile(*what, None, _UNREACHED, None, {})
        marked = marks.marked_among(component.numbers)
        return PartProfile(*what, choice.strategy, choice.reason, choice.update, dict(choice.times), marked)

    return Profile(map(part, components))
