"""Makes the helpers beside the tests importable from every folder of tests, and shares what is slow to start.

All tests with a Spark session run in one worker of pytest-xdist (`--dist loadgroup`): a second session would
take as long to start as many of them take to run.  So do tests that share an expensive fixture of a module.
"""

from __future__ import annotations

import pytest

SHARED = {"spark": "Spark", "killed": "killed writers"}
"""Fixture → the group of the tests that use it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for fixture, group in SHARED.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group(group))
                break
