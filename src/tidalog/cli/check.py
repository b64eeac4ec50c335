"""`tidalog check`: what a program says, without any data and without evaluating it.

JSON: `analysis`, as `tidalog.analysis.describe_json` gives it; `graph`, the path of the picture, if any;
`keyed`, the text of the program with a key in every predicate, if that was asked for.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tidalog.analysis import GraphFormat, analyse, describe, describe_json, render_graph
from tidalog.analysis.keyed import keyed_program
from tidalog.cli.options import STANDARD_INPUT, bad_option, read_pairs
from tidalog.cli.report import Report
from tidalog.cli.run import write_text
from tidalog.errors import Diagnostic
from tidalog.lang import parse_with_warnings, print_program
from tidalog.program import Program
from tidalog.session.naming import parameter_terms
from tidalog.session.sources import check_dialect, read_program_file

_PICTURES: Final[dict[str, GraphFormat]] = {
    ".svg": "svg",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".dot": "dot",
    ".gv": "dot",
}


def check(
    report: Report,
    path: Path,
    dialect: str | None,
    parameters: list[str] | None,
    graph: Path | None,
    keyed: bool,
) -> None:
    if graph is not None and graph.suffix.lower() not in _PICTURES:
        raise bad_option(
            f"{graph} has no ending of a picture", f"endings are {' '.join(_PICTURES)}", "write graph.svg"
        )
    given = parameter_terms(dict(read_pairs(parameters, "--parameter", "--parameter limit=10")))
    program, warnings = _read(path, dialect)
    report.warn(warnings)
    analysis = analyse(program, given)
    report.warn(analysis.warnings)
    if graph is not None:
        write_text(graph, render_graph(analysis, _PICTURES[graph.suffix.lower()]))
    text = print_program(keyed_program(program, given).program) if keyed else None
    if report.as_json:
        more = {"graph": str(graph)} if graph is not None else {}
        more |= {"keyed": text} if text is not None else {}
        report.finish({"analysis": describe_json(analysis), **more})
        return
    print(describe(analysis) if text is None else text, end="")
    if graph is not None:
        print(f"\nwrote {graph}")


def _read(path: Path, dialect: str | None) -> tuple[Program, tuple[Diagnostic, ...]]:
    check_dialect(dialect)
    if str(path) == STANDARD_INPUT:
        return parse_with_warnings(sys.stdin.read(), "<stdin>", dialect or "main")
    return read_program_file(path, dialect)
