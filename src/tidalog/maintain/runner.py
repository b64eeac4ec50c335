"""Running plans to their end: growth, limits, progress, interruption.

An executor returns whenever it needs something; `Runner.drive` provides it and calls it again.  These are the
safe points: nothing is half done here, so a limit, Ctrl-C or an error can stop the run, and the caller rolls
back to its savepoint.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from tidalog.engine import opcodes as op
from tidalog.engine.addresses import Owner
from tidalog.engine.binding_blocks import BLOCK, BUDGET, DERIVATIONS, FAILED, IS_STRICT, WANTED, BindingBlocks
from tidalog.engine.block_executor import run_plan
from tidalog.engine.delta_scan import Plans
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.interrupts import check_interrupt
from tidalog.engine.limits import Limits, Progress, ProgressCallback, RunStats
from tidalog.engine.plan_code import Code
from tidalog.model.errors import Diagnostic, RunError

_NO_LIMITS: Final = Limits()
_SLICE = 4_000_000  # rows between two looks at limits: a tenth of a second or so
_SEARCH_SLICE = 200_000  # facts, where each is a search of its own
_FIRST_LOOK: Final = 512  # steps before the first look at how far a search is


class TooManyFacts(Diagnostic):
    number = "T050"
    title = "stopped at {limit:,} facts{where}"
    reason = "the run would go beyond max_facts; every fact is as it was before"
    hint = "a rule that computes terms in a cycle may never end: bound it by a comparison, or raise the limit"


class TooManySeconds(Diagnostic):
    number = "T051"
    title = "stopped after {limit:g} seconds{where}"
    reason = "the run took longer than max_seconds; every fact is as it was before"
    hint = "raise the limit, or look at the rule with `tidalog check`"


class TooMuchMemory(Diagnostic):
    number = "T052"
    title = "stopped at {limit:,} bytes{where}"
    reason = "the run would take more than max_memory; every fact is as it was before"
    hint = "raise the limit, or find the rule that joins too much"


class Interrupted(Diagnostic):
    number = "T053"
    title = "interrupted{where}"
    reason = "every fact is as it was before"


class NotComputable(Diagnostic):
    number = "T054"
    title = "a built-in of rule {rule} cannot be computed"
    reason = "{example}strict mode makes this an error; without it the literal is false and counted"
    hint = "guard the computation by a test, such as ?n != 0 or isNumeric(?x)"


class Changing(Protocol):
    """An update under way."""

    @property
    def deleted_count(self) -> int: ...


class TooMuchWork(Exception):
    """The searches of a component have cost more than to derive it from scratch."""


class Runner:
    """Drives one run: owns its clock, its limits and its figures."""

    def __init__(
        self,
        engine: EmbeddedEngine,
        limits: Limits,
        progress: ProgressCallback | None,
        *,
        counting: bool = True,
    ) -> None:
        """`counting`: counts the facts before and after, and the memory, which reads every predicate."""
        self.engine = engine
        self.limits = limits
        self.progress = progress
        self.stats = RunStats()
        self.component, self.components = 0, 0
        self.deleted = 0
        """Facts of the store that an update under way deletes."""
        self.searches: int | None = None
        """Steps that searches may still take before another strategy is cheaper; None: any number."""
        self.rule = ""
        self.example: Callable[[str], str] = lambda rule: ""
        """Finds inputs for which a rule cannot be computed."""
        engine.dictionary.questions.forget(few=False)
        self._start, self._cpu_start = time.perf_counter(), time.process_time() if counting else 0.0
        self._counts = counting
        self._looks = counting or progress is not None or limits != _NO_LIMITS
        self._facts_before = self._visible_facts() if counting else 0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start

    def drive(
        self,
        step: Callable[[], int],
        code: Code,
        control: npt.NDArray[np.int64],
        rule: Callable[[], str],
        rounds: Callable[[], int],
    ) -> None:
        """Calls `step` until it is done; `control` is that of its binding blocks."""
        control[IS_STRICT] = self.limits.strict
        while True:
            control[BUDGET] = _SLICE
            reason = step()
            self.rule = rule()
            if control[FAILED]:
                self.count_failures(int(control[FAILED]))
                control[FAILED] = 0
            self.stats.derivations += int(control[DERIVATIONS])
            control[DERIVATIONS] = 0
            if reason == op.DONE:
                return
            if reason == op.GROW_FACTS:
                self.engine.store.ensure(BLOCK, code.arity, int(control[WANTED]))
            elif reason == op.GROW_INDEX:
                self.engine.indexes.grow(int(control[WANTED]))
            elif reason == op.GROW_LOG:
                self.engine.log.ensure_capacity(len(self.engine.store), int(control[WANTED]))
            elif reason == op.GROW_TERMS:
                self.engine.dictionary.ensure(BLOCK * 4)
                self.engine.dictionary.answer_questions()
            self.look(rounds())

    def drive_plan(
        self, code: Code, plans: Plans, number: int, blocks: Owner[BindingBlocks], status: int
    ) -> None:
        """Runs one plan, which is under way in `blocks`, to its end; `status` is that of new facts."""
        engine = self.engine
        self.drive(
            lambda: int(run_plan(*engine.at, plans.filters, plans.code, blocks.at, status)),
            code,
            blocks.arrays.control,
            lambda: code.names[number],
            lambda: 0,
        )

    def drive_search(
        self,
        step: Callable[[], int],
        control: np.ndarray,
        budget: int,
        rule: Callable[[], str],
        outlook: Callable[[], Callable[[int], float]] = lambda: lambda taken: 0.0,
    ) -> None:
        """Calls a kernel that looks at one instance at a time until it is done; `control[budget]` is what it
        may do before it pauses.  `outlook()` estimates, early and then less and less often, how many steps
        are left at least."""
        to_come: Callable[[int], float] | None = None
        taken, slice_ = 0, _SEARCH_SLICE if self.searches is None else _FIRST_LOOK
        while True:
            control[budget] = slice_
            reason = step()
            if self.searches is not None:
                now = slice_ - int(control[budget])
                self.searches, taken = self.searches - now, taken + now
            if reason == op.DONE:
                return
            if self.searches is not None:
                to_come = to_come or outlook()
                if self.searches <= to_come(taken):
                    raise TooMuchWork
                slice_ = min(max(_FIRST_LOOK, taken), self.searches, _SEARCH_SLICE)
            self.rule = rule()
            if reason == op.GROW_TERMS:
                self.engine.dictionary.ensure(BLOCK * 4)
                self.engine.dictionary.answer_questions()
            elif reason == op.GROW_LOG:
                self.engine.log.ensure_capacity(len(self.engine.store))
            self.look()

    def count_failures(self, failures: int) -> None:
        """Counts computations of the current rule that failed."""
        if self.limits.strict:
            example = self.example(self.rule)
            raise RunError(NotComputable(rule=self.rule, example=f"{example}; " if example else ""))
        self.stats.uncomputed[self.rule] = self.stats.uncomputed.get(self.rule, 0) + failures

    def look_at(self, change: Changing) -> None:
        """A safe point between two components."""
        if self._looks:
            self.deleted = change.deleted_count
        self.look()

    @property
    def where(self) -> str:
        """The end of a message: the current rule, if one has begun."""
        return f" in rule {self.rule}" if self.rule else ""

    def look(self, rounds: int = 0) -> None:
        """A safe point: Ctrl-C, limits and progress."""
        check_interrupt()
        limits = self.limits
        if not self._looks:
            return
        facts = self.engine.store.live - self.deleted
        memory = self.engine.nbytes if self._counts or limits.max_memory is not None else 0
        self.stats.peak_memory = max(self.stats.peak_memory, memory)
        if limits.max_facts is not None and facts > limits.max_facts:
            raise RunError(TooManyFacts(limit=limits.max_facts, where=self.where))
        if limits.max_seconds is not None and self.seconds > limits.max_seconds:
            raise RunError(TooManySeconds(limit=limits.max_seconds, where=self.where))
        if limits.max_memory is not None and memory > limits.max_memory:
            raise RunError(TooMuchMemory(limit=limits.max_memory, where=self.where))
        if self.progress is not None:
            self.progress(
                Progress(
                    self.component,
                    self.components,
                    self.rule,
                    facts,
                    self.stats.derivations,
                    self.stats.rounds + rounds,
                    self.seconds,
                )
            )

    def _visible_facts(self) -> int:
        """Facts of predicates that a program can name."""
        engine = self.engine
        return sum(engine.count(name) for name in engine.names if not name.startswith(("#", "?")))

    def finish(self) -> RunStats:
        stats = self.stats
        stats.seconds = self.seconds
        stats.cpu_seconds = time.process_time() - self._cpu_start
        stats.facts = self._visible_facts()
        stats.derived = stats.facts - self._facts_before
        stats.memory = self.engine.nbytes
        stats.peak_memory = max(stats.peak_memory, stats.memory)
        return stats
