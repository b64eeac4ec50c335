"""SWI-Prolog: the closure as an incremental table over dynamic edges.

    python -m bench.peers_incremental.swi_runner FOLDER SECONDS [OUTPUT]

There is one table for each source node, so that a change touches only the tables of the nodes that reach it.
SWI-Prolog brings a table up to date when it is next asked; the time of an update is that of the change and
of asking every table once.  Counting is not timed.  Changes end with the task or after SECONDS.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from bench.peers_incremental.task import main, read_edges

_PROGRAM = """\
:- table path/2 as incremental.
:- dynamic([edge/2], [incremental(true)]).
:- dynamic source/1, change/2.

path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).

refresh :- forall(source(X), (path(X, _) -> true ; true)).
count(N) :- aggregate_all(count, (source(X), path(X, _)), N).

timed(Goal, Wall-Cpu) :-
    get_time(Before), statistics(process_cputime, Cpu0),
    call(Goal),
    get_time(After), statistics(process_cputime, Cpu1),
    Wall is After - Before, Cpu is Cpu1 - Cpu0.

read_all(Stream) :- read(Stream, Fact), ( Fact == end_of_file -> true ; assertz(Fact), read_all(Stream) ).

run(File, Limit) :-
    setup_call_cleanup(open(File, read, Stream), read_all(Stream), close(Stream)),
    timed(refresh, Wall-Cpu), count(Facts),
    format("start ~w ~w ~w~n", [Facts, Wall, Cpu]),
    get_time(Now), End is Now + Limit,
    forall(change(X, Y), ( get_time(Time), ( Time > End -> true ; change_one(X, Y) ) )).

change_one(X, Y) :-
    timed((retract(edge(X, Y)), refresh), Wall1-Cpu1), count(Without),
    timed((assertz(edge(X, Y)), refresh), Wall2-Cpu2), count(With),
    format("change ~w ~w ~w ~w ~w ~w~n", [Without, Wall1, Cpu1, With, Wall2, Cpu2]).
"""


def run(folder: Path, seconds: float) -> dict[str, object]:
    edges, changes = read_edges(folder / "edges.tsv"), read_edges(folder / "changes.tsv")
    with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as scratch:
        program, facts = Path(scratch) / "closure.pl", Path(scratch) / "facts.pl"
        program.write_text(_PROGRAM)
        lines = [f"edge({x},{y}).\n" for x, y in edges]
        lines += [f"change({x},{y}).\n" for x, y in changes]
        lines += [f"source({x}).\n" for x in sorted({x for x, _ in edges})]
        facts.write_text("".join(lines))
        goal = f"run('{facts}', {seconds}), halt"
        command = ["swipl", "--table-space=12g", "--stack-limit=4g", "-g", goal, str(program)]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {"system": f"SWI-Prolog {_version()}", **_report(output)}


def _version() -> str:
    said = subprocess.run(["swipl", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return said.split()[2]


def _report(output: str) -> dict[str, object]:
    start, *changes = [line.split()[1:] for line in output.splitlines()]
    return {
        "facts": int(start[0]),
        "materialise_seconds": float(start[1]),
        "materialise_cpu_seconds": float(start[2]),
        "facts_after_delete": [int(change[0]) for change in changes],
        "delete_seconds": [float(change[1]) for change in changes],
        "delete_cpu_seconds": [float(change[2]) for change in changes],
        "facts_after_insert": [int(change[3]) for change in changes],
        "insert_seconds": [float(change[4]) for change in changes],
        "insert_cpu_seconds": [float(change[5]) for change in changes],
    }


if __name__ == "__main__":
    main(run)
