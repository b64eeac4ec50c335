"""Makes the helpers beside the tests importable from every folder of tests, and shares what is slow to start.

All tests with a Spark session run in one worker of pytest-xdist: a second session would take as long to start
as many of them take to run.  So do tests that share an expensive fixture of their module.
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
SPARK, KILLED = "spark: SparkSession", "killed: Path"
"""The fixtures that are shared, as their tests ask for them."""

FEW = 15
"""Cases of a law that `make test-bounds` tries: an index goes wrong in one of the first or rarely."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With compiled code that checks every index, laws have FEW cases (a profile does not reduce theirs)."""
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
    return next((fixture for fixture in (SPARK, KILLED) if fixture in text), None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Every test is handed out alone, but those that share a fixture go to one worker, and go first.

    (`--dist loadgroup` would do the same by markers; xdist 3.8 does not apply them under pytest 9.2.)"""
    from xdist.scheduler import LoadScopeScheduling

    class SharedFixtures(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return shared_fixture(ROOT / nodeid.partition("::")[0]) or nodeid

    return SharedFixtures(config, log) if config.getvalue("dist") == "load" else None
