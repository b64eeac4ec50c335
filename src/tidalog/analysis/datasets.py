"""What follows from background knowledge and windows of RDF streams together, as rules.

Triples of the knowledge base are the background, and no slide of a window touches them.  A *dataset* is the
background with some windows: relations of its own, under names with a prefix, for everything that depends on
the windows and that a query needs.

    D|ex:p(?s, ?o)        :- triple(?s, ex:p, ?o) .        what follows from the background alone
    D|triple(?s, ?p, ?o)  :- window(?s, ?p, ?o) .          what is in a window
    D|ex:p(?x, ?z)        :- D|ex:p(?x, ?y), D|ex:p(?y, ?z) .      the rules of the program, renamed

Triples of a dataset are held in relations by property and class, as those of the program are
(`rdf.layout`); so its rules are stratified where they are over the background.

If a rule negates or aggregates what depends on a window, what follows from the background alone may not
follow from both.  What such rules derive, and what depends on it, starts from the explicit facts of the
background, which `PREDICATE|given` has.

Several datasets whose windows differ by one length (`shared_windows`) can share what follows: a relation is
derived over the longest windows for which a query needs it, and what is read of it over shorter ones is
bounded.

    D10|ex:p(?s, ?o)      :- D60|ex:p(?s, ?o) .            which stays for another 50 s
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tidalog.analysis.rewrite import map_atoms, placed_atoms
from tidalog.analysis.shared_windows import are_positive, is_join
from tidalog.analysis.specialise import specialise
from tidalog.model.program import (
    Aggregate,
    Atom,
    Call,
    Condition,
    Expression,
    Negation,
    Rule,
    Variable,
    flat_literals,
)
from tidalog.model.registered import GIVEN
from tidalog.rdf.bridges import copies_down, is_view, written_atom
from tidalog.rdf.layout import TRIPLE, Layout
from tidalog.rdf.shorthand import lower_atom

S, P, O = S_P_O = Variable("s"), Variable("p"), Variable("o")


@dataclass(frozen=True)
class Dataset:
    """Queries over the same windows."""

    asked: Sequence[Rule]
    """Their rules, over `triple`."""
    streams: Sequence[str]
    """Predicates that have the triples of the windows."""
    prefix: str
    """That of its relations."""
    lasting: int = 0
    """How much longer the first of several datasets has what comes."""


def dataset_rules(
    rules: Iterable[Rule],
    datasets: Sequence[Dataset],
    tables: frozenset[str],
    prefixes: Mapping[str, str],
    timed: Iterable[str],
    is_native: Callable[[Expression], bool],
) -> list[Rule]:
    """The rules of queries over datasets, and those of the datasets that they need; none has a name.  Each
    relation is derived over the longest windows for which a query needs it, if the others can read it there.

    `rules` are those of the program, `timed` the predicates whose facts go by time; `is_native` says whether
    compiled code computes an expression.  The datasets come in the order of their lengths, the longest first.
    """
    streams = datasets[0].streams
    written = [map_atoms(rule, lambda atom: lower_atom(atom, tables)) for rule in rules if rule.heads]
    fed = [Rule((Atom(TRIPLE, (S, P, O)),), (Atom(stream, (S, P, O)),)) for stream in streams]
    asked = [rule for dataset in datasets for rule in dataset.asked]
    found = specialise([*written, *fed, *asked], tables, prefixes)
    first_asked = len(written) + len(fed)
    own, lower = found.rules[first_asked:], [*found.rules[:first_asked], *found.bridges]
    entries = {head.predicate for rule in found.rules[len(written) : first_asked] for head in rule.heads}
    joined = {head.predicate for rule in lower if is_join(rule) for head in rule.heads}
    longer: dict[str, _Longer] = {}
    result, can_share, pays = list[Rule](), True, False
    at = 0
    for dataset in datasets:
        queries = own[at : at + len(dataset.asked)]
        at += len(queries)
        parts = _Parts.of(queries, lower, streams, found.layout, dataset.prefix, longer)
        derived = [*parts.of_dataset(lower), *parts.of_background(own, lower)]
        reading = [*parts.of_queries(queries), *derived]
        result += [*reading, *parts.of_longer(reading, longer, dataset.lasting)]
        if len(datasets) > 1:
            can_share &= dataset is datasets[0] or parts.derived.isdisjoint(entries)
            can_share &= are_positive(derived, is_native) and parts.read_no_others(lower, timed)
            pays |= not joined.isdisjoint(parts.names.keys() - parts.derived)
        longer |= {name: _Longer(parts.names[name], dataset.lasting) for name in parts.derived}
    if len(datasets) > 1 and not (can_share and pays):
        apart = (dataset_rules(rules, [one], tables, prefixes, timed, is_native) for one in datasets)
        return [rule for found_rules in apart for rule in found_rules]
    return result


class _Longer(NamedTuple):
    """A relation of a dataset with longer windows."""

    name: str
    lasting: int
    """That of the dataset."""


@dataclass(frozen=True)
class _Parts:
    """Which relations a dataset has, and what they are called."""

    layout: Layout
    names: Mapping[str, str]
    """Relation → its counterpart in the dataset."""
    streams: frozenset[str]
    arities: Mapping[str, int]
    not_monotone: frozenset[str]
    """Relations of which a fact of the background may not hold in the dataset."""
    needed: frozenset[str]
    """All that queries depend on."""
    derived: frozenset[str]
    """The relations that rules derive in this dataset; the others are those of longer windows."""

    @classmethod
    def of(
        cls,
        own: Sequence[Rule],
        others: Sequence[Rule],
        streams: Iterable[str],
        layout: Layout,
        prefix: str,
        longer: Container[str],
    ) -> _Parts:
        every = [*own, *others]
        answers = {head.predicate for rule in own for head in rule.heads}
        changing = _closure(streams, _edges(every, lambda head, body: (body, head)))
        needed = _closure(answers, _edges(every, lambda head, body: (head, body)))
        copied = (changing & needed) - answers - set(streams)
        renamed = layout.renamed(prefix)
        names = {name: renamed.get(name, f"{prefix}{name}") for name in copied}
        arities = {atom.predicate: atom.arity for rule in every for atom, _ in placed_atoms(rule)}
        starts = {
            head.predicate
            for rule in others
            if _is_complete_over(rule, copied)
            for head in rule.heads
            if head.predicate in copied
        }
        inside = (e for e in _edges(others, lambda head, body: (body, head)) if copied.issuperset(e))
        not_monotone = frozenset(_closure(starts, inside))
        derived = frozenset(name for name in names if name not in longer)
        return cls(layout, names, frozenset(streams), arities, not_monotone, frozenset(needed), derived)

    def of_queries(self, own: Iterable[Rule]) -> Iterator[Rule]:
        return (self._renamed(rule, rule.heads) for rule in own)

    def of_dataset(self, others: Iterable[Rule]) -> Iterator[Rule]:
        """What follows from unchanging relations alone is in the background already."""
        for rule in others:
            read = {atom.predicate for atom, in_head in placed_atoms(rule) if not in_head}
            changes = not read.isdisjoint(self.names) or not read.isdisjoint(self.streams)
            heads = tuple(
                head
                for head in rule.heads
                if head.predicate in self.derived and (changes or head.predicate in self.not_monotone)
            )
            if heads:
                yield self._renamed(replace(rule, heads=heads), heads)

    def read_no_others(self, rules: Iterable[Rule], timed: Iterable[str]) -> bool:
        """Whether nothing but the windows of the dataset lets its facts go by time: no background does."""
        edges = _edges(rules, lambda head, body: (body, head))
        expiring = _closure(timed, (edge for edge in edges if edge[0] not in self.streams))
        return self.needed.isdisjoint(expiring - self.streams)

    def of_longer(self, rules: Iterable[Rule], longer: Mapping[str, _Longer], lasting: int) -> Iterator[Rule]:
        """What rules of the dataset read that is derived over longer windows."""
        read = {atom.predicate for rule in rules for atom, in_head in placed_atoms(rule) if not in_head}
        for relation in sorted(self.names.keys() - self.derived):
            arguments = tuple(Variable(f"a{n}") for n in range(self.arities[relation]))
            head, source = Atom(self.names[relation], arguments), longer[relation]
            if head.predicate in read:
                body = Atom(source.name, arguments)
                yield Rule((head,), (body,), lasting=lasting - source.lasting)

    def of_background(self, own: Iterable[Rule], others: Iterable[Rule]) -> Iterator[Rule]:
        read = {
            atom.predicate
            for rule in (*own, *others)
            if not copies_down(rule.name or "")
            for atom, in_head in placed_atoms(rule)
            if not in_head
        }
        for relation in sorted(self.derived):
            name = self.names[relation]
            if is_view(relation) or (relation == TRIPLE and relation not in read):
                continue  # a view has what its relations have; what nothing else reads is copied below
            arguments = tuple(Variable(f"a{n}") for n in range(self.arities[relation]))
            body = written_atom(Atom(relation, arguments), self.layout)
            if relation in self.not_monotone:
                body = replace(body, predicate=body.predicate + GIVEN)
                yield Rule((Atom(name, arguments),), (body,))
            else:
                yield Rule((Atom(name, arguments),), (body, *self._others_than_not_monotone(relation, body)))

    def _others_than_not_monotone(self, relation: str, atom: Atom) -> Iterator[Condition]:
        """A general relation starts without the triples of special ones that may not hold."""
        if relation not in (TRIPLE, self.layout.types) or atom.arity != len(S_P_O):
            return
        _, property_, object_ = atom.arguments
        for special in sorted(self.not_monotone):
            origin = self.layout.origin(special)
            if origin is None:
                continue
            parts = [] if relation == self.layout.types else [Call("!=", (property_, origin.property))]
            if origin.class_ is not None:
                parts.append(Call("!=", (object_, origin.class_)))
            elif relation == self.layout.types:
                continue
            yield Condition(parts[0] if len(parts) == 1 else Call("OR", tuple(parts)))

    def _renamed(self, rule: Rule, heads: tuple[Atom, ...]) -> Rule:
        changed = map_atoms(rule, self._atom)
        return replace(changed, heads=tuple(map(self._atom, heads)), name=None)

    def _atom(self, atom: Atom) -> Atom:
        name = self.names.get(atom.predicate)
        return written_atom(atom, self.layout) if name is None else replace(atom, predicate=name)


def given_predicates(rules: Iterable[Rule]) -> frozenset[str]:
    """The predicates whose explicit facts some rules read."""
    names = (atom.predicate for rule in rules for atom, in_head in placed_atoms(rule) if not in_head)
    return frozenset(name.removesuffix(GIVEN) for name in names if name.endswith(GIVEN))


def _edges(
    rules: Iterable[Rule], direction: Callable[[str, str], tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    for rule in rules:
        for atom, in_head in placed_atoms(rule):
            if not in_head:
                yield from (direction(head.predicate, atom.predicate) for head in rule.heads)


def _closure(start: Iterable[str], edges: Iterable[tuple[str, str]]) -> set[str]:
    """Everything that edges lead to."""
    following: dict[str, list[str]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    found, stack = set(start), list(start)
    while stack:
        for target in following.get(stack.pop(), ()):
            if target not in found:
                found.add(target)
                stack.append(target)
    return found


def _is_complete_over(rule: Rule, changing: Collection[str]) -> bool:
    """Whether a rule negates or aggregates what changes."""
    aggregates = any(isinstance(a, Aggregate) for head in rule.heads for a in _nodes(head))
    for literal in flat_literals(rule.body):
        if isinstance(literal, Negation) and literal.atom.predicate in changing:
            return True
        if aggregates and isinstance(literal, Atom) and literal.predicate in changing:
            return True
    return False


def _nodes(atom: Atom) -> Iterator[object]:
    stack: list[object] = list(atom.arguments)
    while stack:
        node = stack.pop()
        yield node
        stack.extend(getattr(node, "arguments", ()))
