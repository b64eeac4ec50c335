"""The measured process: one system, one job, one run.

    python -m bench.child SYSTEM FOLDER THREADS OUTPUT

writes what it measured to OUTPUT as JSON.  Whatever goes wrong ends the process with a traceback on
standard error, which the parent keeps.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from bench.measure import Stopwatch, cpu_seconds, resident_bytes
from bench.staging import Job
from bench.systems import LOADERS, SYSTEMS


def main(system: str, folder: str, threads: str, output: str) -> None:
    watch = Stopwatch()
    job = Job.read(Path(folder))
    with watch.phase("start"):
        runner = {**SYSTEMS, **LOADERS}[system].runner()
    base = resident_bytes()
    contents = runner(job, Path(folder), int(threads), watch)
    if not watch.final_bytes:
        watch.finish()
    report = {
        "phases": {name: asdict(phase) for name, phase in watch.phases.items()},
        "notes": watch.notes,
        "contents": {name: asdict(content) for name, content in contents.items()},
        "base_bytes": base,
        "peak_bytes": watch.peak_bytes,
        "final_bytes": watch.final_bytes,
        "cpu_seconds": cpu_seconds(),
    }
    Path(output).write_text(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
