"""Soufflé, compiled to C++: used where the program `souffle` is on the PATH.

The compiled program reads, computes and counts in one process; its time is that of the evaluation, and
compilation is part of the start-up.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from bench.digest import Content
from bench.measure import Stopwatch
from bench.staging import Job

_TYPES = {"int64": "number", "string": "symbol"}


def run(job: Job, folder: Path, threads: int, watch: Stopwatch) -> dict[str, Content]:
    source, program = folder / "souffle.dl", folder / "souffle.bin"
    source.write_text(_text(job))
    if not program.exists():
        with watch.phase("start"):
            subprocess.run(["souffle", "-o", str(program), str(source)], check=True)
    command = [str(program), "-F", str(folder), "-D", str(folder), "-j", str(threads)]
    with watch.phase("evaluate" if job.kind == "evaluate" else "load"):
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    watch.finish()
    sizes = dict(line.split("\t") for line in output.splitlines() if "\t" in line)
    return {predicate: Content(int(sizes[predicate])) for predicate in job.results}


def _text(job: Job) -> str:
    lines = []
    for predicate, columns in job.columns.items():
        arguments = ", ".join(f"{name}:{_TYPES[arrow_type]}" for name, arrow_type in columns.items())
        lines += [f".decl {predicate}({arguments})", f".input {predicate}"]
    lines += job.scripts.get("souffle", ())
    lines += [f".printsize {predicate}" for predicate in job.results]
    return "\n".join(lines) + "\n"
