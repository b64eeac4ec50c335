"""`HeldState`: what a database holds, and how that is replaced as a whole.

Invariant.  Program, analysis, engine and everything built for them change together, as one immutable `State`:
to roll back is to keep the old one.  A change that moves facts to other relations fills a new engine, with
the same dictionary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np

from tidalog.analysis import Analysis, EditedProgram
from tidalog.analysis.equality import is_individual
from tidalog.api.equality import EqualMaintenance, materialise_equal
from tidalog.api.load import Environment, Load, analysed, witness_of
from tidalog.api.maintenance import Job, Maintenance
from tidalog.api.placement import moved
from tidalog.api.state import State
from tidalog.api.state_snapshot import meta_of, restored
from tidalog.api.timed_changes import with_windows
from tidalog.api.violations import Names, report, violated_of
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.functions import is_native
from tidalog.engine.limits import Limits, ProgressCallback, RunStats
from tidalog.lang.collector import collector_paused
from tidalog.maintain.materialise import check_constraints, materialise
from tidalog.maintain.windows.changed import WindowChange
from tidalog.maintain.windows.windows import Windows
from tidalog.model.errors import Diagnostic, TidalogError
from tidalog.model.lifetimes import Lifetimes
from tidalog.model.program import Program
from tidalog.model.registered import Registered
from tidalog.model.terms import Term
from tidalog.model.update import EncodedUpdate
from tidalog.plan.compile import CompiledProgram, compile
from tidalog.rdf.layout import Layout
from tidalog.storage.snapshot import Image, Snapshot, fill_table_of, image_of


class HeldState:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._state = State()
        self._compiled: CompiledProgram | None = None
        """The program that was compiled last."""
        self._allowed: Names | None = None
        """Constraints that the change under way may violate, if these are not those that are violated."""

    # --- what it holds ------------------------------------------------------------------------------

    @property
    def program(self) -> Program:
        return self._state.program

    @property
    def analysis(self) -> Analysis:
        return self._state.analysis

    @property
    def environment(self) -> Environment:
        return self._state.environment

    @property
    def engine(self) -> EmbeddedEngine:
        return self._state.engine

    @property
    def dictionary(self) -> Dictionary:
        """Terms and their ids, which never change."""
        return self._state.engine.dictionary

    @property
    def run(self) -> RunStats | None:
        return self._state.run

    @property
    def epoch(self) -> int:
        return self._state.epoch

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings about the program.  A rule edit checks only new rules, and new facts check none;
        afterwards all warnings are found on demand."""
        state = self._state
        if state.warnings is not None:
            return state.warnings
        found = analysed(state.program, state.environment, state.witnesses).warnings
        self._state = replace(state, warnings=found)
        return found

    @property
    def rules(self) -> EditedProgram:
        """The rules by name."""
        state, rules = self._state, self._state.rules
        if rules is None:
            given, facts = state.environment, tuple(state.witnesses.values())
            with collector_paused():
                rules = EditedProgram(state.analysis, given.parameters, given.arguments, facts)
            self._state = replace(state, rules=rules, admitted=())
        return rules

    @property
    def maintenance(self) -> Maintenance | None:
        """What keeps the materialisation up to date; None before the first update."""
        return self._state.maintenance

    def maintained(self) -> Maintenance:
        """The same, built if there is none.  Everything must be derived."""
        maintenance = self._state.maintenance
        if maintenance is None:
            kind = EqualMaintenance if self.program.equalities else Maintenance
            maintenance = kind(self.engine, self.compiled(), self.environment.functions)
            self._state = replace(self._state, maintenance=maintenance)
        return maintenance

    def compiled(self) -> CompiledProgram:
        """The compiled program; what has not changed since it was last compiled keeps its plans."""
        analysis = self.analysis
        if self._compiled is None or self._compiled.analysis is not analysis:
            self._compiled = compile(analysis, is_native, self._compiled)
        return self._compiled

    @property
    def windows(self) -> Windows:
        """The windows of the program, and their time."""
        return self._state.windows

    @property
    def has_time(self) -> bool:
        """Whether updates have times: for windows, or for the periods of queries."""
        return bool(self.windows) or any(query.every is not None for query in self.registered)

    @property
    def registered(self) -> Registered:
        """The continuous queries."""
        return self._state.registered

    @property
    def violated(self) -> Names:
        """The constraints that time has violated."""
        return self._state.violated

    @property
    def allowed(self) -> Names:
        """The constraints that a change may violate."""
        return self._state.violated if self._allowed is None else self._allowed

    def _note_violated(self) -> None:
        """Everything is derived: what was allowed may be so or not."""
        names = self.allowed
        if not names:
            return
        found = violated_of(self.engine, names)
        report(self.engine, self.analysis.constraints, found - self._state.violated)
        if found != self._state.violated:
            self._state = replace(self._state, violated=found)

    # --- derive and ask -----------------------------------------------------------------------------

    def materialise(
        self,
        limits: Limits | None = None,
        progress: ProgressCallback | None = None,
        lifetimes: Lifetimes | None = None,
    ) -> RunStats:
        """Derives everything that follows, if something changed since.  A run that is stopped raises
        `RunError`; then only explicit facts are left.  `lifetimes` are those of the update under way."""
        limits = limits or self.limits
        if self._state.run is not None and self.is_current(limits):
            return self._state.run
        self._outdate()
        state, program = self._state, self.compiled()
        lifetimes = lifetimes or state.windows.lifetimes(state.windows.now, ())
        if self.program.equalities:  # then there are no windows
            derive = materialise_equal
        else:
            judge = partial(check_constraints, allowed=self.allowed)
            derive = partial(materialise, by_time=lifetimes is not None, judge=judge)
        run = derive(
            state.engine,
            program,
            functions=state.environment.functions,
            limits=limits,
            progress=progress,
        )
        if lifetimes is not None and any(component.is_bounded for component in program.components):
            update = EncodedUpdate(lifetimes=lifetimes)
            run = self._bounded(run, Job([update], limits=limits, progress=progress))
        self._state = replace(self._state, run=run)
        self._note_violated()
        return run

    def _bounded(self, run: RunStats, job: Job) -> RunStats:
        """Derives what bounded components hold, after a run that has left them out: an update that changes
        no explicit fact works out all expiries."""
        self.get_ready()
        try:
            uncomputed = self.maintained().apply(job, self.analysis).uncomputed
        except BaseException:
            self._outdate()
            self.engine.forget_derived()
            raise
        return replace(run, uncomputed=dict(Counter(run.uncomputed) + Counter(uncomputed)))

    def representative(self, term: Term) -> Term:
        """The term that facts have for it."""
        equal, dictionary = self.engine.equal, self.dictionary
        if not equal or not is_individual(term):
            return term
        number = np.array([dictionary.id_of(term)], np.int32)
        return dictionary.term(int(equal.of_column(number)[0]))

    def is_current(self, limits: Limits) -> bool:
        """Whether everything is derived, and without failed computations if the limits are strict."""
        run = self._state.run
        return run is not None and not (limits.strict and run.uncomputed)

    def get_ready(self) -> None:
        """Builds the table of all facts, which updates need; otherwise the first update after a restore
        builds it."""
        if not self._state.tabled:
            fill_table_of(self.engine)
            self._state = replace(self._state, tabled=True)

    # --- snapshots ----------------------------------------------------------------------------------

    def snapshot(self, more: Mapping[str, object]) -> Image:
        """A copy of everything, with more metadata."""
        return image_of(self.engine, {**meta_of(self._state), **more}, derived=self.run is not None)

    def restore(self, snapshot: Snapshot) -> None:
        """Loads a snapshot into an empty database.  Raises `ProgramError` if its program is refused by this
        version."""
        self._state = restored(self._state, snapshot)

    # --- replaced as a whole -------------------------------------------------------------------------

    @contextmanager
    def _atomic(self) -> Iterator[None]:
        """On any error everything is as it was before.  The rules are edited at most once inside, and that
        edit is undone."""
        saved = self._state
        try:
            yield
        except BaseException as error:
            edit, rules = self._state.edit, self._state.rules
            if edit is not None and rules is not None and edit is not saved.edit and rules is saved.rules:
                rules.undo_edit(edit)
            elif not isinstance(error, TidalogError):
                saved = replace(saved, rules=None)  # it may have interrupted an edit of them
            self._state = saved
            raise

    def _outdate(self) -> None:
        """Marks everything derived as out of date: it is derived again before it is used."""
        epoch = self._state.epoch + 1
        self._state = replace(self._state, run=None, maintenance=None, epoch=epoch, tabled=True)
        if self.engine.equal:  # explicit facts are those that users gave again
            self._move(self.analysis.triples)

    def _move(self, before: Layout) -> None:
        """Moves explicit facts to the relations of the current analysis."""
        state = self._state
        engine = moved(state.engine, before, state.analysis.triples, state.witnesses)
        self._state = replace(state, engine=engine)

    def _use(self, load: Load) -> WindowChange:
        """Replaces the program.  Returns the explicit facts that come and go with its windows."""
        change = with_windows(self._state.windows, load.program.windows, self._state.engine)
        for fact in load.text_facts:
            load.witnesses.setdefault((fact.predicate, len(fact.arguments)), fact)
        for part in change.insertions:
            witness = part.predicate, len(part.columns)
            load.witnesses.setdefault(witness, witness_of(*witness))
        state = replace(
            self._state,
            program=load.program,
            environment=load.environment,
            analysis=load.analysis.of_program(load.program),
            warnings=load.warnings,
            witnesses=load.witnesses,
            windows=change.windows,
            registered=self._state.registered if load.registered is None else load.registered,
        )
        if load.facts_only:
            self._state = replace(state, admitted=(*state.admitted, *load.admitted.values()))
        else:
            self._state = replace(state, rules=None, edit=None)
        return change
