"""`tidalog query`: the answers to one query.

JSON: `columns`, `rows`, `count`.
"""

from __future__ import annotations

from pathlib import Path

from tidalog.api.diagnostics import BadCommand
from tidalog.cli.options import read_limit, read_parameters
from tidalog.cli.report import Report, print_answer, result_json
from tidalog.cli.work import Work, prepared
from tidalog.model.errors import UsageError


def split(first: str, second: str | None, has_store: bool) -> tuple[list[Path], str]:
    """The programs and the query of a command line; a store brings its program."""
    if has_store and second is not None:
        problem = f"a program, {first}, and --store"
        raise UsageError(BadCommand(problem=problem, hint="a store brings its program: leave the other out"))
    if has_store:
        return [], first
    if second is None:
        raise UsageError(BadCommand(problem="missing argument 'QUERY'", hint="see tidalog query --help"))
    return [Path(first)], second


def query(report: Report, work: Work, text: str, rows: int) -> None:
    given = read_parameters(work.inputs.parameter) if work.store else {}
    with prepared(work, report, text) as kb:
        result = kb.query(text, **given)
    if report.as_json:
        report.finish({**result_json(result), "count": len(result)})
    else:
        print_answer(result, read_limit(rows))
