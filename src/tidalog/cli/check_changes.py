"""`tidalog check --rule-change FILE`: what the updates of a script do to the rules, one after the other."""

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
class ToldChanges:
    texts: list[str]
    as_json: list[dict[str, object]]
    picture: GraphPicture
    """The hyper-nodes after all updates, with those marked that the last change of rules reaches."""


def told_changes(report: Report, path: Path, moving: EditedProgram) -> ToldChanges:
    """Makes the changes in `moving`.  Facts of the script are ignored."""
    prefixes = moving.program.prefixes
    texts: list[str] = []
    as_json: list[dict[str, object]] = []
    last: RuleDiff | None = None
    for number, update in enumerate(_updates(report, path, moving), 1):
        if not (update.rules_added or update.rules_removed):
            continue
        last = moving.change(*changed_rules(update))
        report.warn(last.warnings)
        title = f"{path}, update {number}"
        texts.append(describe_rule_change(last, title, moving.analysis.label, prefixes))
        as_json.append({"update": number, **rule_change_json(last, prefixes)})
    if last is None:
        texts.append(f"{path}: no rule changes\n")
    return ToldChanges(texts, as_json, _picture(moving, last))


def _updates(report: Report, path: Path, moving: EditedProgram) -> list[ScriptUpdate]:
    text = read_program_text(path)
    updates, found = read_updates(Source(str(path), text), moving.program.prefixes)
    errors = [diagnostic for diagnostic in found if not diagnostic.is_warning]
    if errors:
        raise ProgramError(errors)
    report.warn(found)
    return updates


def _picture(moving: EditedProgram, last: RuleDiff | None) -> GraphPicture:
    numbers = {name: moving.graph.node_of(name) for name in moving.graph.rules}
    if last is None:
        return GraphPicture(moving.analysis, numbers)
    impacted = frozenset(node.number for node in last.impact.directly_impacted)
    reached = frozenset(node.number for node in last.impact.plan) - impacted
    return GraphPicture(moving.analysis, numbers, impacted, reached)
