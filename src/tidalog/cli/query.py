"""`tidalog query`: the answers to one query, as a table or in a file.

JSON: `columns`, `rows`, `count`; with `--output` instead of the rows `wrote`, the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidalog.api.diagnostics import BadCommand
from tidalog.cli.options import SHOWN_ROWS, STANDARD_INPUT, bad_option, read_limit, read_parameters
from tidalog.cli.report import Report, print_answer, result_json
from tidalog.cli.work import Work, prepared
from tidalog.model.amounts import counted
from tidalog.model.errors import UsageError

if TYPE_CHECKING:
    from tidalog.api.results import Result

_HEADING: Final = 2
"""Lines of a table above its rows."""


def split(words: Sequence[str], has_store: bool) -> tuple[list[Path], str]:
    """The programs and the query of a command line; a store brings its program."""
    if has_store and len(words) > 1:
        problem = f"a program, {words[0]}, and --store"
        raise UsageError(BadCommand(problem=problem, hint="a store brings its program: leave the other out"))
    if len(words) > 2:
        problem = f"unexpected argument {words[2]}"
        raise UsageError(BadCommand(problem=problem, hint="put the query in quotes: 'path(a, ?x), ?x != b'"))
    if has_store:
        return [], words[0]
    if len(words) < 2 and _names_a_program(words[0]):
        hint = f"write tidalog query {words[0]} 'path(a, ?x)'"
        raise UsageError(BadCommand(problem="the query is missing", hint=hint))
    if len(words) < 2:
        problem = "a query needs a program or a store"
        hint = f"write tidalog query PROGRAM '{words[0]}', or add --store FOLDER"
        raise UsageError(BadCommand(problem=problem, hint=hint))
    return [Path(words[0])], words[1]


def _names_a_program(word: str) -> bool:
    from tidalog.lang import DIALECTS

    path = Path(word)
    return word == STANDARD_INPUT or path.suffix in {d.suffix for d in DIALECTS.values()} or path.is_file()


def query(
    report: Report, work: Work, text: str, rows: int | None, quiet: bool = False, output: Path | None = None
) -> None:
    given = read_parameters(work.inputs.parameter) if work.store else {}
    if output is not None:
        has_header = _check_output(output)
    with prepared(work, report, text) as kb:
        result = kb.query(text, **given)
    if output is not None:
        from tidalog.io.write import write_table

        write_table(result.in_reading_order().table, output, header=has_header or None)
        report.finish({"columns": list(result.columns), "count": len(result), "wrote": str(output)})
        if not report.as_json and not quiet:
            print(f"wrote {output}, {counted(len(result), 'row')}")
    elif report.as_json:
        report.finish({**result_json(result), "count": len(result)})
    elif quiet and result.columns:
        _print_rows(result, read_limit(rows or 0))
    else:
        print_answer(result, read_limit(SHOWN_ROWS if rows is None else rows))


def _check_output(path: Path) -> bool:
    """Whether the file's format has a header.  An ending that cannot be written is an error before anything
    is derived."""
    from tidalog.io.formats import FORMATS, format_named

    format = format_named(None, path)
    if format.rdf:
        tables = " ".join(ending for one in FORMATS if not one.rdf for ending in one.endings)
        raise bad_option(f"--output {path}", "answers are a table, not triples", f"endings are {tables}")
    return "header" in format.write_options


def _print_rows(result: Result, limit: int | None) -> None:
    for line in islice(result.in_reading_order().lines(limit), _HEADING, None):
        print(line)
