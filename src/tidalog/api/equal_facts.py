"""Facts as users gave them and see them, over an engine that has them modulo equality.

`maintain.equality` says what the engine holds.  Here predicates are those of users: all triples are `triple`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tidalog.api.encoded_update import routed_facts
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.equality.matching import matching, mentioning
from tidalog.maintain.equality.relations import (
    DENOTES,
    EQUAL,
    GIVEN,
    Classes,
    EqualTerms,
    Table,
    among,
    distinct,
    facts_of,
    given_predicates,
    pairs,
    table_of,
)
from tidalog.model.facts import Facts, Ids, Mask
from tidalog.model.update import EncodedUpdate
from tidalog.rdf.columns import as_triples, in_full, places
from tidalog.rdf.layout import TRIPLE, Layout


@dataclass
class GivenChange:
    """What an update does to the explicit facts, by predicate: only what changes any."""

    gone: dict[str, Table] = field(default_factory=dict)
    came: dict[str, Table] = field(default_factory=dict)
    ignored: int = 0

    @property
    def more(self) -> int:
        """How many explicit facts there are more."""
        return sum(map(len, self.came.values())) - sum(map(len, self.gone.values()))


@dataclass
class _Rows:
    """Facts of the engine to delete and to insert."""

    deletions: list[Facts] = field(default_factory=list)
    insertions: list[Facts] = field(default_factory=list)

    def delete(self, predicate: str, table: Table) -> None:
        if len(table):
            self.deletions.append(facts_of(predicate, table))

    def insert(self, predicate: str, table: Table) -> None:
        if len(table):
            self.insertions.append(facts_of(predicate, table))


class EqualFacts:
    def __init__(self, engine: EmbeddedEngine, layout: Layout) -> None:
        self.engine, self.layout = engine, layout

    @property
    def equal(self) -> EqualTerms:
        return self.engine.equal

    # --- single facts -------------------------------------------------------------------------------

    def _places(self, predicate: str, table: Table) -> Iterator[tuple[Ids, Facts]]:
        if predicate == TRIPLE and self.layout.active and table.shape[1] == len("spo"):
            for rows, facts in places(table, self.layout, self.engine.dictionary):
                yield rows.astype(np.int32), facts
        else:
            yield np.arange(len(table), dtype=np.int32), facts_of(predicate, table)

    def present(self, predicate: str, table: Table) -> Mask:
        """Which rows (over representatives) the engine has."""
        found = np.zeros(len(table), np.bool_)
        for rows, facts in self._places(predicate, table):
            found[rows] |= self.engine.find(facts) >= 0
        return found

    def explicit(self, predicate: str, table: Table) -> Mask:
        """Which rows, over any terms, are explicit facts."""
        found = np.zeros(len(table), np.bool_)
        mentioned = self.equal.mentioned(table)
        for rows, facts in self._places(predicate, table):
            ids = self.engine.find(facts)
            there = ids >= 0
            found[rows[there]] |= self.engine.is_explicit(ids[there])
        found[mentioned] = False
        if mentioned.any():
            found[mentioned] = self.engine.find(self._given(predicate, table[mentioned])) >= 0
        return found

    def explicit_of(self, predicate: str, table: Table) -> Table:
        """The explicit facts that rows over representatives stand for."""
        mentioned = self.equal.mentioned(table)
        own, arity = table[~mentioned], table.shape[1]
        found = own[self.explicit(predicate, own)]
        if not mentioned.any() or not self.engine.count(GIVEN + predicate):
            return found
        columns = tuple(range(arity, 2 * arity))
        given = matching(self.engine, GIVEN + predicate, columns, table[mentioned])
        return np.concatenate([found, given[:, :arity]])

    def _given(self, predicate: str, table: Table) -> Facts:
        return facts_of(GIVEN + predicate, np.concatenate([table, self.equal.of_rows(table)], axis=1))

    # --- updates of users ---------------------------------------------------------------------------

    def change(self, update: EncodedUpdate) -> GivenChange:
        """What an update changes."""
        deletions, insertions = (self._tables(side) for side in (update.deletions, update.insertions))
        found = GivenChange()
        for tables in (*deletions.values(), *insertions.values()):
            found.ignored += sum(map(len, tables))
        for predicate, tables in deletions.items():
            table = distinct(np.concatenate(tables))
            if predicate in insertions:
                table = table[~among(table, np.concatenate(insertions[predicate]))]
            self._note(found.gone, predicate, table[self.explicit(predicate, table)])
        for predicate, tables in insertions.items():
            table = distinct(np.concatenate(tables))
            self._note(found.came, predicate, table[~self.explicit(predicate, table)])
        found.ignored -= sum(map(len, (*found.gone.values(), *found.came.values())))
        return found

    def in_full(self, facts: Facts) -> Facts:
        return in_full(facts, self.layout, self.engine.dictionary)

    def _tables(self, side: Iterable[Facts]) -> dict[str, list[Table]]:
        found: dict[str, list[Table]] = {}
        for facts in side:
            whole = self.in_full(facts)
            known = self.engine.has(whole.predicate) and not self.layout.holds(whole.predicate)
            if known and self.engine.arity(whole.predicate) != len(whole.columns):
                continue
            table = table_of(whole) if whole.columns else np.empty((whole.count, 0), np.int32)
            found.setdefault(whole.predicate, []).append(table)
        return found

    @staticmethod
    def _note(found: dict[str, Table], predicate: str, table: Table) -> None:
        if len(table):
            found[predicate] = table

    def over_representatives(self, given: Mapping[str, Table]) -> list[Facts]:
        """What the engine has for facts, by relation."""
        found = [facts_of(predicate, self.equal.of_rows(table)) for predicate, table in given.items()]
        return routed_facts(found, self.layout, self.engine.dictionary)

    # --- changes of classes -------------------------------------------------------------------------

    def after(self, change: GivenChange, split: Classes) -> tuple[EncodedUpdate, dict[str, Table]]:
        """The update of the engine for a change by users, with which classes fall apart, and the explicit
        facts that enter the engine with it or after it."""
        own, hidden = _Rows(), _Rows()
        apart = np.array(sorted(split), np.int32)
        beside = mentioning(self.engine, self._beside(), apart) if split else {}
        moved = _given_in(beside)
        outs: dict[str, Table] = {}
        for predicate in {**change.gone, **moved}:
            gone = change.gone.get(predicate)
            rows = moved.get(predicate)
            parts = [] if rows is None else [rows]
            if gone is not None:
                mentioned = self.equal.mentioned(gone)
                own.delete(predicate, gone[~mentioned])
                parts.append(table_of(self._given(predicate, gone[mentioned])))
            if parts and sum(map(len, parts)):
                outs[predicate] = distinct(np.concatenate(parts))
        if split:
            self._note_classes(hidden, split, {})
            self._note_constants(hidden, beside.get(DENOTES), split, {})
        self.equal.replace(split, {})
        entering: dict[str, Table] = {}
        for predicate in {**outs, **change.came}:
            out, came = outs.get(predicate), change.came.get(predicate)
            new = [] if came is None else [came]
            if out is not None:
                self._leave(own, hidden, predicate, out, apart)
                stay, gone = out[:, : out.shape[1] // 2], change.gone.get(predicate)
                new.append(stay if gone is None else stay[~among(stay, gone)])
            entering[predicate] = distinct(np.concatenate(new))
        return self._update(own, hidden), entering

    def entered(self, entering: Mapping[str, Table]) -> Sequence[Facts]:
        """The facts of the engine for explicit facts that enter it."""
        own, hidden = _Rows(), _Rows()
        for predicate, table in entering.items():
            self._enter(own, hidden, predicate, table)
        return self._update(own, hidden).insertions

    def by_relation(self, rows: Mapping[str, Table], wanted: Container[str]) -> dict[str, Table]:
        """Rows over representatives by relation."""
        found = [facts_of(predicate, table) for predicate, table in rows.items()]
        parts: dict[str, list[Table]] = {}
        for facts in routed_facts(found, self.layout, self.engine.dictionary):
            if facts.predicate in wanted and facts.columns:
                parts.setdefault(facts.predicate, []).append(table_of(facts))
        return {relation: np.concatenate(tables) for relation, tables in parts.items()}

    def _beside(self) -> dict[str, tuple[int, ...]]:
        """The relations beside the facts, with the columns of representatives."""
        given = {
            GIVEN + name: tuple(range(arity, 2 * arity)) for name, arity in given_predicates(self.engine)
        }
        return {**given, DENOTES: (1,)}

    def _program(self) -> dict[str, tuple[int, ...]]:
        """The relations of the program, with all columns."""
        named = zip(self.engine.names, self.engine.arities, strict=True)
        return {name: tuple(range(arity)) for name, arity in named if not name.startswith(("#", "?"))}

    def _by_predicate(self, relations: Mapping[str, Table]) -> dict[str, Table]:
        """The facts of relations of the program by predicate."""
        found: dict[str, Table] = {}
        for relation, table in relations.items():
            whole = table_of(as_triples(facts_of(relation, table), self.layout, self.engine.dictionary))
            predicate = TRIPLE if self.layout.holds(relation) else relation
            known = found.get(predicate)
            found[predicate] = whole if known is None else distinct(np.concatenate([known, whole]))
        return found

    def _leave(self, own: _Rows, hidden: _Rows, predicate: str, out: Table, apart: Ids) -> None:
        """Rows leave `?given P`, and facts that then stand for nothing leave the engine."""
        arity = out.shape[1] // 2
        hidden.delete(GIVEN + predicate, out)
        stood = distinct(out[:, arity:])
        rest = stood[~np.isin(stood, apart).any(axis=1)]
        own.delete(predicate, stood[np.isin(stood, apart).any(axis=1)])
        if len(rest):
            others = matching(self.engine, GIVEN + predicate, tuple(range(arity, 2 * arity)), rest)
            others = others[~among(others, out)]
            own.delete(predicate, rest[~among(rest, others[:, arity:])])

    def _enter(self, own: _Rows, hidden: _Rows, predicate: str, new: Table) -> None:
        """Explicit facts enter the engine."""
        mentioned = self.equal.mentioned(new)
        own.insert(predicate, new[~mentioned])
        if mentioned.any():
            given = self._given(predicate, new[mentioned])
            hidden.insertions.append(given)
            own.insert(predicate, distinct(self.equal.of_rows(new[mentioned])))

    def merge(self, going: Classes, coming: Classes) -> EncodedUpdate:
        """The update of the engine with which classes go and come that have their members."""
        own, hidden = _Rows(), _Rows()
        engine, equal = self.engine, self.equal
        old = np.unique(np.concatenate([equal.of_column(members) for members in coming.values()]))
        program, beside = self._program(), self._beside()
        found = mentioning(engine, {**program, **beside}, old)
        # An explicit fact of the engine that has no term in a class is one that users gave.
        own_facts = {name: table[~equal.mentioned(table)] for name, table in found.items() if name in program}
        plain = self._by_predicate(
            {
                name: table[engine.is_explicit(engine.find(facts_of(name, table)))]
                for name, table in own_facts.items()
                if len(table)
            }
        )
        given = _given_in(found)
        self._note_classes(hidden, going, coming)
        self._note_constants(hidden, found.get(DENOTES), going, coming)
        equal.replace(going, coming)
        for predicate in {**plain, **given}:
            own_rows, rows = plain.get(predicate), given.get(predicate)
            terms: list[Table] = []
            stood: list[Table] = []
            if own_rows is not None and len(own_rows):
                terms.append(own_rows)
                stood.append(own_rows)
            if rows is not None and len(rows):
                arity = rows.shape[1] // 2
                terms.append(rows[:, :arity])
                stood.append(rows[:, arity:])
            if not terms:
                continue
            new, before = np.concatenate(terms), np.concatenate(stood)
            after = equal.of_rows(new)
            stays = (after == before).all(axis=1)
            entering = np.concatenate([new, after], axis=1)
            if rows is not None and len(rows):
                first = len(new) - len(rows)
                hidden.delete(GIVEN + predicate, rows[~stays[first:]])
                entering = np.concatenate([entering[:first], entering[first:][~stays[first:]]])
            hidden.insert(GIVEN + predicate, entering)
            own.delete(predicate, distinct(before[~stays]))
            own.insert(predicate, distinct(after[~stays]))
        return self._update(own, hidden)

    def _note_classes(self, hidden: _Rows, going: Classes, coming: Classes) -> None:
        for target, classes in ((hidden.delete, going), (hidden.insert, coming)):
            for number, members in classes.items():
                target(EQUAL, pairs(members, np.full(len(members), number, np.int32)))

    def _note_constants(self, hidden: _Rows, rows: Table | None, going: Classes, coming: Classes) -> None:
        """Constants of which the representatives change; called before the classes are replaced."""
        if rows is None:
            return
        self.equal.replace(going, coming)
        after = self.equal.of_column(rows[:, 0])
        self.equal.replace(coming, going)
        changed = after != rows[:, 1]
        hidden.delete(DENOTES, rows[changed])
        hidden.insert(DENOTES, pairs(rows[changed, 0], after[changed]))

    def denoting(self, ids: Ids) -> list[Facts]:
        """The facts with which constants get representatives, as far as they have none."""
        if not len(ids):
            return []
        table = pairs(ids, self.equal.of_column(ids))
        table = table[self.engine.find(facts_of(DENOTES, table)) < 0]
        return [facts_of(DENOTES, table)] if len(table) else []

    def _update(self, own: _Rows, hidden: _Rows) -> EncodedUpdate:
        deletions, insertions = (
            [*routed_facts(side, self.layout, self.engine.dictionary), *more]
            for side, more in ((own.deletions, hidden.deletions), (own.insertions, hidden.insertions))
        )
        return EncodedUpdate(deletions, insertions)

    # --- what users see -----------------------------------------------------------------------------

    def mentioning(self, terms: Ids) -> dict[str, Table]:
        """The facts of the engine with these terms, by predicate."""
        return self._by_predicate(mentioning(self.engine, self._program(), terms))


def _given_in(relations: Mapping[str, Table]) -> dict[str, Table]:
    """Rows of `?given P` among others, by predicate."""
    found = relations.items()
    return {name.removeprefix(GIVEN): table for name, table in found if name.startswith(GIVEN)}
