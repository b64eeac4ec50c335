"""`kb.profile()`: how each part of a program is maintained, and why so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, overload

from tidalog.analysis import Analysis
from tidalog.maintain.component import MaintainedComponent
from tidalog.model.update import Label
from tidalog.plan.lowering import constraint_predicate

_COLUMNS: Final = ("part", "rules", "facts", "strategy", "why", "updates")
_UNREACHED: Final = "no update has reached it"


@dataclass
class Choice:
    """The last strategy of a part, and how often it has had which."""

    strategy: str
    reason: str
    update: Label | None
    times: Counter[str] = field(default_factory=Counter)


class Choices(dict[str, Choice]):
    """What was chosen for each part, by its name."""

    def note(self, nodes: Iterable[MaintainedComponent], label: Label | None) -> None:
        """An update is done."""
        for node in nodes:
            if node.chosen:
                known = self.get(node.name)
                if known is None:
                    known = self[node.name] = Choice(node.chosen, node.reason, label)
                known.strategy, known.reason, known.update = node.chosen, node.reason, label
                known.times[node.chosen] += 1


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


class Profile(Sequence[PartProfile]):
    """The parts of a program in the order in which an update visits them."""

    def __init__(self, parts: Iterable[PartProfile]) -> None:
        self._parts = tuple(parts)

    @overload
    def __getitem__(self, place: int, /) -> PartProfile: ...
    @overload
    def __getitem__(self, place: slice, /) -> Sequence[PartProfile]: ...
    def __getitem__(self, place: int | slice, /) -> PartProfile | Sequence[PartProfile]:
        return self._parts[place]

    def __len__(self) -> int:
        return len(self._parts)

    def to_json(self) -> list[dict[str, object]]:
        return [asdict(part) for part in self._parts]

    def __repr__(self) -> str:
        rows = [_COLUMNS, *self._cells()]
        if len(rows) == 1:
            return "no rules"
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "   ".join(
                cell.rjust(width) if place == 2 else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([lines[0], "─" * (sum(widths) + 3 * (len(widths) - 1)), *lines[1:]])

    def _cells(self) -> Iterator[tuple[str, ...]]:
        for part in self._parts:
            times = ", ".join(f"{name} {count:,}" for name, count in part.times.items())
            rules = " ".join(part.rules) + (" (recursive)" if part.recursive else "")
            yield part.name, rules, f"{part.facts:,}", part.strategy or "", part.reason, times


def profile_of(nodes: Sequence[MaintainedComponent], choices: Choices, analysis: Analysis) -> Profile:
    constraints = {constraint_predicate(rule.name): rule.name for rule in analysis.constraints}

    def part(node: MaintainedComponent) -> PartProfile:
        choice = choices.get(node.name)
        fold = node.stage.fold
        rules = tuple(dict.fromkeys(rule.name for rule in node.rules)) or ((fold.name,) if fold else ())
        shown = [analysis.label(name) for name in sorted(node.predicates) if not name.startswith("#")]
        if node.name in constraints:
            name = f"constraint {constraints[node.name]}"
        else:
            name = " ".join(shown) or f"groups of {rules[0]}"
        return PartProfile(
            name,
            rules,
            node.recursive,
            node.facts,
            choice.strategy if choice is not None else None,
            choice.reason if choice is not None else _UNREACHED,
            choice.update if choice is not None else None,
            dict(choice.times) if choice is not None else {},
        )

    return Profile(map(part, nodes))
