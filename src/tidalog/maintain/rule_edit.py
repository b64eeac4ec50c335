"""Rule edits: what the diff of components means for the components under maintenance.

A removed rule is a deleted fact in the body of each of its instances, and an added one is a new fact: for the
one update in which it changes, a rule has one more atom, over the relation of rules.  Every strategy then
treats it like any change of facts.  Components whose rules stay are kept, with their plans and their rank
order.

*  Facts that no rule derives any more are dropped without a search.
*  A part of what was one component keeps its rank order.  In a component merged from several, or with what
   was a predicate without rules, facts are unranked that may be older than what they follow from.
*  A predicate that becomes the result of a single fold, or ceases to be, is derived from scratch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tidalog.analysis.component_diff import ComponentDiff
from tidalog.analysis.normal import NormalRule
from tidalog.engine.bits import EXPLICIT, STATUS_DERIVED, STATUS_NEW
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.fact_kernels import LAST
from tidalog.engine.finished_update import predicates_of
from tidalog.maintain.component import ComponentEdit, MaintainedComponent
from tidalog.maintain.transaction import Transaction
from tidalog.maintain.worklist import ComponentIndex, Stages
from tidalog.maintain.workspace import Workspace
from tidalog.model.facts import Ids
from tidalog.model.terms import String
from tidalog.plan.compile import CompiledComponent
from tidalog.plan.join_order import instances_of
from tidalog.plan.lowering import RULE, Stage, constraint_predicate, different_rules, rule_key


@dataclass
class EditPlan:
    """What a rule edit does to the components under maintenance."""

    before: list[Stages]
    """The components of the program that it affects, as they were."""
    after: list[Stages]
    """The components that replace them."""
    added: list[str] = field(default_factory=list)
    """Facts that stand for rules, each once."""
    removed: list[str] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    """Predicates that no rule derives any more."""
    split: Mapping[int, Ids] = field(default_factory=dict)
    """Explicit facts by predicate that have moved to relations that are split off it."""

    @property
    def edited(self) -> list[MaintainedComponent]:
        """Components that have other rules than before."""
        return [one for group in self.after for one in group.stages if one.edit is not None]


def plan_edit(
    engine: EmbeddedEngine,
    index: ComponentIndex,
    compiled: Iterable[CompiledComponent],
    diff: ComponentDiff,
    workspace: Workspace,
) -> EditPlan:
    """Plans an edit, at a cost proportional to it; the old components do not change.  `compiled` are the
    components and constraints that are new or have other rules."""
    constraints = (constraint_predicate(rule.name) for rule in diff.constraints_removed)
    result = EditPlan(index.groups_of((*diff.affected, *constraints)), [])
    before = [component for group in result.before for component in group.stages]
    derived_by: dict[str, MaintainedComponent] = {}
    for component in before:
        derived_by.update(dict.fromkeys(component.predicates, component))
    kept: set[str] = set()
    added: dict[str, None] = {}
    removed: dict[str, None] = {}
    for part in compiled:
        stages: list[MaintainedComponent] = []
        for stage in part.stages:
            kept |= stage.predicates | {name for memo in stage.memos for name in (memo.ask, memo.memo)}
            names = part.predicates if len(stage.predicates) > 1 else stage.predicates
            olds = list(dict.fromkeys(filter(None, map(derived_by.get, names))))
            component = _follow(engine, olds, stage, workspace)
            if component in olds:
                stages.append(component)
                continue
            assert component.edit is not None
            added |= dict.fromkeys(rule_key(rule) for rule in component.edit.added)
            removed |= dict.fromkeys(rule_key(rule) for rule in component.edit.removed)
            stages.append(component)
        result.after.append(Stages(part.predicates, tuple(stages)))
    result.added, result.removed = list(added), list(removed)
    left = [p for component in before for p in sorted(component.predicates - kept)]
    left += [name for component in before for memo in component.stage.memos for name in (memo.ask, memo.memo)]
    result.dropped = [engine.predicate(name) for name in left if name not in kept and engine.has(name)]
    return result


def _follow(
    engine: EmbeddedEngine, olds: list[MaintainedComponent], stage: Stage, workspace: Workspace
) -> MaintainedComponent:
    """A component with the facts that some components had before the edit: one of these, if it derives the
    same in the same way."""
    had = [rule for old in olds for rule in old.stage.every_rule]
    lost, added = different_rules(had, stage.every_rule)
    single = len(olds) == 1 and olds[0].predicates == stage.predicates
    if single and olds[0].stage.fold == stage.fold and not (added or lost):
        return olds[0]
    no_longer_derive = [rule for rule in lost if _head(rule) in stage.predicates]
    removed, rechecked = _removed_rules(engine, no_longer_derive)
    edit = ComponentEdit(
        tuple(added),
        removed,
        rechecked,
        sum(instances_of(rule, engine) for rule in removed),
        sum(instances_of(rule, engine) for rule in no_longer_derive),
        from_scratch=stage.fold is not None or any(old.stage.fold is not None for old in olds),
    )
    if single:
        component = olds[0].followed_by(stage, edit, lost)
    else:
        component = MaintainedComponent(engine, stage, workspace, edit=edit)
    component.in_rank_order = all(old.in_rank_order for old in olds)
    unranked = (_of_predicates(engine, ids, component.numbers) for old in olds for ids in old.unranked)
    for ids in (*unranked, *_out_of_order(engine, olds, component.numbers)):
        component.unrank(ids)
    component.steps_per_seed = max((old.steps_per_seed for old in olds), default=0.0)
    return component


def _removed_rules(
    engine: EmbeddedEngine, rules: list[NormalRule]
) -> tuple[tuple[NormalRule, ...], frozenset[str]]:
    """Removed rules whose instances are searched for, and predicates of which every fact is checked."""
    rechecked = {_head(r) for r in rules if instances_of(r, engine) > engine.count(_head(r))}
    return tuple(r for r in rules if _head(r) not in rechecked), frozenset(rechecked)


def _head(rule: NormalRule) -> str:
    assert rule.head is not None
    return rule.head.predicate


def _of_predicates(engine: EmbeddedEngine, ids: Ids, numbers: Sequence[int]) -> Ids:
    """The facts that a part of a component has."""
    predicates = np.empty(len(ids), np.int32)
    predicates_of(engine.store.at, ids, predicates)
    return np.ascontiguousarray(ids[np.isin(predicates, numbers)])


def _out_of_order(
    engine: EmbeddedEngine, olds: Iterable[MaintainedComponent], merged: Sequence[int]
) -> Iterator[Ids]:
    """Implicit facts that may be older than what they follow from: ids were not ranks across components, nor
    between a component and a predicate without rules.  They follow by a rule that reads what another
    component has; whatever follows from them within theirs still has a larger id."""
    extent, count = engine.store.arrays.extent, engine.store.count
    own = set(merged)
    for old in olds:
        lower = {n for n in own.intersection(old.lower) if count(n)}
        if not lower:
            continue
        last: dict[str, int] = {}
        for rule in old.stage.every_rule:
            for atom in rule.atoms:
                number = engine.predicate(atom.predicate)
                if number in lower:
                    head = _head(rule)
                    last[head] = max(last.get(head, -1), int(extent[number, LAST]))
        for head, end in last.items():
            ids = engine.store.ids(engine.predicate(head), 0, int(EXPLICIT), 0)
            yield np.ascontiguousarray(ids[ids < end])


def give_rules_facts(engine: EmbeddedEngine, marks: Sequence[str]) -> None:
    """Before an update: rules that it removes become facts, as if they had always been."""
    engine.store.insert(engine.predicate(RULE, 1), [_terms(engine, marks)], len(marks), STATUS_DERIVED)


def _terms(engine: EmbeddedEngine, marks: Sequence[str]) -> Ids:
    return np.array([engine.dictionary.id_of(String(mark)) for mark in marks], np.int32)


def begin_change(change: Transaction, wanted: EditPlan) -> None:
    """Inserts and deletes the facts that stand for rules, and deletes what no rule derives any more, and what
    has moved.  Facts of rules that were added earlier are deleted too: a later edit may add these rules
    again."""
    for general, ids in wanted.split.items():
        change.make_implicit(general, ids)
    engine = change.engine
    number = engine.predicate(RULE, 1)
    change.delete(number, engine.store.ids(number))
    if wanted.added:
        change.grown[number] = len(engine.store)
        change.put(number, _terms(engine, wanted.added)[None, :], len(wanted.added), STATUS_NEW)
    for dropped in wanted.dropped:
        change.to_delete.pop(dropped, None)
        implicit = engine.store.ids(dropped, 0, int(EXPLICIT), 0)
        if len(implicit):
            change.delete(dropped, np.ascontiguousarray(implicit))
