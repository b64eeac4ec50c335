"""`kb.plan()` and `tidalog check --plan`: the plans of a program in the words of its author."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from tidalog.analysis import Analysis
from tidalog.api.naming import user_predicates
from tidalog.io.update_diagnostics import UnknownPredicate
from tidalog.lang.names import full_name
from tidalog.lang.printer import Printer
from tidalog.model.errors import UsageError
from tidalog.model.program import Expression
from tidalog.plan.compile import CompiledProgram
from tidalog.plan.executed import Executed
from tidalog.plan.explain import explain
from tidalog.plan.join_order import Statistics
from tidalog.plan.lowering import is_hidden
from tidalog.plan.program_plan import ProgramPlan

_CHECKSUM: Final = re.compile(r":[0-9a-f]{8}(?=:|$)")
_CONSTRAINT: Final = "#constraint:"


def program_plan(
    program: CompiledProgram,
    name: str | None = None,
    *,
    updates: bool = False,
    statistics: Statistics | None = None,
    executed: Executed | None = None,
) -> ProgramPlan:
    """The plans of a program, or those of one predicate or rule; none for a predicate that no rule derives.
    Raises `UsageError` if nothing has this name."""
    only = None if name is None else _rules_named(name, program.analysis)
    return explain(program, _Writer(program.analysis), statistics, executed, only=only, updates=updates)


def _rules_named(name: str, analysis: Analysis) -> set[str]:
    """The rules of this name, or that derive this predicate."""
    names: dict[str, set[str]] = {}
    for rule in analysis.rules:
        known = {rule.name, rule.name.partition("#")[0]}
        if rule.head is not None:
            known |= {rule.head.predicate, analysis.label(rule.head.predicate)}
        for one in known:
            names.setdefault(one, set()).add(rule.name)
    full = full_name(name, analysis.program.prefixes)
    found = names.get(name) or names.get(full)
    if found is None:
        if {name, full} & user_predicates(analysis).keys():
            return set()
        near = get_close_matches(name, names, 1, 0.6)
        raise UsageError(UnknownPredicate(name=name, hint=f"did you mean {near[0]}?" if near else ""))
    return found


class _Writer:
    """Writes predicates, expressions and rules as the program has them."""

    def __init__(self, analysis: Analysis) -> None:
        self._label, self._printer = analysis.label, Printer(analysis.program.prefixes)
        self._rules = {rule.name: rule.origin for rule in analysis.rules}

    def predicate(self, name: str, /) -> str:
        if name.startswith(_CONSTRAINT):
            return f"constraint {name.removeprefix(_CONSTRAINT)}"
        return _CHECKSUM.sub("", name) if is_hidden(name) else self._label(name)

    def expression(self, expression: Expression, /) -> str:
        return self._printer.expression(expression)

    def rule(self, name: str, /) -> str:
        """On one line and without its name; empty for a rule that the author has not written."""
        rule = self._rules.get(name)
        return " ".join(self._printer.rule(replace(rule, name=None)).split()) if rule is not None else ""
