"""The layout of triples is known in `rdf` alone."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from tidalog.rdf.layout import Layout

SOURCES = Path(__file__).resolve().parent.parent / "src" / "tidalog"
KNOWS_THE_LAYOUT = re.compile(
    r"""layout\.(properties|classes)\b   # which relation belongs to a property or a class
    | triples\.(properties|classes)\b
    | (layout|triples)\.relations\b | \bconstants\( # which columns of a triple a relation has
    | ALL_TRIPLES | ALL_TYPES | "\?triple | "\?type   # the views
    | TRIPLE\}: | "triple:                            # names of relations
    | [↑↓]                                            # names of bridges
    """,
    re.VERBOSE,
)
ALLOWED = {
    "analysis/report.py",  # shows the relations as they are
    "analysis/specialise.py",  # chooses them
}


def test_no_other_module_knows_how_triples_are_stored() -> None:
    found = [
        f"{path.relative_to(SOURCES)}: {line.strip()}"
        for path in sorted(SOURCES.rglob("*.py"))
        if path.parent.name != "rdf" and str(path.relative_to(SOURCES)) not in ALLOWED
        for line in path.read_text().splitlines()
        if KNOWS_THE_LAYOUT.search(line)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "layout", [Layout(), Layout.of(["e:p"], ["e:C"], frozenset(["e:t"])), Layout.of([], ["e:C"], views=True)]
)
def test_a_layout_survives_pickling_and_json(layout: Layout) -> None:
    assert pickle.loads(pickle.dumps(layout)) == layout
    again = Layout.from_json(**layout.to_json())  # type: ignore[arg-type]
    assert again.same_relations(layout)
    assert again.arities == layout.arities
