"""Facts by the predicates that users know, over the relations that hold them, in columns of term ids.

To a user `triple(s, p, o)` is one predicate and `ex:p(s, o)` is another way to write it; the engine keeps
triples in several relations, which a `Layout` lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tidalog.analysis import Analysis
from tidalog.api.naming import holds_triples, is_computed
from tidalog.maintain.equality.relations import facts_of, given_rows, table_of
from tidalog.model.facts import Facts
from tidalog.model.rows import distinct_rows
from tidalog.rdf.columns import join, members_or_pairs
from tidalog.rdf.layout import TRIPLE, Layout

if TYPE_CHECKING:
    from tidalog.engine.engine import EmbeddedEngine


# --- out --------------------------------------------------------------------------------------------


def rows_of(engine: EmbeddedEngine, analysis: Analysis, predicate: str, explicit: bool | None) -> Facts:
    """The facts of a predicate: all of them, or only those that are explicit, or only those that are not."""
    if analysis.triples.active and predicate == TRIPLE:
        return _all_triples(engine, analysis, explicit)
    if holds_triples(analysis, predicate):
        return _rdf_rows(engine, analysis, predicate, explicit)
    arity = analysis.predicates[predicate].arity
    return _for_all_members(engine, explicit, lambda kind: _relation(engine, predicate, arity, kind))


def _for_all_members(
    engine: EmbeddedEngine, explicit: bool | None, read: Callable[[bool | None], Facts]
) -> Facts:
    """The facts for all members of classes of equal terms; explicit ones as they came in."""
    if not engine.equal:
        return read(explicit)
    if explicit is None:
        return engine.equal.expanded(read(None))
    found = read(True)
    table = table_of(found)
    own = table[~engine.equal.mentioned(table)]
    given = given_rows(engine, found.predicate, table.shape[1])
    found = facts_of(found.predicate, np.concatenate([own, given]))
    return found if explicit else without(engine.equal.expanded(read(None)), found)


def count_of(engine: EmbeddedEngine, analysis: Analysis, predicate: str, explicit: bool | None) -> int:
    """How many facts `rows_of` returns, without gathering those of one relation."""
    layout = analysis.triples
    if layout.active and predicate == TRIPLE and (explicit or not analysis.has_bridges) and not engine.equal:
        return sum(len(engine.ids(relation, explicit=explicit)) for relation in layout.arities)
    if holds_triples(analysis, predicate) or (engine.equal and explicit is not None):
        return rows_of(engine, analysis, predicate, explicit).count
    if explicit is None and engine.equal:
        return engine.equal.count(_relation(engine, predicate, analysis.predicates[predicate].arity, None))
    if explicit is None:
        return engine.count(predicate)
    if explicit and not analysis.predicates[predicate].explicit:
        return 0
    return len(engine.ids(predicate, explicit=explicit))


def explicit_rows(engine: EmbeddedEngine, layout: Layout) -> Iterator[Facts]:
    """All explicit facts by the predicates that users know, before `rdf.columns.split`."""
    if layout.active:
        yield _for_all_members(engine, True, partial(_explicit_triples, engine, layout))
    for name, arity in zip(engine.names, engine.arities, strict=True):
        if not layout.holds(name) and not is_computed(name):
            yield _for_all_members(engine, True, partial(_relation, engine, name, arity))


def _explicit_triples(engine: EmbeddedEngine, layout: Layout, explicit: bool | None) -> Facts:
    return _joined(engine, layout, explicit, copied=False)


def _relation(engine: EmbeddedEngine, name: str, arity: int, explicit: bool | None) -> Facts:
    if not engine.has(name):
        return Facts(name, [np.empty(0, np.int32)] * arity, 0)
    return engine.facts(name, explicit=explicit)


def _rdf_rows(engine: EmbeddedEngine, analysis: Analysis, iri: str, explicit: bool | None) -> Facts:
    """`ex:C` has the members of the class, `ex:p` pairs."""
    layout = analysis.triples
    relation = layout.relation_of(iri)
    if relation is not None and not engine.equal:
        return _relation(engine, relation, layout.arities[relation], explicit)
    columns = _all_triples(engine, analysis, explicit).columns
    (chosen,), arguments = members_or_pairs([columns], iri, engine.dictionary)
    return Facts(iri, [columns[argument][chosen] for argument in arguments], int(chosen.sum()))


def _all_triples(engine: EmbeddedEngine, analysis: Analysis, explicit: bool | None) -> Facts:
    """The union of the relations that hold triples."""
    return _for_all_members(engine, explicit, partial(_triples, engine, analysis))


def _triples(engine: EmbeddedEngine, analysis: Analysis, explicit: bool | None) -> Facts:
    layout, copied = analysis.triples, analysis.has_bridges
    if explicit is False and copied:
        return without(_triples(engine, analysis, None), _triples(engine, analysis, True))
    return _joined(engine, layout, explicit, copied=copied and explicit is None)


def _joined(engine: EmbeddedEngine, layout: Layout, explicit: bool | None, *, copied: bool) -> Facts:
    parts = (_relation(engine, name, arity, explicit) for name, arity in layout.arities.items())
    return join(parts, layout, engine.dictionary, copied=copied)


def without(facts: Facts, others: Facts) -> Facts:
    """Facts that are not among others; neither has one twice."""
    if not facts.columns:
        return Facts(facts.predicate, [], max(0, facts.count - others.count))
    if not facts.count or not others.count:
        return facts
    both = np.stack([np.concatenate(pair) for pair in zip(facts.columns, others.columns, strict=True)], 1)
    first, kinds = distinct_rows(both)
    kept = np.sort(first[(np.bincount(kinds) == 1) & (first < facts.count)])
    return Facts(facts.predicate, [column[kept] for column in facts.columns], len(kept))
