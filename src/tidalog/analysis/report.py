"""The report of `tidalog check` on a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tidalog.analysis.components import Component
from tidalog.analysis.diagnostics import counted
from tidalog.analysis.model import Analysis
from tidalog.analysis.normal import NormalRule
from tidalog.lang.printer import Printer, window_text
from tidalog.model.program import Declaration, Window

MOST_NAMES: Final = 12
"""Longer lists of names are cut short in the text; the JSON form has them all."""


def describe(analysis: Analysis) -> str:
    """Components and hyper-nodes in evaluation order, and what each depends on.  Both are numbered from 1;
    `~` before a number means that it must be complete first, because it is read under a negation or an
    aggregate."""
    lines = [_headline(analysis)]
    lines += columns([_component_row(analysis, component) for component in analysis.components])
    if analysis.constraints:
        lines.append(f"  constraints  {shortened_list([rule.name for rule in analysis.constraints])}")
    if analysis.hyper_nodes:
        lines += ["", "hyper-nodes of the rule graph"]
        lines += columns(_hyper_node_rows(analysis))
    if analysis.program.declarations:
        lines += ["", "declared"]
        lines += columns([_declaration_row(analysis, one) for one in analysis.program.declared.values()])
    if analysis.program.windows:
        lines += ["", "windows"]
        lines += columns([_window_row(analysis, window) for window in analysis.program.windows])
    return "\n".join(lines) + "\n"


def describe_json(analysis: Analysis) -> dict[str, object]:
    """The same as JSON; indices are 0-based positions in the lists."""
    return {
        "program": _program_name(analysis),
        "rules": [
            {
                "name": rule.name,
                "head": None if rule.head is None else rule.head.predicate,
                "reads": sorted({atom.predicate for atom in rule.atoms}),
                "negates": sorted({atom.predicate for atom in rule.negations}),
                "aggregates": [column.operator for column in rule.aggregates],
            }
            for rule in analysis.rules
        ],
        "predicates": [
            {"name": p.name, "arity": p.arity, "explicit": p.explicit, "derived": p.derived}
            for p in sorted(analysis.predicates.values(), key=lambda info: info.name)
        ],
        "components": [
            {
                "index": component.index,
                "predicates": list(component.predicates),
                "rules": [rule.name for rule in component.rules],
                "recursive": component.recursive,
                "stratum": component.stratum,
                "depends_on": sorted(component.positive),
                "depends_negatively_on": sorted(component.negative),
            }
            for component in analysis.components
        ],
        "hyper_nodes": [
            {
                "name": node.name,
                "rules": list(node.rules),
                "predicates": list(node.predicates),
                "recursive": node.recursive,
                "feeds": sorted(node.positive),
                "feeds_negatively": sorted(node.negative),
            }
            for node in analysis.hyper_nodes
        ],
        "declarations": [
            {
                "predicate": one.predicate,
                "columns": [{"name": column.name, "type": column.type} for column in one.columns],
            }
            for one in analysis.program.declared.values()
        ],
        "windows": [
            {
                "name": one.name,
                "source": one.source,
                "kind": one.kind,
                "length": one.length,
                "step": one.step,
                "time": one.time,
            }
            for one in analysis.program.windows
        ],
        "constraints": [rule.name for rule in analysis.constraints],
        "strata": [list(stratum) for stratum in analysis.strata],
        "triple_relations": dict(analysis.triples.properties),
        "class_relations": dict(analysis.triples.classes),
        "warnings": [warning.to_json() for warning in analysis.warnings],
    }


def _program_name(analysis: Analysis) -> str:
    source = analysis.program.source
    return source.name if source is not None else "program"


def _headline(analysis: Analysis) -> str:
    negation = any(rule.negations for rule in analysis.rules)
    aggregation = any(rule.aggregates for rule in analysis.rules)
    parts = [
        counted(len(analysis.program.rules), "rule"),
        counted(len(analysis.predicates), "predicate"),
        "recursive" if any(component.recursive for component in analysis.components) else "not recursive",
        "negation" if negation else "no negation",
    ]
    if aggregation:
        parts.append("aggregates")
    if len(analysis.strata) > 1:
        parts.append(counted(len(analysis.strata), "stratum").replace("stratums", "strata"))
    return f"{_program_name(analysis)}: {', '.join(parts)}"


def _declaration_row(analysis: Analysis, declaration: Declaration) -> list[str]:
    """`reading`, and its columns as they are written."""
    text = Printer().declaration(declaration)
    written = " ".join(text[text.index("(") :].removesuffix(" .").split())
    return [analysis.label(declaration.predicate), written.replace("( ", "(").replace(" )", ")")]


def _window_row(analysis: Analysis, window: Window) -> list[str]:
    """`recent`, its size, and its stream if that has another name."""
    over = f"over {analysis.label(window.source)}" if window.source != window.name else ""
    return [
        analysis.label(window.name),
        window_text(window),
        over,
        f"time {window.time}" if window.time else "",
    ]


def _component_row(analysis: Analysis, component: Component) -> list[str]:
    predicates = [f"{analysis.label(p)}/{analysis.predicates[p].arity}" for p in component.predicates]
    if not component.rules:
        rules = "explicit only"
    elif component.recursive:
        rules = _recursive_rules(component)
    else:
        rules = shortened_list([rule.name for rule in component.rules])
    return [
        f"component {component.index + 1}",
        shortened_list(predicates),
        rules,
        _dependencies("", component.positive, component.negative),
        f"stratum {component.stratum + 1}" if len(analysis.strata) > 1 else "",
    ]


def _recursive_rules(component: Component) -> str:
    """First the rules that start the recursion, then the recursive ones."""
    within = set(component.predicates)

    def goes_round(rule: NormalRule) -> bool:
        return any(atom.predicate in within for atom in rule.atoms)

    start = [rule.name for rule in component.rules if not goes_round(rule)]
    round_ = [rule.name for rule in component.rules if goes_round(rule)]
    before = f"{shortened_list(start)} → " if start else ""
    return f"{before}{shortened_list(round_)} (recursive)"


def _hyper_node_rows(analysis: Analysis) -> list[list[str]]:
    positive: dict[int, set[int]] = {}
    negative: dict[int, set[int]] = {}
    for node in analysis.hyper_nodes:
        for target in node.positive:
            positive.setdefault(target, set()).add(node.index)
        for target in node.negative:
            negative.setdefault(target, set()).add(node.index)
    return [
        [
            node.name,
            shortened_list(node.rules) + (" (recursive)" if node.recursive else ""),
            shortened_list([analysis.label(p) for p in node.predicates]) or "constraint",
            _dependencies("hn", positive.get(node.index, ()), negative.get(node.index, ())),
        ]
        for node in analysis.hyper_nodes
    ]


def _dependencies(start: str, positive: Iterable[int], negative: Iterable[int]) -> str:
    plain, complete = set(positive), set(negative)
    parts = [
        *(f"{start}{at + 1}" for at in sorted(plain - complete)),
        *(f"~{start}{at + 1}" for at in sorted(complete)),
    ]
    return f"depends on {shortened_list(parts, ', ')}" if parts else ""


def shortened_list(names: Sequence[str], between: str = " ") -> str:
    """The names in a row; a long list is cut to the first names, the last one and the number of names."""
    if len(names) <= MOST_NAMES:
        return between.join(names)
    return f"{between.join(names[: MOST_NAMES - 2])}{between}… {names[-1]} ({len(names):,} in all)"


def columns(rows: list[list[str]]) -> list[str]:
    """The rows with aligned columns; one very long cell does not widen its column."""
    if not rows:
        return []
    widths = [min(40, max(len(row[at]) for row in rows)) for at in range(len(rows[0]))]
    return [
        ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]
