"""Compares the message of an error with a golden file; `TIDALOG_UPDATE_GOLDENS=1` rewrites the golden."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tidalog.model.errors import DataError


def check_golden(case: Callable[[], object], golden: Path, hidden: str | None = None) -> None:
    """A golden is named by the number of its error.  `hidden` is a value whose text comes from a library."""
    with pytest.raises(DataError) as raised:
        case()
    text = str(raised.value) + "\n"
    if hidden is not None:
        for diagnostic in raised.value.diagnostics:
            text = text.replace(str(diagnostic.values[hidden]), "…")
    if os.environ.get("TIDALOG_UPDATE_GOLDENS"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()
    assert golden.name[:4] in {diagnostic.number for diagnostic in raised.value.diagnostics}
