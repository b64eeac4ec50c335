"""A layered graph as an SVG picture, without external programs.

Text is monospaced, so that its width is known without the font.  Colours follow the reader's light or dark
mode.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from tidalog.analysis.graph_layout import Point, lay_out

CHARACTER: Final = 7.3
LINE: Final = 17.0
PADDING: Final = 12.0
MARGIN: Final = 24.0
LEGEND: Final = 40.0
LEGEND_WIDTH: Final = 470.0

Mark = Literal["", "impacted", "reached"]
MARK_COLOURS: Final[dict[Mark, str]] = {"impacted": "#f6c5bf", "reached": "#d3e6f8"}
"""How a rule edit affects a hyper-node, and the colour for it in light mode."""

STYLE: Final = """
  .back { fill: #ffffff } .box { fill: #f4f7fa; stroke: #5b7083; stroke-width: 1.2 }
  .recursive { fill: #fff6e5; stroke: #b7791f; stroke-width: 2 }
  .impacted { fill: #f6c5bf } .reached { fill: #d3e6f8 }
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2d3a }
  .name { font-weight: bold } .title { font-size: 14px; font-weight: bold } .small { fill: #5b7083 }
  .arrow { fill: none; stroke: #5b7083; stroke-width: 1.4 }
  .negative { stroke: #c0392b; stroke-dasharray: 6 4 } .tip { fill: #5b7083 } .negative-tip { fill: #c0392b }
  @media (prefers-color-scheme: dark) {
    .back { fill: #11181f } .box { fill: #1b2630; stroke: #8aa0b3 }
    .recursive { fill: #2e2614; stroke: #d9a441 }
    .impacted { fill: #5b2620 } .reached { fill: #1d3a55 }
    text { fill: #e6edf3 } .small { fill: #8aa0b3 } .arrow { stroke: #8aa0b3 } .tip { fill: #8aa0b3 }
    .negative { stroke: #f0766a } .negative-tip { fill: #f0766a }
  }
"""

_NOT_XML: Final = re.compile("[\x00-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Box:
    name: str
    lines: tuple[str, ...]
    recursive: bool
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one box to a later one, both by index; `predicates` labels the arrow."""

    source: int
    target: int
    negative: bool
    predicates: tuple[str, ...]


def draw(title: str, boxes: Sequence[Box], arrows: Sequence[Arrow]) -> str:
    sizes = [_size(box) for box in boxes]
    layout = lay_out(sizes, [(arrow.source, arrow.target) for arrow in arrows])
    top = MARGIN + 28.0
    width = max(layout.width, LEGEND_WIDTH, len(title) * 8.6) + 2 * MARGIN
    height = top + layout.height + LEGEND + MARGIN
    left = (width - layout.width) / 2
    corners = [(x + left, y + top) for x, y in layout.boxes]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">',
        f"<title>{_text(title)}: hyper-nodes</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="tip" d="M0,0 L8,4 L0,8 z"/></marker>'
        '<marker id="negative-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="negative-tip" d="M0,0 L8,4 L0,8 z"/></marker></defs>',
        f'<rect class="back" width="{width:.0f}" height="{height:.0f}"/>',
        f'<text class="title" x="{MARGIN:.0f}" y="{MARGIN + 6:.0f}">{_text(title)}</text>',
    ]
    ports = _ports(corners, sizes, arrows, [[(x + left, y + top) for x, y in r] for r in layout.routes])
    for arrow, points in zip(arrows, ports, strict=True):
        parts.append(_arrow(arrow, points))
    for box, corner, size in zip(boxes, corners, sizes, strict=True):
        parts.append(_box(box, corner, size))
    parts.append(_legend(height - MARGIN))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _size(box: Box) -> tuple[float, float]:
    longest = max(len(line) for line in (_heading(box), *box.lines))
    return longest * CHARACTER + 2 * PADDING, LINE * (1 + len(box.lines)) + 1.5 * PADDING


def _heading(box: Box) -> str:
    return "  ".join(part for part in (box.name, "recursive" if box.recursive else "", box.mark) if part)


def _ports(
    corners: list[Point], sizes: list[tuple[float, float]], arrows: Sequence[Arrow], routes: list[list[Point]]
) -> list[list[Point]]:
    """The full route of every arrow.  The arrows of a box leave and enter side by side, ordered by their
    other ends."""
    courses: list[list[Point]] = [[] for _ in arrows]
    leaving: dict[int, list[int]] = {}
    entering: dict[int, list[int]] = {}
    for at, arrow in enumerate(arrows):
        leaving.setdefault(arrow.source, []).append(at)
        entering.setdefault(arrow.target, []).append(at)
        courses[at] = list(routes[at])

    def middle(box: int) -> float:
        return corners[box][0] + sizes[box][0] / 2

    starts: dict[int, Point] = {}
    ends: dict[int, Point] = {}
    for box, out in leaving.items():
        out.sort(key=lambda at: (routes[at][0][0] if routes[at] else middle(arrows[at].target), at))
        for port, at in enumerate(out, 1):
            x = corners[box][0] + sizes[box][0] * port / (len(out) + 1)
            starts[at] = (x, corners[box][1] + sizes[box][1])
    for box, into in entering.items():
        into.sort(key=lambda at: (routes[at][-1][0] if routes[at] else middle(arrows[at].source), at))
        for port, at in enumerate(into, 1):
            x = corners[box][0] + sizes[box][0] * port / (len(into) + 1)
            ends[at] = (x, corners[box][1])
    return [[starts[at], *courses[at], ends[at]] for at in range(len(arrows))]


def _arrow(arrow: Arrow, points: list[Point]) -> str:
    """A curve that is vertical at each of its points."""
    path = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        bend = (y1 - y0) / 2
        path.append(f"C{x0:.1f},{y0 + bend:.1f} {x1:.1f},{y1 - bend:.1f} {x1:.1f},{y1:.1f}")
    kind, tip = ("arrow negative", "negative-tip") if arrow.negative else ("arrow", "tip")
    title = _text(", ".join(arrow.predicates))
    return f'<path class="{kind}" d="{" ".join(path)}" marker-end="url(#{tip})"><title>{title}</title></path>'


def _box(box: Box, corner: Point, size: tuple[float, float]) -> str:
    x, y = corner
    kind = " ".join(part for part in ("box", "recursive" if box.recursive else "", box.mark) if part)
    parts = [
        f'<g><rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}" '
        'rx="7"/>'
    ]
    baseline = y + PADDING + 8
    parts.append(f'<text class="name" x="{x + PADDING:.1f}" y="{baseline:.1f}">{_text(_heading(box))}</text>')
    for line in box.lines:
        baseline += LINE
        kind = ' class="small"' if line.startswith("reads ") else ""
        parts.append(
            f'<text{kind} x="{x + PADDING:.1f}" y="{baseline:.1f}" xml:space="preserve">{_text(line)}</text>'
        )
    return "".join(parts) + "</g>"


def _legend(y: float) -> str:
    x = MARGIN
    return (
        f'<g><path class="arrow" d="M{x},{y - 4} h34" marker-end="url(#tip)"/>'
        f'<text class="small" x="{x + 42}" y="{y}">feeds</text>'
        f'<path class="arrow negative" d="M{x + 100},{y - 4} h34" marker-end="url(#negative-tip)"/>'
        f'<text class="small" x="{x + 142}" y="{y}">under negation or aggregate</text>'
        f'<rect class="box recursive" x="{x + 356}" y="{y - 13}" width="22" height="16" rx="4"/>'
        f'<text class="small" x="{x + 386}" y="{y}">recursive</text></g>'
    )


def _text(text: str) -> str:
    """The text with XML escapes; characters that XML does not allow become replacement characters."""
    return _NOT_XML.sub("\ufffd", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
