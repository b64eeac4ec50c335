"""`Maintenance`: the maintainer of a materialisation, its choices and its totals.

Invariant.  `explicit` and `facts` count what the database holds; each update adds what it changed, so that
reading them costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tidalog.analysis import Analysis, RuleDiff
from tidalog.api.encoded_update import net_update, routed_update
from tidalog.api.naming import user_predicates
from tidalog.api.outcome import Outcome
from tidalog.api.profile import Choices
from tidalog.api.relations import count_of
from tidalog.api.user_changes import user_changes
from tidalog.builtins import PythonFunction
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.limits import Limits, ProgressCallback
from tidalog.maintain.choose import Options
from tidalog.maintain.maintainer import Maintainer
from tidalog.maintain.materialise import NO_LIMITS, Judge, check_constraints
from tidalog.maintain.split import SplitOff
from tidalog.maintain.transaction import PredicateDelta
from tidalog.model.lazy import LazyMapping
from tidalog.model.update import EncodedUpdate
from tidalog.plan.compile import CompiledProgram
from tidalog.rdf.layout import Split

DEFAULT: Final = Options()


@dataclass(frozen=True)
class Job:
    """Updates to apply as one, and how."""

    updates: Sequence[EncodedUpdate]
    upcoming: Sequence[EncodedUpdate] = ()
    options: Options = DEFAULT
    limits: Limits = NO_LIMITS
    progress: ProgressCallback | None = None
    judge: Judge = check_constraints


class Maintenance:
    """Of one engine, materialised by a program; dropped when the program changes as a whole."""

    def __init__(
        self, engine: EmbeddedEngine, program: CompiledProgram, functions: Mapping[str, PythonFunction]
    ) -> None:
        self.engine = engine
        self.maintainer = Maintainer(engine, program, functions=functions)
        self.choices = Choices()
        analysis = program.analysis
        names = user_predicates(analysis)
        self.facts = sum(count_of(engine, analysis, name, None) for name in names)
        self.explicit = sum(count_of(engine, analysis, name, True) for name in names)

    @property
    def options(self) -> Options:
        return self.maintainer.options

    def use(self, options: Options) -> None:
        if options is not self.maintainer.options:
            self.maintainer.use(options)

    def apply(
        self,
        job: Job,
        analysis: Analysis,
        before: Analysis | None = None,
        diff: RuleDiff | None = None,
        splits: Sequence[Split] = (),
    ) -> Outcome:
        """Applies updates as one.  With an analysis `before`, the rules change to those of `analysis`; `diff`
        says how, and `splits` which relations are split off others."""
        self.use(job.options)
        layout, dictionary, label = analysis.triples, self.engine.dictionary, job.updates[-1].label
        moving = self._facts_to_split(splits)
        changed = before is not None and (bool(splits) or before.rules != analysis.rules)
        outcome = self.maintainer.apply(
            net_update([routed_update(update, layout, dictionary) for update in job.updates]),
            list(self._fitting(routed_update(update, layout, dictionary) for update in job.upcoming)),
            limits=job.limits,
            progress=job.progress,
            analysis=analysis if changed else None,
            diff=None if diff is None else diff.components,
            splits=moving,
            judge=job.judge,
        )
        self.choices.note(outcome.touched, label)
        found = user_changes(self.engine, analysis, outcome.delta, before, moving)
        if isinstance(found, LazyMapping):  # of the same facts
            self.facts += outcome.delta.more_facts
            self.explicit += outcome.delta.more_explicit
        else:
            for change in found.values():
                self.facts += change.inserted_rows - change.deleted_rows
                self.explicit += newly_explicit(change) - no_longer_explicit(change)
        return Outcome(
            found,
            outcome.counters,
            outcome.ignored,
            outcome.chosen,
            diff,
            self.explicit,
            self.facts,
            label,
            len(job.updates),
            outcome.uncomputed,
            by_relation=outcome.delta,
        )

    def _facts_to_split(self, splits: Sequence[Split]) -> list[SplitOff]:
        """The relations that are split off others, as the maintainer sees them."""
        id_of = self.engine.dictionary.id_of
        found: list[SplitOff] = []
        for split in splits:
            key = {column: id_of(term) for column, term in enumerate(split.constants) if term is not None}
            found.append(SplitOff(split.relation, split.general, key))
        return found

    def _fitting(self, updates: Iterable[EncodedUpdate]) -> Iterator[EncodedUpdate]:
        """Upcoming updates before the first whose arities the engine does not have."""
        engine = self.engine
        for update in updates:
            for facts in (*update.deletions, *update.insertions):
                if engine.has(facts.predicate) and engine.arity(facts.predicate) != len(facts.columns):
                    return
            yield update


def newly_explicit(change: PredicateDelta) -> int:
    """Facts that were not explicit before."""
    return int(np.count_nonzero(change.inserted_explicit)) + change.became_explicit_rows


def no_longer_explicit(change: PredicateDelta) -> int:
    return int(np.count_nonzero(change.deleted_explicit)) + change.became_implicit_rows
