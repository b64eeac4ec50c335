"""The reports of a running stream: a live line on the terminal, a file of statistics, and a summary at the
end."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from tidalog.cli.report import print_predicates, writing
from tidalog.model.amounts import counted, duration, rate, size

if TYPE_CHECKING:
    from rich.live import Live

    from tidalog.spark.progress import BatchReport, Totals

_MANY: Final = 10
"""How many updates have quantiles."""


class LiveLine:
    """A status line on stderr, if that is a terminal."""

    def __init__(self, never: bool) -> None:
        self.active = not never and sys.stderr.isatty()
        """Whether the line is shown."""
        self._live: Live | None = None
        self._text = ""
        self._lag = ""

    def begin(self, version: str, master: str, store: Path | None) -> None:
        if not self.active:
            return
        from rich.console import Console
        from rich.live import Live

        state = "in memory" if store is None else f"{store} ({'existing' if store.exists() else 'new'})"
        console = Console(file=sys.stderr, highlight=False)
        console.print(f"Spark {version} · {master} · {state} · Ctrl-C stops after the current batch")
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, report: BatchReport, totals: Totals) -> None:
        if self._live is not None:
            self._text = batch_line(report, totals)
            self._refresh()

    def lag(self, progress: Mapping[str, Any]) -> None:
        """Shows how much waits at the source, from Spark's progress report."""
        if self._live is not None:
            self._lag = lag(progress)
            self._refresh()

    def stopping(self) -> None:
        if self._live is not None:
            self._lag = "stopping after this batch"
            self._refresh()

    def _refresh(self) -> None:
        assert self._live is not None
        self._live.update("   ".join(part for part in (self._text, self._lag) if part), refresh=True)

    def __enter__(self) -> LiveLine:
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()


def batch_line(report: BatchReport, totals: Totals) -> str:
    parts = [
        f"  batch {report.batch:,}",
        f"update {report.label}" if report.label is not None else "",
        f"+{totals.inserted:,} −{totals.deleted:,}",
        f"expired {totals.expired:,}" if totals.expired else "",
        *rate(totals.rows, totals.seconds, "rows"),
        latencies(totals),
        size(sum(totals.memory.values())),
        f"quarantined {totals.quarantined:,}" if totals.quarantined else "",
        f"skipped {totals.skipped:,}" if totals.skipped else "",
        f"did nothing {totals.ignored:,}" if totals.ignored else "",
    ]
    return "   ".join(part for part in parts if part)


def latencies(totals: Totals) -> str:
    found = [(name, totals.latency(share)) for name, share in (("p50", 0.5), ("p99", 0.99))]
    return "  ".join(f"{name} {seconds * 1000:,.0f} ms" for name, seconds in found if seconds is not None)


def lag(progress: Mapping[str, Any]) -> str:
    """How much data the first source with such a metric has not yet delivered."""
    for source in progress.get("sources", ()):
        metrics = source.get("metrics") or {}
        for name, unit in (("maxOffsetsBehindLatest", ""), ("numFilesOutstanding", " files")):
            if name in metrics:
                return f"lag {int(float(metrics[name])):,}{unit}"
    return ""


class StatsFile:
    """The file of `--stats`: a line of JSON for each batch, then the totals."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> StatsFile:
        if self._path is not None:
            with writing(self._path):
                self._file = self._path.open("w", encoding="utf-8")
        return self

    def add(self, report: BatchReport) -> None:
        self._write(report.to_json())

    def end(self, totals: Totals) -> None:
        self._write({"totals": totals.to_json()})

    def _write(self, content: dict[str, object]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(content) + "\n")
            self._file.flush()

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()


def print_summary(totals: Totals, folders: Mapping[str, str]) -> None:
    if totals.by_predicate:
        print_predicates(
            ("inserted", "deleted", "now"),
            (
                (
                    name,
                    f"+{inserted:,}",
                    f"−{deleted:,}" if deleted else "",
                    f"{totals.facts[name]:,}" if name in totals.facts else "",
                )
                for name, (inserted, deleted) in sorted(totals.by_predicate.items())
            ),
        )
    for name, folder in folders.items():
        print(f"{name}: {folder}")
    kinds = ("applied", "quarantined", "skipped", "refused", "waiting")
    counts = ", ".join(f"{getattr(totals, kind):,} {kind}" for kind in kinds if getattr(totals, kind))
    print(f"{counted(totals.rows, 'row')}{': ' + counts if counts else ''}")
    print(" · ".join(_figures(totals)))


def _figures(totals: Totals) -> list[str]:
    batches = counted(totals.batches, "batch", "batches")
    parts = [
        f"{counted(totals.updates, 'update')} in {batches}",
        f"+{totals.inserted:,} −{totals.deleted:,} facts",
    ]
    if totals.expired:
        parts.append(f"{totals.expired:,} expired")
    if totals.rules_added or totals.rules_removed:
        parts.append(f"+{totals.rules_added:,} −{totals.rules_removed:,} rules")
    if totals.recovered:
        parts.append(f"{totals.recovered:,} recovered from the log")
    if totals.ignored:
        parts.append(f"{counted(totals.ignored, 'operation')} did nothing")
    parts.append(
        ", ".join([f"{duration(totals.seconds)} at work", *rate(totals.rows, totals.seconds, "rows")])
    )
    if len(totals.latencies) >= _MANY:
        parts.append(latencies(totals))
    return [*parts, *(f"{name} {size(used)}" for name, used in totals.memory.items())]
