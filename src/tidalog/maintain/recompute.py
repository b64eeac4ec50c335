"""`recompute`: everything implicit in a component goes and is derived anew.

What comes back is no change: it was deleted and derived again within the update.  This restores the order of
ranks, and it is how components with negation, aggregates or Python functions are maintained.
"""

from __future__ import annotations

import numpy as np

from tidalog.engine.bits import EXPLICIT
from tidalog.maintain.node import Node
from tidalog.maintain.seminaive import SemiNaive
from tidalog.maintain.transaction import Transaction


def delete_implicit(node: Node, change: Transaction) -> None:
    """Everything that is not explicit, memos of functions left out: these hold for good."""
    engine = node.engine
    for number in [*node.numbers, *node.hidden]:
        if engine.names[number].startswith("#memo:"):
            continue
        implicit = engine.store.ids(number, 0, int(EXPLICIT), 0)
        if len(implicit):
            change.delete(number, np.ascontiguousarray(implicit))


def derive_anew(node: Node, evaluation: SemiNaive) -> None:
    stats = evaluation.runner.stats
    before = stats.derivations
    evaluation.run_component(node.rules, node.predicates)
    node.engine.derivations[node.predicates] = stats.derivations - before
    node.in_rank_order = True
