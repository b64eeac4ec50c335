"""Stratification: no rule reads under a negation or an aggregate what depends on its own head."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from tidalog.analysis.components import Component, reads
from tidalog.analysis.diagnostics import AggregationInCycle, NegationInCycle
from tidalog.analysis.draft import Draft
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.scc import natural_key
from tidalog.model.errors import Span
from tidalog.model.program import Aggregate, Disjunction, Negation, flat_literals

CYCLES_COMPARED = 64
"""If a component has very many negative edges, only the first are searched for the shortest cycle."""


def check_stratification(draft: Draft, components: Sequence[Component]) -> None:
    for component in components:
        if not component.recursive:
            continue
        within = set(component.predicates)
        negated = _offenders(component, within, aggregating=False)
        aggregated = _offenders(component, within, aggregating=True)
        if negated:
            _report_cycle(draft, component, negated)
        if aggregated:
            _report_cycle(draft, component, aggregated)


@dataclass(frozen=True, slots=True)
class _Offender:
    """A rule of a component that reads `predicate` of the same component as if it were complete."""

    rule: NormalRule
    predicate: str
    negation: int | None
    """Which of the rule's negations; None if the rule aggregates."""


def _offenders(component: Component, within: set[str], aggregating: bool) -> list[_Offender]:
    found: list[_Offender] = []
    for rule in component.rules:
        if aggregating:
            if rule.aggregates:
                found += [_Offender(rule, a.predicate, None) for a in rule.atoms if a.predicate in within]
        else:
            negations = enumerate(rule.negations)
            found += [_Offender(rule, a.predicate, n) for n, a in negations if a.predicate in within]
    return found


def _report_cycle(draft: Draft, component: Component, offenders: list[_Offender]) -> None:
    uses = _uses_within(component)
    cycles = [(_path(uses, o.predicate, _head(o.rule)), o) for o in offenders[:CYCLES_COMPARED]]
    path, offender = min(cycles, key=lambda cycle: len(cycle[0]))
    label = draft.label
    rules = [f"{rule} ({label(user)} from {label(used)})" for user, rule, used in path]
    closing = offender.predicate
    if offender.negation is not None:
        mark = "~"
        diagnostic: type[NegationInCycle | AggregationInCycle] = NegationInCycle
    else:
        mark = f"#{offender.rule.aggregates[0].operator} of "
        diagnostic = AggregationInCycle
    rules.append(f"{offender.rule.name} ({label(_head(offender.rule))} from {mark}{label(closing)})")
    steps = [label(closing), *(label(used) for _, _, used in path), f"{mark}{label(closing)}"]
    draft.report(
        diagnostic(
            _literal_span(offender),
            cycle=" → ".join(steps),
            predicate=label(closing),
            rules=", ".join(rules),
        )
    )


def _head(rule: NormalRule) -> str:
    assert rule.head is not None, "a rule of a component has a head"
    return rule.head.predicate


def _uses_within(component: Component) -> dict[str, dict[str, str]]:
    """predicate → predicate of the same component that one of its rules reads → the name of such a rule."""
    within = set(component.predicates)
    uses: dict[str, dict[str, str]] = {predicate: {} for predicate in component.predicates}
    for rule in component.rules:
        for predicate, _ in reads(rule):
            if predicate in within:
                uses[_head(rule)].setdefault(predicate, rule.name)
    return uses


def _path(uses: dict[str, dict[str, str]], start: str, goal: str) -> list[tuple[str, str, str]]:
    """A shortest chain (user, rule, used) from one predicate to another within a component."""
    came_from: dict[str, tuple[str, str]] = {}
    queue = deque([start])
    seen = {start}
    while queue and goal not in seen:
        user = queue.popleft()
        for used in sorted(uses[user], key=natural_key):
            if used not in seen:
                seen.add(used)
                came_from[used] = (user, uses[user][used])
                queue.append(used)
    path: list[tuple[str, str, str]] = []
    at = goal
    while at != start:
        user, rule = came_from[at]
        path.append((user, rule, at))
        at = user
    return path[::-1]


def _literal_span(offender: _Offender) -> Span | None:
    """The span of the negation in the text: passes keep the order of a rule's negations."""
    origin = offender.rule.origin
    if origin is None:
        return None
    if offender.negation is not None:
        negations = [literal for literal in flat_literals(origin.body) if isinstance(literal, Negation)]
        if any(isinstance(literal, Disjunction) for literal in origin.body):
            return origin.span
        literal = negations[offender.negation]
        return literal.span or literal.atom.span or origin.span
    spans = (a.span for head in origin.heads for a in head.arguments if isinstance(a, Aggregate))
    return next((span for span in spans if span is not None), origin.span)
