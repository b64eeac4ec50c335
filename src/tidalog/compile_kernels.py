"""Builds the object file of compiled code: `python -m tidalog.compile_kernels`.

Nothing happens if the file is there.  Processes that want it at the same time wait for one build.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tidalog.engine.kernel_object import PACKAGE, object_path, source_files
from tidalog.user_cache import write_whole

_PATIENCE: Final = 2.0  # seconds before a process that was not asked to build says what takes its time


def main(arguments: list[str]) -> None:
    os.environ["TIDALOG_KERNELS"] = "numba"
    gc.disable()  # the process ends with its garbage, and looking for it takes a fifth of the time in numba
    path = object_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    with _locked(path.with_suffix(".lock")):
        if not path.exists():
            _build(path, quiet=_PATIENCE if "--later" in arguments else 0.0)
    if "--later" not in arguments:
        print(f"compiled code is ready ({time.perf_counter() - start:.1f} s): {path}")


def _build(path: Path, quiet: float) -> None:
    from tidalog.engine.jit import entries
    from tidalog.engine.kernel_builder import ObjectBuilder

    for module in _modules():
        importlib.import_module(module)
    builder = ObjectBuilder()
    with _progress(len(entries) + _LAST_STEPS, quiet) as report:
        for symbol, kernel in entries.items():
            report(symbol.rpartition(".")[0].removeprefix("tidalog."))
            builder.add(symbol, kernel)
        code = builder.emit(report)
    write_whole(path, code)


_LAST_STEPS: Final = 3  # linking, optimising, writing


def _modules() -> list[str]:
    """The modules that have entry points."""
    files = [file for file in source_files() if "\n@entry\n" in file.read_text()]
    return [".".join(("tidalog", *file.relative_to(PACKAGE).with_suffix("").parts)) for file in files]


@contextmanager
def _progress(steps: int, quiet: float) -> Iterator[Callable[[str], None]]:
    """Shows how far the build is: a bar on a terminal, else a line for each family of kernels."""
    start, done, last = time.perf_counter(), 0, ""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = TextColumn("compiling the engine, once"), BarColumn(), TextColumn("{task.description}")
        bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
        task = bar.add_task("", total=steps)

        def advance(what: str) -> None:
            if time.perf_counter() - start >= quiet and not bar.live.is_started:
                bar.start()
            bar.update(task, advance=1, description=what)

        try:
            yield advance
        finally:
            bar.stop()
        return

    def say(what: str) -> None:
        nonlocal done, last
        if what != last and time.perf_counter() - start >= quiet:
            print(f"compiling the engine: {100 * done // steps} %, {what}", file=sys.stderr, flush=True)
            last = what
        done += 1

    yield say


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds a lock that ends with the process."""
    with path.open("a+b") as file:
        if sys.platform == "win32":
            import msvcrt

            while True:
                try:
                    file.seek(0)
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # tries for ten seconds
                    break
                except OSError:
                    continue
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main(sys.argv[1:])
