"""`recompute`: every implicit fact of a component is deleted, and the component derived from scratch.

What is derived again is not a change.  This restores rank order.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tidalog.engine.bits import DELETED, EXPLICIT
from tidalog.maintain.seminaive import SemiNaive
from tidalog.maintain.strategies.base import ComponentUpdate, Strategy


class Recompute(Strategy):
    name: ClassVar[str] = "recompute"
    starts_over: ClassVar[bool] = True

    def delete(self, work: ComponentUpdate) -> None:
        """Answers of Python hold for good, and stay unless there are too many that no rule asks for."""
        component, engine = work.component, work.txn.engine
        component.large_groups = {}
        numbers = list(component.numbers)
        if component.asks_in_vain:
            memos = component.stage.memos
            numbers += [engine.predicate(name) for memo in memos for name in (memo.ask, memo.memo)]
        for number in numbers:
            implicit = engine.store.ids(number, 0, int(EXPLICIT), 0)
            if len(implicit):
                work.txn.delete(number, np.ascontiguousarray(implicit))

    def insert(self, work: ComponentUpdate) -> None:
        component, store = work.component, work.txn.engine.store
        work.insert_explicit()
        work.marks.recomputed()
        SemiNaive(work.txn.engine, work.runner, work.functions, in_update=True).run_stage(component.stage)
        asks = [work.txn.engine.predicate(memo.ask) for memo in component.stage.memos]
        component.asked = sum(len(store.ids(number, 0, int(DELETED), 0)) for number in asks)
        component.in_rank_order = True
        component.rank()
        work.marks.derived_unseen(work.begin)
