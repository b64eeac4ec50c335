"""Facts that have given terms in some columns, found through the indexes of the engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import numpy as np

from tidalog.analysis.normal import NormalAtom, NormalRule
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.functions import is_native
from tidalog.maintain.answer import CompiledQuery, answer
from tidalog.maintain.equality.relations import Table, distinct, facts_of
from tidalog.model.facts import Ids
from tidalog.model.program import Variable
from tidalog.plan.compile import compile_component

_ASKED: Final = "#asked"
_FOUND: Final = "#found"


def matching(engine: EmbeddedEngine, relation: str, columns: tuple[int, ...], keys: Table) -> Table:
    """The facts of a relation that have the terms of a row of `keys` in these columns."""
    if not engine.has(relation):
        return np.empty((0, 0), np.int32)
    arity = engine.arity(relation)
    if not engine.count(relation) or not len(keys):
        return np.empty((0, arity), np.int32)
    given = [facts_of(_ASKED, distinct(keys))]
    found = answer(engine, _query(relation, arity, columns), given=given)
    return np.stack(found.columns, axis=1) if found.rows else np.empty((0, arity), np.int32)


def mentioning(
    engine: EmbeddedEngine, relation: str, terms: Ids, columns: Iterable[int] | None = None
) -> Table:
    """The facts of a relation that have one of these terms in any column, or in one of some columns."""
    arity = engine.arity(relation)
    asked = range(arity) if columns is None else columns
    parts = [matching(engine, relation, (column,), terms.reshape(-1, 1)) for column in asked]
    parts = [part for part in parts if len(part)]
    if not parts:
        return np.empty((0, arity), np.int32)
    return parts[0] if len(parts) == 1 else distinct(np.concatenate(parts))


def all_mentioning(engine: EmbeddedEngine, terms: Ids) -> Iterator[tuple[str, Table]]:
    """The facts of all relations of the program that have one of these terms."""
    for name in list(engine.names):
        if not name.startswith(("#", "?")) and engine.count(name):
            found = mentioning(engine, name, terms)
            if len(found):
                yield name, found


@lru_cache(maxsize=4096)
def _query(relation: str, arity: int, columns: tuple[int, ...]) -> CompiledQuery:
    variables = tuple(Variable(f"x{number}") for number in range(arity))
    asked = NormalAtom(_ASKED, tuple(variables[column] for column in columns))
    rule = NormalRule("#matching", NormalAtom(_FOUND, variables), (asked, NormalAtom(relation, variables)))
    return CompiledQuery((compile_component([rule], (_FOUND,), False, is_native),), _FOUND)
