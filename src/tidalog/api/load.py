"""`Load`: a program and facts to load into a database.

Only the engine has facts.  The analysis gets one *witness* for each predicate and number of arguments that
has explicit facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidalog.analysis import Analysis, analyse
from tidalog.analysis.draft import ArgumentRange
from tidalog.analysis.passes import with_facts
from tidalog.api.bulk_terms import ids_of_many
from tidalog.builtins import PythonFunction
from tidalog.engine.dictionary import Dictionary
from tidalog.lang.sparql.functions import KEPT, RANGES
from tidalog.model.column_types import fitted
from tidalog.model.errors import Diagnostic
from tidalog.model.facts import Facts
from tidalog.model.program import WITNESS, Declaration, Fact, Program
from tidalog.model.registered import Registered
from tidalog.model.terms import Term
from tidalog.rdf.layout import Layout
from tidalog.rdf.quads import with_union

Witness = tuple[str, int]
"""A predicate and its number of arguments."""


@dataclass(frozen=True)
class Environment:
    """What a program gets from outside: values of parameters, and Python functions that rules call.  Those of
    SPARQL are always there, under names that no program can write."""

    parameters: Mapping[str, Term] = field(default_factory=dict)
    functions: Mapping[str, PythonFunction] = field(default_factory=lambda: KEPT)
    arguments: Mapping[str, ArgumentRange] = field(default_factory=lambda: RANGES)
    """How many arguments each function takes."""

    def with_parameters(self, given: Mapping[str, Term]) -> Environment:
        return replace(self, parameters={**self.parameters, **given})

    def with_function(self, name: str, function: PythonFunction, arguments: ArgumentRange) -> Environment:
        functions, ranges = {**self.functions, name: function}, {**self.arguments, name: arguments}
        return replace(self, functions=functions, arguments=ranges)


@dataclass
class Load:
    """A program, and facts to insert.

    Invariant.  `analysis` fits the program, the witnesses and the facts; nothing changes before
    `Database.load`.
    """

    program: Program
    environment: Environment
    witnesses: dict[Witness, Fact]
    analysis: Analysis
    warnings: tuple[Diagnostic, ...] | None = None
    """About the program; None: found on demand."""
    text_facts: Sequence[Fact] = ()
    """Facts of the program's text; they are among `facts` too."""
    facts: list[Facts] = field(default_factory=list)
    admitted: dict[Witness, Fact] = field(default_factory=dict)
    """The witnesses that came with `admit`."""
    facts_only: bool = False
    """Whether it brings facts alone, which change neither rules nor relations."""
    time: int | None = None
    """When its facts arrived, if that is known."""
    accepted: bool = False
    """Whether its facts came early enough for the windows when they were logged."""
    registered: Registered | None = None
    """Other continuous queries, whose rules and windows the program has."""

    @property
    def is_checked(self) -> bool:
        """Whether constraints can refuse it."""
        return bool(self.analysis.constraints)

    def add(self, *facts: Facts) -> None:
        """Adds facts.  Raises `ProgramError` if the program cannot have them."""
        self.facts += facts
        # Of no facts and no columns, not even the number of arguments is known.
        self.admit((part.predicate, len(part.columns)) for part in facts if part.count or part.columns)

    def admit(self, witnesses: Iterable[Witness]) -> None:
        """Predicates may have explicit facts.  Raises `ProgramError` if the program cannot have them.  The
        program is analysed again only if they change its rules or relations."""
        new = {witness: witness_of(*witness) for witness in witnesses if witness not in self.witnesses}
        if new:
            self.witnesses |= new
            self.admitted |= new
            whole = with_union(self.program, new.values())
            found = with_facts(self.analysis, new.values()) if whole is self.program else None
            self.program = whole
            self.warnings = None
            if found is None:
                kept = self.analysis.triples
                found = analysed(self.program, self.environment, self.witnesses, self.text_facts, kept=kept)
                self.warnings, self.facts_only = found.warnings, False
            self.analysis = found


def encoded_facts(
    facts: Sequence[Fact], dictionary: Dictionary, declared: Mapping[str, Declaration]
) -> Iterator[Facts]:
    """Facts of a text, by predicate and number of arguments; they have been checked to fit their
    declarations."""
    grouped: dict[Witness, list[tuple[Term, ...]]] = {}
    for fact in facts:
        grouped.setdefault((fact.predicate, len(fact.arguments)), []).append(fact.arguments)
    for (predicate, arity), rows in grouped.items():
        if predicate in declared:
            rows = [declared_row(row, declared[predicate]) for row in rows]
        columns = [ids_of_many(dictionary, [row[column] for row in rows]) for column in range(arity)]
        yield Facts(predicate, columns, len(rows))


def declared_row(row: tuple[Term, ...], declaration: Declaration) -> tuple[Term, ...]:
    """The arguments of a fact as terms of the declared types, which they fit."""
    return tuple(fitted(term, kind) or term for term, kind in zip(row, declaration.types, strict=True))


def witness_of(predicate: str, arity: int) -> Fact:
    return Fact(predicate, (WITNESS,) * arity)


def analysed(
    program: Program,
    environment: Environment,
    witnesses: Mapping[Witness, Fact],
    facts: Sequence[Fact] = (),
    *,
    kept: Layout | None = None,
) -> Analysis:
    """The analysis of a program with its facts, whose triples have a layout that is kept, if there is one."""
    whole = replace(program, facts=(*witnesses.values(), *facts))
    return analyse(whole, environment.parameters, environment.arguments, kept=kept)
