"""Tables on the terminal, as Markdown and as JSON.

A `Section` is a finished table.  Cells are text already; `records` are its raw figures, every
run included, and go to the JSON file as they are.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from bench.plots import Plot
from bench.systems import SYSTEMS

Record = dict[str, object]
_EXAMPLES = 4
"""Rows that miss a target, named beside it."""


@dataclass(frozen=True)
class Target:
    """Something that Tidalog promises about its figures, and whether this run shows it.  A missed target
    is shown and is not a failure: the machine may have been busy."""

    text: str
    met: bool


@dataclass
class Section:
    title: str
    columns: tuple[str, ...]
    text_columns: int = 2
    """How many columns at the left are text; the others are numbers and line up at the right."""
    rows: list[tuple[str, ...]] = field(default_factory=list)
    breaks: set[int] = field(default_factory=set)
    """Rows after which a line is drawn."""
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Results that differ and runs that failed: reasons for a non-zero exit code."""
    targets: list[Target] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells for {len(self.columns)} columns")
        self.rows.append(cells)

    def end_group(self) -> None:
        self.breaks.add(len(self.rows) - 1)

    def check(self, text: str, wrong: Sequence[str] = ()) -> None:
        """A target, missed by the rows that `wrong` names; the first of them are shown."""
        if wrong:
            more = f" and {len(wrong) - _EXAMPLES} more" if len(wrong) > _EXAMPLES else ""
            text += f"; not: {', '.join(wrong[:_EXAMPLES])}{more}"
        self.targets.append(Target(text, not wrong))


def print_section(console: Console, section: Section) -> None:
    table = Table(title=section.title, title_justify="left", title_style="bold", header_style="dim")
    for number, column in enumerate(section.columns):
        right = number >= section.text_columns
        table.add_column(column, justify="right" if right else "left", no_wrap=right)
    for number, row in enumerate(section.rows):
        table.add_row(*row, end_section=number in section.breaks)
    console.print(table)
    for note in section.notes:
        console.print(f"  {note}", style="dim", highlight=False)
    for target in section.targets:
        mark = "[green]met[/green]   " if target.met else "[yellow]missed[/yellow]"
        console.print(f"  {mark} {target.text}", highlight=False)
    for problem in section.problems:
        console.print(f"  problem: {problem}", style="red", highlight=False, markup=False)
    console.print()


def markdown(sections: Sequence[Section], machine: Record, stem: str = "") -> str:
    """Pictures are named as `store` names them, which also says the `stem`."""
    lines = ["# Benchmark", ""]
    lines += [f"* {key}: {value}" for key, value in machine.items()]
    for section in sections:
        lines += ["", f"## {section.title}", "", "| " + " | ".join(section.columns) + " |"]
        marks = ["---" if number < section.text_columns else "---:" for number in range(len(section.columns))]
        lines.append("|" + "|".join(marks) + "|")
        lines += ["| " + " | ".join(row) + " |" for row in section.rows]
        if section.notes or section.targets or section.problems:
            lines.append("")
        lines += [f"* {note}" for note in section.notes]
        lines += [f"* {'met' if target.met else '**missed**'}: {target.text}" for target in section.targets]
        lines += [f"* **problem**: {' '.join(problem.split())}" for problem in section.problems]
        for plot in section.plots:
            lines += ["", f"![{plot.title}]({_picture(stem, plot)})"]
    return "\n".join(lines) + "\n"


def _picture(stem: str, plot: Plot) -> str:
    return f"{stem}-{plot.name}.svg"


def to_json(sections: Sequence[Section], machine: Record) -> str:
    return json.dumps(
        {
            "machine": machine,
            "sections": [
                {
                    "title": s.title,
                    "records": s.records,
                    "notes": s.notes,
                    "targets": [asdict(target) for target in s.targets],
                    "problems": s.problems,
                }
                for s in sections
            ],
        },
        indent=1,
    )


def store(sections: Sequence[Section], machine: Record, folder: Path) -> Path:
    """Write both forms, and the pictures, under a name that sorts by time; return the Markdown file's."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    (folder / f"{stem}.json").write_text(to_json(sections, machine))
    path = folder / f"{stem}.md"
    path.write_text(markdown(sections, machine, stem))
    for plot in (plot for section in sections for plot in section.plots):
        (folder / _picture(stem, plot)).write_text(plot.svg)
    return path


def last_stored(folder: Path, fits: Callable[[Record], bool]) -> Record | None:
    """The newest record among the files of `store` that fits."""
    for path in sorted(folder.glob("*.json"), reverse=True):
        for section in json.loads(path.read_text())["sections"]:
            for record in section["records"]:
                if fits(record):
                    return dict(record)
    return None


def machine_info() -> Record:
    versions = {system.label: system.version() or "not installed" for system in SYSTEMS.values()}
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "memory": f"{psutil.virtual_memory().total / 2**30:.1f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": f"{os.getloadavg()[0]:.2f} (before the run)",
        "systems": ", ".join(f"{label} {version}" for label, version in versions.items()),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except FileNotFoundError:
        pass
    return platform.processor() or platform.machine()


def seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if value < 1 else f"{value:.2f}"


def megabytes(value: float | None) -> str:
    return "–" if value is None else f"{value / 1e6:,.0f}"


def ratio(own: float | None, other: float | None) -> str:
    """`own / other` to two digits: below one, the own side is faster."""
    if own is None or other is None or other <= 0:
        return "–"
    return f"{own / other:.2f}"
