"""The commands and their options.  Each command has a module of its own, imported when it runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Protocol, runtime_checkable

import typer

from tidalog.api.diagnostics import BadCommand, OutputNotWritable
from tidalog.cli.command import command
from tidalog.cli.options import (
    SHOWN_ROWS,
    BadRows,
    ChangeFiles,
    DialectName,
    ExportFolder,
    Inputs,
    Maintenance,
    OneProgram,
    Parameters,
    Programs,
    ProgramsAndData,
    Quiet,
    RowLimit,
    Store,
    bad_option,
    flag,
    value,
)
from tidalog.cli.report import INTERRUPTED, USAGE, Report, silence_stdout
from tidalog.cli.stream_options import Streaming

app = typer.Typer(
    name="tidalog",
    help="Rules in, facts out: incremental Datalog.  Every command has --help.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


_CommandError: type[Exception] = typer.BadParameter.__mro__[2]
"""ClickException: an error in the command line.  Some versions of typer contain their own Click."""


_SUGGESTED: Final = re.compile(r"(?P<problem>.*)\. Did you mean '?(?P<near>[^',?]+)'?.*\??")
"""A message of Click about a command that is misspelt."""


@runtime_checkable
class _HasMessage(Protocol):
    def format_message(self) -> str: ...


def run(arguments: Sequence[str]) -> int:
    """Runs a command line; returns the exit code."""
    try:
        outcome = app(list(arguments), prog_name="tidalog", standalone_mode=False)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except typer.Abort:
        return INTERRUPTED
    except _CommandError as error:
        return _usage(error, "--json" in arguments)
    except BrokenPipeError:
        silence_stdout()
        return 0
    except OSError as error:  # of stdout; errors about files are handled where the files are named
        silence_stdout()
        why = error.strerror or str(error)
        Report("--json" in arguments).show_errors([OutputNotWritable(path="the output", why=why)], USAGE)
        return USAGE


def _usage(error: Exception, as_json: bool) -> int:
    command = getattr(getattr(error, "ctx", None), "command_path", "tidalog")
    message = error.format_message().rstrip(".") if isinstance(error, _HasMessage) else str(error)
    problem = message[:1].lower() + message[1:]
    hint = f"see {command} --help"
    if found := _SUGGESTED.fullmatch(problem):
        problem, hint = found["problem"], f"did you mean {found['near']}?  {hint}"
    near = getattr(error, "possibilities", None)
    if near:  # the nearest comes first; the message has them in alphabetical order
        problem, hint = problem.partition(" (")[0], f"did you mean {near[0]}?  {hint}"
    Report(as_json).show_errors([BadCommand(problem=problem, hint=hint)], USAGE)
    return USAGE


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"tidalog {_version()}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


@command(app, "run")
def run_command(
    report: Report,
    *,
    programs: ProgramsAndData,
    output: Annotated[
        list[str] | None,
        value(
            "NAME",
            "Print this predicate, not what @output names; or write an RDF file (.nt …).",
            "--output",
            "-o",
        ),
    ] = None,
    explicit_only: Annotated[bool, flag("Write only triples that were given.", "--explicit-only")] = False,
    inferred_only: Annotated[bool, flag("Write only triples that were derived.", "--inferred-only")] = False,
    inputs: Inputs,
    bad_rows: BadRows,
    export_dir: ExportFolder = None,
    store: Store = None,
    rows: RowLimit = SHOWN_ROWS,
    stats: Annotated[Path | None, value("FILE", "Write statistics of the run, as JSON.")] = None,
    plan: Annotated[
        bool, flag("Print the plans of the rules, with estimated and actual rows.", "--plan")
    ] = False,
    quiet: Annotated[bool, flag("Print only the outputs.", "--quiet", "-q")] = False,
) -> int:
    """Materialise programs, write what @export names, print what @output names."""
    from tidalog.cli.run import run
    from tidalog.cli.work import Work

    if explicit_only and inferred_only:
        raise bad_option("--explicit-only with --inferred-only", "nothing is both", "choose one of them")
    explicit = True if explicit_only else False if inferred_only else None
    work = Work(programs, inputs, store, bad_rows)
    return run(report, work, output, export_dir, stats, rows, quiet, plan, explicit)


@command(app, "apply")
def apply_command(
    report: Report,
    *,
    program: OneProgram,
    updates: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[UPDATES…]",
            help="Scripts (.upd), RDF Patch (.rdfp), update tables (CSV, NDJSON, Parquet), folders.",
        ),
    ] = None,
    delete: Annotated[
        list[str] | None, value("FILE", "RDF to delete; with --insert one update, after all others.")
    ] = None,
    insert: Annotated[list[str] | None, value("FILE", "RDF to insert.")] = None,
    maintenance: Maintenance,
    changes: ChangeFiles,
    inputs: Inputs,
    bad_rows: BadRows,
    queries: Annotated[
        Path | None,
        value("FILE", "Register these continuous queries (C-SPARQL); with --out, a file for each."),
    ] = None,
    export_dir: ExportFolder = None,
    store: Store = None,
    stats: Annotated[Path | None, value("FILE", "Write statistics of each update, as JSON.")] = None,
    late: Annotated[
        str, value("DURATION", "How much older than the time of windows an update may be: 5s.", "--late")
    ] = "0s",
    quiet: Quiet = False,
) -> None:
    """Materialise a program, apply updates one after the other, write what @export names."""
    from tidalog.cli.apply import GivenUpdates, apply
    from tidalog.cli.work import Work

    work = Work([program], inputs, store, bad_rows, late=late)
    given = GivenUpdates(updates or [], delete or [], insert or [])
    apply(report, work, given, maintenance, changes, queries, export_dir, stats, quiet)


@command(app, "stream")
def stream_command(
    report: Report,
    *,
    streaming: Streaming,
    stats: Annotated[
        Path | None, value("FILE", "Write a line of JSON for each batch, then the totals.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Maintain a store while updates arrive through Spark.  Ctrl-C stops it after the current batch."""
    from tidalog.cli.stream import stream

    stream(report, streaming, stats, quiet)


@command(app, "query")
def query_command(
    report: Report,
    *,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[PROGRAM] QUERY",
            help="A file of rules, - for stdin, and a query such as '?x, ?y :- path(?x, ?y), ?x != a'.  "
            "With --store the query alone.",
        ),
    ],
    inputs: Inputs,
    store: Annotated[Path | None, value("FOLDER", "Query this store; it stays as it is.")] = None,
    rows: Annotated[
        int | None, value("N", "Rows to print; 0 prints all.  Default: 20, and all with -q.", min=0)
    ] = None,
    output: Annotated[
        Path | None,
        value("FILE", "Write the rows to a file: .csv, .tsv, .ndjson, .parquet, .arrow.", "--output", "-o"),
    ] = None,
    quiet: Annotated[bool, flag("Print the rows alone, without heading and count.", "--quiet", "-q")] = False,
) -> None:
    """Materialise a program, or open a store, and answer a query."""
    from tidalog.cli.query import query as answer
    from tidalog.cli.query import split
    from tidalog.cli.work import Work

    programs, text = split(words, store is not None)
    answer(report, Work(programs, inputs, store, read_only=True), text, rows, quiet, output)


@command(app, "sparql")
def sparql_command(
    report: Report,
    *,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROGRAM|STORE] [DATA…] [QUERY]",
            help="A file of rules, a store or RDF data; more RDF data; a query in quotes, "
            "which -f may read from a file.",
        ),
    ] = None,
    file: Annotated[Path | None, value("FILE", "Read the query from this file.", "--file", "-f")] = None,
    format: Annotated[
        str, value("NAME", "table, json, csv, tsv or xml; of triples table, nt or ttl.", "--format")
    ] = "table",
    rows: Annotated[
        int | None, value("N", "Rows of a table to print; 0 prints all.  Default: 20.", min=0)
    ] = None,
    parameter: Parameters = None,
    dialect: DialectName = None,
) -> None:
    """Answer a SPARQL query over a program, a store or RDF data."""
    from tidalog.cli.sparql import sparql, split
    from tidalog.cli.work import Work

    given = split(words or [], file)
    facts = [f"triple={path}" for path in given.data]
    inputs = Inputs(facts=facts, parameter=parameter, dialect=dialect)
    sparql(report, Work(given.programs, inputs, given.store, read_only=True), given.text, format, rows)


@command(app, "check")
def check_command(
    report: Report,
    *,
    program: OneProgram,
    graph: Annotated[Path | None, value("FILE", "Draw the rule graph: .svg, .mmd or .dot.")] = None,
    keyed: Annotated[
        bool, flag("Print the rules as they run for many keys (stream --key).", "--keyed")
    ] = False,
    volz: Annotated[
        bool, flag("Print rules that derive what an update changes, by Volz et al.", "--volz")
    ] = False,
    maintenance_program: Annotated[
        bool,
        flag("Print rules that derive what a slide of a window changes (IMaRS).", "--maintenance-program"),
    ] = False,
    rule_change: Annotated[
        Path | None, value("FILE", "Show how the rule changes of an update script affect the other rules.")
    ] = None,
    plan: Annotated[bool, flag("Print the plans of the rules.", "--plan")] = False,
    plan_of: Annotated[str | None, value("NAME", "Print the plans of one predicate or rule.")] = None,
    plan_updates: Annotated[bool, flag("Print the plans that updates use.", "--plan-updates")] = False,
    parameter: Parameters = None,
    dialect: DialectName = None,
) -> None:
    """Show what a program means without evaluating it: its predicates, components and rules in order."""
    from tidalog.cli.check import PlanOptions, Rewritings, check

    plans = PlanOptions(plan_of, plan_updates) if plan or plan_of or plan_updates else None
    rewritings = Rewritings(keyed, volz, maintenance_program)
    check(report, program, dialect, parameter, graph, rewritings, rule_change, plans)


@command(app, "fmt")
def fmt_command(
    report: Report,
    *,
    programs: Programs,
    check: Annotated[
        bool, flag("Change and print nothing; exit with 1 if a file would change.", "--check")
    ] = False,
    write: Annotated[bool, flag("Write the formatted text back to the file.", "--write", "-w")] = False,
    dialect: DialectName = None,
) -> None:
    """Format programs; those of other dialects become text of the main one."""
    from tidalog.cli.fmt import fmt

    fmt(report, programs, dialect, check, write)


@command(app, "repl")
def repl_command(
    report: Report,
    *,
    programs: Annotated[
        list[Path] | None, typer.Argument(metavar="[PROGRAM…]", help="Files of rules to begin with.")
    ] = None,
    inputs: Inputs,
    store: Store = None,
    rows: RowLimit = SHOWN_ROWS,
) -> int:
    """Type facts, rules and queries, and see what follows."""
    from tidalog.cli.repl import repl
    from tidalog.cli.work import Work

    return repl(report, Work(programs or [], inputs, store), rows)


@command(app, "version")
def version_command(report: Report) -> None:
    """Print the version."""
    report.finish({"version": _version()})
    if not report.as_json:
        print(f"tidalog {_version()}")


def _version() -> str:
    from importlib.metadata import version

    return version("tidalog")
