"""`Database`: a program, its facts and what follows from them, as term ids; one thread, no files.

Invariant.  The engine holds the explicit facts in the relations that the analysis names.  If `run` is set, it
holds everything that follows from them too, and `maintenance`, built for the first update, keeps it so.

Every change applies whole or not at all: what it replaces is a `HeldState`, and within an engine updates and
materialisation roll back by themselves.

Everything that keeps facts wraps one: the knowledge base in memory, the stored one, a bucket of keys.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final, TypeVar

from tidalog.analysis import Analysis, RuleDiff
from tidalog.analysis.draft import ArgumentRange
from tidalog.analysis.equality import refuse_equality
from tidalog.analysis.functions import with_atoms
from tidalog.api.encoded_update import routed_facts, routed_update
from tidalog.api.explicit_facts import ExplicitFacts
from tidalog.api.given import Given, copies, newly_given, with_copies, with_newly_given
from tidalog.api.held_state import HeldState
from tidalog.api.load import Environment, Load, Witness, analysed, encoded_facts, witness_of
from tidalog.api.maintenance import DEFAULT, Job, newly_explicit, no_longer_explicit
from tidalog.api.outcome import Outcome
from tidalog.api.placement import can_stay, have_arities, relations_of, relations_of_rules
from tidalog.api.query_text import edit_of_queries, with_queries
from tidalog.api.rules import rules_added
from tidalog.api.state import State
from tidalog.api.state_diff import changes_since, differences, visible
from tidalog.api.steps import Steps
from tidalog.api.stream_chain import evaluation_order
from tidalog.api.timed_changes import (
    apply_timed,
    check,
    check_new_windows,
    check_time,
    read_time,
    stored_facts,
)
from tidalog.api.violations import Found, Names, look, refusing, unchanged, violated_of
from tidalog.builtins import PythonFunction
from tidalog.engine.interrupts import nowhere
from tidalog.engine.limits import Limits, ProgressCallback
from tidalog.lang.names import may_be_declared
from tidalog.maintain.choose import START_OVER, Options, foresees, keeps_expiries
from tidalog.maintain.counters import Counters
from tidalog.maintain.delta import PredicateDelta
from tidalog.maintain.materialise import NO_LIMITS, check_constraints
from tidalog.maintain.windows.changed import WindowChange
from tidalog.maintain.windows.foresight import NOTHING_AHEAD, Ahead
from tidalog.model.errors import RunError
from tidalog.model.facts import Facts
from tidalog.model.program import Fact, Program, Rule
from tidalog.model.registered import Registered, is_of_query
from tidalog.model.rule_edit import RuleEdit
from tidalog.model.term_text import STANDARD_PREFIXES
from tidalog.model.update import EncodedUpdate
from tidalog.rdf.layout import Layout, Split
from tidalog.rdf.quads import QUAD, is_union, mentions_quads, union_of, with_union

T = TypeVar("T")
_FEW: Final = 256
"""Facts that are maintained however few there are in all."""
_MANY: Final = 1 << 18
"""Facts of a load after which the memory that reading them took is given back."""
_BULK_SHARE: Final = 4
"""More than one in this many of all facts are not maintained: everything is derived again."""


class Database(HeldState):
    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(limits or NO_LIMITS)
        self._explicit_facts = ExplicitFacts()
        self._given = Given()
        self._steps: Steps | None = None

    # --- programs and explicit facts ----------------------------------------------------------------

    def plan_load(self, program: Program, environment: Environment, facts: Sequence[Fact] = ()) -> Load:
        """A load of a program with the facts of its text.  Raises `ProgramError` if they do not fit."""
        state = self._state
        if program is state.program and environment is state.environment and not facts:
            witnesses = dict(state.witnesses)
            return Load(program, environment, witnesses, state.analysis, state.warnings, facts_only=True)
        evaluation_order(state.registered, program)  # raises for a cycle
        _refuse_equality(program, state.registered)
        return self._planned(with_queries(program, state.registered), environment, facts)

    def plan_queries(self, registered: Registered) -> Load:
        """A load that makes these the continuous queries."""
        evaluation_order(registered, self.program)  # raises for a cycle
        _refuse_equality(self.program, registered)
        load = self._planned(with_queries(self.program, registered), self.environment)
        load.registered = registered
        load.add(*self._newly_given(load.program.rules, load.analysis.triples))
        return load

    def _planned(self, program: Program, environment: Environment, facts: Sequence[Fact] = ()) -> Load:
        witnesses = dict(self._state.witnesses)
        program = with_union(program, facts)
        analysis = analysed(program, environment, witnesses, facts, kept=self.analysis.triples)
        check_new_windows(self.windows, program, analysis, self.engine)
        load = Load(program, environment, witnesses, analysis, analysis.warnings, facts)
        load.facts += encoded_facts(facts, self.dictionary, program.declared)
        return load

    def plan_insertion(self, facts: Iterable[Facts]) -> Load:
        """A load of facts alone."""
        load = self.plan_load(self.program, self.environment)
        load.add(*facts)
        return load

    def plan_prefixes(self, found: Mapping[str, str]) -> Load | None:
        """A load of prefixes that are not known yet; None if there are none.  Rules and facts stay."""
        state = self._state
        known = {**STANDARD_PREFIXES, **state.program.prefixes}
        new = {name: iri for name, iri in found.items() if name not in known and may_be_declared(name, iri)}
        if not new:
            return None
        program = replace(state.program, prefixes=MappingProxyType({**new, **state.program.prefixes}))
        analysis = state.analysis.of_program(program)
        witnesses = dict(state.witnesses)
        return Load(program, state.environment, witnesses, analysis, state.warnings, facts_only=True)

    def load(self, load: Load, *, fresh: bool = False) -> int:
        """Replaces the program, inserts facts, and derives nothing.  Returns the number of explicit facts
        that are new.  With `fresh` the engine is a new one, and the old one stays as it is."""
        before, layout = self._state, load.analysis.triples
        parts = routed_facts(load.facts, layout, self.dictionary)
        moves = fresh or not self._can_stay(load)
        same_rules = load.analysis.rules == before.analysis.rules
        if moves or parts or not same_rules or load.program.equalities != before.program.equalities:
            self._outdate()
        with self._atomic():
            change = self._use(load)
            if moves:
                self._move(before.analysis.triples)
            if change.insertions or change.deletions:
                self._outdate()
                self._delete_explicit(EncodedUpdate(change.deletions))
                self._insert_explicit(change.insertions)
            if self.windows and load.facts:
                update = EncodedUpdate(insertions=load.facts, time=load.time, accepted=load.accepted)
                self.read_time(update)
                return stored_facts(self.windows, self.analysis.triples, update, self._store)
            new = self._insert_explicit(load.facts)
        if sum(part.count for part in load.facts) >= _MANY:
            self.engine.release_heap()
        return new

    def _store(self, update: EncodedUpdate) -> int:
        """Deletes and inserts explicit facts and derives nothing.  Returns how many are new."""
        self._delete_explicit(update)
        return self._insert_explicit(update.insertions)

    def _insert_explicit(self, facts: Sequence[Facts]) -> int:
        engine, layout = self.engine, self.analysis.triples
        if names := self._given_names:
            self._explicit_facts.insert(engine, list(copies(facts, names, layout, engine)))
        return self._explicit_facts.insert(engine, routed_facts(facts, layout, self.dictionary))

    @property
    def _given_names(self) -> frozenset[str]:
        """The predicates whose explicit facts are a relation of their own."""
        return self._given.names(self.program, self.engine)

    def _newly_given(self, rules: Iterable[Rule], layout: Layout) -> Iterator[Facts]:
        own = [rule for rule in rules if is_of_query(rule.name)]
        return newly_given(own, self._given_names, self.engine, self.analysis, layout)

    def given(self, rules: Iterable[Rule]) -> list[Facts]:
        """The explicit facts that rules of a query that is evaluated for itself read by themselves."""
        return list(newly_given(rules, self._given_names, self.engine, self.analysis, self.analysis.triples))

    def _can_stay(self, load: Load) -> bool:
        """Whether the facts that are there can stay in their relations."""
        wanted = load.admitted if load.facts_only else relations_of(load.analysis)
        return can_stay(self.engine, self.analysis.triples, load.analysis.triples, wanted)

    def delete(self, update: EncodedUpdate) -> int:
        """Deletes explicit facts and derives nothing.  Returns the number of those that were explicit."""
        if not self.windows:
            return self._delete_explicit(update)
        check(self.windows, self.analysis.triples, update)
        plan = self.windows.plan(update)
        deleted = self._delete_explicit(plan.update)
        self.windows.commit(plan, update)
        self.windows.compact()
        return deleted

    def _delete_explicit(self, update: EncodedUpdate) -> int:
        layout, names = self.analysis.triples, self._given_names
        parts = routed_facts(update.deletions, layout, self.dictionary)
        if not parts:
            return 0
        self._outdate()
        if names:
            gone = list(copies(update.deletions, names, layout, self.engine))
            self._explicit_facts.apply(self.engine, EncodedUpdate(gone))
        delta = self._explicit_facts.apply(self.engine, EncodedUpdate(parts)).delta
        return sum(no_longer_explicit(change) for change in delta.values())

    def register(self, name: str, function: PythonFunction, arguments: ArgumentRange) -> None:
        """Registers a Python function for rules and queries."""
        is_known = name in self.environment.functions
        environment = self.environment.with_function(name, function, arguments)
        self.load(self.plan_load(self.program, environment))
        if is_known:
            self._outdate()
        elif self.maintenance is not None:
            self.maintenance.maintainer.functions = environment.functions

    # --- changes that derive at once ----------------------------------------------------------------

    @property
    def is_checked(self) -> bool:
        """Whether a change can be refused for what follows from it: by a constraint or a limit."""
        return bool(self.analysis.constraints) or self.limits != NO_LIMITS

    @contextmanager
    def deriving(
        self, *, with_state_diff: bool = False, checked: bool = True, progress: ProgressCallback | None = None
    ) -> Iterator[dict[str, PredicateDelta]]:
        """Surrounds changes that derive nothing; then everything is derived, if it is `checked` and something
        can be refused for it.  On any error everything is as it was before, and what was derived too, for the
        changes are applied to a copy of the engine and of the rules.  `with_state_diff`: what they changed is
        there afterwards."""
        if with_state_diff:
            self.materialise(progress=progress)
        old, changes = self._state, dict[str, PredicateDelta]()
        with self._atomic():
            self._state = replace(self._state, rules=None, windows=deepcopy(old.windows))
            self._move(self.analysis.triples)
            self._outdate()
            yield changes
            if with_state_diff or (checked and self.is_checked):
                self._pass_time(self.windows.now, lambda: self.materialise(progress=progress), old)
            if with_state_diff:
                changes |= differences(visible(old.engine, old.analysis), visible(self.engine, self.analysis))

    def outcome_of(self, changes: Mapping[str, PredicateDelta], new: int = 0) -> Outcome:
        """The outcome of changes after which everything was derived."""
        maintenance = self.maintained()
        return Outcome(changes, explicit=maintenance.explicit, facts=maintenance.facts, new=new)

    def is_maintained(self, rows: int) -> bool:
        """Whether a change of this many facts is maintained, rather than everything derived again."""
        live = self.engine.store.live
        return self._state.run is not None and rows <= max(_FEW, live // _BULK_SHARE)

    def can_maintain(self, load: Load) -> bool:
        """Whether a load can be maintained like an update."""
        rows = sum(part.count for part in load.facts)
        if not self.is_maintained(rows) or load.program.equalities != self.program.equalities:
            return False
        return self._can_stay(load)

    def maintain_load(self, load: Load, options: Options, progress: ProgressCallback | None) -> Outcome:
        """Loads what `can_maintain` says, and derives what follows.  Rules that it adds are a rule edit."""
        update = EncodedUpdate(insertions=load.facts, time=load.time, accepted=load.accepted)
        job = Job([update], (), options, self.limits, progress)
        self.maintained()  # with the rules before the load
        before = self.analysis
        timed = replace(update)
        self.read_time(timed)

        def attempt() -> Outcome:
            with self._atomic():
                change = self._use(load)
                return self._timed(
                    job, lambda job: self._maintain(self._with_given(_with_change(job, change)), before)
                )

        outcome = self._pass_time(timed.time, attempt)
        new = sum(newly_explicit(change) for change in outcome.changes.values())
        return replace(outcome, new=new)

    # --- updates ------------------------------------------------------------------------------------

    def apply(
        self,
        updates: Sequence[EncodedUpdate],
        upcoming: Sequence[EncodedUpdate] = (),
        *,
        options: Options = DEFAULT,
        progress: ProgressCallback | None = None,
    ) -> Outcome:
        """Applies updates as one and derives what follows.  `upcoming` updates are not applied.

        An update with a rule edit is applied by itself.  Raises `ProgramError` or `RunError`; then everything
        is as it was.
        """
        job = Job(updates, upcoming, options, self.limits, progress)
        for update in updates:
            self.read_time(update)
        until = max((update.time for update in updates if update.time is not None), default=None)
        outcome = self._pass_time(until, lambda: self._timed(job, self._apply))
        if self._steps is not None:
            self._steps.outcomes.append(outcome)
        return outcome

    @contextmanager
    def steps(self) -> Iterator[None]:
        """Surrounds updates: on any error those before it are undone, too."""
        run, steps = self._state.run, Steps()
        self._steps = steps
        try:
            yield
        except BaseException:
            with nowhere():
                steps.journal.roll_back()
                if (update := steps.inverse) is not None:
                    self._apply(Job([self.windows.restarted(update)], (), self.maintained().options))
                    self._state = replace(self._state, run=run or self._state.run)
            raise
        finally:
            self._steps = None
            self.windows.compact()

    def _pass_time(self, until: int | None, attempt: Callable[[], T], before: State | None = None) -> T:
        """A change that moves time to a moment.  If it is refused for constraints that time alone violates
        by then, these are allowed to be violated.  `before`: the state before the change, if it is another
        one by now."""
        try:
            return attempt()
        except RunError as error:
            names, state = refusing(error), self._state
            self._state = before or state
            try:
                if not names or until is None or not self.windows.started or until <= self.windows.now:
                    raise
                allowed = self._violated_at(until)
            finally:
                self._state = state
            if not names <= allowed:
                raise
        self._allowed = allowed
        try:
            return attempt()
        finally:
            self._allowed = None

    def _violated_at(self, time: int) -> Names:
        """The constraints that are violated at a time if nothing changes until then.  Nothing does."""
        self.materialise()
        update = EncodedUpdate(time=time, accepted=True)
        try:
            self._timed(Job([update], options=self.maintained().options, judge=look), self._apply)
        except Found as found:
            return found.names | violated_of(self.engine, self.violated)
        raise AssertionError("an update that is tried is not applied")

    def _timed(self, job: Job, apply: Callable[[Job], Outcome]) -> Outcome:
        """Applies updates after windows have turned their times into insertions and deletions."""
        if not self.has_time:
            return apply(job)
        sources = self.windows.sources
        for update in job.updates:
            self.check_arities(f for f in (*update.deletions, *update.insertions) if f.predicate in sources)
            self.read_time(update)
        for update in job.upcoming:
            self.read_time(update)
        maintenance, ahead = self._state.maintenance, NOTHING_AHEAD
        if maintenance is not None:
            maintenance.use(job.options)
            ahead = Ahead(job.upcoming, maintenance.maintainer.marks, foresees(job.options))
        return apply_timed(
            self.windows,
            self.analysis.triples,
            job.updates,
            lambda updates, upcoming: apply(replace(job, updates=updates, upcoming=upcoming)),
            None if self._steps is None else self._steps.journal,
            ahead,
        )

    def _with_given(self, job: Job) -> Job:
        return with_copies(job, self._given_names, self.analysis.triples, self.engine)

    def on_time(self, update: EncodedUpdate) -> EncodedUpdate:
        """An update whose facts have their times: if these are accepted now, time may move before it."""
        self.read_time(update)
        if update.times is None:
            return update
        check_time(self.windows, update)
        return replace(update, accepted=True)

    def read_time(self, update: EncodedUpdate) -> None:
        """Gives an update the time that its facts have."""
        read_time(update, self.program, self.dictionary)

    def is_timed_by_arrival(self, update: EncodedUpdate) -> bool:
        """Whether an update without a time has that of its arrival."""
        windows = self.windows
        if self.program.time_arguments:
            return False
        return windows.concerns(update) if windows.by_arrival is None else windows.by_arrival

    def _apply(self, job: Job) -> Outcome:
        job = self._with_given(job)
        updates, progress = job.updates, job.progress
        if updates[0].rules:
            return self._apply_edit(updates[0], job)
        for update in updates:
            self.check_arities(update.deletions)
        self.materialise(progress=progress)
        unknown = self._unknown(facts for update in updates for facts in update.insertions)
        if not unknown:
            return self._maintain(job)
        old = self._state
        with self._atomic():
            self._admit(unknown)
            self.materialise(progress=progress)
            outcome = self._maintain(job)
            if old.analysis.triples.same_relations(self.analysis.triples):
                return outcome
            # Predicates of their own have become triples, which the maintainer takes for old facts.
            changes, by_relation = changes_since(old.engine, old.analysis, self.engine, self.analysis)
            return replace(outcome, changes=changes, by_relation=by_relation)

    def _maintain(
        self,
        job: Job,
        before: Analysis | None = None,
        diff: RuleDiff | None = None,
        splits: Sequence[Split] = (),
    ) -> Outcome:
        """Maintains what was derived.  After a rule edit `before` is the analysis that held up to now, and
        `splits` are the relations that the triples of some properties and classes have since."""
        self.get_ready()
        self.engine.spare_memory(self.limits.max_memory)
        allowed = self.allowed
        if allowed and before is not None:
            allowed = unchanged(allowed, before.constraints, self.analysis.constraints)
        if allowed and job.judge is check_constraints:
            job = replace(job, judge=partial(check_constraints, allowed=allowed))
        outcome, run = self.maintained().apply(job, self.analysis, before, diff, splits), self._state.run
        self._note_violated()
        if run is not None and outcome.uncomputed:
            uncomputed = dict(Counter(run.uncomputed) + Counter(outcome.uncomputed))
            self._state = replace(self._state, run=replace(run, uncomputed=uncomputed))
        return outcome

    def learn_expiries(self, predicate: str, options: Options) -> None:
        """Works out when the facts of a predicate go, where that can be known and is not kept.  No fact
        changes."""
        lifetimes = self.windows.lifetimes(self.windows.now, ())
        engine = self.engine
        is_known = engine.has(predicate) and engine.predicate(predicate) in engine.expiries.timed
        if lifetimes is None or is_known or not keeps_expiries(options):
            return
        self.materialise()
        update = EncodedUpdate(lifetimes=replace(lifetimes, wanted=True))
        self._maintain(Job([update], (), options, self.limits))

    def check_arities(self, facts: Iterable[Facts]) -> None:
        """Facts to delete have as many arguments as their predicate, if it is known.  Raises
        `ProgramError`."""
        for predicate, arity in self._unknown(facts):
            known = self.analysis.predicates.get(predicate)
            if known is not None and known.arity != arity:
                self.plan_load(self.program, self.environment).admit([(predicate, arity)])

    def _unknown(self, facts: Iterable[Facts]) -> list[Witness]:
        """Predicates of facts, with their arity, that have had no explicit facts yet."""
        found = ((part.predicate, len(part.columns)) for part in facts)
        return [witness for witness in found if witness not in self._state.witnesses]

    def _admit(self, witnesses: Iterable[Witness]) -> None:
        """Lets predicates have explicit facts.  What was derived is out of date if rules or relations
        change."""
        load = self.plan_load(self.program, self.environment)
        load.admit(witnesses)
        self.load(load, fresh=load.analysis.rules != self.analysis.rules)

    # --- rule edits ---------------------------------------------------------------------------------

    def edit_rules(self, edit: RuleEdit) -> RuleDiff:
        """Edits the rules and derives nothing."""
        added, before = self._added(edit), self.analysis.triples
        given = list(self._newly_given(self._of_queries(added, edit)[0], before))
        with self._edited(added, edit) as change:
            wanted = relations_of_rules(change.normal_added)
            if not can_stay(self.engine, before, self.analysis.triples, wanted):
                self._move(before)
            if change:
                self._outdate()
            self._insert_explicit(given)
        return change

    def _added(self, edit: RuleEdit, inserted: Iterable[Facts] = ()) -> list[Rule]:
        """The rules that an edit adds, and the union of named graphs if quads come with it."""
        functions, program = self.environment.functions, self.program
        added = [with_atoms(rule, functions) for rule in rules_added(edit, program.prefixes)]
        has_quads = any(map(mentions_quads, added)) or any(facts.predicate == QUAD for facts in inserted)
        if has_quads and not any(map(is_union, (*program.rules, *added))):
            added.append(union_of((*self.rules.rules, *(rule.name for rule in added))))
        return added

    def _of_queries(self, added: Sequence[Rule], edit: RuleEdit) -> tuple[list[Rule], list[str]]:
        return edit_of_queries(self.program, self.rules, self.registered, added, edit)

    def _apply_edit(self, update: EncodedUpdate, job: Job) -> Outcome:
        added = self._added(update.rules, update.insertions)
        self.materialise(progress=job.progress)
        self.maintained()  # with the rules before the edit
        before = self.analysis
        coming, _ = self._of_queries(added, update.rules)
        if coming:
            update = with_newly_given(update, coming, self._given_names, self.engine, before)
            job = replace(job, updates=[update])
        with self._edited(added, update.rules, self._unknown(update.insertions)) as change:
            self.check_arities(update.deletions)
            wanted = [(facts.predicate, len(facts.columns)) for facts in update.insertions]
            wanted += relations_of_rules(change.normal_added)
            splits = self.analysis.triples.splits(before.triples)
            if splits and self.program.equalities:
                splits = None  # an update modulo equality is several, none of which can undo a split
            if splits is not None and have_arities(self.engine, wanted):
                return self._maintain(job, before, change, splits)
            return self._derive_again(update, before, change, job.progress)

    @contextmanager
    def _edited(
        self, added: Sequence[Rule], edit: RuleEdit, admitted: Iterable[Witness] = ()
    ) -> Iterator[RuleDiff]:
        """Edited rules, and predicates that may have explicit facts; an error inside rolls back both."""
        rules = self.rules
        with self._atomic():
            state = self._state
            new = {w: witness_of(*w) for w in admitted if w not in state.witnesses}
            more, gone = self._of_queries(added, edit)
            witnesses = (*state.admitted, *new.values())
            change = rules.change([*added, *more], [*edit.removed, *gone], witnesses, exact=edit.exact)
            self._state = replace(state, edit=change)
            if change or new or state.admitted:
                program = replace(rules.program, facts=())
                self._state = replace(
                    self._state,
                    program=program,
                    analysis=rules.analysis.of_program(program),
                    warnings=None,
                    admitted=(),
                    witnesses={**state.witnesses, **new} if new else state.witnesses,
                )
            yield change

    def _derive_again(
        self,
        update: EncodedUpdate,
        before: Analysis,
        change: RuleDiff,
        progress: ProgressCallback | None,
    ) -> Outcome:
        """Moves the facts to the relations of the edited rules and derives everything."""
        start = time.perf_counter()
        layout, engine = self.analysis.triples, self.engine
        self._move(before.triples)
        routed = routed_update(update, layout, self.dictionary)
        ignored = self._explicit_facts.apply(self.engine, routed).ignored
        self._outdate()
        run = self.materialise(progress=progress, lifetimes=update.lifetimes)
        changes, by_relation = changes_since(engine, before, self.engine, self.analysis)
        maintenance = self.maintained()
        return Outcome(
            changes,
            Counters(derivations=run.derivations, seconds=time.perf_counter() - start),
            ignored,
            {node.name: START_OVER.name for node in maintenance.maintainer.components},
            change,
            maintenance.explicit,
            maintenance.facts,
            update.label,
            by_relation=by_relation,
        )


def _refuse_equality(program: Program, registered: Registered) -> None:
    if registered:
        refuse_equality(
            program,
            "a continuous query",
            "its answers would have one representative for all terms that are equal",
            "subscribe to the query: kb.subscribe(query, callback)",
        )


def _with_change(job: Job, change: WindowChange) -> Job:
    """A job with the explicit facts that come and go with windows."""
    if not change.changed:
        return job
    first, *rest = job.updates
    lifetimes = first.lifetimes
    first = replace(
        first,
        deletions=[*first.deletions, *change.deletions],
        insertions=[*first.insertions, *change.insertions],
        lifetimes=None if lifetimes is None else replace(lifetimes, restarted=change.changed),
        routed=None,
    )
    return replace(job, updates=[first, *rest])
