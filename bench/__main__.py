"""The command line: `python -m bench [names …]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench.peers_incremental.contest import PEERS as INCREMENTAL
from bench.process import ROOT, Limits
from bench.report import machine_info, print_section, store, to_json
from bench.suites.catalogue import SUITES
from bench.suites.options import Options, Suite
from bench.systems import SYSTEMS

_RESULTS = ROOT / "bench" / "results"
_WIDTH_OF_A_FILE = 180


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; 1 if results differ or a run failed, 2 for a wrong command line."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH_OF_A_FILE)
    if asked.list:
        _list(console, asked.quick)
        return 0
    chosen = _choose(parser, asked.names, asked.quick)
    status = console.status("")
    machine = machine_info()
    sections = []
    with status:
        for suite, names in chosen:
            options = Options(
                quick=asked.quick,
                repeat=asked.repeat,
                only=frozenset(asked.only or ()),
                names=frozenset(names),
                limits=Limits(asked.timeout, int(asked.memory * 2**30)),
                say=lambda text: status.update(text),
            )
            for section in suite.run(options):
                print_section(console, section)
                sections.append(section)
    path = store(sections, machine, _RESULTS)
    if asked.json:
        Path(asked.json).write_text(to_json(sections, machine))
    console.print(f"stored as {path} and .json", highlight=False, soft_wrap=True)
    return 1 if any(section.problems for section in sections) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Tidalog and its peers on the same work, side by side.",
    )
    parser.add_argument("names", nargs="*", help="suites, or workloads of them; all suites if none is given")
    parser.add_argument("--quick", action="store_true", help="small inputs: does it all run and agree?")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each system (3)")
    parser.add_argument(
        "--only",
        action="append",
        choices=[*SYSTEMS, *(peer.key for peer in INCREMENTAL)],
        help="run this system only; may be repeated",
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures of every run here too")
    parser.add_argument(
        "--timeout", type=float, default=120.0, metavar="S", help="seconds a run may take (120)"
    )
    parser.add_argument(
        "--memory", type=float, default=12.0, metavar="GIB", help="memory a run may take (12)"
    )
    parser.add_argument("--list", action="store_true", help="say what there is and stop")
    return parser


def _choose(
    parser: argparse.ArgumentParser, names: Sequence[str], quick: bool
) -> list[tuple[Suite, list[str]]]:
    """Suites to run, each with the workloads asked for by name (none means all of them): `speed digraph` is
    one workload, as `digraph` is."""
    if not names:
        return [(suite, []) for suite in SUITES]
    known = {name for suite in SUITES for name in (suite.name, *suite.workloads(quick))}
    for name in names:
        if name not in known:
            parser.error(f"there is no suite or workload {name!r}; --list shows them all")
    chosen: list[tuple[Suite, list[str]]] = []
    for suite in SUITES:
        rows = [name for name in names if name in suite.workloads(quick)]
        if suite.name in names or rows:
            chosen.append((suite, rows))
    return chosen


def _list(console: Console, quick: bool) -> None:
    for suite in SUITES:
        console.print(f"[bold]{suite.name}[/bold]  {suite.title}", highlight=False)
        for name in suite.workloads(quick):
            console.print(f"  {name}", highlight=False)
    for system in SYSTEMS.values():
        console.print(f"{system.label}: {system.version() or 'not installed'}", highlight=False)


if __name__ == "__main__":
    sys.exit(main())
