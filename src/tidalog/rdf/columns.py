"""Columns of term ids: facts of `triple` split into the relations of a layout, and joined again."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tidalog.model.facts import Facts, Ids, Mask
from tidalog.model.rows import distinct_rows
from tidalog.model.terms import IRI, RDF_TYPE, Term
from tidalog.rdf.layout import TRIPLE, TYPE, Layout

Rows = npt.NDArray[np.int64]


class Terms(Protocol):
    """The dictionary of terms."""

    def id_of(self, term: Term) -> int: ...
    def term(self, number: int) -> Term: ...


def split(facts: Facts, layout: Layout, terms: Terms) -> Iterator[Facts]:
    """Facts as facts of the relations that hold them: `Layout.route` for columns."""
    facts = in_full(facts, layout, terms)
    if not (layout.active and facts.predicate == TRIPLE and len(facts.columns) == 3):
        yield facts
        return
    subject, predicate, object_ = facts.columns
    for number, rows in _groups(predicate):
        term = terms.term(number)
        iri = term.value if isinstance(term, IRI) else ""
        if iri == RDF_TYPE and layout.classes:
            others: list[Rows] = []
            for class_number, group in _groups(object_[rows]):
                class_, chosen = terms.term(class_number), rows[group]
                relation = layout.classes.get(class_.value) if isinstance(class_, IRI) else None
                if relation is None:
                    others.append(chosen)
                else:
                    yield Facts(relation, [subject[chosen]], len(chosen))
            rows = np.sort(np.concatenate([rows[:0], *others]))
        if not len(rows):
            continue
        special = layout.properties.get(iri)
        if special is not None:
            yield Facts(special, [subject[rows], object_[rows]], len(rows))
        else:
            yield Facts(TRIPLE, [subject[rows], predicate[rows], object_[rows]], len(rows))


def in_full(facts: Facts, layout: Layout, terms: Terms) -> Facts:
    """Facts in shorthand form as facts of `triple`; any others unchanged."""
    if not layout.is_shorthand(facts.predicate) or len(facts.columns) not in (1, 2):
        return facts
    name, subject = _constant(terms.id_of(IRI(facts.predicate)), facts.count), facts.columns[0]
    if len(facts.columns) == 2:
        return Facts(TRIPLE, [subject, name, facts.columns[1]], facts.count)
    return Facts(TRIPLE, [subject, _constant(terms.id_of(TYPE), facts.count), name], facts.count)


def as_shorthand(facts: Facts, known: Container[tuple[str, int]], terms: Terms) -> Iterator[Facts]:
    """Facts of `triple` in shorthand form: of the class, if it is a known predicate with one argument, else
    of the property."""
    subject, predicate, object_ = facts.columns
    for number, rows in _groups(predicate):
        property_ = terms.term(number)
        if property_ == TYPE:
            others: list[Rows] = []
            for class_number, members in _groups(object_[rows]):
                class_, chosen = terms.term(class_number), rows[members]
                if isinstance(class_, IRI) and (class_.value, 1) in known:
                    yield Facts(class_.value, [subject[chosen]], len(chosen))
                else:
                    others.append(chosen)
            rows = np.concatenate([rows[:0], *others])
        if len(rows):
            assert isinstance(property_, IRI)
            yield Facts(property_.value, [subject[rows], object_[rows]], len(rows))


def join(parts: Iterable[Facts], layout: Layout, terms: Terms, *, copied: bool) -> Facts:
    """Facts of the relations of a layout as facts of `triple`, each once also if bridges may have `copied`
    triples from one relation into another."""
    filled = [as_triples(part, layout, terms) for part in parts if part.count]
    if not filled:
        return Facts(TRIPLE, [np.empty(0, np.int32)] * 3, 0)
    if len(filled) == 1:
        return filled[0]
    columns = [np.concatenate(column) for column in zip(*(part.columns for part in filled), strict=True)]
    if copied:
        first, _ = distinct_rows(np.stack(columns, 1))
        columns = [column[first] for column in columns]
    return Facts(TRIPLE, columns, len(columns[0]))


def as_triples(facts: Facts, layout: Layout, terms: Terms) -> Facts:
    """Facts of one relation as facts of `triple`; those of any other predicate unchanged."""
    property_, class_ = _constants(facts.predicate, layout, terms)
    if property_ is None:
        return facts
    object_ = facts.columns[1] if class_ is None else _constant(class_, facts.count)
    return Facts(TRIPLE, [facts.columns[0], _constant(property_, facts.count), object_], facts.count)


def held_rows(table: Ids, layout: Layout, terms: Terms) -> Iterator[tuple[Rows, Facts]]:
    """For each relation: the rows of a table of triples that it can hold, and these as its facts."""
    for relation in layout.arities:
        property_, class_ = _constants(relation, layout, terms)
        fits, columns = np.ones(len(table), np.bool_), [0, 1, 2]
        if property_ is not None:
            fits, columns = table[:, 1] == property_, [0, 2]
        if class_ is not None:
            fits, columns = fits & (table[:, 2] == class_), [0]
        rows = np.flatnonzero(fits)
        yield rows, Facts(relation, [table[rows, c] for c in columns], len(rows))


def places(table: Ids, layout: Layout, terms: Terms) -> Iterator[tuple[Rows, Facts]]:
    """The same at a cost that follows the triples: only relations that can hold one of them."""
    everything = np.arange(len(table))
    yield everything, Facts(TRIPLE, [table[:, c] for c in range(3)], len(table))
    for number, rows in _groups(table[:, 1]):
        term = terms.term(number)
        iri = term.value if isinstance(term, IRI) else ""
        relation = layout.properties.get(iri)
        if relation is not None:
            yield rows, Facts(relation, [table[rows, 0], table[rows, 2]], len(rows))
        if iri != RDF_TYPE or not layout.classes:
            continue
        for class_number, members in _groups(table[rows, 2]):
            class_ = terms.term(class_number)
            relation = layout.classes.get(class_.value) if isinstance(class_, IRI) else None
            if relation is not None:
                yield rows[members], Facts(relation, [table[rows[members], 0]], len(members))


def members_or_pairs(
    parts: Sequence[Sequence[Ids]], iri: str, terms: Terms, *, is_class: bool = False
) -> tuple[list[Mask], list[int]]:
    """What an IRI stands for as a predicate of triples: for each part which of them, and the columns of their
    arguments.  It is a property, or a class if there are members of it and no pairs, or `is_class`."""
    name, type_ = terms.id_of(IRI(iri)), terms.id_of(TYPE)
    members: list[Mask] = [(predicate == type_) & (object_ == name) for _, predicate, object_ in parts]
    pairs: list[Mask] = [predicate == name for _, predicate, _ in parts]
    if is_class or (any(m.any() for m in members) and not any(p.any() for p in pairs)):
        return members, [0]
    return pairs, [0, 2]


def _constants(relation: str, layout: Layout, terms: Terms) -> tuple[int | None, int | None]:
    """The ids of the property and of the class that all triples of a relation have."""
    origin = layout.origin(relation)
    if origin is None:
        return None, None
    class_ = None if origin.class_ is None else terms.id_of(origin.class_)
    return terms.id_of(origin.property), class_


class TripleRows:
    """Triples that bridges may have copied.  Each belongs to the relation of its property or class: bridges
    copy it there whenever another relation has it, and it is explicit only there.  `leading` is the number of
    columns before the arguments."""

    def __init__(self, layout: Layout, terms: Terms, leading: int = 0) -> None:
        self._layout, self._terms, self._leading = layout, terms, leading
        self._type = terms.id_of(TYPE)
        self._properties = np.array([terms.id_of(IRI(iri)) for iri in layout.properties], np.int32)
        self._classes = np.array([terms.id_of(IRI(iri)) for iri in layout.classes], np.int32)

    def own(self, relation: str, columns: list[Ids]) -> Mask | None:
        """The rows that belong to a relation; None if all do."""
        arguments = columns[self._leading :]
        if relation == TRIPLE and len(arguments) == 3:
            of_class = (arguments[1] == self._type) & np.isin(arguments[2], self._classes)
            own: Mask = ~(np.isin(arguments[1], self._properties) | of_class)
            return own
        if relation == self._layout.types:
            other: Mask = ~np.isin(arguments[1], self._classes)
            return other
        return None

    def restored(self, facts: Facts) -> Facts:
        """Facts of a relation as facts of the user's predicate, without leading columns."""
        return as_triples(facts, self._layout, self._terms)


def _groups(ids: Ids) -> Iterator[tuple[int, Rows]]:
    """Each id with the rows in which it occurs."""
    if not len(ids):
        return
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    for start, rows in zip(starts.tolist(), np.split(order, starts[1:]), strict=True):
        yield int(ordered[start]), rows


def _constant(number: int, rows: int) -> Ids:
    return np.full(rows, number, np.int32)
