"""Figures of a benchmark as SVG pictures, drawn here without help from outside.

Values are times and span orders of magnitude: their axis is logarithmic, with a line at every power of ten.
Text is monospaced, so that its width is known; colours follow the reader's light or dark setting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_COLOURS = ("#5b7083", "#b7791f", "#2f7d4f", "#8e44ad", "#c0392b", "#2471a3")
_CHARACTER = 7.3
_MARGIN, _TOP, _PLOT = 16.0, 64.0, 560.0
_BAR, _GAP = 12.0, 10.0
_PLOT_HEIGHT = 320.0
_STYLE = """
  .back { fill: #ffffff } .grid { stroke: #d5dde4; stroke-width: 1 }
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2d3a }
  .title { font-size: 14px; font-weight: bold } .small { fill: #5b7083 }
  .line { fill: none; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #11181f } .grid { stroke: #2b3945 } text { fill: #e6edf3 } .small { fill: #8aa0b3 }
  }
"""


@dataclass(frozen=True)
class Plot:
    """`name` is that of its file."""

    name: str
    title: str
    svg: str


@dataclass(frozen=True)
class _Scale:
    """From a value to its share of an axis that begins and ends at powers of ten."""

    low: int
    high: int

    def __call__(self, value: float) -> float:
        return (math.log10(value) - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        return [(10.0**power, f"{10.0**power:,g}") for power in range(self.low, self.high + 1)]


def _scale(series: Mapping[str, Sequence[float | None]]) -> _Scale:
    values = [value for row in series.values() for value in row if value]
    low = math.floor(math.log10(min(values)))
    return _Scale(low, max(low + 1, math.ceil(math.log10(max(values)))))


def bars(
    name: str, title: str, unit: str, labels: Sequence[str], series: Mapping[str, Sequence[float | None]]
) -> Plot:
    """A group of bars for each label; a series has one value for each, or None for no bar."""
    scale = _scale(series)
    left = _MARGIN + _CHARACTER * max(map(len, labels)) + 8
    group = len(series) * _BAR + _GAP
    height = group * len(labels)
    parts = _upright_lines(scale, left, height)
    for row, label in enumerate(labels):
        y = _TOP + row * group + _GAP / 2
        parts.append(_text(left - 8, y + len(series) * _BAR / 2 + 4, label, anchor="end"))
        for number, values in enumerate(series.values()):
            value = values[row]
            if value is None:
                continue
            width = max(1.0, scale(value) * _PLOT)
            top = y + number * _BAR
            parts.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{_BAR - 2:.1f}" '
                f'fill="{_colour(number)}"/>'
            )
            parts.append(_text(left + width + 4, top + _BAR - 3, _number(value), "small"))
    return _picture(name, title, unit, series, parts, left + _PLOT + 70, _TOP + height + 30)


def lines(
    name: str, title: str, unit: str, labels: Sequence[str], series: Mapping[str, Sequence[float | None]]
) -> Plot:
    """A line for each series over labels that are as far from one another."""
    scale = _scale(series)
    left = _MARGIN + _CHARACTER * max(len(text) for _, text in scale.ticks) + 8
    step = _PLOT / max(1, len(labels) - 1)
    parts = []
    for value, text in scale.ticks:
        y = _TOP + (1 - scale(value)) * _PLOT_HEIGHT
        parts.append(_line(left, y, left + _PLOT, y))
        parts.append(_text(left - 8, y + 4, text, "small", "end"))
    for number, label in enumerate(labels):
        parts.append(_text(left + number * step, _TOP + _PLOT_HEIGHT + 18, label, "small", "middle"))
    for number, values in enumerate(series.values()):
        points = [
            (left + number * step, _TOP + (1 - scale(value)) * _PLOT_HEIGHT)
            for number, value in enumerate(values)
            if value is not None
        ]
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline class="line" stroke="{_colour(number)}" points="{way}"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{_colour(number)}"/>' for x, y in points]
    return _picture(name, title, unit, series, parts, left + _PLOT + 30, _TOP + _PLOT_HEIGHT + 34)


def _picture(
    name: str,
    title: str,
    unit: str,
    series: Mapping[str, Sequence[float | None]],
    parts: Sequence[str],
    width: float,
    height: float,
) -> Plot:
    legend = []
    x = _MARGIN
    for number, text in enumerate(series):
        legend.append(f'<rect x="{x:.1f}" y="34" width="10" height="10" fill="{_colour(number)}"/>')
        legend.append(_text(x + 15, 43, text))
        x += 15 + _CHARACTER * len(text) + 18
    legend.append(_text(x, 43, unit, "small"))
    width = max(width, x + _CHARACTER * len(unit) + _MARGIN, _CHARACTER * 1.2 * len(title) + 2 * _MARGIN)
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="back" width="{width:.0f}" height="{height:.0f}"/>',
        _text(_MARGIN, 22, title, "title"),
    ]
    return Plot(name, title, "\n".join([*head, *legend, *parts, "</svg>"]) + "\n")


def _upright_lines(scale: _Scale, left: float, height: float) -> list[str]:
    parts = []
    for value, text in scale.ticks:
        x = left + scale(value) * _PLOT
        parts.append(_line(x, _TOP - 4, x, _TOP + height))
        parts.append(_text(x, _TOP + height + 16, text, "small", "middle"))
    return parts


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="grid" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text{of_kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
