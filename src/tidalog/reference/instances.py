"""Rule instances of positive programs: ρ(P, I), matchHead and matchBody of papers 001 and 003.

A rule instance rσ is known by its rule, its head and the facts that its body atoms became: conditions are
tests on these, and a computed value follows from them.  A clause with several body atoms can be matched from
any of them; `match_body` annotates the atoms before the pivot, so that excluding the pivot's facts there
enumerates each instance once.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from tidalog.builtins import NO_FUNCTIONS, CannotCompute, evaluate
from tidalog.model.program import Aggregate, Atom, Call, Program, Variable, variables
from tidalog.reference.clauses import Clause, NotEvaluable, clauses_of
from tidalog.reference.equality import with_equality_rules
from tidalog.reference.fact_sets import Fact, Query, Queryable, QueryAtom
from tidalog.reference.matching import Bindings, Step, _take, _unified, schedule


class NotPositive(NotEvaluable):
    """The program negates or aggregates; the papers' algorithms are stated without either."""


@dataclass(frozen=True, slots=True)
class Instance:
    """rσ; `rule` is the number of the clause."""

    rule: int
    body: tuple[Fact, ...]
    head: Fact


@dataclass(frozen=True, slots=True)
class PositiveClause:
    """`head :- atoms, steps`; every variable of the head is in the atoms or computed by a step."""

    number: int
    head: Atom
    atoms: tuple[Atom, ...]
    steps: tuple[Step, ...]
    columns_from_atoms: tuple[int, ...]
    """The columns of the head that hold a constant or a variable of the atoms."""


@dataclass(frozen=True, slots=True)
class Match:
    """⟨r, Q, σ⟩: what is left to ask so that the clause has `goal` as its head or the pivot in its body."""

    clause: PositiveClause
    query: Query
    sigma: Bindings
    goal: Fact | None = None


class PositiveProgram:
    """The clauses of a program with one head each, found by the predicates of their heads and atoms."""

    def __init__(self, program: Program) -> None:
        clauses = clauses_of(with_equality_rules(program), {})
        rules = [clause for clause in clauses if clause.head is not None]
        self.clauses = tuple(_positive(number, clause) for number, clause in enumerate(rules))
        self._with_head: dict[str, list[PositiveClause]] = {}
        self._with_atom: dict[str, list[tuple[PositiveClause, int]]] = {}
        for clause in self.clauses:
            self._with_head.setdefault(clause.head.predicate, []).append(clause)
            for position, atom in enumerate(clause.atoms):
                self._with_atom.setdefault(atom.predicate, []).append((clause, position))
        self.axioms = frozenset(
            instance.head
            for clause in self.clauses
            if not clause.atoms
            for instance in _instances(Match(clause, (), {}), {})
        )
        """Heads of clauses without atoms: true for any facts."""

    def match_head(self, fact: Fact) -> Iterator[Match]:
        """Π.matchHead(F): each clause that may derive F, with its whole body as the query."""
        predicate, row = fact
        for clause in self._with_head.get(predicate, ()):
            if len(row) == clause.head.arity:
                pattern = tuple(clause.head.arguments[column] for column in clause.columns_from_atoms)
                values = tuple(row[column] for column in clause.columns_from_atoms)
                sigma = _unified(pattern, values, {})
                if sigma is not None:
                    yield Match(clause, tuple(map(QueryAtom, clause.atoms)), sigma, fact)

    def match_body(self, fact: Fact) -> Iterator[Match]:
        """Π.matchBody(F): each body atom that F matches, with the query (9) of paper 003 over the others."""
        predicate, row = fact
        for clause, pivot in self._with_atom.get(predicate, ()):
            sigma = _unified(clause.atoms[pivot].arguments, row, {})
            if sigma is not None:
                before = tuple(QueryAtom(atom, annotated=True) for atom in clause.atoms[:pivot])
                after = tuple(QueryAtom(atom) for atom in clause.atoms[pivot + 1 :])
                yield Match(clause, before + after, sigma)

    def instances(self, facts: Queryable, match: Match, excluded: Container[Fact]) -> Iterator[Instance]:
        """The instances rτ for τ in `facts.eval(Q, excluded, σ)` whose conditions hold."""
        for tau in facts.eval(match.query, excluded, match.sigma):
            yield from _instances(match, tau)

    def deriving(self, facts: Queryable, fact: Fact) -> Iterator[Instance]:
        """The instances of ρ(P, facts) whose head is the fact."""
        for match in self.match_head(fact):
            yield from self.instances(facts, match, ())

    def using(
        self, facts: Queryable, fact: Fact, excluded: Container[Fact] | None = None
    ) -> Iterator[Instance]:
        """The instances with the fact in their body and the other body facts in `facts`; each once if the
        fact is in `facts` and in `excluded`, which is {F} unless said."""
        for match in self.match_body(fact):
            yield from self.instances(facts, match, (fact,) if excluded is None else excluded)

    def rho(self, facts: Queryable) -> Iterator[Instance]:
        """ρ(P, I): every instance whose body is among the facts."""
        for clause in self.clauses:
            yield from self.instances(facts, Match(clause, tuple(map(QueryAtom, clause.atoms)), {}), ())


def _positive(number: int, clause: Clause) -> PositiveClause:
    name = f"rule {clause.rule.name}" if clause.rule.name else "a rule"
    if clause.negations:
        raise NotPositive(f"{name} has a negated atom; this algorithm takes positive programs only")
    if clause.aggregates:
        raise NotPositive(f"{name} has an aggregate; this algorithm takes positive programs only")
    assert clause.head is not None
    in_atoms = {variable for atom in clause.atoms for variable in variables(atom)}
    columns = tuple(
        column
        for column, argument in enumerate(clause.head.arguments)
        if not isinstance(argument, Call) and (not isinstance(argument, Variable) or argument in in_atoms)
    )
    return PositiveClause(number, clause.head, clause.atoms, schedule(clause), columns)


def _instances(match: Match, tau: Bindings) -> Iterator[Instance]:
    """rτ, one for each value of what has several; none if a condition is false, the head cannot be computed
    or is not the goal."""
    clause = match.clause
    body = tuple(_ground(atom, tau) for atom in clause.atoms)
    for bindings in _take(clause.steps, tau, NO_FUNCTIONS):
        try:
            head = _ground(clause.head, bindings)
        except CannotCompute:
            continue
        if match.goal in (None, head):
            yield Instance(clause.number, body, head)


def _ground(atom: Atom, bindings: Bindings) -> Fact:
    row = []
    for argument in atom.arguments:
        assert not isinstance(argument, Aggregate)
        row.append(bindings[argument] if isinstance(argument, Variable) else evaluate(argument, bindings))
    return atom.predicate, tuple(row)
