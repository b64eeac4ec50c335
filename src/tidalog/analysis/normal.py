"""Normal form: the output of the passes and the input of the planner.

A normal rule has one head (or none: a constraint) and a body grouped by kind.  Arguments of atoms are
variables or terms only; every expression has become a computation.  Invariants:

*  every variable of the head, of a negation's shared part, of a test or of a computation's input is bound
   by a positive atom or by an *earlier* computation;
*  the variable of a computation is bound by nothing else: neither by an atom nor by another computation;
*  a variable of a negation that occurs nowhere else in the rule is local to it;
*  the head argument of an aggregate is a variable of its own that does not occur in the body.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidalog.model.program import Expression, Rule, Variable
from tidalog.model.terms import Term

Argument = Variable | Term


@dataclass(frozen=True, slots=True)
class NormalAtom:
    predicate: str
    arguments: tuple[Argument, ...]

    @property
    def variables(self) -> frozenset[Variable]:
        return frozenset(a for a in self.arguments if isinstance(a, Variable))


@dataclass(frozen=True, slots=True)
class Computation:
    """`variable` takes the value of `expression`; if that is undefined, there is no rule instance."""

    variable: Variable
    expression: Expression


@dataclass(frozen=True, slots=True)
class AggregateColumn:
    """`head.arguments[position]` is `operator` over the distinct tuples of `arguments` in the group; the
    group is given by the head's other arguments."""

    position: int
    operator: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class NormalRule:
    name: str
    """Unique in the program: the user's name, or `r3` for the third rule; `name#2` for a second head."""
    head: NormalAtom | None
    atoms: tuple[NormalAtom, ...]
    negations: tuple[NormalAtom, ...] = ()
    computations: tuple[Computation, ...] = ()
    tests: tuple[Expression, ...] = ()
    aggregates: tuple[AggregateColumn, ...] = ()
    origin: Rule | None = field(default=None, compare=False, repr=False)
    lasting: int = 0
    """Microseconds for which the facts of the body must still stay.  Only a rule that copies facts has it."""
