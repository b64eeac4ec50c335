"""Sets of facts in which conjunctive queries are answered: `X.eval(Q, Y, σ)` of paper 003, section 4.

A fact is a predicate with a row.  A `FactSet` keeps its facts in the order in which they came, so that an
algorithm that walks over one takes the same steps in every process; an index by predicate and by the value
of one column keeps joins from looking at everything.  A `Difference` is `[Z \\ W]`: it follows both sets as
they change and holds no facts of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidalog.model.program import Atom, Variable
from tidalog.model.terms import Term
from tidalog.reference.matching import Bindings, Row, _unified

Fact = tuple[str, Row]
Bucket = dict[Fact, None]


@dataclass(frozen=True, slots=True)
class QueryAtom:
    """`B` or `B^≠`: an annotated atom takes no fact of the set Y that the query is asked with."""

    atom: Atom
    annotated: bool = False


Query = tuple[QueryAtom, ...]


class Queryable(ABC):
    """What a query can be asked of.  While an answer is being read, the set must not change."""

    @abstractmethod
    def __contains__(self, fact: object) -> bool: ...

    @abstractmethod
    def candidates(self, atom: Atom, bindings: Mapping[Variable, Term]) -> Iterable[Fact]:
        """Facts of the set, among them all that match the atom under the bindings."""

    def eval(self, query: Query, excluded: Container[Fact], sigma: Bindings) -> Iterator[Bindings]:
        """Every smallest extension of σ that matches each atom here, annotated ones outside `excluded`."""
        if not query:
            yield dict(sigma)
            return
        first, rest = query[0], query[1:]
        for fact in self.candidates(first.atom, sigma):
            extended = _unified(first.atom.arguments, fact[1], sigma)
            if extended is not None and not (first.annotated and fact in excluded):
                yield from self.eval(rest, excluded, extended)


class FactSet(Queryable):
    """A set of facts in order of arrival; `add` and `discard` say whether they changed anything."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self._facts: Bucket = {}
        self._by_predicate: dict[str, Bucket] = {}
        self._by_value: dict[tuple[str, int, Term], Bucket] = {}
        for fact in facts:
            self.add(fact)

    def __contains__(self, fact: object) -> bool:
        return fact in self._facts

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def add(self, fact: Fact) -> bool:
        if fact in self._facts:
            return False
        self._facts[fact] = None
        predicate, row = fact
        self._by_predicate.setdefault(predicate, {})[fact] = None
        for column, term in enumerate(row):
            self._by_value.setdefault((predicate, column, term), {})[fact] = None
        return True

    def discard(self, fact: Fact) -> bool:
        if fact not in self._facts:
            return False
        del self._facts[fact]
        predicate, row = fact
        del self._by_predicate[predicate][fact]
        for column, term in enumerate(row):
            del self._by_value[predicate, column, term][fact]
        return True

    def candidates(self, atom: Atom, bindings: Mapping[Variable, Term]) -> Iterable[Fact]:
        """The smallest of the indexed sets that the atom's constants and bound variables point to."""
        smallest = self._by_predicate.get(atom.predicate, {})
        for column, argument in enumerate(atom.arguments):
            term = bindings.get(argument) if isinstance(argument, Variable) else argument
            if term is not None:
                bucket = self._by_value.get((atom.predicate, column, term), {})  # type: ignore[arg-type]
                if len(bucket) < len(smallest):
                    smallest = bucket
        return smallest


@dataclass(frozen=True, slots=True)
class Difference(Queryable):
    """`[Z \\ W]`."""

    facts: FactSet
    without: Container[Fact]

    def __contains__(self, fact: object) -> bool:
        return fact in self.facts and fact not in self.without

    def candidates(self, atom: Atom, bindings: Mapping[Variable, Term]) -> Iterable[Fact]:
        return (fact for fact in self.facts.candidates(atom, bindings) if fact not in self.without)
