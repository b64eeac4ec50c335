"""Compiled code reads no array outside its bounds: every view has the length of its memory, and an object
built with `TIDALOG_BOUNDSCHECK=1` (`make test-bounds`) checks every index."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from tidalog.engine.dictionary import Dictionary
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.kernel_object import CHECKED, KernelError, source_files
from tidalog.engine.term_formatting import gather_numbers, kinds_among

_VIEWS = {
    f"{kind}_{shape}"
    for kind in ("int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64")
    for shape in ("at", "table", "levels")
}


def is_known(length: ast.expr) -> bool:
    """Whether a length is read from beside an address, or a constant of the layout."""
    if isinstance(length, ast.BinOp) and isinstance(length.op, ast.Mult):
        return is_known(length.left) and is_known(length.right)
    if isinstance(length, ast.Call):  # len(array)
        return isinstance(length.func, ast.Name) and length.func.id == "len"
    if isinstance(length, ast.Constant):
        return length.value == 1
    return isinstance(length, ast.Subscript) or (isinstance(length, ast.Name) and length.id.isupper())


def test_no_view_has_a_made_up_length() -> None:
    calls = [
        (file.name, node)
        for file in source_files()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _VIEWS
    ]
    assert len(calls) > 40
    unknown = [
        f"{name}:{call.lineno}: {ast.unparse(call)}"
        for name, call in calls
        if not all(map(is_known, call.args[1:]))
    ]
    assert unknown == []


@pytest.mark.skipif(not CHECKED, reason="the object does not check indexes")
def test_an_index_out_of_bounds_is_an_error() -> None:
    dictionary, engine = Dictionary(), EmbeddedEngine()
    with pytest.raises(KernelError, match="out of bounds"):
        kinds_among(dictionary.at, np.array([1 << 30], np.int32))
    with pytest.raises(KernelError, match="out of bounds"):
        gather_numbers(dictionary.at, np.zeros(2, np.int32), np.empty(1, np.int64))
    with pytest.raises(KernelError, match="out of bounds"):
        engine.store.column(np.array([1 << 30], np.int32), 0)
