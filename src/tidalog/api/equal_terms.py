"""What an engine says about terms that are equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tidalog.analysis import Analysis, NormalRule
from tidalog.analysis.equality import constants_of, derivers_of, equality_atoms, keys_of, named_iris
from tidalog.api.diagnostics import NamesAreEqual
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.delta import PredicateDelta
from tidalog.maintain.equality.relations import Classes, Table, codes, distinct
from tidalog.model.errors import RunError
from tidalog.model.facts import Ids
from tidalog.model.program import Variable
from tidalog.model.terms import IRI

_X, _Y = Variable("x"), Variable("y")


def equal_literals(engine: EmbeddedEngine, analysis: Analysis) -> Iterator[tuple[str, int, int]]:
    """Pairs of different terms that are equal, of which one is a literal, with the name of the equality."""
    relations = _equalities(engine, analysis)
    for name in analysis.program.equalities:
        for table in _different(engine, analysis, [name], relations):
            literal = engine.dictionary.is_literal(table)
            for one, other in table[literal.any(axis=1)].tolist():
                yield name, one, other


def _equalities(engine: EmbeddedEngine, analysis: Analysis) -> dict[str, Table]:
    """The relations that say what is equal."""
    found: dict[str, Table] = {}
    for atom in equality_atoms(analysis.program.equalities, analysis.triples, _X, _Y):
        if engine.has(atom.predicate) and engine.arity(atom.predicate) == len(atom.arguments):
            found[atom.predicate] = _table(engine.columns(atom.predicate))
    return found


def all_pairs(engine: EmbeddedEngine, analysis: Analysis) -> Table:
    """What the engine says is equal and has not been merged."""
    return _pairs(engine, analysis, _equalities(engine, analysis))


def new_pairs(engine: EmbeddedEngine, analysis: Analysis, delta: Mapping[str, PredicateDelta]) -> Table:
    return _pairs(
        engine,
        analysis,
        {
            atom.predicate: _table(delta[atom.predicate].inserted)
            for atom in equality_atoms(analysis.program.equalities, analysis.triples, _X, _Y)
            if atom.predicate in delta
        },
    )


def _pairs(engine: EmbeddedEngine, analysis: Analysis, relations: Mapping[str, Table]) -> Table:
    found = _different(engine, analysis, analysis.program.equalities, relations)
    parts = [table[~engine.dictionary.is_literal(table).any(axis=1)] for table in found]
    return distinct(np.concatenate([np.empty((0, 2), np.int32), *parts]))


def _different(
    engine: EmbeddedEngine, analysis: Analysis, names: Iterable[str], relations: Mapping[str, Table]
) -> Iterator[Table]:
    """The pairs of different terms that equalities have."""
    for atom in equality_atoms(names, analysis.triples, _X, _Y):
        table = relations.get(atom.predicate)
        if table is None or table.shape[1] != len(atom.arguments):
            continue
        if len(atom.arguments) > len("xy"):
            name = atom.arguments[1]
            assert not isinstance(name, Variable)
            table = table[table[:, 1] == engine.dictionary.id_of(name)][:, [0, 2]]
        yield table[table[:, 0] != table[:, 1]]


class GivenPairs:
    """What is equal because of single facts, or of two facts that agree in a key.  Terms of one key are
    joined to the first of them: rules would join each of them to every other one."""

    def __init__(self, engine: EmbeddedEngine, analysis: Analysis) -> None:
        self._engine, self._analysis = engine, analysis
        self.rules = analysis.rules
        atoms = list(equality_atoms(analysis.program.equalities, analysis.triples, _X, _Y))
        rules = [rule for atom in atoms for rule in derivers_of(analysis.rules)(atom.predicate)]
        self._keys = list(keys_of(rules, atoms))
        self.relations = frozenset(atom.predicate for atom in (*atoms, *(key.atom for key in self._keys)))

    def pairs(self, relations: Mapping[str, Table]) -> Table:
        """The pairs of different terms that facts (by relation) make equal."""
        found = [_pairs(self._engine, self._analysis, relations)]
        for key in self._keys:
            table = relations.get(key.atom.predicate)
            if table is None or table.shape[1] != len(key.atom.arguments):
                continue
            for at, argument in enumerate(key.atom.arguments):
                if not isinstance(argument, Variable):
                    table = table[table[:, at] == self._engine.dictionary.id_of(argument)]
            members = table[:, key.member]
            (numbers,) = codes(np.delete(table, key.member, axis=1))
            _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
            found.append(np.stack([members[first[which.reshape(-1)]], members], axis=1))
        table = np.concatenate(found)
        literal = self._engine.dictionary.is_literal(table).any(axis=1)
        return distinct(table[(table[:, 0] != table[:, 1]) & ~literal])

    def of_all(self) -> Table:
        """Of the explicit facts of an engine that has nothing else."""
        engine = self._engine
        names = [name for name in self.relations if engine.count(name)]
        return self.pairs({name: _table(engine.columns(name)) for name in names})


def ids_of_constants(engine: EmbeddedEngine, rules: Iterable[NormalRule]) -> Ids:
    return engine.dictionary.ids_of(constants_of(rules))


def refuse_names(classes: Classes, analysis: Analysis, engine: EmbeddedEngine) -> None:
    """Properties and classes that rules name are equal to nothing else.  Raises `RunError` (T247)."""
    names = {engine.dictionary.id_of(iri): iri for iri in named_iris(analysis.rules, analysis.triples)}
    wrong = np.fromiter(names, np.int32)
    for members in classes.values():
        found = np.intersect1d(members, wrong)
        if len(found):
            one = int(found[0])
            other = engine.dictionary.term(int(next(m for m in members.tolist() if m != one)))
            other_name = analysis.label(other.value) if isinstance(other, IRI) else str(other)
            raise RunError(NamesAreEqual(name=analysis.label(names[one].value), other=other_name))


def _table(columns: Sequence[Ids]) -> Table:
    return np.stack(columns, axis=1)
