"""What the passes work on: rules on their way from the text to normal form, and what was found wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidalog.analysis.normal import NormalRule
from tidalog.model.errors import Diagnostic, Span
from tidalog.model.program import Fact, Program, Rule
from tidalog.model.terms import Term
from tidalog.rdf.layout import Layout

ArgumentRange = tuple[int, int | None]
"""Least and greatest number of arguments of a function; None is any number."""


@dataclass(frozen=True, slots=True)
class WorkingRule:
    """A rule as the passes have left it so far.  `origin` is what the author wrote, None for a rule that
    no author wrote."""

    name: str
    rule: Rule
    origin: Rule | None

    def with_rule(self, rule: Rule) -> WorkingRule:
        return WorkingRule(self.name, rule, self.origin)


@dataclass(frozen=True, slots=True)
class Use:
    """One place where a predicate has a number of arguments."""

    arity: int
    span: Span | None


@dataclass
class Draft:
    """The state between two passes.  A pass replaces fields and appends diagnostics; it never stops the
    ones after it, so that all errors of a program show in one run."""

    program: Program
    parameters: Mapping[str, Term]
    functions: Mapping[str, ArgumentRange]
    rules: list[WorkingRule] = field(default_factory=list)
    facts: Sequence[Fact] = ()
    layout: Layout = field(default_factory=Layout)
    kept: Layout | None = None
    """Where triples are to stay, whatever rules speak of."""
    uses: dict[str, Use] = field(default_factory=dict)
    """The first use of every predicate."""
    normal: list[NormalRule] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def report(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    def label(self, predicate: str) -> str:
        return self.layout.label(predicate, self.program.prefixes)
