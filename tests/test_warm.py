"""Compiling in advance says so if it fails, in whichever of its processes."""

from __future__ import annotations

import shutil
import sys

import pytest

from tidalog import warm


def test_a_process_beside_that_fails_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    fails = shutil.which("false")
    assert fails is not None
    monkeypatch.setattr(sys, "executable", fails)
    with pytest.raises(SystemExit, match="ended with 1"):
        warm.warm()
