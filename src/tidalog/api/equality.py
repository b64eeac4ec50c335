"""Maintenance modulo equality: a sequence of updates of the engine for each one by users, as one change.

An update first lets all classes fall apart that may have lost what makes their terms equal, in the same
update of the engine.  Then terms that turn out to be equal are merged, until no new ones do.  Constraints are
checked at the end: before it, facts may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from tidalog.analysis import Analysis, NormalRule, RuleDiff
from tidalog.api.encoded_update import net_update, routed_update
from tidalog.api.equal_changes import Expanding, Replaced
from tidalog.api.equal_facts import EqualFacts, GivenChange
from tidalog.api.equal_terms import GivenPairs, all_pairs, ids_of_constants, new_pairs, refuse_names
from tidalog.api.explicit_facts import ExplicitFacts
from tidalog.api.maintenance import Job, Maintenance, newly_explicit, no_longer_explicit
from tidalog.api.merged import composed
from tidalog.api.outcome import Outcome
from tidalog.api.transitions import inverse
from tidalog.api.user_changes import user_changes
from tidalog.builtins import PythonFunction
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.interrupts import nowhere
from tidalog.engine.limits import Limits, ProgressCallback, RunStats
from tidalog.maintain.counters import Counters
from tidalog.maintain.delta import PredicateDelta
from tidalog.maintain.equality.affected import Overdeletion
from tidalog.maintain.equality.merging import merged
from tidalog.maintain.equality.relations import EqualTerms, Table
from tidalog.maintain.maintainer import Outcome as Step
from tidalog.maintain.materialise import NO_LIMITS, check_constraints, materialise, unchecked
from tidalog.model.facts import Ids
from tidalog.model.program import Variable
from tidalog.model.update import EncodedUpdate
from tidalog.plan.compile import CompiledProgram
from tidalog.rdf.layout import Split

_X, _Y = Variable("x"), Variable("y")
_FROM_SCRATCH = 64
"""More new pairs than this are merged before everything is derived again, if everything was derived."""
_ROUNDS = 3
_FEW = 64
"""Pairs up to which facts that make terms equal enter the engine before these are merged."""


@dataclass
class _Steps:
    """The updates of the engine so far."""

    updates: list[Step] = field(default_factory=list)
    changes: list[Mapping[str, PredicateDelta]] = field(default_factory=list)
    classes: Replaced = field(default_factory=Replaced)


class EqualMaintenance(Maintenance):
    def __init__(
        self, engine: EmbeddedEngine, program: CompiledProgram, functions: Mapping[str, PythonFunction]
    ) -> None:
        super().__init__(engine, program, functions)
        self._overdeletion: Overdeletion | None = None
        self._pairs: GivenPairs | None = None

    def apply(
        self,
        job: Job,
        analysis: Analysis,
        before: Analysis | None = None,
        diff: RuleDiff | None = None,
        splits: Sequence[Split] = (),
    ) -> Outcome:
        assert not splits, "an update modulo equality is several, none of which can undo a split"
        if job.options is not self.maintainer.options:
            self.maintainer.use(job.options)
        facts = EqualFacts(self.engine, analysis.triples)
        had_classes = bool(self.engine.equal)
        update = net_update([_in_full(update, facts) for update in job.updates])
        change = facts.change(update)
        split = self._split(facts, change, analysis, before)
        with self._whole(before) as steps:
            first, entering = facts.after(change, split)
            steps.classes.add(split, {})
            constants = facts.denoting(self._constants(analysis, before, diff))
            pairs = self._given_pairs(analysis)
            many = len(self._joined(pairs, facts, entering)) > _FEW
            coming = [] if many else facts.entered(entering)
            first = EncodedUpdate(first.deletions, [*first.insertions, *constants, *coming])
            self._step(steps, first, job, analysis, before, diff, had_classes)
            self._merge(steps, facts, job, analysis)
            if many:
                self._enter(steps, facts, job, analysis, pairs, entering)
            self.maintainer.check_constraints()
        return self._outcome(job, steps, facts, change, analysis, diff)

    def settle(self, job: Job, analysis: Analysis, new: Table) -> None:
        """Merges terms after everything was derived."""
        with self._whole(None) as steps:
            self._merge(steps, EqualFacts(self.engine, analysis.triples), job, analysis, new)

    # --- steps --------------------------------------------------------------------------------------

    @contextmanager
    def _whole(self, before: Analysis | None) -> Iterator[_Steps]:
        """Surrounds updates of the engine, which an error undoes."""
        steps, equal = _Steps(), self.engine.equal
        try:
            yield steps
        except BaseException:
            with nowhere():
                for step in reversed(steps.updates):
                    self.maintainer.apply(inverse(step.delta), judge=unchecked)
                if steps.updates and before is not None:
                    self.maintainer.apply(EncodedUpdate(), analysis=before, judge=unchecked)
                equal.replace(steps.classes.added, steps.classes.removed)
            raise

    def _step(
        self,
        steps: _Steps,
        update: EncodedUpdate,
        job: Job,
        analysis: Analysis,
        before: Analysis | None,
        diff: RuleDiff | None,
        had_classes: bool,
    ) -> None:
        changed = before is not None and before.rules != analysis.rules
        found = self.maintainer.apply(
            update,
            [] if had_classes else self._upcoming(job, analysis),
            limits=job.limits,
            progress=job.progress,
            analysis=analysis if changed else None,
            diff=None if diff is None or not changed else diff.components,
            judge=unchecked,
        )
        steps.updates.append(found)
        self.choices.note(found.touched, job.updates[-1].label if job.updates else None)
        steps.changes.append(user_changes(self.engine, analysis, found.delta, before))

    def _upcoming(self, job: Job, analysis: Analysis) -> list[EncodedUpdate]:
        layout, dictionary = analysis.triples, self.engine.dictionary
        return list(self._fitting(routed_update(update, layout, dictionary) for update in job.upcoming))

    def _merge(
        self, steps: _Steps, facts: EqualFacts, job: Job, analysis: Analysis, new: Table | None = None
    ) -> None:
        """Merges what the last step made equal, and what follows from that."""
        while True:
            if new is None:
                new = new_pairs(self.engine, analysis, steps.updates[-1].delta)
            if not len(new):
                return
            going, coming = merged(self.engine.equal, new, self.engine.dictionary)
            refuse_names(coming, analysis, self.engine)
            update = facts.merge(going, coming)
            steps.classes.add(going, coming)
            self._step(steps, update, job, analysis, None, None, True)
            new = None

    def _given_pairs(self, analysis: Analysis) -> GivenPairs:
        known = self._pairs
        if known is None or known.rules is not analysis.rules:
            known = self._pairs = GivenPairs(self.engine, analysis)
        return known

    def _joined(self, pairs: GivenPairs, facts: EqualFacts, entering: Mapping[str, Table]) -> Table:
        """What facts that enter the engine make equal among themselves."""
        found, joined = [np.empty((0, 2), np.int32)], EqualTerms()
        while True:
            over = {name: joined.of_rows(facts.equal.of_rows(table)) for name, table in entering.items()}
            new = pairs.pairs(facts.by_relation(over, pairs.relations))
            if not len(new):
                return np.concatenate(found)
            found.append(new)
            joined = EqualTerms()
            joined.replace({}, merged(joined, np.concatenate(found), self.engine.dictionary)[1])

    def _enter(
        self,
        steps: _Steps,
        facts: EqualFacts,
        job: Job,
        analysis: Analysis,
        pairs: GivenPairs,
        entering: Mapping[str, Table],
    ) -> None:
        """Inserts facts of which many make terms equal, once these are merged."""
        new = self._joined(pairs, facts, entering)
        update = EncodedUpdate()
        if len(new):
            going, coming = merged(self.engine.equal, new, self.engine.dictionary)
            refuse_names(coming, analysis, self.engine)
            update = facts.merge(going, coming)
            steps.classes.add(going, coming)
        update = EncodedUpdate(update.deletions, [*update.insertions, *facts.entered(entering)])
        self._step(steps, update, job, analysis, None, None, True)
        self._merge(steps, facts, job, analysis)

    # --- what falls apart ---------------------------------------------------------------------------

    def _split(
        self, facts: EqualFacts, change: GivenChange, analysis: Analysis, before: Analysis | None
    ) -> dict[int, Ids]:
        engine = self.engine
        if not engine.equal:
            return {}
        rules = before or analysis
        removed: list[NormalRule] = []
        if before is not None and before.rules != analysis.rules:
            staying = set(analysis.rules)
            removed = [rule for rule in before.rules if rule.head is not None and rule not in staying]
        if not change.gone and not removed:
            return {}
        overdeletion = self._overdeletion
        if removed:
            overdeletion = Overdeletion.of(rules, removed)
        elif overdeletion is None or overdeletion.rules is not rules.rules:
            overdeletion = self._overdeletion = Overdeletion.of(rules)
        found = overdeletion.classes(engine, facts.over_representatives(change.gone))
        return {number: engine.equal.classes[number] for number in found.tolist()}

    def _constants(self, analysis: Analysis, before: Analysis | None, diff: RuleDiff | None) -> Ids:
        if before is None:
            return np.empty(0, np.int32)
        return ids_of_constants(self.engine, analysis.rules if diff is None else diff.normal_added)

    # --- what users see -----------------------------------------------------------------------------

    def _outcome(
        self,
        job: Job,
        steps: _Steps,
        facts: EqualFacts,
        change: GivenChange,
        analysis: Analysis,
        diff: RuleDiff | None,
    ) -> Outcome:
        steps.classes.prune()
        names = dict.fromkeys(name for changes in steps.changes for name in changes)
        nets = ((n, composed([changes[n] for changes in steps.changes if n in changes])) for n in names)
        found: Mapping[str, PredicateDelta] = {name: net for name, net in nets if net is not None}
        if facts.equal or steps.classes.removed:
            expanding = Expanding(facts, found, change, steps.classes)
            found = expanding.changes()
            self.facts += expanding.more_facts
            self.explicit += change.more
        else:
            for one in found.values():
                self.facts += one.inserted_rows - one.deleted_rows
                self.explicit += newly_explicit(one) - no_longer_explicit(one)
        counters, uncomputed, chosen = Counters(), dict[str, int](), dict[str, str]()
        for step in steps.updates:
            counters.add(step.counters)
            chosen |= step.chosen
            for rule, count in step.uncomputed.items():
                uncomputed[rule] = uncomputed.get(rule, 0) + count
        return Outcome(
            found,
            counters,
            change.ignored,
            chosen,
            diff,
            self.explicit,
            self.facts,
            job.updates[-1].label,
            len(job.updates),
            uncomputed,
        )


# --- from scratch -----------------------------------------------------------------------------------


def materialise_equal(
    engine: EmbeddedEngine,
    compiled: CompiledProgram,
    *,
    functions: Mapping[str, PythonFunction],
    limits: Limits = NO_LIMITS,
    progress: ProgressCallback | None = None,
) -> RunStats:
    """Derives everything from explicit facts without classes, and merges equal terms.  After an error nothing
    is derived."""
    analysis, given = compiled.analysis, ExplicitFacts()
    engine.forget_derived()
    facts = EqualFacts(engine, analysis.triples)
    with engine.savepoint():
        for part in facts.denoting(ids_of_constants(engine, analysis.rules)):
            engine.insert(part.predicate, part.columns, part.count)
    pairs = GivenPairs(engine, analysis)
    for _ in range(_ROUNDS):
        while len(new := pairs.of_all()):
            _merge_into(engine, analysis, facts, given, new)
        run = materialise(
            engine, compiled, functions=functions, limits=limits, progress=progress, judge=unchecked
        )
        new = all_pairs(engine, analysis)
        if len(new) <= _FROM_SCRATCH:
            break
        _merge_into(engine, analysis, facts, given, new)
    else:
        run = materialise(
            engine, compiled, functions=functions, limits=limits, progress=progress, judge=unchecked
        )
        new = all_pairs(engine, analysis)
    if len(new):
        job = Job([EncodedUpdate()], limits=limits, progress=progress)
        EqualMaintenance(engine, compiled, functions).settle(job, analysis, new)
    check_constraints(engine, analysis.constraints)
    return run


def _merge_into(
    engine: EmbeddedEngine, analysis: Analysis, facts: EqualFacts, given: ExplicitFacts, new: Table
) -> None:
    going, coming = merged(engine.equal, new, engine.dictionary)
    refuse_names(coming, analysis, engine)
    given.apply(engine, facts.merge(going, coming))


def _in_full(update: EncodedUpdate, facts: EqualFacts) -> EncodedUpdate:
    deletions, insertions = (
        [facts.in_full(part) for part in side] for side in (update.deletions, update.insertions)
    )
    return EncodedUpdate(deletions, insertions)
