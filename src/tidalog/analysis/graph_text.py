"""The graph of hyper-nodes as text: Mermaid, DOT or SVG.

A box is a hyper-node: its rules, the predicates they derive, and the input predicates they read.  An arrow
leads from a hyper-node to one that reads it; it is dashed if the reader uses it under a negation or an
aggregate.  After a rule edit, the hyper-nodes that it impacts directly and those that it reaches are marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tidalog.analysis.hypernodes import HyperNode
from tidalog.analysis.model import Analysis
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.scc import natural_key
from tidalog.analysis.svg import MARK_COLOURS, Arrow, Box, Mark, draw

GraphFormat = Literal["mermaid", "dot", "svg"]
GRAPH_FORMATS: Final[tuple[GraphFormat, ...]] = ("mermaid", "dot", "svg")
LINE_WIDTH: Final = 44
"""The width in characters at which the text in a box is wrapped."""


def render_graph(analysis: Analysis, format: GraphFormat) -> str:
    """The text of the picture; equal analyses give equal texts."""
    return GraphPicture(analysis).render(format)


@dataclass(frozen=True)
class GraphPicture:
    """The hyper-nodes of a program.  `numbers` has the number of each rule's hyper-node if numbers are kept
    across rule edits; `impacted` and `reached` are such numbers."""

    analysis: Analysis
    numbers: Mapping[str, int] | None = None
    impacted: frozenset[int] = frozenset()
    reached: frozenset[int] = frozenset()

    def render(self, format: GraphFormat) -> str:
        view = _view(self)
        if format == "mermaid":
            return _mermaid(view)
        if format == "dot":
            return _dot(view)
        return draw(view.title, view.boxes, view.arrows)

    def box(self, node: HyperNode, lines: tuple[str, ...]) -> Box:
        if self.numbers is None:
            return Box(node.name, lines, node.recursive)
        number = self.numbers[node.rules[0]]
        mark: Mark = "impacted" if number in self.impacted else "reached" if number in self.reached else ""
        return Box(f"hn{number}", lines, node.recursive, mark)


@dataclass(frozen=True, slots=True)
class _View:
    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def _view(picture: GraphPicture) -> _View:
    analysis = picture.analysis
    nodes = analysis.hyper_nodes
    rules = {rule.name: rule for rule in analysis.rules}
    boxes = tuple(
        picture.box(node, _lines(analysis, node, [rules[name] for name in node.rules])) for node in nodes
    )
    arrows: list[Arrow] = []
    for node in nodes:
        for targets, negative in ((node.positive, False), (node.negative, True)):
            for target in sorted(targets):
                readers = [rules[name] for name in nodes[target].rules]
                shared = _passed_on(analysis, node, readers, negative)
                arrows.append(Arrow(node.index, target, negative, tuple(shared)))
    source = analysis.program.source
    return _View(source.name if source is not None else "program", boxes, tuple(arrows))


def _lines(analysis: Analysis, node: HyperNode, rules: list[NormalRule]) -> tuple[str, ...]:
    read = {atom.predicate for rule in rules for atom in (*rule.atoms, *rule.negations)}
    given = sorted((p for p in read if not analysis.predicates[p].derived), key=natural_key)
    lines = [*_wrapped("", node.rules)]
    if node.predicates:
        lines += _wrapped("→ ", [_with_arity(analysis, p) for p in node.predicates])
    else:
        lines.append("constraint")
    if given:
        lines += _wrapped("reads ", [_with_arity(analysis, p) for p in given])
    return tuple(lines)


def _with_arity(analysis: Analysis, predicate: str) -> str:
    return f"{analysis.label(predicate)}/{analysis.predicates[predicate].arity}"


def _passed_on(analysis: Analysis, node: HyperNode, readers: list[NormalRule], negative: bool) -> list[str]:
    """The predicates on an arrow: `~p` if read under a negation, `#p` if under an aggregate."""
    derived = set(node.predicates)
    found: set[tuple[str, str]] = set()
    for rule in readers:
        if bool(rule.aggregates) == negative:
            found.update((atom.predicate, "#" if negative else "") for atom in rule.atoms)
        if negative:
            found.update((atom.predicate, "~") for atom in rule.negations)
    kept = sorted((p for p in found if p[0] in derived), key=lambda p: (natural_key(p[0]), p[1]))
    return [mark + analysis.label(predicate) for predicate, mark in kept]


def _wrapped(start: str, words: list[str] | tuple[str, ...]) -> list[str]:
    lines: list[str] = []
    line = start
    for word in words:
        if line.strip() and len(line) + len(word) > LINE_WIDTH and line != start:
            lines.append(line.rstrip())
            line = " " * len(start)
        line += word + " "
    return [*lines, line.rstrip()]


# --- Mermaid ----------------------------------------------------------------------------------------


def _mermaid(view: _View) -> str:
    lines = ["flowchart TB"]
    for box in view.boxes:
        text = "<br/>".join(_mermaid_text(line) for line in (_heading(box), *box.lines))
        lines.append(f'  {box.name}["{text}"]')
    for arrow in view.arrows:
        link = "-.->" if arrow.negative else "-->"
        label = _mermaid_text(", ".join(arrow.predicates))
        source, target = view.boxes[arrow.source].name, view.boxes[arrow.target].name
        lines.append(f'  {source} {link}|"{label}"| {target}')
    recursive = [box.name for box in view.boxes if box.recursive]
    if recursive:
        lines.append("  classDef recursive stroke-width:3px")
        lines.append(f"  class {','.join(recursive)} recursive")
    for mark, colour in MARK_COLOURS.items():
        marked = [box.name for box in view.boxes if box.mark == mark]
        if marked:
            lines.append(f"  classDef {mark} fill:{colour},color:#1f2d3a")
            lines.append(f"  class {','.join(marked)} {mark}")
    return "\n".join(lines) + "\n"


def _mermaid_text(text: str) -> str:
    escaped = text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
    return escaped.replace(" ", "&nbsp;") if text.startswith(" ") else escaped


def _heading(box: Box) -> str:
    remarks = [remark for remark in ("recursive" if box.recursive else "", box.mark) if remark]
    return f"{box.name} ({', '.join(remarks)})" if remarks else box.name


# --- DOT --------------------------------------------------------------------------------------------


def _dot(view: _View) -> str:
    lines = [
        "digraph rules {",
        f"  label={_dot_string(view.title)};",
        '  node [shape=box, style=rounded, fontname="monospace"];',
        '  edge [fontname="monospace", fontsize=10];',
    ]
    for box in view.boxes:
        text = "\n".join((_heading(box), *box.lines))
        extra = ", penwidth=2" if box.recursive else ""
        if box.mark:
            extra += f', style="rounded,filled", fillcolor="{MARK_COLOURS[box.mark]}"'
        lines.append(f"  {box.name} [label={_dot_string(text)}{extra}];")
    for arrow in view.arrows:
        extra = ", style=dashed" if arrow.negative else ""
        source, target = view.boxes[arrow.source].name, view.boxes[arrow.target].name
        lines.append(f"  {source} -> {target} [label={_dot_string(', '.join(arrow.predicates))}{extra}];")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _dot_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
