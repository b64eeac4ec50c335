"""`compile(analysis)`: what materialisation and maintenance both work from.

    program → components → stages → rules → plans

A component is one of the analysis, or a constraint.  Its stages are derived one after the other (`lowering`).
The plans of a stage's rules are chosen when they are first needed and kept in the stage (`plan_cache`): one
plan for each rule and pivot, whatever runs it.  Materialisation, insertion and deletion differ in the facts
that they let each atom match, which is a matter of the code made from a plan, not of the plan.

Invariant.  A component that is the same before and after a rule edit is the same object, with its plans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tidalog.analysis.component_diff import ComponentDiff, diff_of_analyses
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

    @property
    def single(self) -> list[str]:
        """Predicates that exactly one rule derives."""
        heads = Counter(rule.head.predicate for rule in self.rules if rule.head is not None)
        return [name for name, count in heads.items() if count == 1]

    @property
    def is_bounded(self) -> bool:
        """Whether it copies the facts that stay long enough."""
        return any(rule.lasting for rule in self.rules)


@dataclass(frozen=True)
class CompiledProgram:
    """The components of an analysis and its constraints, compiled."""

    analysis: Analysis
    is_native: IsNative = field(repr=False)
    known: Mapping[str, CompiledComponent] = field(repr=False)
    """Each component by its first predicate, and each constraint by its hidden one.  Components without rules
    may be missing."""

    @cached_property
    def components(self) -> tuple[CompiledComponent, ...]:
        """One for each component of the analysis, in an order in which each comes after those it reads."""
        return tuple(
            self.known.get(c.predicates[0])
            or compile_component(c.rules, c.predicates, c.recursive, self.is_native)
            for c in self.analysis.components
        )

    @cached_property
    def constraints(self) -> tuple[CompiledComponent, ...]:
        """One for each constraint: a rule for a hidden predicate."""
        return tuple(self.known[constraint_predicate(rule.name)] for rule in self.analysis.constraints)

    @property
    def stages(self) -> Iterator[Stage]:
        """All stages in the order of evaluation."""
        for component in (*self.components, *self.constraints):
            yield from component.stages

    def edited(self, analysis: Analysis, diff: ComponentDiff | None = None) -> CompiledProgram:
        """The program of another analysis.  Only the components that differ are compiled."""
        if analysis.rules is self.analysis.rules:
            return CompiledProgram(analysis, self.is_native, self.known)
        diff = diff or diff_of_analyses(self.analysis, analysis)
        known = dict(self.known)
        for predicate in known.keys() & diff.affected:
            del known[predicate]
        for constraint in diff.constraints_removed:
            known.pop(constraint_predicate(constraint.name), None)
        for group in diff.components:
            if group.rules:
                known[group.predicates[0]] = compile_component(
                    group.rules, group.predicates, group.recursive, self.is_native
                )
        known.update(_compiled_constraints(diff.constraints_added, self.is_native))
        return CompiledProgram(analysis, self.is_native, known)

    def of_edit(self, diff: ComponentDiff) -> list[CompiledComponent]:
        """The components and constraints that the last edit compiled, in the order of evaluation."""
        names = [group.predicates[0] for group in diff.components if group.rules]
        names += [constraint_predicate(rule.name) for rule in diff.constraints_added]
        return [self.known[name] for name in names]


def compile(
    analysis: Analysis, is_native: IsNative, before: CompiledProgram | None = None
) -> CompiledProgram:
    """Compiles an analysis.  What `before` has compiled already is taken from there."""
    if before is not None:
        return before.edited(analysis)
    known = {
        c.predicates[0]: compile_component(c.rules, c.predicates, c.recursive, is_native)
        for c in analysis.components
    }
    known.update(_compiled_constraints(analysis.constraints, is_native))
    return CompiledProgram(analysis, is_native, known)


def _compiled_constraints(
    rules: Iterable[NormalRule], is_native: IsNative
) -> Iterator[tuple[str, CompiledComponent]]:
    for rule in rules:
        name = constraint_predicate(rule.name)
        yield name, compile_component([constraint_rule(rule)], [name], False, is_native)


def compile_component(
    rules: Sequence[NormalRule], predicates: Iterable[str], recursive: bool, is_native: IsNative
) -> CompiledComponent:
    """Compiles the rules for some predicates, all of which have a head."""
    names = tuple(predicates)
    return CompiledComponent(
        tuple(rules), names, recursive, tuple(stages(rules, names, recursive, is_native))
    )


def growing_predicates(stage: Stage) -> frozenset[str]:
    """What grows while a stage is derived: its own predicates, and the answers of Python functions."""
    return stage.predicates | {memo.memo for memo in stage.memos}


def run_pivots(rule: NormalRule, growing: frozenset[str], statistics: Statistics) -> list[int | None]:
    """The pivots that derive all instances of a rule from scratch, each instance once.  If some atoms grow
    meanwhile, each of them; else the one whose facts are scanned, or None if one row is enough."""
    found: list[int | None] = [i for i, atom in enumerate(rule.atoms) if atom.predicate in growing]
    return found or [best_start(rule, statistics)]
