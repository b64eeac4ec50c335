"""The graph as text and picture, and the report of `check`."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest
from analysis_programs import analysed
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalog.analysis import GRAPH_FORMATS, GraphFormat, describe, describe_json, render_graph
from tidalog.analysis.graph_layout import GAP, lay_out
from tidalog.analysis.svg import Arrow, Box, draw

TEXT = """
r1: path(?x, ?y) :- edge(?x, ?y).
r2: path(?x, ?z) :- edge(?x, ?y), path(?y, ?z).
r3: far(?x, ?y) :- path(?x, ?y), ~edge(?x, ?y).
r4: degree(?x, #count(?y)) :- path(?x, ?y).
r5: odd(?x) :- node(?x), ~far(?x, _).
r6: :- odd(?x), degree(?x, 0).
edge(a, b). node(a).
"""


def test_the_report_of_check() -> None:
    assert describe(analysed(TEXT)) == (
        "test.rls: 6 rules, 6 predicates, recursive, negation, aggregates, 3 strata\n"
        "  component 1  edge/2    explicit only                          stratum 1\n"
        "  component 2  node/1    explicit only                          stratum 1\n"
        "  component 3  path/2    r1 → r2 (recursive)  depends on 1      stratum 1\n"
        "  component 4  degree/2  r4                   depends on ~3     stratum 2\n"
        "  component 5  far/2     r3                   depends on 3, ~1  stratum 2\n"
        "  component 6  odd/1     r5                   depends on 2, ~5  stratum 3\n"
        "  constraints  r6\n"
        "\n"
        "hyper-nodes of the rule graph\n"
        "  hn1  r1              path\n"
        "  hn2  r2 (recursive)  path        depends on hn1\n"
        "  hn3  r3              far         depends on hn1, hn2\n"
        "  hn4  r4              degree      depends on ~hn1, ~hn2\n"
        "  hn5  r5              odd         depends on ~hn3\n"
        "  hn6  r6              constraint  depends on hn4, hn5\n"
    )


def test_the_json_report_says_the_same_and_is_json() -> None:
    described = json.loads(json.dumps(describe_json(analysed(TEXT))))
    assert [component["predicates"] for component in described["components"]] == [
        ["edge"], ["node"], ["path"], ["degree"], ["far"], ["odd"],
    ]  # fmt: skip
    assert described["components"][5]["depends_negatively_on"] == [4]
    assert described["hyper_nodes"][2] == {
        "name": "hn3",
        "rules": ["r3"],
        "predicates": ["far"],
        "recursive": False,
        "feeds": [],
        "feeds_negatively": [4],
    }
    assert described["constraints"] == ["r6"]


def test_mermaid() -> None:
    text = render_graph(
        analysed("p(?x) :- e(?x), ~q(?x). q(?x) :- e(?x). n(#count(?x)) :- p(?x)."), "mermaid"
    )
    assert text == (
        "flowchart TB\n"
        '  hn1["hn1<br/>r2<br/>→ q/1<br/>reads e/1"]\n'
        '  hn2["hn2<br/>r1<br/>→ p/1<br/>reads e/1"]\n'
        '  hn3["hn3<br/>r3<br/>→ n/1"]\n'
        '  hn1 -.->|"~q"| hn2\n'
        '  hn2 -.->|"#p"| hn3\n'
    )


def test_dot() -> None:
    text = render_graph(analysed("p(?x) :- p(?x), e(?x). q(?x) :- p(?x)."), "dot")
    assert '  hn1 [label="hn1 (recursive)\\nr1\\n→ p/1\\nreads e/1", penwidth=2];\n' in text
    assert '  hn1 -> hn2 [label="p"];\n' in text


def test_svg_is_xml_with_a_box_for_each_hyper_node_and_dashes_for_negation() -> None:
    analysis = analysed(TEXT)
    root = ElementTree.fromstring(render_graph(analysis, "svg"))
    space = "{http://www.w3.org/2000/svg}"
    shown = "".join(root.itertext())
    assert all(f"r{n}" in shown for n in range(1, 7))
    kinds = [path.get("class") for path in root.iter(f"{space}path")]
    assert kinds.count("arrow negative") == 1 + sum(len(node.negative) for node in analysis.hyper_nodes)
    assert len(root.findall(f"{space}g")) == len(analysis.hyper_nodes) + 1


@pytest.mark.parametrize("format", GRAPH_FORMATS)
def test_a_program_without_rules_still_has_a_picture(format: GraphFormat) -> None:
    assert render_graph(analysed("p(a)."), format)


def test_names_that_are_markup_do_not_break_the_picture() -> None:
    boxes = (Box('<a href="x">&\x00', ("]]>",), False), Box("b", (), True))
    picture = ElementTree.fromstring(draw("<&>", boxes, (Arrow(0, 1, True, ("<p>",)),)))
    shown = "".join(picture.itertext())
    assert "\x00" not in shown
    for text in ("<&>", '<a href="x">&', "]]>", "<p>"):
        assert text in shown
    assert not [element for element in picture.iter() if element.tag.endswith(("}a", "}p"))]


acyclic = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.lists(st.tuples(st.floats(20, 300), st.floats(20, 90)), min_size=n, max_size=n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] < e[1])),
    )
)


@given(acyclic)
@settings(max_examples=150, deadline=None)
def test_no_two_boxes_overlap_and_every_arrow_points_down(
    graph: tuple[list[tuple[float, float]], list[tuple[int, int]]],
) -> None:
    sizes, arrows = graph
    layout = lay_out(sizes, arrows)
    areas = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(layout.boxes, sizes, strict=True)]
    for at, (left, top, right, bottom) in enumerate(areas):
        assert left + 1e-6 >= 0 and right <= layout.width + 1e-6 and bottom <= layout.height + 1e-6
        for other in areas[:at]:
            beside = left >= other[2] + GAP - 1e-6 or other[0] >= right + GAP - 1e-6
            assert beside or top >= other[3] or other[1] >= bottom
    for (source, target), route in zip(arrows, layout.routes, strict=True):
        heights = [areas[source][3], *(y for _, y in route), areas[target][1]]
        assert heights == sorted(heights)
