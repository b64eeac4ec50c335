"""`ProgramPlan`: the plans of a program as `tidalog check --plan` and `kb.plan()` show them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    operator: str
    text: str
    columns: tuple[int, ...] | None = None
    """Of a probe or an anti-join: the columns of the index, from 0."""
    estimate: float | None = None
    """Rows for each fact scanned, or of all of them; None: the planner had no statistics."""
    rows: int | None = None
    """Rows of the last run from scratch; None: it has not run."""
    new: int | None = None
    """Of emit: facts that were not there before."""


@dataclass(frozen=True, slots=True)
class RulePlan:
    """A rule for one pivot, or the aggregates of a rule."""

    rule: str
    text: str
    pivot: int | None
    """The position of the body atom whose facts are scanned; -1: the head; from -2 down: the negations."""
    per_fact: bool
    """Whether estimates are for each fact scanned: how many there will be is not known."""
    operators: tuple[OperatorPlan, ...]


@dataclass(frozen=True, slots=True)
class StagePlan:
    name: str
    plans: tuple[RulePlan, ...]
    python: tuple[str, ...]
    """Expressions that Python computes."""


@dataclass(frozen=True, slots=True)
class ComponentPlan:
    number: int
    """From 1; constraints come after all components."""
    predicates: tuple[str, ...]
    recursive: bool
    stages: tuple[StagePlan, ...]


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """The plans of a program.  It prints as text."""

    components: tuple[ComponentPlan, ...]

    def to_dict(self) -> dict[str, object]:
        return asdict(self)

    def __str__(self) -> str:
        return _text(list(_lines(self))) or "no rules"

    __repr__ = __str__


_INDENT: Final = "    "  # of operators
_Line = tuple[str, str, str, str]
"""Text, estimate, rows, new facts.  The line of an operator has the first, and the others if it has them."""


def _text(lines: list[_Line]) -> str:
    estimates, rows = any(line[1] for line in lines), any(line[2] for line in lines)
    if not lines or not (estimates or rows):
        return "\n".join(line[0] for line in lines)
    lines[0] = lines[0][0], "estimate" if estimates else "", "rows" if rows else "", ""
    width = max(len(line[0]) for line in lines if line[0].startswith(_INDENT))
    widths = max(width, len(lines[0][0])), *(max(len(line[column]) for line in lines) for column in (1, 2))
    found: list[str] = []
    for text, estimate, row, new in lines:
        cells = text.ljust(widths[0])
        for cell, width in ((estimate, widths[1]), (row, widths[2])):
            cells += f"   {cell.rjust(width)}" if width else ""
        found.append(f"{cells}   {new}".rstrip())
    return "\n".join(found)


def _lines(program: ProgramPlan) -> Iterator[_Line]:
    for component in program.components:
        kind = " (recursive)" if component.recursive else ""
        yield f"component {component.number}: {', '.join(component.predicates)}{kind}", "", "", ""
        written = ""
        for stage in component.stages:
            for plan in stage.plans:
                if plan.rule != written:
                    yield f"  {plan.rule}: {plan.text}" if plan.text else f"  {plan.rule}", "", "", ""
                written = plan.rule
                for operator in plan.operators:
                    yield _line(operator, plan.per_fact)
            for expression in stage.python:
                yield f"{_INDENT}{'compute':9}  {expression}, by Python", "", "", ""


def _line(operator: OperatorPlan, per_fact: bool) -> _Line:
    return (
        f"{_INDENT}{operator.operator:9}  {operator.text}",
        "" if operator.estimate is None else ("×" if per_fact else "") + _number(operator.estimate),
        "" if operator.rows is None else f"{operator.rows:,}",
        "" if operator.new is None else f"{operator.new:,} new",
    )


def _number(estimate: float) -> str:
    return f"{estimate:,.0f}" if estimate >= 10 or estimate == int(estimate) else f"{estimate:.2g}"
