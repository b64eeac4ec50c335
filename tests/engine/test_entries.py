"""There is one way to call compiled code: entries take blocks of addresses, arrays and numbers, by place, and
give a number or several."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from typing import Annotated, get_args, get_origin, get_type_hints

import numpy as np

from tidalog.engine.derivation_log import DerivationLog
from tidalog.engine.dictionary_kernels import Terms
from tidalog.engine.fact_kernels import Facts
from tidalog.engine.kernel_object import PACKAGE, source_files
from tidalog.engine.undo_log import Log


def entries() -> Iterator[tuple[str, ast.FunctionDef, dict[str, object]]]:
    """The name of each entry, its definition, and the names that its annotations may use."""
    for file in source_files():
        module = ".".join(("tidalog", *file.relative_to(PACKAGE).with_suffix("").parts))
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and "entry" in map(ast.unparse, node.decorator_list):
                yield f"{module}.{node.name}", node, vars(importlib.import_module(module))


def is_number(hint: object) -> bool:
    return hint in (int, float, bool)


def is_array(hint: object) -> bool:
    return get_origin(hint) is Annotated


def is_block(hint: object) -> bool:
    """A named tuple of arrays, or of such tuples."""
    if not (isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")):
        return False
    return all(
        is_array(kind) or is_block(kind) for kind in get_type_hints(hint, include_extras=True).values()
    )


def is_result(hint: object) -> bool:
    several = get_args(hint) if get_origin(hint) is tuple else (hint,)
    return hint is None or all(map(is_number, several))


def test_entries_take_blocks_arrays_and_numbers_and_give_numbers() -> None:
    wrong, blocks, count = [], set(), 0
    for name, entry, names in entries():
        given = entry.args
        if given.posonlyargs or given.kwonlyargs or given.defaults or given.vararg or given.kwarg:
            wrong.append(f"{name}: arguments by place alone")
        for argument in given.args:
            hint = eval(ast.unparse(argument.annotation), names) if argument.annotation else None
            if is_block(hint):
                blocks.add(hint)
            elif not (is_number(hint) or is_array(hint)):
                wrong.append(f"{name}: {argument.arg}")
        if entry.returns is None or not is_result(eval(ast.unparse(entry.returns), names)):
            wrong.append(f"{name}: its result")
        count += 1
    assert wrong == []
    assert count > 100
    assert {Facts, Terms, Log} < blocks


def test_what_the_convention_excludes_is_found() -> None:
    for hint in (Facts, Log):
        assert is_block(hint)
    for hint in (tuple[Facts, Terms], tuple, object, DerivationLog, np.ndarray, list[int], None):
        assert not (is_block(hint) or is_array(hint) or is_number(hint))
    assert is_result(tuple[int, float])
    assert not is_result(Facts)
    assert not is_result(tuple[int, Facts])


def test_only_an_owner_replaces_its_arrays() -> None:
    """Its block would name the old ones."""
    files = [file for folder in ("engine", "maintain") for file in (PACKAGE / folder).rglob("*.py")]
    setting = {file.name for file in files if re.search(r"\.arrays = |\._block = ", file.read_text())}
    assert setting == {"addresses.py"}
