"""What starts quickly imports only what it uses.  Each case is a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
edge(a, b) . edge(b, c) . edge(c, d) .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
far(?x) :- path(?x, d) .
@output path .
"""
NEVER = {"numba", "pandas", "polars", "pyspark", "rich", "pyarrow.compute", "pyarrow.parquet"}
ENGINE = {"numpy", "pyarrow", "llvmlite", "pyoxigraph"}
COMMAND_LINE = {"typer", "pydantic"}
LANGUAGE = {"lark", "tidalog.analysis"}

COMMAND = "from tidalog.cli.app import run; run(sys.argv[1:])"
MATERIALISE = (
    "import tidalog; kb = tidalog.open(); kb.load(sys.argv[1]); kb.materialise(); kb.query('path(?x, d)')"
)


@pytest.mark.parametrize(
    ("code", "arguments", "unneeded"),
    [
        ("import tidalog", [], NEVER | ENGINE | COMMAND_LINE | LANGUAGE),
        ("import tidalog; tidalog.open()", [], NEVER | COMMAND_LINE),
        (MATERIALISE, ["PROGRAM"], NEVER | COMMAND_LINE),
        (COMMAND, ["--help"], NEVER - {"rich"} | ENGINE | LANGUAGE),
        (COMMAND, ["fmt", "PROGRAM"], NEVER | ENGINE),
        (COMMAND, ["check", "PROGRAM"], NEVER | ENGINE),
        (COMMAND, ["run", "PROGRAM"], NEVER),
        (COMMAND, ["run", "--json", "PROGRAM"], NEVER),
    ],
)
def test_only_what_is_used_is_imported(
    tmp_path: Path, code: str, arguments: list[str], unneeded: set[str]
) -> None:
    program = tmp_path / "small.rls"
    program.write_text(PROGRAM)
    script = f"import sys\n{code}\nprint(*sorted(sys.modules))"
    filled = [str(program) if argument == "PROGRAM" else argument for argument in arguments]
    done = subprocess.run(
        [sys.executable, "-c", script, *filled], capture_output=True, text=True, timeout=300, check=True
    )
    imported = set(done.stdout.splitlines()[-1].split())
    assert "tidalog" in imported
    assert not imported & unneeded, done.stderr


def test_the_command_line_looks_for_no_cycles_when_it_ends(tmp_path: Path) -> None:
    """What is registered first is called last: by then everything is frozen."""
    program = tmp_path / "small.rls"
    program.write_text(PROGRAM)
    script = """
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count() > 10_000, len(gc.get_objects()) < 1_000))
from tidalog.cli import main
main()
"""
    command = [sys.executable, "-c", script, "run", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.splitlines()[-1] == "True True"
