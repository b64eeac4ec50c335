"""Memo relations: what Python computes, kept as facts.

`memo(inputs…, result)` holds for good once it has been computed, so updates delete nothing from it; an answer
that no rule needs any more does no harm.  If most answers have not been needed lately, the component is
derived from scratch, and only the answers it then needs are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from tidalog.builtins import CannotCompute, PythonFunction, evaluate_all
from tidalog.engine.bits import NEW
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.interrupts import anywhere
from tidalog.maintain.runner import Runner
from tidalog.maintain.transaction import put_rows
from tidalog.model.facts import Ids
from tidalog.model.program import Variable
from tidalog.model.terms import Term
from tidalog.plan.lowering import Memo


def answer_all(
    engine: EmbeddedEngine,
    runner: Runner,
    functions: Mapping[str, PythonFunction],
    memos: Sequence[Memo],
    answered: list[int],
    status: int,
) -> bool:
    """Answers what was asked by facts with ids from `answered` on; whether any fact came of it."""
    before = len(engine.store)
    for i, memo in enumerate(memos):
        end = len(engine.store)
        ids = engine.store.ids(engine.predicate(memo.ask), answered[i])
        answered[i] = end
        if len(ids):
            inputs = [engine.store.column(ids, c) for c in range(len(memo.inputs))]
            _answer(engine, runner, functions, memo, inputs, len(ids), status)
    return len(engine.store) > before


def _answer(
    engine: EmbeddedEngine,
    runner: Runner,
    functions: Mapping[str, PythonFunction],
    memo: Memo,
    inputs: list[np.ndarray],
    rows: int,
    status: int,
) -> None:
    """Evaluates an expression for distinct inputs and stores the values that there are."""
    dictionary = engine.dictionary
    runner.rule = memo.name
    failures = 0
    kept: list[int] = []
    values: list[range | tuple[Term]] = []
    known: dict[int, Term] = {}
    columns = [column.tolist() for column in inputs]
    with anywhere():  # functions of the user run here
        for row in range(rows):
            if row % 65536 == 65535:
                runner.look()
            bindings: dict[Variable, Term] = {}
            for variable, column in zip(memo.inputs, columns, strict=True):
                number = column[row]
                term = known.get(number)
                if term is None:
                    term = known[number] = dictionary.term(number)
                bindings[variable] = term
            try:
                found = evaluate_all(memo.expression, bindings, functions)
            except CannotCompute:
                failures += 1
                continue
            kept += [row] * len(found)
            values.append(found)
    if failures:
        runner.count_failures(failures)
    table = np.empty((len(inputs) + 1, len(kept)), np.int32)
    for c, column in enumerate(inputs):
        table[c] = column[kept]
    table[-1] = _ids_of(dictionary, values)
    number = engine.predicate(memo.memo)
    if status & NEW:
        put_rows(engine, number, table, len(kept), status)
    else:
        engine.store.insert(number, list(table), len(kept), status)


def _ids_of(dictionary: Dictionary, values: Sequence[range | tuple[Term]]) -> Ids:
    """The ids of values, those of a range in bulk."""
    if not any(isinstance(found, range) for found in values):
        return dictionary.ids_of(found[0] for found in values if isinstance(found, tuple))
    parts = [
        dictionary.encode(pa.array(np.arange(found.start, found.stop, found.step)), "native")
        if isinstance(found, range)
        else dictionary.ids_of(found)
        for found in values
    ]
    return np.concatenate(parts)
