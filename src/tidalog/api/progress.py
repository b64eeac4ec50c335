"""A progress bar on stderr for calls of more than two seconds, on a terminal only.

A timer shows the bar, so that it also appears if nothing is reported; progress is reported at the engine's
safe points.  rich is imported only if the bar is shown.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from tidalog.engine.limits import Progress, ProgressCallback
from tidalog.model.amounts import size as size_text

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

ProgressOption = bool | ProgressCallback | None
"""None: a bar on a terminal; False: nothing; True: a bar wherever stderr goes; a callback is called."""

DELAY: Final = 2.0


class ProgressBar:
    """Shows a bar after `DELAY` seconds, until the end of its block."""

    def __init__(self, *, always: bool = False, never: bool = False) -> None:
        self._active = not never and (always or sys.stderr.isatty())
        self._lock = threading.Lock()
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._description, self._details = "", ""
        self._total, self._completed = 1, 0
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        if self._active:
            self._timer = threading.Timer(DELAY, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._active = False
            if self._bar is not None:
                self._bar.stop()

    @property
    def run_callback(self) -> ProgressCallback | None:
        """The progress callback of a run; None if no bar is shown, so that the run does not pause for it."""
        return self.on_run if self._active else None

    def on_run(self, progress: Progress) -> None:
        """Progress of a materialisation or an update."""
        rate = progress.facts / progress.seconds if progress.seconds > 0 else 0.0
        details = f"{progress.facts:,} facts · {progress.rounds:,} rounds · {rate:,.0f} facts/s"
        rule = f"rule {progress.rule}" if progress.rule else "materialising"
        self._update(rule, details, progress.component, progress.components)

    def on_read(self, label: str) -> Callable[[str, int, int, int], None]:
        """Progress of reading the files of one predicate."""
        start = time.perf_counter()
        self._update(f"reading {label}", "", 0, 1)

        def read(file: str, rows: int, done: int, total: int) -> None:
            seconds = time.perf_counter() - start
            rate = rows / seconds if seconds > 0 else 0.0
            size = f"{size_text(done)} of {size_text(total)}"
            details = f"{file} · {size} · {rows:,} rows · {rate:,.0f} rows/s"
            self._update(f"reading {label}", details, done, total)

        return read

    def on_updates(self, label: object, done: int, total: int, facts: int) -> None:
        """Progress of a stream of updates."""
        self._update(f"update {label}", f"{done:,} of {total:,} updates · {facts:,} facts", done, total)

    def _update(self, description: str, details: str, completed: int, total: int) -> None:
        with self._lock:
            self._description, self._details = description, details
            self._completed, self._total = completed, max(1, total)
            self._refresh()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        with self._lock:
            if not self._active:
                return
            self._bar = Bar(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=20),
                TextColumn("{task.fields[details]}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("", details="")
            self._refresh()
            self._bar.start()

    def _refresh(self) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task,
                description=self._description,
                details=self._details,
                completed=self._completed,
                total=self._total,
            )


def bar_for(progress: bool | None) -> ProgressBar:
    return ProgressBar(never=progress is False, always=progress is True)
