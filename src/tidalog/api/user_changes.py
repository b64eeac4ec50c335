"""Changes by the predicates that users know, from changes of relations.

A predicate that is a relation of its own changes as that does.  Triples are in several relations, and bridges
(`rdf.bridges`) may copy a triple into more than one: it became true if it was in none of them before and is
in one now.  That is found before the next update.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tidalog.analysis import Analysis
from tidalog.api.naming import holds_triples, is_hidden, known_predicate
from tidalog.api.transitions import Table, Transitions, parts_of, restricted
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.delta import PredicateDelta, no_change
from tidalog.maintain.split import SplitOff
from tidalog.model.facts import Facts, Ids, Mask
from tidalog.model.lazy import LazyMapping
from tidalog.model.rows import distinct_rows
from tidalog.rdf.columns import as_triples, held_rows, members_or_pairs
from tidalog.rdf.layout import TRIPLE, Layout

Flags = tuple[Mask, Mask, Mask, Mask]
"""What facts were and are, as the fields of `Transitions`."""


def user_changes(
    engine: EmbeddedEngine,
    analysis: Analysis,
    delta: Mapping[str, PredicateDelta],
    before: Analysis | None = None,
    splits: Sequence[SplitOff] = (),
) -> Mapping[str, PredicateDelta]:
    """The changes of an update by predicate, those of triples as `triple`: `delta` itself if there are no
    triples and nothing hidden.  `before` is the analysis that held before the update, if another one did;
    `splits` are the relations that the update has split off others."""
    layout, hides = analysis.triples, any(map(is_hidden, delta))
    if not layout.active and not hides:
        return delta
    copied = analysis.has_bridges or (before is not None and before.has_bridges)
    if not (copied or splits or hides):
        return _regrouped(engine, layout, delta)
    found = {name: delta[name] for name in delta if not layout.holds(name) and not is_hidden(name)}
    own = {name: delta[name] for name in delta if layout.holds(name)}
    if own:
        for split in splits:
            if split.general in own:
                own[split.general] = _without_moved(own[split.general], split)
        # What rules have derived in a general relation, they may now derive in one that is split off.
        moved = (own[split.general] for split in splits if split.general in own)
        copied |= any(any(True for _ in flagged(change)) for change in moved)
        change = _triples(engine, layout, own, copied)
        if change is not None:
            found[TRIPLE] = change
    return found


def _regrouped(
    engine: EmbeddedEngine, layout: Layout, delta: Mapping[str, PredicateDelta]
) -> LazyMapping[PredicateDelta]:
    """The changes of relations, each of other triples; put together when they are looked at."""
    triples = [name for name in delta if layout.holds(name)]
    names = dict.fromkeys(name for name in delta if not layout.holds(name))
    if triples:
        names[TRIPLE] = None

    def build(name: str) -> PredicateDelta:
        if name != TRIPLE:
            return delta[name]
        change = _triples(engine, layout, {name: delta[name] for name in triples}, copied=False)
        assert change is not None
        return change

    return LazyMapping(names, build)


def _without_moved(change: PredicateDelta, split: SplitOff) -> PredicateDelta:
    """A change without the facts that have moved: those with the constants of the relation that is split off
    have been explicit before, and only there."""
    masks: list[Mask] = []
    for columns in parts_of(change):
        fits: Mask = np.ones(len(columns[0]), np.bool_)
        for column, value in split.key.items():
            fits &= columns[column] == value
        masks.append(~fits)
    masks[0][:], masks[2][:] = True, True
    masks[1] |= ~change.deleted_explicit
    return restricted(change, masks)


def change_of(
    engine: EmbeddedEngine, analysis: Analysis, found: Mapping[str, PredicateDelta], predicate: str
) -> tuple[str, PredicateDelta]:
    """The full name of a predicate, and the difference of the facts that it has, or had, under this name: of
    a property or class those among the triples, too.  Raises `UsageError` if there is no such predicate."""
    name = predicate if predicate in found else known_predicate(predicate, analysis)
    own, triples = found.get(name), found.get(TRIPLE)
    if triples is None or name == TRIPLE or ":" not in name or len(triples.inserted) != 3:
        return name, own if own is not None else no_change(_arity(analysis, name))
    part = _part(engine, triples, name, _arity(analysis, name) == 1)
    return name, part if own is None else _moved(own, part)


def moved_facts(analysis: Analysis, found: Mapping[str, PredicateDelta]) -> int:
    """How many explicit facts an insertion has turned into triples, because it brought the first one."""
    if TRIPLE not in found:
        return 0
    of_iris = (change for name, change in found.items() if name != TRIPLE and holds_triples(analysis, name))
    return sum(int(np.count_nonzero(change.deleted_explicit)) for change in of_iris)


def _arity(analysis: Analysis, name: str) -> int:
    layout = analysis.triples
    if name == TRIPLE and layout.active:
        return 3
    if holds_triples(analysis, name):
        relation = layout.relation_of(name)
        return 2 if relation is None else layout.arities[relation]
    known = analysis.predicates.get(name)
    return 2 if known is None else known.arity


def _moved(own: PredicateDelta, part: PredicateDelta) -> PredicateDelta:
    """The change of facts that were, or are, triples and are, or were, in a relation of their own."""
    if len(own.inserted) != len(part.inserted):
        return own
    entries = [entry for change in (own, part) for entry in flagged(change)]
    tables = [np.stack(columns, axis=1) for columns, _ in entries]
    table = np.concatenate(tables)
    first, which = distinct_rows(table)
    table = table[first]
    state = Transitions.none(len(table))
    rows_of = np.split(which, np.cumsum([len(rows) for rows in tables])[:-1])
    for (_, flags), at in zip(entries, rows_of, strict=True):
        for mine, its in zip(
            (state.was, state.was_explicit, state.is_, state.is_explicit), flags, strict=True
        ):
            mine[at] |= its
    return state.delta(table) or no_change(table.shape[1])


# --- triples ------------------------------------------------------------------------------------------------


def _triples(
    engine: EmbeddedEngine, layout: Layout, own: Mapping[str, PredicateDelta], copied: bool
) -> PredicateDelta | None:
    entries = [
        (relation, _table(engine, layout, Facts(relation, columns, len(columns[0]))), flags)
        for relation, change in own.items()
        for columns, flags in flagged(change)
    ]
    if not entries:
        return None
    table = np.concatenate([rows for _, rows, _ in entries])
    if not copied:
        flags = zip(*(flags for _, _, flags in entries), strict=True)
        return Transitions(*(np.concatenate(part) for part in flags)).delta(table)
    first, which = distinct_rows(table)
    table = table[first]
    state = Transitions.none(len(table))
    rows_of = np.split(which, np.cumsum([len(rows) for _, rows, _ in entries])[:-1])
    explicit_now = np.zeros(len(table), np.bool_)
    for rows, facts in held_rows(table, layout, engine.dictionary):
        ids = engine.find(facts)
        there = ids >= 0
        explicit_now[rows[there]] |= engine.is_explicit(ids[there])
        present = np.zeros(len(table), np.bool_)
        present[rows] = there
        before = present.copy()
        for (name, _, (was, was_explicit, is_, is_explicit)), at in zip(entries, rows_of, strict=True):
            if name == facts.predicate:
                before[at] = was
                present[at] = is_
                state.was_explicit[at] |= was_explicit
                state.is_explicit[at] |= is_explicit
        state.was |= before
        state.is_ |= present
    # A triple that is explicit and does not change in its own relation may have changed in another one.
    steady = explicit_now & ~state.is_explicit & ~state.was_explicit
    state.was_explicit |= steady
    state.is_explicit |= steady
    return state.delta(table)


def flagged(change: PredicateDelta) -> Iterator[tuple[list[Ids], Flags]]:
    """The rows of a change with what they were and are, as the fields of `Transitions`."""

    def all_of(rows: int, value: bool) -> Mask:
        return np.full(rows, value, np.bool_)

    rows = change.inserted_rows
    if rows:
        flags = all_of(rows, False), all_of(rows, False), all_of(rows, True), change.inserted_explicit
        yield change.inserted, flags
    rows = change.deleted_rows
    if rows:
        flags = all_of(rows, True), change.deleted_explicit, all_of(rows, False), all_of(rows, False)
        yield change.deleted, flags
    for columns, count, explicit in (
        (change.became_explicit, change.became_explicit_rows, True),
        (change.became_implicit, change.became_implicit_rows, False),
    ):
        if count:
            there = all_of(count, True)
            yield columns, (there, all_of(count, not explicit), there, all_of(count, explicit))


def _table(engine: EmbeddedEngine, layout: Layout, facts: Facts) -> Table:
    """Facts of a relation as rows of triples."""
    return np.stack(as_triples(facts, layout, engine.dictionary).columns, axis=1)


def _part(engine: EmbeddedEngine, triples: PredicateDelta, iri: str, is_class: bool) -> PredicateDelta:
    """The members of a class, or the pairs of a property, among changed triples."""
    chosen, arguments = members_or_pairs(parts_of(triples), iri, engine.dictionary, is_class=is_class)
    return restricted(triples, chosen, arguments)
