"""The layout of a layered graph.

Layers follow the longest path, so that every arrow points down.  An arrow that crosses a layer gets a point
of its own there, so that it goes around boxes.  Within a layer, barycentre ordering reduces crossings; then
boxes move towards the middle of their neighbours, without overlapping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

GAP: Final = 36.0
"""Between two boxes of a layer."""
LAYER_GAP: Final = 64.0
POINT_WIDTH: Final = 8.0
SWEEPS: Final = 8
MOST_POINTS: Final = 20_000
"""With more points than this, arrows are drawn straight: such a large picture is not read box by box."""

Point = tuple[float, float]


@dataclass
class Layout:
    """`boxes` are the top left corners; `routes` are the points of each arrow between its two boxes."""

    boxes: list[Point]
    routes: list[list[Point]]
    width: float
    height: float


@dataclass
class _Cell:
    """A box, or the point at which an arrow crosses a layer (`box` is None)."""

    width: float
    height: float
    box: int | None
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    left: float = 0.0

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


def lay_out(sizes: Sequence[tuple[float, float]], arrows: Sequence[tuple[int, int]]) -> Layout:
    """`sizes` must be ordered so that every arrow leads from an earlier box to a later one."""
    layer_of = _layers(len(sizes), arrows)
    cells = [_Cell(width, height, at) for at, (width, height) in enumerate(sizes)]
    layers: list[list[int]] = [[] for _ in range(1 + max(layer_of, default=-1))]
    for at, number in enumerate(layer_of):
        layers[number].append(at)
    through = _passing_points(cells, layers, layer_of, arrows)
    for sweep in range(SWEEPS):
        _order(cells, layers, downwards=sweep % 2 == 0)
    for layer in layers:
        _pack(cells, layer)
    for sweep in range(SWEEPS):
        _straighten(cells, layers, downwards=sweep % 2 == 0)
    return _positions(cells, layers, through, len(sizes))


def _layers(count: int, arrows: Sequence[tuple[int, int]]) -> list[int]:
    layer = [0] * count
    for source, target in sorted(arrows):
        layer[target] = max(layer[target], layer[source] + 1)
    return layer


def _passing_points(
    cells: list[_Cell], layers: list[list[int]], layer_of: list[int], arrows: Sequence[tuple[int, int]]
) -> list[list[int]]:
    """For each arrow the cells of its points; cells of neighbouring layers are linked on the way."""
    few = sum(max(0, layer_of[t] - layer_of[s] - 1) for s, t in arrows) <= MOST_POINTS
    through: list[list[int]] = []
    for source, target in arrows:
        chain = [source]
        if few:
            for layer in range(layer_of[source] + 1, layer_of[target]):
                cells.append(_Cell(POINT_WIDTH, 0.0, None))
                layers[layer].append(len(cells) - 1)
                chain.append(len(cells) - 1)
        chain.append(target)
        if few or layer_of[target] == layer_of[source] + 1:
            for upper, lower in pairwise(chain):
                cells[upper].below.append(lower)
                cells[lower].above.append(upper)
        through.append(chain[1:-1])
    return through


def _order(cells: list[_Cell], layers: list[list[int]], downwards: bool) -> None:
    position = {cell: at for layer in layers for at, cell in enumerate(layer)}
    for layer in layers if downwards else reversed(layers):

        def barycentre(cell: int) -> float:
            neighbours = cells[cell].above if downwards else cells[cell].below
            if not neighbours:
                return float(position[cell])
            return sum(position[n] for n in neighbours) / len(neighbours)

        layer.sort(key=barycentre)
        position.update((cell, at) for at, cell in enumerate(layer))


def _pack(cells: list[_Cell], layer: list[int]) -> None:
    """Side by side, centred on 0."""
    left = -(sum(cells[c].width for c in layer) + GAP * (len(layer) - 1)) / 2
    for cell in layer:
        cells[cell].left = left
        left += cells[cell].width + GAP


def _straighten(cells: list[_Cell], layers: list[list[int]], downwards: bool) -> None:
    for layer in layers if downwards else reversed(layers):
        wanted = [_wanted_left(cells, cells[c], downwards) for c in layer]
        from_left: list[float] = []
        for at in range(len(layer)):
            least = from_left[-1] + cells[layer[at - 1]].width + GAP if at else wanted[at]
            from_left.append(max(wanted[at], least))
        from_right = list(wanted)
        for at in range(len(layer) - 2, -1, -1):
            from_right[at] = min(wanted[at], from_right[at + 1] - cells[layer[at]].width - GAP)
        # The mean of two packings without overlap has none either.
        for at, cell in enumerate(layer):
            cells[cell].left = (from_left[at] + from_right[at]) / 2


def _wanted_left(cells: list[_Cell], cell: _Cell, downwards: bool) -> float:
    neighbours = (cell.above or cell.below) if downwards else (cell.below or cell.above)
    if not neighbours:
        return cell.left
    return sum(cells[n].middle for n in neighbours) / len(neighbours) - cell.width / 2


def _positions(cells: list[_Cell], layers: list[list[int]], through: list[list[int]], boxes: int) -> Layout:
    shift = -min((cell.left for cell in cells), default=0.0)
    top_of: dict[int, float] = {}
    layer_of: dict[int, tuple[float, float]] = {}
    top = 0.0
    for layer in layers:
        height = max(cells[c].height for c in layer)
        for cell in layer:
            top_of[cell] = top + (height - cells[cell].height) / 2
            layer_of[cell] = (top, top + height)
        top += height + LAYER_GAP
    return Layout(
        boxes=[(cells[c].left + shift, top_of[c]) for c in range(boxes)],
        # An arrow crosses a layer vertically, so that it does not touch the boxes there.
        routes=[[(cells[c].middle + shift, y) for c in chain for y in layer_of[c]] for chain in through],
        width=max((cell.left + cell.width for cell in cells), default=0.0) + shift,
        height=max(0.0, top - LAYER_GAP),
    )
