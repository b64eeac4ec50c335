"""Named points on the way of an update to disk, for tests that stop the world there.

`at` is called with the name of each point as it is passed; by itself it does nothing.

    log written        a record is handed to the system, not yet synced
    log synced         a record is on disk
    applied            an update is applied, which the log does not say yet
    snapshot begun     the arrays of a snapshot are copied
    snapshot written   the files of a snapshot are on disk, the manifest does not name them
    manifest replaced  the manifest names the new files, the old ones are there still

and on the way of a batch of a stream, or of the files of all facts:

    batch begun        a batch has come, and is to be read
    batch read         its rows are at the driver
    batch logged       they are in the log
    changes written    what was applied is in the change feed and in the files
    acknowledged       and the log says so
    facts written      a version of the files is whole, and the link leads to the one before
    facts linked       the link leads to it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final


def _pass(point: str) -> None:
    """Goes on."""


POINTS: Final = (
    "log written",
    "log synced",
    "applied",
    "snapshot begun",
    "snapshot written",
    "manifest replaced",
)
at: Callable[[str], None] = _pass
