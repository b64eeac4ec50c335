"""The state of a database as the metadata of a snapshot, and back."""

from __future__ import annotations

from dataclasses import asdict, replace
from importlib.metadata import version

import numpy as np

from tidalog.api.equality import EqualMaintenance
from tidalog.api.load import analysed, witness_of
from tidalog.api.maintenance import Maintenance
from tidalog.api.placement import can_stay, moved, relations_of
from tidalog.api.query_text import with_queries
from tidalog.api.state import State
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.functions import is_native
from tidalog.engine.limits import RunStats
from tidalog.lang import parse, print_program
from tidalog.maintain.equality.relations import classes_of
from tidalog.maintain.windows.saved import restored as restored_windows
from tidalog.maintain.windows.saved import saved
from tidalog.model.facts import Ids
from tidalog.model.registered import NO_QUERIES, Registered, without_queries
from tidalog.plan.compile import compile
from tidalog.rdf.layout import Layout
from tidalog.storage.columns import ids_by_value, terms_by_value
from tidalog.storage.manifest import FORMAT
from tidalog.storage.snapshot import Snapshot


def meta_of(state: State) -> dict[str, object]:
    program, layout, maintenance = state.program, state.analysis.triples, state.maintenance
    id_of = state.engine.dictionary.id_of
    return {
        "writer": version("tidalog"),
        "program": print_program(without_queries(program)),
        "name": program.source.name if program.source is not None else "<program>",
        "parameters": {name: id_of(term) for name, term in state.environment.parameters.items()},
        "witnesses": list(state.witnesses),
        "triples": layout.to_json(),
        **({"windows": saved(state.windows)} if state.windows or state.windows.started else {}),
        **({"violated": sorted(state.violated)} if state.violated else {}),
        **({"registered": state.registered.to_json()} if state.registered.graphs or state.registered else {}),
        "run": asdict(state.run) if state.run is not None else None,
        "unranked": [one.name for one in maintenance.maintainer.components if not one.is_ranked]
        if maintenance is not None
        else [],
    }


def restored(state: State, snapshot: Snapshot) -> State:
    """The state of a snapshot, whose facts are loaded into the engine of an empty one.  Facts that another
    version derived, or of an earlier format, are derived again.  Raises `ProgramError` if this version
    refuses the program."""
    meta, is_old = snapshot.meta, snapshot.format < FORMAT
    engine = EmbeddedEngine() if is_old else state.engine
    snapshot.fill(engine)
    engine.equal = classes_of(engine)
    into, ids = (state.engine, _migrated(engine, state.engine, snapshot.format)) if is_old else (None, None)
    program, registered = parse(meta.text("program"), meta.text("name")), NO_QUERIES
    term = state.engine.dictionary.term
    with meta.reading():
        numbers = meta.mapping("parameters")
        if not all(0 <= number < len(engine.dictionary) for number in numbers.values()):
            raise ValueError("a parameter is not a term")
        parameters = {
            name: term(number if ids is None else int(ids[number])) for name, number in numbers.items()
        }
        witnesses = {(name, arity): witness_of(name, arity) for name, arity in meta.list("witnesses")}
        layout = Layout.from_json(**meta.mapping("triples"))
        run = RunStats(**meta.mapping("run")) if meta.optional("run", dict) is not None else None
        unranked = set(meta.list("unranked"))
        violated = frozenset(map(str, meta.optional("violated", list) or ()))
        if meta.optional("registered", dict) is not None:
            registered = Registered.from_json(meta.mapping("registered"))
            program = with_queries(program, registered)
        windows, of_program = state.windows, program.windows
        if of_program or meta.optional("windows", dict) is not None:
            windows = restored_windows(
                meta.mapping("windows"), of_program, windows.late, len(engine.dictionary)
            )
    environment = replace(state.environment, parameters=parameters)
    analysis = analysed(program, environment, witnesses, kept=layout)
    engine.derived = run is not None
    stays = not is_old and can_stay(engine, layout, analysis.triples, relations_of(analysis))
    state = replace(
        state,
        program=program,
        environment=environment,
        analysis=analysis.of_program(program),
        warnings=analysis.warnings,
        witnesses=witnesses,
        windows=windows,
        violated=violated,
        registered=registered,
        engine=engine if stays else moved(engine, layout, analysis.triples, witnesses, into, ids),
    )
    if not stays or run is None or meta.text("writer") != version("tidalog"):
        return state
    return _with_ranks(replace(state, run=run, tabled=False), unranked)


def _migrated(old: EmbeddedEngine, new: EmbeddedEngine, format: int) -> Ids:
    """Puts the terms of an engine of an earlier format into another one; for each id there, the id here."""
    table, positions = terms_by_value(old.dictionary, np.arange(len(old.dictionary), dtype=np.int32))
    ids: Ids = ids_by_value(new.dictionary, table, format)[positions]
    return ids


def _with_ranks(state: State, unranked: set[str]) -> State:
    """Ids are ranks, except in the components that say otherwise."""
    if not unranked:
        return state
    kind = EqualMaintenance if state.program.equalities else Maintenance
    maintenance = kind(state.engine, compile(state.analysis, is_native), state.environment.functions)
    for component in maintenance.maintainer.components:
        component.in_rank_order = component.name not in unranked
    return replace(state, maintenance=maintenance)
