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
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidalog.analysis.rewrite import map_atoms, placed_atoms
from tidalog.analysis.specialise import specialise
from tidalog.model.program import Aggregate, Atom, Call, Condition, Negation, Rule, Variable, flat_literals
from tidalog.model.registered import GIVEN
from tidalog.rdf.bridges import copies_down, is_view, written_atom
from tidalog.rdf.layout import TRIPLE, Layout
from tidalog.rdf.shorthand import lower_atom

S, P, O = S_P_O = Variable("s"), Variable("p"), Variable("o")


def dataset_rules(
    rules: Iterable[Rule],
    asked: Sequence[Rule],
    streams: Sequence[str],
    prefix: str,
    tables: frozenset[str],
    prefixes: Mapping[str, str],
) -> list[Rule]:
    """The rules of queries over a dataset, and those of the dataset that they need; none has a name.

    `rules` are those of the program, `asked` those of the queries, over `triple`; `streams` are predicates
    that have the triples of the windows.
    """
    written = [map_atoms(rule, lambda atom: lower_atom(atom, tables)) for rule in rules if rule.heads]
    fed = [Rule((Atom(TRIPLE, (S, P, O)),), (Atom(stream, (S, P, O)),)) for stream in streams]
    found = specialise([*written, *fed, *asked], tables, prefixes)
    first_asked = len(written) + len(fed)
    own, others = found.rules[first_asked:], [*found.rules[:first_asked], *found.bridges]
    parts = _Parts.of(own, others, streams, found.layout, prefix)
    return [*parts.of_queries(own), *parts.of_dataset(others), *parts.of_background(own, others)]


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

    @classmethod
    def of(
        cls, own: Sequence[Rule], others: Sequence[Rule], streams: Iterable[str], layout: Layout, prefix: str
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
        return cls(layout, names, frozenset(streams), arities, frozenset(_closure(starts, inside)))

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
                if head.predicate in self.names and (changes or head.predicate in self.not_monotone)
            )
            if heads:
                yield self._renamed(replace(rule, heads=heads), heads)

    def of_background(self, own: Iterable[Rule], others: Iterable[Rule]) -> Iterator[Rule]:
        read = {
            atom.predicate
            for rule in (*own, *others)
            if not copies_down(rule.name or "")
            for atom, in_head in placed_atoms(rule)
            if not in_head
        }
        for relation, name in sorted(self.names.items()):
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
