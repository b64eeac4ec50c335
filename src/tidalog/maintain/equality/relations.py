"""The relations beside the facts; `maintain.equality` says what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from tidalog.analysis.equality import DENOTES as DENOTES
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.equal_terms import Classes as Classes
from tidalog.engine.equal_terms import EqualTerms as EqualTerms
from tidalog.engine.equal_terms import SomeClasses as SomeClasses
from tidalog.model.facts import Facts, Ids, Mask, Numbers

EQUAL: Final = "?equal"
GIVEN: Final = "?given "
"""Before the name of a predicate."""
Table = npt.NDArray[np.int32]
"""Facts of one predicate as rows."""


def classes_of(engine: EmbeddedEngine) -> EqualTerms:
    """The classes that the relations of an engine say."""
    return EqualTerms.of(engine.facts(EQUAL)) if engine.count(EQUAL) else EqualTerms()


def given_rows(engine: EmbeddedEngine, predicate: str, arity: int) -> Table:
    """The explicit facts of a predicate that have terms in classes."""
    if not engine.count(GIVEN + predicate):
        return np.empty((0, arity), np.int32)
    return table_of(engine.facts(GIVEN + predicate))[:, :arity]


def given_predicates(engine: EmbeddedEngine) -> Iterator[tuple[str, int]]:
    """The predicates with such facts, and their arities."""
    for name, arity in zip(engine.names, engine.arities, strict=True):
        if name.startswith(GIVEN):
            yield name.removeprefix(GIVEN), arity // 2


# --- tables -----------------------------------------------------------------------------------------


def table_of(facts: Facts) -> Table:
    return np.ascontiguousarray(facts.table.T)


def facts_of(predicate: str, table: Table) -> Facts:
    columns = [np.ascontiguousarray(table[:, c]) for c in range(table.shape[1])]
    return Facts(predicate, columns, len(table))


def codes(*tables: Table) -> list[Numbers]:
    """A number for each row of tables with as many columns, the same for equal rows."""
    bounds = np.cumsum([len(table) for table in tables])[:-1]
    whole = tables[0] if len(tables) == 1 else np.concatenate(tables)
    found = np.zeros(len(whole), np.int64)
    for column in range(whole.shape[1]):
        if column > 1:
            found = np.unique(found, return_inverse=True)[1].reshape(-1)
        found = (found << 32) | whole[:, column]
    return np.split(found, bounds)


def distinct(table: Table) -> Table:
    """Each row once."""
    (found,) = codes(table)
    return table[np.unique(found, return_index=True)[1]]


def among(table: Table, others: Table) -> Mask:
    """Which rows of a table are rows of another one."""
    mine, its = codes(table, others)
    return np.isin(mine, its)


def pairs(first: Ids, second: Ids) -> Table:
    return np.stack([first, second], axis=1)
