"""Knowledge bases in memory and on disk side by side: what can be seen of one, and updates for both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from consistency import check_ranks, check_store
from maintained import Fact, Update

import tidalog
from tidalog.api.stored import StoredKnowledgeBase
from tidalog.maintain.maintainer import Maintainer
from tidalog.model.terms import Term

Row = tuple[Term, ...]
State = dict[str, tuple[frozenset[Row], frozenset[Row]]]

CLOSURE = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
NO_CIRCLE = CLOSURE + ":- path(?x, ?x) .\n"


def state(kb: tidalog.KnowledgeBase) -> State:
    """Every predicate's facts: explicit ones, and those that are derived alone."""
    return {
        name: (frozenset(kb.facts(name, True).to_terms()), frozenset(kb.facts(name, False).to_terms()))
        for name in kb.predicates
    }


def changes(delta: tidalog.Delta) -> Counter[tuple[object, ...]]:
    """What a delta says, in no order."""
    found: Counter[tuple[object, ...]] = Counter()
    for name, change in delta.items():
        for kind in ("inserted_explicit", "inserted_implicit", "deleted_explicit", "deleted_implicit"):
            found.update((name, kind, row) for row in getattr(change, kind).to_terms())
        for kind in ("became_explicit", "became_implicit"):
            found.update((name, kind, row) for row in getattr(change, kind).to_terms())
    return found


def update_of(update: Update, label: int | None = None) -> tidalog.Update:
    """A generated update for a knowledge base."""
    made = tidalog.Update(label=label)
    for facts, add in ((update[0], made.delete), (update[1], made.insert)):
        for name, rows in by_predicate(facts).items():
            add(name, rows)
    return made


def by_predicate(facts: Iterable[Fact]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for name, row in facts:
        grouped.setdefault(name, []).append(row)
    return grouped


def edges(*pairs: Sequence[object], label: int | None = None, delete: bool = False) -> tidalog.Update:
    update = tidalog.Update(label=label)
    (update.delete if delete else update.insert)("edge", [tuple(pair) for pair in pairs])
    return update


def check_consistent(kb: tidalog.KnowledgeBase) -> None:
    """The store in memory agrees with itself, and ids are ranks where they are said to be."""
    database = kb._open()
    check_store(database.engine)
    maintenance = database.maintenance
    if database.run is not None:
        check_ranks(
            maintenance.maintainer
            if maintenance is not None
            else Maintainer(database.engine, database.analysis, functions=database.environment.functions)
        )


def reopened(kb: StoredKnowledgeBase, **options: object) -> StoredKnowledgeBase:
    """The same store, closed and opened again."""
    path: Path = kb.path
    kb.close()
    return tidalog.open(path, **options)  # type: ignore[call-overload,no-any-return]
