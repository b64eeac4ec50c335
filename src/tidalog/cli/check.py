"""`tidalog check`: describes a program without reading data and without evaluating it.

JSON: `analysis`, the result of `tidalog.analysis.describe_json`; `strategies`, how each component is
maintained unless an update decides otherwise; and if requested: `graph`, the path of the picture; `keyed`,
the text of the program with a key in every predicate; `volz` and `maintenance_program`, the texts of its
maintenance programs; `rule_changes`, the effect of each update of a script on the rules; `plan`, the plans of
the rules.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tidalog.analysis import Analysis, EditedProgram, GraphFormat, analyse, describe, describe_json
from tidalog.analysis.graph_text import GraphPicture
from tidalog.analysis.keyed import keyed_program
from tidalog.analysis.maintenance_program import volz_program, window_program
from tidalog.analysis.report import columns, shortened_list
from tidalog.api.naming import parameter_terms
from tidalog.api.plans import program_plan
from tidalog.api.sources import check_dialect, read_program_file
from tidalog.cli.options import STANDARD_INPUT, bad_option, read_parameters
from tidalog.cli.report import Report, write_text
from tidalog.cli.rule_changes import rule_changes
from tidalog.engine.functions import is_native
from tidalog.lang import parse_with_warnings, print_program
from tidalog.maintain.default_strategy import DefaultStrategy, default_strategies
from tidalog.model.errors import Diagnostic
from tidalog.model.program import Program
from tidalog.model.terms import Term
from tidalog.plan.compile import compile
from tidalog.rdf.quads import with_union

_PICTURES: Final[dict[str, GraphFormat]] = {
    ".svg": "svg",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".dot": "dot",
    ".gv": "dot",
}


@dataclass(frozen=True, slots=True)
class Rewritings:
    """The programs to print instead of the description, each a program of its own."""

    keyed: bool = False
    volz: bool = False
    maintenance_program: bool = False

    def texts(self, program: Program, parameters: Mapping[str, Term]) -> dict[str, str]:
        """The text of each program, by its key in JSON."""
        found: dict[str, Program] = {}
        if self.keyed:
            found["keyed"] = keyed_program(program, parameters).program
        if self.volz:
            found["volz"] = volz_program(program, parameters)
        if self.maintenance_program:
            found["maintenance_program"] = window_program(program, parameters)
        return {name: print_program(one) for name, one in found.items()}


@dataclass(frozen=True, slots=True)
class PlanOptions:
    name: str | None
    """A predicate or a rule."""
    updates: bool


def check(
    report: Report,
    path: Path,
    dialect: str | None,
    parameters: list[str] | None,
    graph: Path | None,
    rewritings: Rewritings,
    rule_change: Path | None,
    plans: PlanOptions | None = None,
) -> None:
    if graph is not None and graph.suffix.lower() not in _PICTURES:
        raise bad_option(
            f"{graph} has no ending of a picture", f"endings are {' '.join(_PICTURES)}", "write graph.svg"
        )
    given = parameter_terms(read_parameters(parameters))
    program, warnings = _read(path, dialect)
    report.warn(warnings)
    program = with_union(program, program.facts)
    analysis = analyse(program, given)
    report.warn(analysis.warnings)
    compiled = compile(analysis, is_native)
    defaults = default_strategies(compiled)
    rewritten = rewritings.texts(program, given)
    text = _programs(rewritten) if rewritten else describe(analysis) + _strategies(analysis, defaults)
    content: dict[str, object] = {"analysis": describe_json(analysis), **rewritten}
    content["strategies"] = [asdict(one) for one in defaults]
    picture = GraphPicture(analysis)
    if rule_change is not None:
        changes = rule_changes(report, rule_change, EditedProgram(analysis, given))
        content["rule_changes"] = changes.as_json
        text = "\n".join([text, *changes.texts])
        picture = changes.picture
    if plans is not None:
        plan = program_plan(compiled, plans.name, updates=plans.updates)
        content["plan"] = plan.to_dict()
        text = f"{plan}\n"
    if graph is not None:
        write_text(graph, picture.render(_PICTURES[graph.suffix.lower()]))
        content["graph"] = str(graph)
    if report.as_json:
        report.finish(content)
        return
    print(text, end="")
    if graph is not None:
        print(f"\nwrote {graph}")


def _programs(texts: Mapping[str, str]) -> str:
    """One text as it is; several with a comment before each."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "\n".join(f"% {name.replace('_', ' ')}\n{text}" for name, text in texts.items())


def _strategies(analysis: Analysis, defaults: Sequence[DefaultStrategy]) -> str:
    if not defaults:
        return ""
    names = [shortened_list([analysis.label(name) for name in one.predicates]) for one in defaults]
    rows = [
        [f"component {one.component + 1}", name, one.strategy, one.reason]
        for one, name in zip(defaults, names, strict=True)
    ]
    title = "\nmaintained, unless an update decides otherwise, by\n"
    return title + "".join(f"{line}\n" for line in columns(rows))


def _read(path: Path, dialect: str | None) -> tuple[Program, tuple[Diagnostic, ...]]:
    check_dialect(dialect)
    if str(path) == STANDARD_INPUT:
        return parse_with_warnings(sys.stdin.read(), "<stdin>", dialect or "main")
    return read_program_file(path, dialect)
