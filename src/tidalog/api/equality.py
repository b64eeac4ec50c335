"""Maintenance modulo equality: a sequence of updates of the engine for each one by users, as one change.

An update first lets all classes fall apart that may have lost what makes their terms equal, in the same update
of the engine.  Then terms that turn out to be equal are merged, until no new ones do.  Constraints are checked
at the end: before it, facts may be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from tidalog.analysis import Analysis, NormalRule, RuleDiff
from tidalog.analysis.equality import constants_of, equality_atoms, named_iris
from tidalog.api.diagnostics import NamesAreEqual
from tidalog.api.encoded_update import net_update, routed_update
from tidalog.api.equal_facts import EqualFacts, GivenChange
from tidalog.api.explicit_facts import ExplicitFacts
from tidalog.api.maintenance import Job, Maintenance, newly_explicit, no_longer_explicit
from tidalog.api.merged import composed
from tidalog.api.outcome import Outcome
from tidalog.api.transitions import Transitions, inverse
from tidalog.api.user_changes import user_changes
from tidalog.builtins import PythonFunction
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.equal_terms import Classes, EqualTerms
from tidalog.engine.interrupts import nowhere
from tidalog.engine.limits import Limits, ProgressCallback, RunStats
from tidalog.maintain.counters import Counters
from tidalog.maintain.delta import PredicateDelta
from tidalog.maintain.equality.affected import Overdeletion
from tidalog.maintain.equality.merging import merged
from tidalog.maintain.equality.relations import Table, among, distinct, facts_of, table_of
from tidalog.maintain.maintainer import Outcome as Step
from tidalog.maintain.materialise import NO_LIMITS, check_constraints, materialise
from tidalog.model.errors import RunError
from tidalog.model.facts import Ids
from tidalog.model.program import Variable
from tidalog.model.terms import IRI
from tidalog.model.update import EncodedUpdate
from tidalog.plan.compile import CompiledProgram

_X, _Y = Variable("x"), Variable("y")
_FROM_SCRATCH = 64
"""More new pairs than this are merged before everything is derived again, if everything was derived."""
_ROUNDS = 3


class _Replaced:
    """Which classes an update has replaced, of those before it, and by which."""

    def __init__(self) -> None:
        self.removed: dict[int, Ids] = {}
        self.added: dict[int, Ids] = {}

    def prune(self) -> None:
        """Leaves out classes that fell apart and came back."""
        for number, members in list(self.removed.items()):
            if np.array_equal(members, self.added.get(number, ())):
                del self.removed[number], self.added[number]

    def add(self, removed: Classes, added: Classes) -> None:
        for number, members in removed.items():
            if number in self.added:
                del self.added[number]
            else:
                self.removed[number] = members
        self.added.update(added)

    @property
    def representatives(self) -> Ids:
        """Of all terms whose class is another one, before and after."""
        parts = [members for classes in (self.removed, self.added) for members in classes.values()]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int32)


@dataclass
class _Steps:
    """The updates of the engine so far."""

    updates: list[Step] = field(default_factory=list)
    changes: list[Mapping[str, PredicateDelta]] = field(default_factory=list)
    classes: _Replaced = field(default_factory=_Replaced)


class EqualMaintenance(Maintenance):
    def __init__(
        self, engine: EmbeddedEngine, program: CompiledProgram, functions: Mapping[str, PythonFunction]
    ) -> None:
        super().__init__(engine, program, functions)
        self._overdeletion: Overdeletion | None = None

    def apply(
        self, job: Job, analysis: Analysis, before: Analysis | None = None, diff: RuleDiff | None = None
    ) -> Outcome:
        if job.options is not self.maintainer.options:
            self.maintainer.use(job.options)
        facts = EqualFacts(self.engine, analysis.triples)
        had_classes = bool(self.engine.equal)
        update = net_update([_in_full(update, facts) for update in job.updates])
        change = facts.change(update)
        split = self._split(facts, change, analysis, before)
        with self._whole(before) as steps:
            first = facts.after(change, split)
            steps.classes.add(split, {})
            first.insertions = [*first.insertions, *facts.constants(self._constants(analysis, before, diff))]
            self._step(steps, first, job, analysis, before, diff, had_classes)
            self._merge(steps, facts, job, analysis)
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
                    self.maintainer.apply(inverse(step.delta), checked=False)
                if steps.updates and before is not None:
                    self.maintainer.apply(EncodedUpdate(), analysis=before, checked=False)
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
            checked=False,
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
                new = _new_pairs(self.engine, analysis, steps.updates[-1].delta)
            if not len(new):
                return
            going, coming = merged(self.engine.equal, new, self.engine.dictionary)
            refuse_names(coming, analysis, self.engine)
            update = facts.merge(going, coming)
            steps.classes.add(going, coming)
            self._step(steps, update, job, analysis, None, None, True)
            new = None

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
        found: dict[str, PredicateDelta] = {}
        for name in names:
            net = composed([changes[name] for changes in steps.changes if name in changes])
            if net is not None:
                found[name] = net
        if facts.equal or steps.classes.removed:
            found = _Expanding(facts, found, change, steps.classes).changes()
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


class _Expanding:
    """The changes of facts over any terms, from those over representatives."""

    def __init__(
        self,
        facts: EqualFacts,
        net: Mapping[str, PredicateDelta],
        given: GivenChange,
        classes: _Replaced,
    ) -> None:
        self._facts, self._net, self._given, self._classes = facts, net, given, classes

    def changes(self) -> dict[str, PredicateDelta]:
        changed = self._classes.representatives
        concerned = self._facts.mentioning(changed) if len(changed) else {}
        found: dict[str, PredicateDelta] = {}
        for name in sorted({*self._net, *concerned, *self._given.gone, *self._given.came}):
            change = self._change(name, concerned.get(name))
            if change is not None:
                found[name] = change
        return found

    def _change(self, name: str, concerned: Table | None) -> PredicateDelta | None:
        facts, equal, net = self._facts, self._facts.equal, self._net.get(name)
        gone, came = self._given.gone.get(name), self._given.came.get(name)
        arity = next(
            table.shape[1]
            for table in (concerned, gone, came, None if net is None else _table(net.inserted, net.inserted_rows))
            if table is not None
        )
        nothing = np.empty((0, arity), np.int32)
        inserted = nothing if net is None else _table(net.inserted, net.inserted_rows)
        deleted = nothing if net is None else _table(net.deleted, net.deleted_rows)
        concerned = nothing if concerned is None else concerned
        gone, came = (nothing if table is None else table for table in (gone, came))
        after = _expanded(equal, name, np.concatenate([inserted, concerned]))
        stood = np.concatenate([deleted, concerned[~among(concerned, inserted)]])
        with self._before():
            before = _expanded(equal, name, stood)
        table = distinct(np.concatenate([after, before, gone, came]))
        with self._before():
            representing = equal.of_rows(table)
        state = Transitions.none(len(table))
        state.is_ = facts.present(name, equal.of_rows(table))
        there = facts.present(name, representing) & ~among(representing, inserted)
        state.was = there | among(representing, deleted)
        state.is_explicit = facts.explicit(name, table)
        state.was_explicit = (state.is_explicit & ~among(table, came)) | among(table, gone)
        return state.delta(table)

    @contextmanager
    def _before(self) -> Iterator[None]:
        """The classes before the update."""
        equal, classes = self._facts.equal, self._classes
        equal.replace(classes.added, classes.removed)
        try:
            yield
        finally:
            equal.replace(classes.removed, classes.added)


def _table(columns: Sequence[Ids], rows: int) -> Table:
    return np.stack(columns, axis=1) if columns else np.empty((rows, 0), np.int32)


def _expanded(equal: EqualTerms, name: str, table: Table) -> Table:
    return table_of(equal.expanded(facts_of(name, table))) if table.shape[1] else table


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
    facts = EqualFacts(engine, analysis.triples)
    with engine.savepoint():
        for part in facts.constants(ids_of_constants(engine, analysis.rules)):
            engine.insert(part.predicate, part.columns, part.count)
    for _ in range(_ROUNDS):
        _merge_given(engine, analysis, facts, given)
        run = materialise(
            engine, compiled, functions=functions, limits=limits, progress=progress, checked=False
        )
        new = _all_pairs(engine, analysis)
        if len(new) <= _FROM_SCRATCH:
            break
        _merge_into(engine, analysis, facts, given, new)
    else:
        run = materialise(
            engine, compiled, functions=functions, limits=limits, progress=progress, checked=False
        )
        new = _all_pairs(engine, analysis)
    if len(new):
        job = Job([EncodedUpdate()], limits=limits, progress=progress)
        EqualMaintenance(engine, compiled, functions).settle(job, analysis, new)
    check_constraints(engine, analysis.constraints)
    return run


def _merge_given(
    engine: EmbeddedEngine, analysis: Analysis, facts: EqualFacts, given: ExplicitFacts
) -> None:
    """Merges what explicit facts say alone, so that nothing is derived twice for it."""
    new = _all_pairs(engine, analysis)
    if len(new):
        _merge_into(engine, analysis, facts, given, new)


def _merge_into(
    engine: EmbeddedEngine, analysis: Analysis, facts: EqualFacts, given: ExplicitFacts, new: Table
) -> None:
    going, coming = merged(engine.equal, new, engine.dictionary)
    refuse_names(coming, analysis, engine)
    given.apply(engine, facts.merge(going, coming))


# --- pairs of equal terms ---------------------------------------------------------------------------


def equal_literals(engine: EmbeddedEngine, analysis: Analysis) -> Iterator[tuple[str, int, int]]:
    """Pairs of different terms that are equal, of which one is a literal, with the name of the equality."""
    relations = _equalities(engine, analysis)
    for name in analysis.program.equalities:
        for table in _different(engine, analysis, [name], relations):
            literal = engine.dictionary.is_literal(table)
            for one, other in table[literal.any(axis=1)].tolist():
                yield name, one, other


def _equalities(engine: EmbeddedEngine, analysis: Analysis) -> dict[str, Table]:
    """The relations that say what is equal."""
    found: dict[str, Table] = {}
    for atom in equality_atoms(analysis.program.equalities, analysis.triples, _X, _Y):
        if engine.has(atom.predicate) and engine.arity(atom.predicate) == len(atom.arguments):
            found[atom.predicate] = _table(engine.columns(atom.predicate), 0)
    return found


def _all_pairs(engine: EmbeddedEngine, analysis: Analysis) -> Table:
    """What the engine says is equal and has not been merged."""
    return _pairs(engine, analysis, _equalities(engine, analysis))


def _new_pairs(engine: EmbeddedEngine, analysis: Analysis, delta: Mapping[str, PredicateDelta]) -> Table:
    return _pairs(
        engine,
        analysis,
        {
            atom.predicate: _table(delta[atom.predicate].inserted, 0)
            for atom in equality_atoms(analysis.program.equalities, analysis.triples, _X, _Y)
            if atom.predicate in delta
        },
    )


def _pairs(engine: EmbeddedEngine, analysis: Analysis, relations: Mapping[str, Table]) -> Table:
    found = [np.empty((0, 2), np.int32)]
    for table in _different(engine, analysis, analysis.program.equalities, relations):
        found.append(table[~engine.dictionary.is_literal(table).any(axis=1)])
    return distinct(np.concatenate(found))


def _different(
    engine: EmbeddedEngine, analysis: Analysis, names: Iterable[str], relations: Mapping[str, Table]
) -> Iterator[Table]:
    """The pairs of different terms that equalities have."""
    for atom in equality_atoms(names, analysis.triples, _X, _Y):
        table = relations.get(atom.predicate)
        if table is None or table.shape[1] != len(atom.arguments):
            continue
        if len(atom.arguments) > len("xy"):
            name = atom.arguments[1]
            assert not isinstance(name, Variable)
            table = table[table[:, 1] == engine.dictionary.id_of(name)][:, [0, 2]]
        yield table[table[:, 0] != table[:, 1]]


def ids_of_constants(engine: EmbeddedEngine, rules: Iterable[NormalRule]) -> Ids:
    return engine.dictionary.ids_of(constants_of(rules))


def refuse_names(classes: Classes, analysis: Analysis, engine: EmbeddedEngine) -> None:
    """Properties and classes that rules name are equal to nothing else.  Raises `RunError` (T247)."""
    names = {engine.dictionary.id_of(iri): iri for iri in named_iris(analysis.rules, analysis.triples)}
    wrong = np.fromiter(names, np.int32)
    for members in classes.values():
        found = np.intersect1d(members, wrong)
        if len(found):
            one = int(found[0])
            other = engine.dictionary.term(int(next(m for m in members.tolist() if m != one)))
            other_name = analysis.label(other.value) if isinstance(other, IRI) else str(other)
            raise RunError(NamesAreEqual(name=analysis.label(names[one].value), other=other_name))


def _in_full(update: EncodedUpdate, facts: EqualFacts) -> EncodedUpdate:
    deletions, insertions = (
        [facts.in_full(part) for part in side] for side in (update.deletions, update.insertions)
    )
    return EncodedUpdate(deletions, insertions)
