"""What can go wrong when a session starts, in a process of its own: one process has one session."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tidalog.spark.diagnostics import SparkError
from tidalog.spark.session import _check_reachable


def said(code: str) -> str:
    whole = (
        f"from tidalog.spark.session import spark_session\ntry:\n    {code}\nexcept Exception as e: print(e)"
    )
    result = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, timeout=200)
    assert result.stderr == ""
    return result.stdout


def test_a_master_that_is_not_there_is_t102() -> None:
    with pytest.raises(SparkError, match="T112") as raised:
        _check_reachable("spark://127.0.0.1:1")
    assert "refused" in str(raised.value)


def test_a_session_that_does_not_start_is_t101_with_what_spark_said() -> None:
    text = said("spark_session('neverwhere')")
    assert "error[T111]" in text
    assert "neverwhere" in text


def test_the_function_keyed_can_be_called_after_a_module_of_its_package_was_imported() -> None:
    code = "import tidalog.spark\nassert tidalog.spark.reshard\ntidalog.spark.keyed(None, 'key', 'rules.rls')"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    assert result.stderr.strip().endswith("'NoneType' object has no attribute 'isStreaming'")
