"""`groups`: of an aggregate, the groups that change are folded again and the others are not looked at."""

from __future__ import annotations

from typing import ClassVar

from tidalog.maintain.aggregates import maintain_groups
from tidalog.maintain.seminaive import SemiNaive
from tidalog.maintain.strategies.base import ComponentUpdate, Strategy


class Groups(Strategy):
    name: ClassVar[str] = "groups"

    def delete(self, work: ComponentUpdate) -> None:
        """`insert` deletes the results of groups that change, which are known only then."""

    def insert(self, work: ComponentUpdate) -> None:
        component, txn, marks = work.component, work.txn, work.marks
        marks.insert_carried(txn, component.numbers)
        marks.find_announced(txn, component.numbers)
        evaluation = SemiNaive(txn.engine, work.runner, work.functions, in_update=True)
        maintain_groups(component, txn, evaluation)
        marks.derived_unseen(work.begin)
