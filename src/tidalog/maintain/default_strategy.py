"""The strategy that `auto` chooses for a component by its rules alone.

For programs that have no facts yet: nothing here needs compiled code.  An update may choose another one, by
its size and by the cost of earlier updates.

Law: it is what `choose` chooses for a deletion of no facts, over windows once they are filled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from tidalog.analysis.model import Analysis
from tidalog.engine.opcodes import MOST_ATOMS
from tidalog.plan.compile import CompiledProgram
from tidalog.plan.lowering import Stage

DEFAULT: Final = "ranked"
BY_TIME: Final = "expire"
AGGREGATE: Final = "groups"
START_OVER: Final = "recompute"
BOUNDED: Final = "bounded"

BOUNDED_REASON: Final = "it holds what a longer window holds for long enough"
GOES_BY_TIME: Final = "its facts go by their expiries: a slide runs no rule"


class Choice(NamedTuple):
    strategy: str
    reason: str


@dataclass(frozen=True, slots=True)
class RuleTraits:
    """What the rules of a stage say about how it can be maintained."""

    folds: bool
    recursive: bool
    negates: bool
    begins: bool
    """Whether one of them has no atom."""
    long: bool
    """Whether one of them has too many atoms to be searched for single instances."""
    bounded: bool
    """Whether they copy what stays long enough."""


def traits_of(stage: Stage) -> RuleTraits:
    rules = stage.every_rule
    return RuleTraits(
        folds=stage.fold is not None,
        recursive=stage.recursive,
        negates=any(rule.negations for rule in rules),
        begins=not all(rule.atoms for rule in rules),
        long=any(len(rule.atoms) >= MOST_ATOMS for rule in stage.rules),
        bounded=any(rule.lasting for rule in stage.rules),
    )


def default_strategy(traits: RuleTraits, *, by_time: bool) -> Choice:
    """`by_time`: whether windows slide over it, so that its facts have expiries."""
    if only := only_strategy(traits):
        return only
    if by_time:
        return Choice(BY_TIME, GOES_BY_TIME)
    return Choice(DEFAULT, "its ids are ranks" if traits.recursive else "one step proves or disproves a fact")


def only_strategy(traits: RuleTraits) -> Choice | None:
    """What maintains a stage that no other strategy but the one that starts over can maintain."""
    if traits.bounded:
        return Choice(BOUNDED, BOUNDED_REASON)
    if traits.folds:
        return Choice(AGGREGATE, "the groups that change are folded again")
    return Choice(START_OVER, _TOO_LONG) if traits.long else None


def misfit_of_expiries(traits: RuleTraits) -> str:
    """Why its facts may not go by the expiries of those that they follow from; empty if they do."""
    if traits.negates or traits.folds:
        return "with negation or aggregates a fact may outlive those it follows from"
    if traits.long:
        return _TOO_LONG
    return "a rule derives facts from nothing" if traits.begins else ""


_TOO_LONG: Final = "a rule has too many atoms to be searched"


# --- of a program ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DefaultStrategy:
    component: int
    predicates: tuple[str, ...]
    strategy: str
    reason: str


def default_strategies(program: CompiledProgram) -> list[DefaultStrategy]:
    """Of each component that has rules, in order of evaluation."""
    found: list[DefaultStrategy] = []
    timed, counted = _windows(program.analysis)
    for component, compiled in zip(program.analysis.components, program.components, strict=True):
        if component.rules:
            stage = compiled.stages[-1]  # the others derive what it aggregates
            traits = traits_of(stage)
            read = {atom.predicate for rule in stage.every_rule for atom in rule.atoms} | stage.predicates
            by_time = bool(read & timed) and not read & counted and not misfit_of_expiries(traits)
            if by_time:
                timed |= stage.predicates
            choice = default_strategy(traits, by_time=by_time)
            found.append(DefaultStrategy(component.index, component.predicates, *choice))
    return found


def _windows(analysis: Analysis) -> tuple[set[str], set[str]]:
    """Predicates from which every fact goes at some time, and those that say no such time."""
    windows = analysis.program.windows
    names = {window.name for window in windows}
    kinds: dict[str, set[str]] = {}
    for window in windows:
        for name in {window.name, window.name if window.source in names else window.source}:
            kinds.setdefault(name, set()).add(window.kind)
    sliding = {name for name, of in kinds.items() if of <= {"range", "tumbling"}}
    return sliding, {name for name, of in kinds.items() if "count" in of}
