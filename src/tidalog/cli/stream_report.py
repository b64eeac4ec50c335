"""What a person sees of a stream: a line that changes while it runs, and a table at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidalog.api.stats import amount, size
from tidalog.cli.report import print_table

if TYPE_CHECKING:
    from rich.live import Live

    from tidalog.spark.progress import BatchReport, Totals


class LiveLine:
    """One line on a terminal, on stderr; nothing elsewhere."""

    def __init__(self, never: bool) -> None:
        self.active = not never and sys.stderr.isatty()
        """Whether anybody sees it."""
        self._live: Live | None = None
        self._text = ""
        self._behind = ""

    def begin(self, version: str, master: str, store: Path | None) -> None:
        if not self.active:
            return
        from rich.console import Console
        from rich.live import Live

        state = "in memory" if store is None else f"{store} ({'goes on' if store.exists() else 'new'})"
        console = Console(file=sys.stderr, highlight=False)
        console.print(f"Spark {version} · {master} · {state} · Ctrl-C stops after the current batch")
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, report: BatchReport, totals: Totals) -> None:
        if self._live is not None:
            self._text = batch_line(report, totals)
            self._refresh()

    def lag(self, progress: Mapping[str, Any]) -> None:
        """How much waits at the source, as Spark reports it."""
        if self._live is not None:
            self._behind = behind(progress)
            self._refresh()

    def stopping(self) -> None:
        if self._live is not None:
            self._behind = "stopping after this batch"
            self._refresh()

    def _refresh(self) -> None:
        assert self._live is not None
        self._live.update("   ".join(part for part in (self._text, self._behind) if part), refresh=True)

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
        f"{amount(totals.rate)} rows/s",
        latencies(totals),
        size(sum(totals.memory.values())),
        f"quarantined {totals.quarantined:,}" if totals.quarantined else "",
        f"skipped {totals.skipped:,}" if totals.skipped else "",
    ]
    return "   ".join(part for part in parts if part)


def latencies(totals: Totals) -> str:
    found = [(name, totals.latency(share)) for name, share in (("p50", 0.5), ("p99", 0.99))]
    return "  ".join(f"{name} {seconds * 1000:,.0f} ms" for name, seconds in found if seconds is not None)


def behind(progress: Mapping[str, Any]) -> str:
    """What the sources have not been asked for yet."""
    for source in progress.get("sources", ()):
        metrics = source.get("metrics") or {}
        for name, unit in (("maxOffsetsBehindLatest", ""), ("numFilesOutstanding", " files")):
            if name in metrics:
                return f"lag {int(float(metrics[name])):,}{unit}"
    return ""


def print_summary(totals: Totals, folders: Mapping[str, str]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if totals.by_predicate:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column("predicate")
        for heading in ("inserted", "deleted", "now"):
            table.add_column(heading, justify="right")
        for name, (inserted, deleted) in sorted(totals.by_predicate.items()):
            now = f"{totals.facts[name]:,}" if name in totals.facts else ""
            table.add_row(Text(name), f"+{inserted:,}", f"−{deleted:,}" if deleted else "", now)
        print_table(table)
        print()
    for name, folder in folders.items():
        print(f"{name}: {folder}")
    kinds = ("applied", "quarantined", "skipped", "refused", "waiting")
    counts = ", ".join(f"{getattr(totals, kind):,} {kind}" for kind in kinds if getattr(totals, kind))
    rows = f"{totals.rows:,} {'row' if totals.rows == 1 else 'rows'}"
    print(f"{rows}{': ' + counts if counts else ''}")
    print(" · ".join(_figures(totals)))


def _figures(totals: Totals) -> list[str]:
    updates = f"{totals.updates:,} {'update' if totals.updates == 1 else 'updates'}"
    batches = f"{totals.batches:,} {'batch' if totals.batches == 1 else 'batches'}"
    parts = [f"{updates} in {batches}", f"+{totals.inserted:,} −{totals.deleted:,} facts"]
    if totals.rules_added or totals.rules_removed:
        parts.append(f"+{totals.rules_added:,} −{totals.rules_removed:,} rules")
    if totals.recovered:
        parts.append(f"{totals.recovered:,} recovered from the log")
    parts.append(f"{totals.seconds:.1f} s at work, {amount(totals.rate)} rows/s")
    if totals.latencies:
        parts.append(latencies(totals))
    return [*parts, *(f"{name} {size(used)}" for name, used in totals.memory.items())]
