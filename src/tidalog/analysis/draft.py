"""The state that the passes work on: rules between text and normal form, and the errors found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidalog.analysis.normal import NormalRule
from tidalog.model.errors import Diagnostic, Span
from tidalog.model.program import Fact, Program, Rule
from tidalog.model.terms import Term
from tidalog.rdf.layout import Layout

ArgumentRange = tuple[int, int | None]
"""The smallest and largest number of arguments of a function; None means no limit."""


@dataclass(frozen=True, slots=True)
class WorkingRule:
    """A rule in the state the passes have brought it to.  `origin` is the rule as the author wrote it, None
    for a generated rule."""

    name: str
    rule: Rule
    origin: Rule | None

    def with_rule(self, rule: Rule) -> WorkingRule:
        return WorkingRule(self.name, rule, self.origin)


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a predicate with a number of arguments, or its declaration."""

    arity: int
    span: Span | None
    declared: bool = False


@dataclass
class Draft:
    """The state between two passes.  A pass replaces fields and appends diagnostics; it never stops later
    passes, so that one run shows all errors of a program."""

    program: Program
    parameters: Mapping[str, Term]
    functions: Mapping[str, ArgumentRange]
    rules: list[WorkingRule] = field(default_factory=list)
    facts: Sequence[Fact] = ()
    layout: Layout = field(default_factory=Layout)
    kept: Layout | None = None
    """The layout that the triples have, of which as much as possible stays."""
    uses: dict[str, Use] = field(default_factory=dict)
    """The first use of every predicate."""
    normal: list[NormalRule] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def report(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    def label(self, predicate: str) -> str:
        return self.layout.label(predicate, self.program.prefixes)
