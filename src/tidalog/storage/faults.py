"""Named points on the way of an update to disk, for tests that fail there.

`at` is called with the name of each point; by itself it does nothing.

    log written        a record is written and not synced
    log synced         a record is on disk
    applied            an update is applied, and its outcome not logged
    snapshot begun     the arrays of a snapshot are copied
    snapshot written   the files of a snapshot are on disk, and not in the manifest
    manifest replaced  the manifest names the new files, and the old ones still exist

and on the way of a batch of a stream, or of the files of all facts:

    batch begun        a batch has come, and is not read
    batch read         its rows are at the driver
    batch logged       they are in the log
    changes written    what was applied is in the change feed and in the files
    acknowledged       and the log says so
    time advanced      an advance of time is logged
    facts written      a version of the files is complete, and the link names the one before
    facts linked       the link names it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final


def _pass(point: str) -> None:
    """Does nothing."""


POINTS: Final = (
    "log written",
    "log synced",
    "applied",
    "snapshot begun",
    "snapshot written",
    "manifest replaced",
)
at: Callable[[str], None] = _pass
