"""`recompute`: everything implicit in a component goes and is derived anew.

What comes back is no change: it was deleted and derived again within the update.  This restores the order of
ranks.
"""

from __future__ import annotations

import numpy as np

from tidalog.engine.bits import EXPLICIT
from tidalog.maintain.node import Node
from tidalog.maintain.seminaive import SemiNaive
from tidalog.maintain.transaction import Transaction


def delete_implicit(node: Node, change: Transaction) -> None:
    engine = node.engine
    for number in node.numbers:
        implicit = engine.store.ids(number, 0, int(EXPLICIT), 0)
        if len(implicit):
            change.delete(number, np.ascontiguousarray(implicit))


def derive_anew(node: Node, evaluation: SemiNaive) -> None:
    evaluation.run_stage(node.stage)
    node.in_rank_order = True
