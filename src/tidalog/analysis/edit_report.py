"""The report of `tidalog check --rule-change` on a rule edit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tidalog.analysis.diagnostics import counted
from tidalog.analysis.edit_impact import ComponentVisit, EditImpact, NodeState
from tidalog.analysis.report import columns, shortened_list
from tidalog.analysis.rule_edit import RuleDiff
from tidalog.lang import print_rule

Label = Callable[[str], str]


def describe_rule_change(change: RuleDiff, title: str, label: Label, prefixes: Mapping[str, str]) -> str:
    """The edit in words.  Hyper-nodes keep their numbers from before the edit; new ones get new numbers.
    `label` gives the author's name for a predicate."""
    graph = change.impact
    lines = [f"{title}: {_headline(change)}"]
    lines += [f"  + {_one_line(print_rule(rule, prefixes))}" for rule in change.added]
    lines += [f"  - {_one_line(print_rule(rule, prefixes))}" for rule in change.removed]
    for there in change.already_there:
        text = _one_line(print_rule(there.rule, prefixes))
        lines.append(f"  = {text}  is there as {there.name}")
    if change.moved_triples:
        lines.append("  some triples are now held in other relations")
    if change:
        lines += ["", "hyper-nodes", *columns(_node_rows(graph))]
        if graph.visits or graph.gone:
            lines += ["", "components in the order of the visit", *columns(_component_rows(graph, label))]
    return "\n".join(lines) + "\n"


def rule_change_json(change: RuleDiff, prefixes: Mapping[str, str]) -> dict[str, object]:
    """The same as JSON."""
    graph = change.impact
    return {
        "added": [{"name": rule.name, "rule": print_rule(rule, prefixes)} for rule in change.added],
        "removed": [{"name": rule.name, "rule": print_rule(rule, prefixes)} for rule in change.removed],
        "already_there": [
            {"rule": print_rule(there.rule, prefixes), "as": there.name} for there in change.already_there
        ],
        "moved_triples": change.moved_triples,
        "merged": [
            {
                "before": _nodes_json(merge.before),
                "rules": list(merge.rules),
                "after": _node_json(merge.after),
            }
            for merge in graph.merges
        ],
        "split": [
            {"before": _node_json(split.before), "after": _nodes_json(split.after)} for split in graph.splits
        ],
        "dropped": _nodes_json(graph.dropped),
        "dirty": _nodes_json(graph.dirty),
        "directly_impacted": _nodes_json(graph.directly_impacted),
        "plan": _nodes_json(graph.plan),
        "components": [
            {
                "predicates": list(visit.predicates),
                "came_from": [list(state.predicates) for state in visit.came_from],
                "rules_added": list(visit.rules_added),
                "rules_removed": list(visit.rules_removed),
                "merged": visit.merged,
                "split": visit.split,
                "recursive": visit.recursive,
                "direct": visit.direct,
            }
            for visit in graph.visits
        ],
        "gone": [list(state.predicates) for state in graph.gone],
        "without_rules": list(graph.without_rules),
    }


def _node_json(node: NodeState) -> dict[str, object]:
    return {"name": node.name, "rules": list(node.rules)}


def _nodes_json(nodes: Iterable[NodeState]) -> list[dict[str, object]]:
    return [_node_json(node) for node in nodes]


def _headline(change: RuleDiff) -> str:
    parts = [
        f"{counted(len(change.added), 'rule')} added" if change.added else "",
        f"{counted(len(change.removed), 'rule')} removed" if change.removed else "",
        f"{len(change.already_there)} already there" if change.already_there else "",
    ]
    return ", ".join(part for part in parts if part) or "no rule changes"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _node(node: NodeState) -> str:
    return f"{node.name} ({shortened_list(node.rules)})"


def _list(nodes: Sequence[NodeState], between: str = ", ") -> str:
    return shortened_list([_node(node) for node in nodes], between) or "none"


def _node_rows(graph: EditImpact) -> list[list[str]]:
    rows = [
        ["merged", f"{' + '.join([*map(_node, merge.before), *merge.rules])} → {_node(merge.after)}"]
        for merge in graph.merges
    ]
    rows += [["split", f"{_node(split.before)} → {_list(split.after)}"] for split in graph.splits]
    if graph.dirty:
        rows.append(["dirty", _list(graph.dirty)])
    if graph.dropped:
        rows.append(["dropped", _list(graph.dropped)])
    rows.append(["directly impacted", _list(graph.directly_impacted)])
    rows.append(["plan", _list(graph.plan, " → ")])
    return rows


def _component_rows(graph: EditImpact, label: Label) -> list[list[str]]:
    without = set(graph.without_rules)
    rows = [
        [shortened_list([label(p) for p in visit.predicates]), ", ".join(_visit(visit, without, label))]
        for visit in graph.visits
    ]
    rows += [
        [shortened_list([label(p) for p in state.predicates]), "in no rule any more"] for state in graph.gone
    ]
    return rows


def _visit(visit: ComponentVisit, without: set[str], label: Label) -> Iterable[str]:
    if not visit.direct:
        return ["reached"]
    sources = "; ".join(shortened_list([label(p) for p in state.predicates]) for state in visit.came_from)
    lost = [label(predicate) for predicate in visit.predicates if predicate in without]
    found = [
        "new" if visit.is_new else "",
        f"merged from {sources}" if visit.merged else "",
        f"split off {sources}" if visit.split and not visit.merged else "",
        f"gains {shortened_list(visit.rules_added)}" if visit.rules_added else "",
        f"loses {shortened_list(visit.rules_removed)}" if visit.rules_removed else "",
        f"no rule is left for {shortened_list(lost)}" if lost else "",
    ]
    return [words for words in found if words]
