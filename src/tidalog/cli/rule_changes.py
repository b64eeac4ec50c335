"""`tidalog check --rule-change FILE`: the effect of each update of a script on the rules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tidalog.analysis import EditedProgram, RuleDiff
from tidalog.analysis.edit_report import describe_rule_change, rule_change_json
from tidalog.analysis.edit_scripts import changed_rules
from tidalog.analysis.graph_text import GraphPicture
from tidalog.api.sources import read_program_text
from tidalog.cli.report import Report
from tidalog.lang.updates import ScriptUpdate, read_updates
from tidalog.model.errors import ProgramError, Source


@dataclass(frozen=True)
class RuleChangeReport:
    texts: list[str]
    as_json: list[dict[str, object]]
    picture: GraphPicture
    """The hyper-nodes after all updates; those that the last rule edit reaches are marked."""


def rule_changes(report: Report, path: Path, edited: EditedProgram) -> RuleChangeReport:
    """Applies the rule edits of a script to `edited`.  Facts of the script are ignored."""
    prefixes = edited.program.prefixes
    texts: list[str] = []
    as_json: list[dict[str, object]] = []
    last: RuleDiff | None = None
    for number, update in enumerate(_updates(report, path, edited), 1):
        if not (update.rules_added or update.rules_removed):
            continue
        last = edited.change(*changed_rules(update))
        report.warn(last.warnings)
        title = f"{path}, update {number}"
        texts.append(describe_rule_change(last, title, edited.analysis.label, prefixes))
        as_json.append({"update": number, **rule_change_json(last, prefixes)})
    if last is None:
        texts.append(f"{path}: no rule changes\n")
    return RuleChangeReport(texts, as_json, _picture(edited, last))


def _updates(report: Report, path: Path, edited: EditedProgram) -> list[ScriptUpdate]:
    text = read_program_text(path)
    updates, found = read_updates(Source(str(path), text), edited.program.prefixes)
    errors = [diagnostic for diagnostic in found if not diagnostic.is_warning]
    if errors:
        raise ProgramError(errors)
    report.warn(found)
    return updates


def _picture(edited: EditedProgram, last: RuleDiff | None) -> GraphPicture:
    numbers = {name: edited.graph.node_of(name) for name in edited.graph.rules}
    if last is None:
        return GraphPicture(edited.analysis, numbers)
    impacted = frozenset(node.number for node in last.impact.directly_impacted)
    reached = frozenset(node.number for node in last.impact.plan) - impacted
    return GraphPicture(edited.analysis, numbers, impacted, reached)
