"""Property paths.

Sequences, alternatives and inverses are joins and unions, so their solutions are counted.  What `?`, `*` and
`+` repeat has its ends each once: it becomes an automaton whose states are the properties of the path
(Glushkov's construction, no empty steps), and a predicate for each state,

    q|reach1(?from, ?y) :- q|seed(?from), triple(?from, p, ?y) .
    q|reach1(?from, ?z) :- q|reach1(?from, ?y), triple(?y, p, ?z) .

States from which the same is reachable are one.  The search begins at the end that is bound: from a constant
there is no column `?from`, from a variable only its values are seeds, and only if neither end has a value
every node is one.  A path without steps leads from a node of the graph to itself, and from a constant to
itself in any case, as SPARQL defines it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from tidalog.lang.sparql.algebra import (
    Alternative,
    BasicPattern,
    Inverse,
    Negated,
    Node,
    Path,
    Repeated,
    Sequence,
    TriplePattern,
)
from tidalog.lang.sparql.solutions import UNBOUND, Solutions
from tidalog.lang.sparql.triples import Triples
from tidalog.model.errors import Span
from tidalog.model.program import Atom, Call, Condition, FlatLiteral, Variable
from tidalog.model.terms import IRI, Integer, Term


@dataclass(frozen=True, slots=True)
class Step:
    """A state of an automaton: one property, or any but some, forwards or backwards."""

    properties: tuple[IRI, ...]
    negated: bool = False
    inverse: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """A path as sets of states: where it begins and ends, what follows what, whether it may be empty."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    is_empty: bool


class Automaton:
    """The states of a path, by number, and what follows each of them."""

    def __init__(self, path: Path) -> None:
        self.steps: list[Step] = []
        self.follow: list[set[int]] = []
        part = self._read(path, False)
        self.first, self.last, self.may_be_empty = part.first, frozenset(part.last), part.is_empty

    def classes(self) -> list[list[int]]:
        """States that go on alike."""
        found: dict[tuple[frozenset[int], bool], list[int]] = {}
        for state in range(len(self.steps)):
            found.setdefault((frozenset(self.follow[state]), state in self.last), []).append(state)
        return list(found.values())

    def _state(self, step: Step) -> _Part:
        self.steps.append(step)
        self.follow.append(set())
        return _Part((len(self.steps) - 1,), (len(self.steps) - 1,), False)

    def _read(self, path: Path, inverse: bool) -> _Part:
        match path:
            case IRI():
                return self._state(Step((path,), inverse=inverse))
            case Inverse(inner):
                return self._read(inner, not inverse)
            case Negated(forwards, backwards):
                given = ((forwards, inverse), (backwards, not inverse))
                return _either(
                    [self._state(Step(iris, True, back)) for iris, back in given if iris is not None]
                )
            case Alternative(paths):
                return _either([self._read(one, inverse) for one in paths])
            case Sequence(steps):
                parts = [self._read(one, inverse) for one in (reversed(steps) if inverse else steps)]
                whole = parts[0]
                for part in parts[1:]:
                    self._connect(whole.last, part.first)
                    whole = _Part(
                        whole.first + part.first if whole.is_empty else whole.first,
                        part.last + whole.last if part.is_empty else part.last,
                        whole.is_empty and part.is_empty,
                    )
                return whole
            case Repeated(inner, may_be_empty, is_unlimited):
                part = self._read(inner, inverse)
                if is_unlimited:
                    self._connect(part.last, part.first)
                return _Part(part.first, part.last, part.is_empty or may_be_empty)

    def _connect(self, before: Iterable[int], after: Iterable[int]) -> None:
        for state in before:
            self.follow[state].update(after)


def _either(parts: list[_Part]) -> _Part:
    first, last = (
        tuple(chain.from_iterable(ends)) for ends in zip(*((p.first, p.last) for p in parts), strict=True)
    )
    return _Part(first, last, any(part.is_empty for part in parts))


class Paths:
    """Basic patterns, with paths."""

    def __init__(self, triples: Triples) -> None:
        self.triples, self.rules = triples, triples.rules

    def basic(self, before: Solutions, pattern: BasicPattern, given: tuple[Atom, ...] = ()) -> Solutions:
        """The solutions of a basic pattern that go with those before it.  `given` are literals that its
        variables must also match.  Blank nodes are variables that nothing else sees."""
        hidden: dict[Variable, Variable] = {}

        def visible(node: Node) -> Node:
            if not (isinstance(node, Variable) and node.anonymous):
                return node
            if node not in hidden:
                hidden[node] = self.rules.fresh("node")
            return hidden[node]

        literals: list[FlatLiteral] = [*given]
        columns: dict[Variable, None] = dict.fromkeys(self.triples.context if pattern.triples else ())
        paths: list[TriplePattern] = []
        for triple in pattern.triples:
            start = TriplePattern(
                visible(triple.subject), triple.predicate, visible(triple.object), triple.span
            )
            for step in self._steps(start, hidden):
                if isinstance(step.predicate, Term | Variable):
                    nodes = step.subject, step.predicate, step.object
                    literals += self.triples.match(*nodes, step.span)
                    columns.update((node, None) for node in nodes if isinstance(node, Variable))
                else:
                    paths.append(step)
        found = before
        if literals or not paths:
            found = self.rules.join(before, Solutions(tuple(literals), tuple(columns), frozenset(columns)))
        while paths:
            path = min(paths, key=lambda one: _freedom(one, found))
            paths.remove(path)
            found = self.path(found, path)
        return found if self.triples.counted else found.without(hidden.values())

    def _steps(self, triple: TriplePattern, hidden: dict[Variable, Variable]) -> Iterator[TriplePattern]:
        """A triple pattern without sequences and inverses."""
        match triple.predicate:
            case Inverse(path):
                yield from self._steps(
                    TriplePattern(triple.object, path, triple.subject, triple.span), hidden
                )
            case Sequence(steps):
                nodes = [self.rules.fresh("node") for _ in steps[1:]]
                hidden.update((node, node) for node in nodes)
                ends: list[Node] = [triple.subject, *nodes, triple.object]
                for start, step, end in zip(ends, steps, ends[1:], strict=False):
                    yield from self._steps(TriplePattern(start, step, end, triple.span), hidden)
            case _:
                yield triple

    def path(self, before: Solutions, triple: TriplePattern) -> Solutions:
        """The solutions before it, with the ends of a path."""
        path, ends = triple.predicate, (triple.subject, triple.object)
        match path:
            case Alternative(paths):
                before = self.shared(before)
                one = (TriplePattern(ends[0], path, ends[1], triple.span) for path in paths)
                parts = [self.basic(before, BasicPattern((triple,))) for triple in one]
                return self.united(parts, "union")
            case Negated(forwards, backwards):
                before, parts = self.shared(before), []
                for step in (
                    Step(forwards, True) if forwards is not None else None,
                    Step(backwards, True, True) if backwards is not None else None,
                ):
                    if step is not None:
                        used = self.rules.fresh("property")
                        literals = self._one_step(step, *ends, used, triple.span)
                        columns = tuple(dict.fromkeys((*self.triples.context, *_variables(ends), used)))
                        part = Solutions(literals, columns, frozenset(columns))
                        part = part if self.triples.counted else part.without((used,))
                        parts.append(self.rules.join(before, part))
                return parts[0] if len(parts) == 1 else self.united(parts, "union")
            case Repeated():
                return self._closure(before, *ends, path, triple.span)
        raise AssertionError(path)

    def shared(self, before: Solutions) -> Solutions:
        """The same solutions in a form that may be used several times."""
        return self.rules.stored(before, "before") if before.body else before

    def united(self, parts: list[Solutions], kind: str) -> Solutions:
        columns = tuple(dict.fromkeys(v for part in parts for v in part.columns))
        certain = frozenset.intersection(*(part.certain for part in parts))
        name = self.rules.helper(kind)
        tags: tuple[Variable, ...] = (self.rules.fresh("branch"),) if self.triples.counted else ()
        for number, part in enumerate(parts, 1):
            values = [v if v in part.columns else UNBOUND for v in columns]
            self.rules.add(name, [*values, *(Integer(number) for _ in tags)], part.body)
        return Solutions((Atom(name, (*columns, *tags)),), (*columns, *tags), certain.union(tags))

    def _one_step(
        self, step: Step, start: Node, end: Node, used: Variable | None = None, span: Span | None = None
    ) -> tuple[FlatLiteral, ...]:
        if step.inverse:
            start, end = end, start
        if not step.negated:
            return self.triples.match(start, step.properties[0], end, span)
        used = used or self.rules.fresh("property")
        others = (Condition(Call("!=", (used, iri))) for iri in step.properties)
        return (*self.triples.match(start, used, end, span), *others)

    # --- repetitions --------------------------------------------------------------------------------

    def _closure(
        self, before: Solutions, subject: Node, object_: Node, path: Path, span: Span | None
    ) -> Solutions:
        if _rank(object_, before) < _rank(subject, before):
            subject, object_, path = object_, subject, Inverse(path)
        automaton = Automaton(path)
        source = self.rules.fresh("from") if isinstance(subject, Variable) else subject
        key = (*self.triples.context, *_variables((source,)))
        seeds: tuple[Atom, ...] = ()
        if isinstance(subject, Variable) and subject in before.certain:
            is_checked = automaton.may_be_empty and not self.triples.is_node(subject, before)
            before = self.shared(before)
            seeds = self._seeds(before, subject, key, is_checked)
        node, after = self.rules.fresh("here"), self.rules.fresh("there")
        names: dict[int, str] = {}
        for states in automaton.classes():
            name = self.rules.helper("reach")
            names.update(dict.fromkeys(states, name))
        for state in automaton.first:
            step = self._one_step(automaton.steps[state], source, after, span=span)
            self.rules.add(names[state], (*key, after), (*seeds, *step))
        rules: set[tuple[str, Step, str]] = set()
        for state, following in enumerate(automaton.follow):
            for next_ in sorted(following):
                rule = names[state], automaton.steps[next_], names[next_]
                if rule not in rules:
                    rules.add(rule)
                    step = self._one_step(automaton.steps[next_], node, after, span=span)
                    self.rules.add(names[next_], (*key, after), (Atom(names[state], (*key, node)), *step))
        finals = list(dict.fromkeys(names[state] for state in sorted(automaton.last)))
        if automaton.may_be_empty or len(finals) > 1:
            whole = self.rules.helper("path")
            for name in finals:
                self.rules.add(whole, (*key, node), (Atom(name, (*key, node)),))
            if automaton.may_be_empty:
                self._add_empty(whole, key, source, seeds)
            finals = [whole]
        ends = (*self.triples.context, *_variables((subject,)), object_)
        columns = tuple(dict.fromkeys(_variables(ends)))
        return self.rules.join(before, Solutions((Atom(finals[0], ends),), columns, frozenset(columns)))

    def _add_empty(
        self, whole: str, key: tuple[Variable, ...], source: Node, seeds: tuple[Atom, ...]
    ) -> None:
        """The path without a step: from every node, unless it is known where paths begin."""
        bodies: list[tuple[FlatLiteral, ...]] = [seeds]
        if not isinstance(source, Variable):
            bodies = [self.triples.graphs().body]
        elif not seeds:
            bodies = [self._touching(source, end) for end in (0, 1)]
        for body in bodies:
            self.rules.add(whole, (*key, source), body)

    def _seeds(
        self, before: Solutions, subject: Variable, key: tuple[Variable, ...], is_checked: bool
    ) -> tuple[Atom, ...]:
        """The values of a variable, at which a search begins; `is_checked`: only nodes of the graph."""
        name = self.rules.helper("seed")
        graphs = () if set(self.triples.context).issubset(before.columns) else self.triples.graphs().body
        more = [self._touching(subject, end) for end in (0, 1)] if is_checked else [()]
        for literals in more:
            self.rules.add(name, (*self.triples.context, subject), (*before.body, *graphs, *literals))
        return (Atom(name, key),)

    def _touching(self, node: Variable, end: int) -> tuple[FlatLiteral, ...]:
        """The triples with a node at one end."""
        verb, other = self.rules.fresh("any"), self.rules.fresh("any")
        return self.triples.match(other, verb, node) if end else self.triples.match(node, verb, other)


def _variables(nodes: Iterable[Node]) -> tuple[Variable, ...]:
    return tuple(node for node in nodes if isinstance(node, Variable))


def _rank(node: Node, before: Solutions) -> int:
    """Constants first, then variables that have a value."""
    if not isinstance(node, Variable):
        return 0
    return 1 if node in before.certain else 2


def _freedom(triple: TriplePattern, before: Solutions) -> tuple[int, int]:
    ends = sorted((_rank(triple.subject, before), _rank(triple.object, before)))
    return ends[0], ends[1]
