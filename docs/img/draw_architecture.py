"""Draws architecture.svg, the picture in the README and in the documentation.

The picture is data: boxes in a grid, arrows between them.  `python docs/img/draw_architecture.py` writes the
file; a test checks that the committed one is what this script gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().parent / "architecture.svg"

COLUMN, ROW, WIDTH, HEIGHT, MARGIN = 172, 104, 132, 60, 24


@dataclass(frozen=True)
class Box:
    name: str
    note: str
    column: float
    row: float
    style: str = "stage"

    @property
    def left(self) -> float:
        return MARGIN + self.column * COLUMN

    @property
    def top(self) -> float:
        return MARGIN + self.row * ROW


BOXES = {
    "rules": Box("rules", ".rls .dlog .rules .jrules", 0, 0, "data"),
    "lang": Box("lang", "dialects → one program", 1, 0),
    "analysis": Box("analysis", "safety, components", 2, 0),
    "plan": Box("plan", "join order, query plans", 3, 0),
    "engine": Box("engine", "numba, binding blocks", 4, 0),
    "data": Box("data, updates", "tables, RDF, frames", 0, 1, "data"),
    "io": Box("io", "tables ↔ terms, via Arrow", 1, 1),
    "database": Box("Database", "program, facts, term ids", 2, 1),
    "maintain": Box("maintain", "strategies, marks", 3, 1),
    "facts": Box("facts", "dictionary, arena, indexes", 4, 1, "data"),
    "streams": Box("streams", "any source of Spark", 0, 2, "data"),
    "spark": Box("spark, keyed", "exactly-once streams", 1, 2),
    "api": Box("api", "tidalog.open(), queries", 2, 2),
    "storage": Box("storage", "log, snapshots, recovery", 3, 2),
    "reference": Box("reference", "the oracle: plain sets", 4, 2, "judge"),
    "cli": Box("cli", "run, apply, stream, check", 2, 3),
}

ARROWS = (
    ("rules", "lang"),
    ("lang", "analysis"),
    ("analysis", "plan"),
    ("plan", "engine"),
    ("analysis", "database"),
    ("plan", "maintain"),
    ("engine", "facts"),
    ("data", "io"),
    ("io", "database"),
    ("database", "maintain"),
    ("maintain", "facts"),
    ("streams", "spark"),
    ("spark", "api"),
    ("api", "database"),
    ("api", "storage"),
    ("cli", "api"),
)
COMPARED = ("reference", "facts")

STYLE = """
  .stage { fill: #e0f2f1; stroke: #00796b; } .data { fill: #fff8e1; stroke: #b28704; }
  .judge { fill: #fce4ec; stroke: #ad1457; } rect { stroke-width: 1.5; }
  text { font-family: system-ui, sans-serif; text-anchor: middle; fill: #1c2b2a; }
  .name { font-size: 15px; font-weight: 600; } .note { font-size: 9.5px; }
  path { fill: none; stroke: #455a64; stroke-width: 1.5; } .dashed { stroke-dasharray: 4 3; }
"""


def box_svg(box: Box) -> str:
    middle = box.left + WIDTH / 2
    return (
        f'<rect class="{box.style}" x="{box.left}" y="{box.top}" width="{WIDTH}" height="{HEIGHT}" rx="8"/>\n'
        f'<text class="name" x="{middle}" y="{box.top + 26}">{escape(box.name)}</text>\n'
        f'<text class="note" x="{middle}" y="{box.top + 45}">{escape(box.note)}</text>'
    )


def arrow_svg(start: Box, end: Box, style: str = "") -> str:
    """A straight arrow between neighbours: along a row or along a column."""
    if start.row == end.row:
        x1, x2 = start.left + WIDTH, end.left - 3
        y1 = y2 = start.top + HEIGHT / 2
    else:
        x1 = x2 = start.left + WIDTH / 2
        down = end.row > start.row
        y1, y2 = (start.top + HEIGHT, end.top - 3) if down else (start.top, end.top + HEIGHT + 3)
    kind = f' class="{style}"' if style else ""
    return f'<path{kind} d="M{x1} {y1} L{x2} {y2}" marker-end="url(#head)"/>'


def picture() -> str:
    width = MARGIN * 2 + 4 * COLUMN + WIDTH
    height = MARGIN * 2 + 3 * ROW + HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="How a program and its data go through Tidalog">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0 L8 4 L0 8 z" style="fill:#455a64;stroke:none"/></marker></defs>',
        f'<rect width="{width}" height="{height}" style="fill:#ffffff"/>',
        *(arrow_svg(BOXES[start], BOXES[end]) for start, end in ARROWS),
        arrow_svg(BOXES[COMPARED[0]], BOXES[COMPARED[1]], "dashed"),
        *(box_svg(box) for box in BOXES.values()),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
