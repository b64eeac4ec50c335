"""Shares expensive fixtures: tests that use one run in the same worker of pytest-xdist.

A second Spark session would take as long to start as many of its tests take to run.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tidalog.engine.kernel_object import CHECKED

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parent.parent
SHARED = {"spark": ("spark: SparkSession", "workspace: Workspace"), "killed": ("killed: Path",)}
"""The fixtures that are shared, and the parameters of tests that use them."""

FEW = 15
"""How many cases of a law `make test-bounds` tries: a wrong index shows in one of the first, or rarely."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With compiled code that checks every index, laws run FEW cases (a profile does not reduce them)."""
    for item in items if CHECKED else ():
        for owner, name in (
            (getattr(item, "function", None), "_hypothesis_internal_use_settings"),
            (getattr(item, "cls", None), "settings"),
        ):
            usual = getattr(owner, name, None)
            if isinstance(usual, settings):
                setattr(owner, name, settings(usual, max_examples=min(FEW, usual.max_examples)))


@cache
def shared_fixture(path: Path) -> str | None:
    text = path.read_text() if path.exists() else ""
    return next((name for name, used in SHARED.items() if any(one in text for one in used)), None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Every test is handed out alone, but those that share a fixture go to one worker, and go first.

    (`--dist loadgroup` would do the same by markers; xdist 3.8 does not apply them under pytest 9.2.)"""
    from xdist.scheduler import LoadScopeScheduling

    class SharedFixtures(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return shared_fixture(ROOT / nodeid.partition("::")[0]) or nodeid

    return SharedFixtures(config, log) if config.getvalue("dist") == "load" else None
