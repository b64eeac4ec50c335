"""The commands and their options.  What they do stands in a module each, imported when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Protocol, runtime_checkable

import typer

from tidalog.api.diagnostics import BadCommand, OutputNotWritable
from tidalog.cli.options import (
    SHOWN_ROWS,
    AsJson,
    DialectName,
    FactFiles,
    LookAhead,
    Marking,
    MaxFacts,
    MaxMemory,
    MaxSeconds,
    OnBadRow,
    OneProgram,
    Order,
    Parameters,
    Programs,
    Quarantine,
    RowLimit,
    StoreFolder,
    Strategy,
    Strict,
)
from tidalog.cli.report import INTERRUPTED, USAGE, Report, reporting, silence_stdout
from tidalog.cli.stream import stream_command

app = typer.Typer(
    name="tidalog",
    help="Rules in, facts out: a Datalog materialiser.  Every command has --help.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_CommandError: type[Exception] = typer.BadParameter.__mro__[2]
"""What is wrong with a command line is a ClickException; typer brings a Click of its own in some versions."""


@runtime_checkable
class _HasMessage(Protocol):
    def format_message(self) -> str: ...


def run(arguments: Sequence[str]) -> int:
    """Carries out a command line and gives its exit code."""
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
    except OSError as error:  # files are looked after where they are named; this is what is printed to
        silence_stdout()
        why = error.strerror or str(error)
        Report("--json" in arguments).show_errors([OutputNotWritable(path="the output", why=why)], USAGE)
        return USAGE


def _usage(error: Exception, as_json: bool) -> int:
    command = getattr(getattr(error, "ctx", None), "command_path", "tidalog")
    message = error.format_message().rstrip(".") if isinstance(error, _HasMessage) else str(error)
    problem = message[:1].lower() + message[1:]
    Report(as_json).show_errors([BadCommand(problem=problem, hint=f"see {command} --help")], USAGE)
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


@app.command("run")
def run_command(
    programs: Programs,
    facts: FactFiles = None,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="PREDICATE", help="Print this, and not what @output says."),
    ] = None,
    parameter: Parameters = None,
    export_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where @export writes.  Default: the program's folder."),
    ] = None,
    store: StoreFolder = None,
    dialect: DialectName = None,
    max_facts: MaxFacts = None,
    max_seconds: MaxSeconds = None,
    max_memory: MaxMemory = None,
    strict: Strict = False,
    on_error: OnBadRow = "error",
    quarantine: Quarantine = None,
    rows: RowLimit = SHOWN_ROWS,
    stats: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the figures of the run as JSON.")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print the plans of the rules, with estimated and actual rows.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the outputs alone.")] = False,
    json: AsJson = False,
) -> None:
    """Materialise programs, write what @export says, print what @output says."""
    with reporting(json) as report:
        from tidalog.cli.run import run
        from tidalog.cli.work import Work

        work = Work(
            programs,
            dialect,
            facts,
            parameter,
            max_facts,
            max_seconds,
            max_memory,
            strict,
            on_error,
            quarantine,
            store,
        )
        run(report, work, output, export_dir, stats, rows, quiet, plan)


@app.command("apply")
def apply_command(
    program: OneProgram,
    updates: Annotated[
        list[str],
        typer.Argument(
            metavar="UPDATES…", help="Scripts (.upd), update tables (CSV, NDJSON, Parquet), folders."
        ),
    ],
    strategy: Strategy = "auto",
    marking: Marking = "auto",
    order: Order = "ours",
    look_ahead: LookAhead = 1,
    latest_only: Annotated[
        bool, typer.Option("--latest-only", help="Apply all updates that are waiting as one.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write what changed, as changes.csv.")
    ] = None,
    materialised: Annotated[
        bool, typer.Option("--materialised", help="With --out: all facts after each update, too.")
    ] = False,
    format: Annotated[
        str, typer.Option(metavar="FORMAT", help="csv, ndjson or parquet: what --out writes.")
    ] = "csv",
    facts: FactFiles = None,
    parameter: Parameters = None,
    export_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where @export writes.  Default: the program's folder."),
    ] = None,
    store: StoreFolder = None,
    dialect: DialectName = None,
    max_facts: MaxFacts = None,
    max_seconds: MaxSeconds = None,
    max_memory: MaxMemory = None,
    strict: Strict = False,
    on_error: OnBadRow = "error",
    quarantine: Quarantine = None,
    stats: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the figures of every update as JSON.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    json: AsJson = False,
) -> None:
    """Materialise a program, apply updates one after the other, write what @export says."""
    with reporting(json) as report:
        from tidalog.cli.apply import Applying, apply
        from tidalog.cli.work import Work

        work = Work(
            [program],
            dialect,
            facts,
            parameter,
            max_facts,
            max_seconds,
            max_memory,
            strict,
            on_error,
            quarantine,
            store,
        )
        how = Applying(strategy, marking, order, look_ahead, latest_only, out, materialised, format)
        apply(report, work, updates, how, export_dir, stats, quiet)


app.command("stream")(stream_command)


@app.command("query")
def query_command(
    program: Annotated[
        str,
        typer.Argument(metavar="[PROGRAM]", help="A file of rules; - is stdin.  A store brings its own."),
    ],
    query: Annotated[
        str | None,
        typer.Argument(metavar="QUERY", help="Such as '?x, ?y :- path(?x, ?y), ?x != a'."),
    ] = None,
    facts: FactFiles = None,
    parameter: Parameters = None,
    store: StoreFolder = None,
    dialect: DialectName = None,
    max_facts: MaxFacts = None,
    max_seconds: MaxSeconds = None,
    max_memory: MaxMemory = None,
    strict: Strict = False,
    rows: RowLimit = SHOWN_ROWS,
    json: AsJson = False,
) -> None:
    """Materialise a program and answer a query; or ask a store, which stays as it is."""
    with reporting(json) as report:
        from tidalog.cli.query import query as answer
        from tidalog.cli.query import split
        from tidalog.cli.work import Work

        programs, text = split(program, query, store is not None)
        work = Work(
            programs,
            dialect,
            facts,
            parameter,
            max_facts,
            max_seconds,
            max_memory,
            strict,
            store=store,
            read_only=True,
        )
        answer(report, work, text, rows)


@app.command("check")
def check_command(
    program: OneProgram,
    graph: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the rule graph: .svg, .mmd or .dot.")
    ] = None,
    keyed: Annotated[
        bool, typer.Option("--keyed", help="Print the rules as they run for many keys (stream --key).")
    ] = False,
    rule_change: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Say what the rules that an update script changes do to the rest."),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print the plans of the rules.")] = False,
    plan_of: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Print the plans of one predicate or rule."),
    ] = None,
    plan_updates: Annotated[
        bool, typer.Option("--plan-updates", help="Print the plans that updates use.")
    ] = False,
    parameter: Parameters = None,
    dialect: DialectName = None,
    json: AsJson = False,
) -> None:
    """Say what a program means without evaluating it: its predicates, components and rules in order."""
    with reporting(json) as report:
        from tidalog.cli.check import PlanOptions, check

        plans = PlanOptions(plan_of, plan_updates) if plan or plan_of or plan_updates else None
        check(report, program, dialect, parameter, graph, keyed, rule_change, plans)


@app.command("fmt")
def fmt_command(
    programs: Programs,
    check: Annotated[
        bool, typer.Option("--check", help="Change and print nothing; exit with 1 if a file is not tidy.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", "-w", help="Put the tidy text in its place.")] = False,
    dialect: DialectName = None,
    json: AsJson = False,
) -> None:
    """Print programs of any dialect as tidy text of the main one."""
    with reporting(json) as report:
        from tidalog.cli.fmt import fmt

        fmt(report, programs, dialect, check, write)


@app.command("repl")
def repl_command(
    programs: Annotated[
        list[Path] | None, typer.Argument(metavar="[PROGRAM…]", help="Files of rules to begin with.")
    ] = None,
    facts: FactFiles = None,
    parameter: Parameters = None,
    dialect: DialectName = None,
    max_facts: MaxFacts = None,
    max_seconds: MaxSeconds = None,
    max_memory: MaxMemory = None,
    strict: Strict = False,
    rows: RowLimit = SHOWN_ROWS,
    json: AsJson = False,
) -> int:
    """Type facts, rules and queries, and see what follows."""
    with reporting(json) as report:
        from tidalog.cli.repl import repl
        from tidalog.cli.work import Work

        work = Work(programs or [], dialect, facts, parameter, max_facts, max_seconds, max_memory, strict)
        return repl(report, work, rows)


@app.command("version")
def version_command(json: AsJson = False) -> None:
    """Print the version."""
    with reporting(json) as report:
        report.finish({"version": _version()})
        if not json:
            print(f"tidalog {_version()}")


def _version() -> str:
    from importlib.metadata import version

    return version("tidalog")
