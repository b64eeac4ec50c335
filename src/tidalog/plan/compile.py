"""`compile(analysis)`: what materialisation and maintenance both work from.

    program → components → stages → rules → plans

A component is one of the analysis, or a constraint.  Its stages are derived one after the other (`lowering`).
The plans of a stage's rules are chosen when they are first needed and kept in the stage (`plan_cache`): one
plan for each rule and pivot, whoever runs it.  Materialisation, insertion and deletion differ in the facts
that they let each atom match, which is a matter of the code made from a plan, not of the plan.

Invariant.  A component that is the same before and after a rule edit is the same object, with its plans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tidalog.analysis.model import Analysis
from tidalog.analysis.normal import NormalRule
from tidalog.model.program import Expression
from tidalog.plan.join_order import Statistics, best_start
from tidalog.plan.lowering import Stage, constraint_predicate, constraint_rule, stages

IsNative = Callable[[Expression], bool]
"""Whether the engine computes an expression itself."""


@dataclass(frozen=True, slots=True)
class CompiledComponent:
    """Rules for predicates that depend on each other, and the stages that they are derived in."""

    rules: tuple[NormalRule, ...]
    predicates: tuple[str, ...]
    recursive: bool
    stages: tuple[Stage, ...]
    single: frozenset[str]
    """Predicates that exactly one rule derives."""


@dataclass(frozen=True)
class CompiledProgram:
    """Components in an order in which each comes after those it reads; constraints come last."""

    analysis: Analysis
    is_native: IsNative = field(repr=False)
    components: tuple[CompiledComponent, ...]
    """One for each component of the analysis."""
    constraints: tuple[CompiledComponent, ...]
    """One for each constraint: a rule for a hidden predicate."""

    @property
    def stages(self) -> Iterator[Stage]:
        """All stages in the order of evaluation."""
        for component in (*self.components, *self.constraints):
            yield from component.stages

    def edited(self, analysis: Analysis) -> CompiledProgram:
        """The program of another analysis.  Components that it shares with this one keep their plans."""
        return compile(analysis, self.is_native, self)


def compile(
    analysis: Analysis, is_native: IsNative, before: CompiledProgram | None = None
) -> CompiledProgram:
    """Compiles an analysis.  What `before` has compiled already is taken from there."""
    known: dict[tuple[str, ...], CompiledComponent] = {}
    if before is not None:
        known = {c.predicates: c for c in (*before.components, *before.constraints)}

    def component(
        rules: tuple[NormalRule, ...], predicates: tuple[str, ...], recursive: bool
    ) -> CompiledComponent:
        old = known.get(predicates)
        if old is not None and old.rules == rules and old.recursive == recursive:
            return old
        return compile_component(rules, predicates, recursive, is_native)

    return CompiledProgram(
        analysis,
        is_native,
        tuple(component(c.rules, c.predicates, c.recursive) for c in analysis.components),
        tuple(
            component((constraint_rule(rule),), (constraint_predicate(rule.name),), False)
            for rule in analysis.constraints
        ),
    )


def compile_component(
    rules: Sequence[NormalRule], predicates: Iterable[str], recursive: bool, is_native: IsNative
) -> CompiledComponent:
    """Compiles the rules for some predicates, all of which have a head."""
    names = tuple(predicates)
    heads = Counter(rule.head.predicate for rule in rules if rule.head is not None)
    return CompiledComponent(
        tuple(rules),
        names,
        recursive,
        tuple(stages(rules, names, recursive, is_native)),
        frozenset(name for name, count in heads.items() if count == 1),
    )


def growing_predicates(stage: Stage) -> frozenset[str]:
    """What grows while a stage is derived: its own predicates, and the answers of Python functions."""
    return stage.predicates | {memo.memo for memo in stage.memos}


def run_pivots(rule: NormalRule, growing: frozenset[str], statistics: Statistics) -> list[int | None]:
    """The pivots that derive all instances of a rule from scratch, each instance once.  If some atoms grow
    meanwhile, each of them; else the one whose facts are scanned, or None if one row is enough."""
    found: list[int | None] = [i for i, atom in enumerate(rule.atoms) if atom.predicate in growing]
    return found or [best_start(rule, statistics)]
