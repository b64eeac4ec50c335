"""Explicit facts of an engine, changed while nothing is derived from them: all of a change or nothing."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from tidalog.analysis import analyse
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.maintainer import Maintainer, Outcome
from tidalog.model.facts import Facts
from tidalog.model.program import Program
from tidalog.model.update import EncodedUpdate


class ExplicitFacts:
    def __init__(self) -> None:
        self._sparse: weakref.ref[object] | None = None
        """The store in which `apply` left explicit facts alone, and unused ids."""

    def insert(self, engine: EmbeddedEngine, facts: Sequence[Facts]) -> int:
        """Inserts facts by relation, and drops what is derived.  Returns the number of those that are new."""
        if not facts:
            return 0
        engine.forget_derived()
        with engine.savepoint():
            return sum(engine.insert(part.predicate, part.columns, part.count) for part in facts)

    def apply(self, engine: EmbeddedEngine, update: EncodedUpdate) -> Outcome:
        """Applies an update by relation, and drops what is derived."""
        if self._sparse is None or self._sparse() is not engine.store:
            engine.forget_derived()
        outcome = Maintainer(engine, analyse(Program())).apply(update)
        engine.derived = True  # ids are unused: facts are copied before anything is derived from them
        self._sparse = weakref.ref(engine.store)
        return outcome
