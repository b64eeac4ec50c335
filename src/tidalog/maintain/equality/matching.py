"""Facts that have given terms in some columns, found through the indexes of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np

from tidalog.analysis.normal import NormalAtom, NormalRule
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.functions import is_native
from tidalog.maintain.answer import CompiledQuery, answers
from tidalog.maintain.equality.relations import Table, distinct, facts_of
from tidalog.model.facts import Ids
from tidalog.model.program import Variable
from tidalog.plan.compile import compile_component

_ASKED: Final = "#asked"
_FOUND: Final = "#found "
Columns = tuple[int, ...]


def matching(engine: EmbeddedEngine, relation: str, columns: Columns, keys: Table) -> Table:
    """The facts of a relation that have the terms of a row of `keys` in these columns."""
    found = _found(engine, {relation: (columns,)}, keys).get(relation)
    return found if found is not None else np.empty((0, engine.arity(relation)), np.int32)


def mentioning(engine: EmbeddedEngine, relations: Mapping[str, Columns], terms: Ids) -> dict[str, Table]:
    """The facts of relations that have one of these terms in one of some columns, as far as there are any."""
    alternatives = {name: tuple((column,) for column in columns) for name, columns in relations.items()}
    return _found(engine, alternatives, terms.reshape(-1, 1))


def _found(
    engine: EmbeddedEngine, relations: Mapping[str, tuple[Columns, ...]], keys: Table
) -> dict[str, Table]:
    asked = {name: columns for name, columns in relations.items() if columns and engine.count(name)}
    if not len(keys) or not asked:
        return {}
    queries = [_query(name, engine.arity(name), columns) for name, columns in asked.items()]
    found = answers(engine, queries, given=[facts_of(_ASKED, distinct(keys))])
    return {
        name: np.stack(answer.columns, axis=1)
        for name, answer in zip(asked, found, strict=True)
        if answer.rows
    }


@lru_cache(maxsize=4096)
def _query(relation: str, arity: int, alternatives: tuple[Columns, ...]) -> CompiledQuery:
    variables = tuple(Variable(f"x{number}") for number in range(arity))
    head = NormalAtom(_FOUND + relation, variables)
    rules = [
        NormalRule(
            f"#matching {relation} {columns}",
            head,
            (
                NormalAtom(_ASKED, tuple(variables[column] for column in columns)),
                NormalAtom(relation, variables),
            ),
        )
        for columns in alternatives
    ]
    component = compile_component(rules, (head.predicate,), False, is_native)
    return CompiledQuery((component,), head.predicate)
