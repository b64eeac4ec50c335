"""A short column of Python values is the one that Arrow's own conversion makes."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from tidalog.io import values as module
from tidalog.io.values import column_of


@pytest.mark.parametrize(
    "values",
    [
        [1, -(2**63), 2**63 - 1],
        [0.5, float("inf"), -0.0],
        [True, False, True] * 5,
        ["", "a", "ä€", "x" * 100],
        ["a", None, "b"],
        [None],
        [1, "a", 2.5, None, object()],
        [2**63, 1],
        ["\ud800", "a"],
    ],
)
def test_it_is_the_same(monkeypatch: pytest.MonkeyPatch, values: list[object]) -> None:
    monkeypatch.setattr(module, "_FEW", -1)
    by_arrow = column_of(values)
    monkeypatch.setattr(module, "_FEW", len(values))
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    column, reading, strange = column_of(values)
    column.validate(full=True)
    assert (column, reading, strange) == by_arrow


def test_a_small_column_does_not_import_pandas() -> None:
    script = (
        "import sys; from tidalog.io.values import column_of; column_of([1]); print('pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"


def test_an_empty_column_is_text() -> None:
    assert column_of([])[0].type == pa.string()
