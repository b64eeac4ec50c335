"""`Maintainer`: a materialisation kept right under updates.

The driver walks the components in topological order.  Each gets the changes of what it reads and of its own
explicit facts, deletes, then inserts, and leaves its own changes for those above.  Facts leave the store when
everything is done; any error before that gives back the state as it was.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tidalog.analysis import Analysis
from tidalog.builtins import NO_FUNCTIONS, PythonFunction
from tidalog.engine.embedded import EmbeddedEngine
from tidalog.engine.limits import Limits, ProgressCallback
from tidalog.errors import RunError
from tidalog.maintain.affected import delete_affected
from tidalog.maintain.backward_forward import delete_exactly
from tidalog.maintain.counters import Counters
from tidalog.maintain.growing import grow
from tidalog.maintain.kernels.records import no_records
from tidalog.maintain.materialise import NO_LIMITS, check_constraints
from tidalog.maintain.node import Node
from tidalog.maintain.recompute import delete_implicit, derive_anew
from tidalog.maintain.run import Interrupted, Runner
from tidalog.maintain.seminaive import SemiNaive, constraint_predicate, constraint_rule
from tidalog.maintain.strategy import Options, choose
from tidalog.maintain.transaction import Batch, PredicateDelta, Transaction

_NONE = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class UpdateIds:
    """An update as term ids, by relation."""

    deletions: tuple[Batch, ...] = ()
    insertions: tuple[Batch, ...] = ()


@dataclass(slots=True)
class Outcome:
    """What an update changed, by the names of relations, and what it cost."""

    delta: dict[str, PredicateDelta]
    counters: Counters
    ignored: int
    """Deletions of facts that are not explicit, and insertions of facts that are."""
    chosen: dict[str, str] = field(default_factory=dict)
    """Component → strategy."""


class Maintainer:
    """Keeps one engine, which has been materialised by the same analysis."""

    def __init__(
        self,
        engine: EmbeddedEngine,
        analysis: Analysis,
        *,
        functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
        options: Options | None = None,
    ) -> None:
        self.engine, self.analysis, self.functions = engine, analysis, functions
        self.options = options or Options()
        self.nodes = [
            Node(engine, ", ".join(c.predicates), c.rules, frozenset(c.predicates), c.recursive)
            for c in analysis.components
            if c.rules
        ]
        for rule in analysis.constraints:
            own = frozenset([constraint_predicate(rule.name)])
            self.nodes.append(Node(engine, rule.name, [constraint_rule(rule)], own, False))
        self._derived = {number for node in self.nodes for number in node.numbers}

    def apply(
        self,
        update: UpdateIds,
        upcoming: Sequence[UpdateIds] = (),
        *,
        limits: Limits = NO_LIMITS,
        progress: ProgressCallback | None = None,
    ) -> Outcome:
        """Carries an update out, whole or not at all."""
        start = time.perf_counter()
        engine = self.engine
        counters = Counters()
        change = Transaction(engine)
        runner = Runner(engine, limits, progress, counting=False)
        runner.components = len(self.nodes)
        try:
            change.ask(update.deletions, update.insertions)
            self._explicit_alone(change)
            for place, node in enumerate(self.nodes):
                runner.component = place
                if self._concerns(node, change):
                    self._maintain(node, change, runner, counters)
            check_constraints(engine, self.analysis.constraints)
        except BaseException as stop:
            change.undo()
            if isinstance(stop, KeyboardInterrupt):
                raise RunError(Interrupted(rule=runner.rule or "(none)")) from None
            raise
        counters.rederivations = len(engine.log.moved_from)
        delta = change.finish()
        counters.derivations += runner.stats.derivations
        counters.insertions = sum(int((~d.inserted_explicit).sum()) for d in delta.values())
        engine.tidy()
        counters.seconds = time.perf_counter() - start
        return Outcome(
            {engine.names[number]: part for number, part in delta.items()},
            counters,
            change.ignored,
            {node.name: node.chosen for node in self.nodes if node.chosen},
        )

    def _explicit_alone(self, change: Transaction) -> None:
        """Facts of predicates that no rule derives."""
        for number in sorted({*change.to_delete, *change.to_insert} - self._derived):
            if number in change.to_delete:
                change.delete(number, change.to_delete[number])
            if change.insert(number):
                change.grown.add(number)

    def _concerns(self, node: Node, change: Transaction) -> bool:
        """Whether anything that a component holds or reads has changed."""
        node.chosen = ""
        return any(n in change.to_delete or n in change.to_insert for n in node.numbers) or any(
            n in change.deleted or n in change.grown for n in node.lower
        )

    def _maintain(self, node: Node, change: Transaction, runner: Runner, counters: Counters) -> None:
        strategy = choose(node, self.options)
        node.chosen = strategy
        before = len(self.engine.store)
        deletes = any(n in change.to_delete for n in node.numbers) or any(
            n in change.deleted for n in node.lower
        )
        if strategy == "recompute":
            delete_implicit(node, change)
            for number in node.numbers:
                change.insert(number)
            derive_anew(node, SemiNaive(self.engine, runner, self.functions, in_update=True))
        else:
            if deletes and strategy in ("bf", "fbf"):
                order = "layers" if strategy == "fbf" else self.options.order
                delete_exactly(node, change, runner, counters, no_records(), order=order, waiting=_NONE)
            elif deletes:
                delete_affected(node, change, runner, counters, no_records(), ranked=strategy == "ranked")
            for number in node.numbers:
                change.insert(number)
            grow(node, runner, change.begin)
        change.settle(node.numbers, before)
