"""Facts by the names that people use, over the relations that hold them, in columns of term ids.

To a person `triple(s, p, o)` is one predicate and `ex:p(s, o)` is another way to say it; the engine keeps
triples in several relations (`analysis.triples`).  `routed` says which relations hold given facts, `rows_of`
gathers them again.  Both work on whole columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from tidalog.analysis import Analysis, TripleLayout
from tidalog.analysis.triples import ALL_TRIPLES, ALL_TYPES, TRIPLE
from tidalog.engine.bits import EXPLICIT
from tidalog.model.facts import Facts, Ids
from tidalog.model.terms import IRI, RDF_TYPE

if TYPE_CHECKING:
    from tidalog.engine.dictionary import Dictionary
    from tidalog.engine.engine import EmbeddedEngine

_EXPLICIT: Final = int(EXPLICIT)


def is_hidden(relation: str) -> bool:
    """Whether a relation is the engine's own business: memo relations, groups, views of triples."""
    return relation.startswith("#") or relation in (ALL_TRIPLES, ALL_TYPES)


def is_rdf_name(layout: TripleLayout, predicate: str) -> bool:
    """Whether facts of a predicate are triples said in another way."""
    return layout.active and ":" in predicate and predicate not in layout.tables


def holds_triples(analysis: Analysis, predicate: str) -> bool:
    """Whether the facts of a predicate, asked by its name, are triples.  An IRI with no argument or more than
    two is a predicate like any other."""
    layout, known = analysis.triples, analysis.predicates.get(predicate)
    if layout.active and predicate == TRIPLE:
        return True
    return is_rdf_name(layout, predicate) and (known is None or known.arity in (1, 2))


def relations_of_triples(layout: TripleLayout) -> frozenset[str]:
    """Every relation that holds triples."""
    if not layout.active:
        return frozenset()
    return frozenset((TRIPLE, *layout.properties.values(), *layout.classes.values()))


def same_relations(one: TripleLayout, other: TripleLayout) -> bool:
    """Whether two layouts keep every explicit triple in the same place."""
    return (one.active, dict(one.properties), dict(one.classes), one.tables) == (
        other.active,
        dict(other.properties),
        dict(other.classes),
        other.tables,
    )


# --- in ---------------------------------------------------------------------------------------------


def routed(facts: Facts, layout: TripleLayout, dictionary: Dictionary) -> Iterator[Facts]:
    """The relations that hold facts; the counterpart of `TripleLayout.route` for columns."""
    columns = facts.columns
    if is_rdf_name(layout, facts.predicate) and len(columns) in (1, 2):
        columns = _as_triples(facts, dictionary)
    elif not (layout.active and facts.predicate == TRIPLE and len(columns) == 3):
        yield facts
        return
    subject, predicate, object_ = columns
    for number, rows in _groups(predicate):
        term = dictionary.term(number)
        iri = term.value if isinstance(term, IRI) else ""
        if iri == RDF_TYPE and layout.classes:
            rows, members = _members(rows, object_, layout, dictionary)
            for relation, chosen in members:
                yield Facts(relation, [subject[chosen]], len(chosen))
        if not len(rows):
            continue
        special = layout.properties.get(iri)
        if special is not None:
            yield Facts(special, [subject[rows], object_[rows]], len(rows))
        else:
            yield Facts(TRIPLE, [subject[rows], predicate[rows], object_[rows]], len(rows))


def _as_triples(facts: Facts, dictionary: Dictionary) -> list[Ids]:
    name = dictionary.id_of(IRI(facts.predicate))
    if len(facts.columns) == 1:
        type_ = dictionary.id_of(IRI(RDF_TYPE))
        return [facts.columns[0], _constant(type_, facts.count), _constant(name, facts.count)]
    return [facts.columns[0], _constant(name, facts.count), facts.columns[1]]


def _members(
    rows: npt.NDArray[np.int64], object_: Ids, layout: TripleLayout, dictionary: Dictionary
) -> tuple[npt.NDArray[np.int64], list[tuple[str, npt.NDArray[np.int64]]]]:
    """Rows of rdf:type without those of classes that have relations, and the rows of each of these."""
    relations = {dictionary.id_of(IRI(iri)): relation for iri, relation in layout.classes.items()}
    special = np.isin(object_[rows], np.fromiter(relations, np.int32))
    chosen = rows[special]
    found = [(relations[number], chosen[group]) for number, group in _groups(object_[chosen])]
    return rows[~special], found


def _groups(ids: Ids) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Each id that occurs, with the rows where it does."""
    if not len(ids):
        return
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    for start, rows in zip(starts.tolist(), np.split(order, starts[1:]), strict=True):
        yield int(ordered[start]), rows


def _constant(number: int, rows: int) -> Ids:
    return np.full(rows, number, np.int32)


# --- out --------------------------------------------------------------------------------------------


def rows_of(engine: EmbeddedEngine, analysis: Analysis, predicate: str, explicit: bool | None) -> Facts:
    """The facts of a predicate: all of them, or only those that are explicit, or only those that are not."""
    layout = analysis.triples
    if layout.active and predicate == TRIPLE:
        return Facts(TRIPLE, *_all_triples(engine, layout, explicit))
    if holds_triples(analysis, predicate):
        return _rdf_rows(engine, layout, predicate, explicit)
    return _relation(engine, predicate, analysis.predicates[predicate].arity, explicit)


def count_of(engine: EmbeddedEngine, analysis: Analysis, predicate: str, explicit: bool | None) -> int:
    """How many facts `rows_of` gives, without gathering them where they stand in one relation."""
    if holds_triples(analysis, predicate):
        return rows_of(engine, analysis, predicate, explicit).count
    if explicit is None:
        return engine.count(predicate)
    if explicit and not analysis.predicates[predicate].explicit:
        return 0
    return len(engine.ids(predicate, _EXPLICIT, _EXPLICIT if explicit else 0))


def explicit_rows(engine: EmbeddedEngine, layout: TripleLayout) -> Iterator[Facts]:
    """All explicit facts by the predicates that people use: what `routed` was given."""
    triples = relations_of_triples(layout)
    if layout.active:
        yield Facts(TRIPLE, *_all_triples(engine, layout, True))
    for name, arity in zip(engine.names, engine.arities, strict=True):
        if name not in triples and not is_hidden(name):
            yield _relation(engine, name, arity, True)


def _relation(engine: EmbeddedEngine, name: str, arity: int, explicit: bool | None) -> Facts:
    mask, want = (0, 0) if explicit is None else (_EXPLICIT, _EXPLICIT if explicit else 0)
    if not engine.has(name):
        return Facts(name, [np.empty(0, np.int32)] * arity, 0)
    ids = engine.ids(name, mask, want)
    return Facts(name, [engine.store.column(ids, c) for c in range(arity)], len(ids))


def _rdf_rows(engine: EmbeddedEngine, layout: TripleLayout, iri: str, explicit: bool | None) -> Facts:
    """`ex:C` has the members of the class, `ex:p` pairs.  An IRI that no rule names is a class if there are
    members of it and no pairs."""
    if iri in layout.classes:
        return _relation(engine, layout.classes[iri], 1, explicit)
    if iri in layout.properties and iri != RDF_TYPE:
        return _relation(engine, layout.properties[iri], 2, explicit)
    dictionary = engine.dictionary
    name, type_ = dictionary.id_of(IRI(iri)), dictionary.id_of(IRI(RDF_TYPE))
    (subject, predicate, object_), _ = _all_triples(engine, layout, explicit)
    members = (predicate == type_) & (object_ == name)
    pairs = predicate == name
    if members.any() and not pairs.any():
        return Facts(iri, [subject[members]], int(members.sum()))
    return Facts(iri, [subject[pairs], object_[pairs]], int(pairs.sum()))


def _all_triples(
    engine: EmbeddedEngine, layout: TripleLayout, explicit: bool | None
) -> tuple[list[Ids], int]:
    """The union of the relations; a triple may have been copied from one into another."""
    if explicit is False:
        return _without(*_all_triples(engine, layout, None), *_all_triples(engine, layout, True))
    dictionary = engine.dictionary
    parts = [_relation(engine, TRIPLE, 3, explicit).columns]
    for iri, relation in layout.properties.items():
        pairs = _relation(engine, relation, 2, explicit)
        name = dictionary.id_of(IRI(iri))
        parts.append([pairs.columns[0], _constant(name, pairs.count), pairs.columns[1]])
    for iri, relation in layout.classes.items():
        members = _relation(engine, relation, 1, explicit)
        type_, class_ = dictionary.id_of(IRI(RDF_TYPE)), dictionary.id_of(IRI(iri))
        constants = [_constant(type_, members.count), _constant(class_, members.count)]
        parts.append([members.columns[0], *constants])
    filled = [part for part in parts if len(part[0])]
    if len(filled) <= 1:
        columns = filled[0] if filled else parts[0]
        return columns, len(columns[0])
    table = np.unique(np.stack([np.concatenate(column) for column in zip(*filled, strict=True)], 1), axis=0)
    return [np.ascontiguousarray(table[:, c]) for c in range(3)], len(table)


def _without(all_: list[Ids], rows: int, known: list[Ids], known_rows: int) -> tuple[list[Ids], int]:
    """Rows of the first table that the second does not have; each has a row once."""
    if not known_rows:
        return all_, rows
    both = np.concatenate([np.stack(known, 1), np.stack(all_, 1)])
    _, first, counts = np.unique(both, axis=0, return_index=True, return_counts=True)
    kept = np.sort(first[(counts == 1) & (first >= known_rows)]) - known_rows
    return [column[kept] for column in all_], len(kept)
