"""Compiled code is one object file: what names it, how it is called, what happens if it is not built."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tidalog.engine import kernel_object
from tidalog.engine.fact_kernels import hash_rows
from tidalog.engine.hash_table import move_entries
from tidalog.engine.kernel_digest import digest_of_kernels
from tidalog.engine.kernel_object import PACKAGE, KernelError, source_files

_KERNEL = '''"""A module."""
from tidalog.engine.jit import entry
LIMIT = 3


def helper(x: int) -> int:
    return x


@entry
def kernel(x: int) -> int:
    """Adds."""
    return x + LIMIT
'''


def digest(folder: Path, text: str) -> str:
    file = folder / "some_kernels.py"
    file.write_text(text)
    return digest_of_kernels([file], folder)


@pytest.mark.parametrize(
    "edit",
    [
        ('"""A module."""', '"""The same module."""'),
        ('    """Adds."""\n', "    # adds\n"),
        ("    return x\n", "    return 2 * x\n"),
        ("import entry", "import compiled, entry"),
    ],
)
def test_what_compiled_code_does_not_depend_on_leaves_the_digest(
    tmp_path: Path, edit: tuple[str, str]
) -> None:
    assert digest(tmp_path, _KERNEL) == digest(tmp_path, _KERNEL.replace(*edit))


@pytest.mark.parametrize(
    "edit", [("x + LIMIT", "x - LIMIT"), ("LIMIT = 3", "LIMIT = 4"), ("x: int", "x: float")]
)
def test_what_compiled_code_depends_on_changes_the_digest(tmp_path: Path, edit: tuple[str, str]) -> None:
    assert digest(tmp_path, _KERNEL) != digest(tmp_path, _KERNEL.replace(*edit))


def test_every_file_with_an_entry_point_is_among_the_sources() -> None:
    pattern = re.compile(r"^@(entry|compiled|inlined)$", re.MULTILINE)
    files = {file for file in PACKAGE.rglob("*.py") if pattern.search(file.read_text())}
    assert files <= set(source_files())


def test_arguments_of_the_wrong_kind_are_refused() -> None:
    slots = np.zeros(8, np.uint64)
    with pytest.raises(KernelError, match="old: a uint64 array of 1 dimensions in C order"):
        move_entries(np.zeros(4, np.int32), slots)
    with pytest.raises(KernelError, match="old"):
        move_entries(np.zeros((2, 2), np.uint64), slots)
    with pytest.raises(KernelError, match="old"):
        move_entries(np.zeros(8, np.uint64)[::2], slots)
    with pytest.raises(KernelError, match="old"):
        move_entries([0, 0], slots)  # type: ignore[arg-type]
    with pytest.raises(KernelError, match="takes 4 arguments"):
        hash_rows(1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        hash_rows("1", np.zeros((1, 1), np.int32), 1, slots)  # type: ignore[arg-type]


def test_a_process_that_has_the_object_does_not_import_numba() -> None:
    script = "import sys, tidalog.engine.engine as e; e.EmbeddedEngine(); print('numba' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout == "False\n"


def test_a_build_that_fails_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fails = shutil.which("false")
    assert fails is not None
    monkeypatch.setattr(sys, "executable", fails)
    monkeypatch.setattr(kernel_object, "object_path", lambda: tmp_path / "missing.o")
    with pytest.raises(RuntimeError, match="ended with 1"):
        kernel_object.built_code.__wrapped__()
