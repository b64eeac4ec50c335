"""The embedded engine behind the same door as the reference: a program in, every fact out as terms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tidalog.analysis import Analysis, analyse
from tidalog.builtins import NO_FUNCTIONS, PythonFunction
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.limits import Limits, RunStats
from tidalog.maintain.materialise import NO_LIMITS, materialise
from tidalog.model.program import Program
from tidalog.model.terms import Term

Row = tuple[Term, ...]
Model = dict[str, frozenset[Row]]


def loaded(analysis: Analysis) -> EmbeddedEngine:
    """An engine with the program's own facts."""
    engine = EmbeddedEngine()
    for fact in analysis.facts:
        columns = [np.array([engine.dictionary.id_of(t)], np.int32) for t in fact.arguments]
        engine.insert(fact.predicate, columns, 1)
    return engine


def rows(engine: EmbeddedEngine, predicate: str) -> frozenset[Row]:
    columns = [c.tolist() for c in engine.columns(predicate)]
    if not columns:
        return frozenset([()] if engine.count(predicate) else [])
    term = engine.dictionary.term
    return frozenset(tuple(term(i) for i in row) for row in zip(*columns, strict=True))


def model_of(engine: EmbeddedEngine, analysis: Analysis) -> Model:
    """Every visible predicate that has facts; triples put together again."""
    model = {
        name: found
        for name in engine.names
        if not name.startswith(("#", "?")) and (found := rows(engine, name))
    }
    triples = set(model.pop("triple", ()))
    for relation in [*analysis.triples.properties.values(), *analysis.triples.classes.values()]:
        triples |= {analysis.triples.restore(relation, row) for row in model.pop(relation, ())}
    return {**model, "triple": frozenset(triples)} if triples else model


def evaluate_engine(
    program: Program,
    *,
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
    limits: Limits = NO_LIMITS,
) -> tuple[Model, RunStats]:
    analysis = analyse(program, functions=functions)
    engine = loaded(analysis)
    stats = materialise(engine, analysis, functions=functions, limits=limits)
    return model_of(engine, analysis), stats
