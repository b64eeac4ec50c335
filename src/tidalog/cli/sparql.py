"""`tidalog sparql`: the result of a SPARQL query, as a table or in a format of SPARQL 1.1 or RDF.

JSON (`--json`): that of `tidalog query`; for ASK `answer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidalog.api.diagnostics import BadCommand
from tidalog.cli.options import SHOWN_ROWS, bad_option, read_limit, read_text
from tidalog.cli.report import Report, print_answer, result_json
from tidalog.cli.work import Work, prepared
from tidalog.model.errors import UsageError

if TYPE_CHECKING:
    from tidalog.api.sparql_results import Solutions, Triples, Truth

TABLE: Final = "table"
FORMATS: Final = (TABLE, "json", "csv", "tsv", "xml", "nt", "ttl")
_OF_TRIPLES: Final = ("nt", "ttl")


@dataclass(frozen=True)
class Words:
    """What a command line names: programs, or a store; files of triples; the text of the query."""

    programs: list[Path]
    store: Path | None
    data: list[Path]
    text: str


def split(words: Sequence[str], file: Path | None) -> Words:
    """The first word is a program, a store or data; further ones are data; the last is the query, unless a
    file has it."""
    from tidalog.api.open_store import is_store

    files, text = list(words), ""
    if file is not None:
        text = read_text(file, "a query")
    elif files:
        text = files.pop()
    if not files:
        problem = "the query is missing" if text == "" else "a query needs a program, a store or data"
        hint = "write tidalog sparql PROGRAM_OR_STORE 'SELECT ?x { ?x a ?class }', or -f query.rq"
        raise UsageError(BadCommand(problem=problem, hint=hint))
    first, *rest = map(Path, files)
    if is_store(first):
        if rest:
            problem = f"data, {rest[0]}, and a store, {first}"
            raise UsageError(BadCommand(problem=problem, hint="a query does not change a store"))
        return Words([], first, [], text)
    if _is_data(first):
        return Words([], None, [first, *rest], text)
    return Words([first], None, rest, text)


def _is_data(path: Path) -> bool:
    from tidalog.io.formats import FORMATS

    name = path.name.lower()
    return any(ending in name for one in FORMATS if one.rdf for ending in one.endings)


def sparql(report: Report, work: Work, text: str, format: str, rows: int | None) -> None:
    if format not in FORMATS:
        raise bad_option(f"--format {format}", "it is not known", f"formats are {', '.join(FORMATS)}")
    with prepared(work, report, text) as kb:
        result = kb.sparql(text)
    if report.as_json:
        report.finish(_json(result))
    elif format == TABLE:
        print_answer(result, read_limit(SHOWN_ROWS if rows is None else rows))
    else:
        _check(result, format)
        print(result.to_text(format), end="")


def _check(result: Solutions | Truth | Triples, format: str) -> None:
    from tidalog.api.sparql_results import Triples

    if isinstance(result, Triples) != (format in _OF_TRIPLES):
        of_triples = isinstance(result, Triples)
        what, known = ("triples", "nt, ttl") if of_triples else ("a table", "json, csv, tsv, xml")
        raise bad_option(f"--format {format}", f"the result is {what}", f"formats are table, {known}")


def _json(result: Solutions | Truth | Triples) -> dict[str, object]:
    from tidalog.api.sparql_results import Truth

    if isinstance(result, Truth):
        return {"answer": bool(result)}
    return {**result_json(result), "count": len(result)}
