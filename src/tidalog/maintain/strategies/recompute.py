"""`recompute`: everything implicit in a component goes and is derived anew.

What comes back is no change: it was deleted and derived again within the update.  This restores the order of
ranks.
"""

from __future__ import annotations

import numpy as np

from tidalog.engine.bits import DELETED, EXPLICIT
from tidalog.maintain.component import Node
from tidalog.maintain.seminaive import SemiNaive
from tidalog.maintain.transaction import Transaction


def delete_implicit(node: Node, change: Transaction) -> None:
    """Answers of Python hold for good, and stay unless there are too many that nobody wants."""
    engine = node.engine
    node.large_groups = {}
    numbers = list(node.numbers)
    if node.asks_in_vain:
        numbers += [engine.predicate(name) for memo in node.stage.memos for name in (memo.ask, memo.memo)]
    for number in numbers:
        implicit = engine.store.ids(number, 0, int(EXPLICIT), 0)
        if len(implicit):
            change.delete(number, np.ascontiguousarray(implicit))


def derive_anew(node: Node, evaluation: SemiNaive) -> None:
    evaluation.run_stage(node.stage)
    asks = [node.engine.predicate(memo.ask) for memo in node.stage.memos]
    node.asked = sum(len(node.engine.store.ids(number, 0, int(DELETED), 0)) for number in asks)
    node.in_rank_order = True
    node.rank()
