"""A materialisation under maintenance, and the number of its facts.

Invariant.  `explicit` and `facts` count what the knowledge base holds; each update adds what it changed, so
that asking for them costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tidalog.analysis import Analysis
from tidalog.api.deltas import change_of, user_changes
from tidalog.api.diagnostics import BadArgument
from tidalog.api.naming import user_predicates
from tidalog.api.profile import Choices
from tidalog.api.relations import count_of
from tidalog.api.update import Delta, PredicateChange, RuleChanges
from tidalog.builtins import PythonFunction
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.limits import Limits, ProgressCallback
from tidalog.maintain.choose import MARKINGS, ORDERS, STRATEGIES, Options
from tidalog.maintain.counters import Counters
from tidalog.maintain.maintainer import Maintainer
from tidalog.maintain.transaction import PredicateDelta
from tidalog.model.errors import UsageError
from tidalog.model.update import EncodedUpdate, Label

InTurn = Callable[[Callable[[], tuple[str, PredicateDelta]]], tuple[str, PredicateDelta]]
"""Calls something when it is this thread's turn."""


class Maintenance:
    """Keeps one engine that `analysis` was materialised on; dropped when the program changes as a whole."""

    def __init__(
        self, engine: EmbeddedEngine, analysis: Analysis, functions: Mapping[str, PythonFunction]
    ) -> None:
        self.engine = engine
        self.maintainer = Maintainer(engine, analysis, functions=functions)
        self.choices = Choices()
        names = user_predicates(analysis)
        self.facts = sum(count_of(engine, analysis, name, None) for name in names)
        self.explicit = sum(count_of(engine, analysis, name, True) for name in names)

    def apply(
        self,
        analysis: Analysis,
        update: EncodedUpdate,
        upcoming: Sequence[EncodedUpdate],
        options: Options,
        limits: Limits,
        progress: ProgressCallback | None,
        in_turn: InTurn,
        label: Label | None,
        updates: int,
        before: Analysis | None = None,
        rules: RuleChanges | None = None,
    ) -> Delta:
        """Carries an update out, whole or not at all.  With an analysis of `before` the rules are others from
        now on: those of `analysis`."""
        if options is not self.maintainer.options:
            self.maintainer.use(options)
        changed = before is not None and before.rules != analysis.rules
        outcome = self.maintainer.apply(
            update, upcoming, limits=limits, progress=progress, analysis=analysis if changed else None
        )
        self.choices.note(outcome.touched, label)
        found = user_changes(self.engine, analysis, outcome.delta, before)
        for change in found.values():
            self.facts += change.inserted_rows - change.deleted_rows
            self.explicit += newly_explicit(change) - no_longer_explicit(change)
        return self.delta(
            found,
            analysis,
            outcome.counters,
            in_turn,
            label=label,
            ignored=outcome.ignored,
            chosen=outcome.chosen,
            updates=updates,
            rules=rules,
        )

    def delta(
        self,
        found: Mapping[str, PredicateDelta],
        analysis: Analysis,
        counters: Counters,
        in_turn: InTurn,
        *,
        label: Label | None = None,
        ignored: int = 0,
        chosen: Mapping[str, str] | None = None,
        updates: int = 1,
        rules: RuleChanges | None = None,
    ) -> Delta:
        """What an update has changed, for people."""
        engine, dictionary, prefixes = self.engine, self.engine.dictionary, analysis.program.prefixes

        def of_others(predicate: str) -> PredicateChange:
            name, change = in_turn(lambda: change_of(engine, analysis, found, predicate))
            return PredicateChange(name, change, dictionary, prefixes)

        return Delta(
            {name: PredicateChange(name, c, dictionary, prefixes) for name, c in found.items()},
            of_others,
            counters,
            label=label,
            ignored=ignored,
            chosen=chosen,
            explicit_facts=self.explicit,
            implicit_facts=self.facts - self.explicit,
            updates=updates,
            rules=rules,
        )


def newly_explicit(change: PredicateDelta) -> int:
    """Facts that were not explicit before."""
    return int(change.inserted_explicit.sum()) + change.became_explicit_rows


def no_longer_explicit(change: PredicateDelta) -> int:
    return int(change.deleted_explicit.sum()) + change.became_implicit_rows


def checked_options(strategy: str, marking: str, order: str, look_ahead: int) -> Options:
    """How updates are maintained.  Raises `UsageError` for what there is not."""
    for name, value, known in (
        ("strategy", strategy, STRATEGIES),
        ("marking", marking, MARKINGS),
        ("order", order, ORDERS),
    ):
        if value not in known:
            problem, why = f"{name}={value!r} is not known", f"it is one of {', '.join(known)}"
            raise UsageError(BadArgument(problem=problem, why=why, hint="leave it out for the usual one"))
    if isinstance(look_ahead, bool) or not isinstance(look_ahead, int) or look_ahead < 0:
        problem = f"look_ahead={look_ahead!r} is no number of updates"
        raise UsageError(BadArgument(problem=problem, why="it is 0 or more", hint="write look_ahead=1"))
    return Options(strategy, marking, order, look_ahead)
