"""Status of a fact: one uint16 per fact.  Each bit is a set; membership is one AND.

bit         the papers' set    set by                                  cleared by
EXPLICIT    E                  insertion of data                       deletion of data
PRESENT     I                  insertion, derivation                   the end of an update that deletes it
NEW                            insertion during an update              the end of the update
DELETED     D                  deletion during an update               the end of the update, or a new proof
SPREAD      O                  its consequences have been looked at    the end of the update
WAITING     W                  it is to be checked                     the check, or the end of the update
CHECKED     C                  the check                               the end of the update
PROVED      P (001: V)         a proof from what stays                 the end of the update
SATURATED   V of paper 003     forward chaining from it                the end of the update
DELAYED     Y                  a proof before it was checked           the end of the update
POSITIVE    POS                overdeletion of what comes back next    the end of the update
KEPT                           the update inserts what is there        the end of the update
TOUCHED                        whatever changes an older fact          the end of the update
MARKED                         a mark on an implicit fact              the next update
DELETED_NEXT                         a coming update deletes it              that update
RECORDED                       all its instances are recorded          its deletion, or the end of the log

A fact that is not PRESENT is dead: its id stays unused until ids are compacted.  During an update the old
state is PRESENT without NEW, the new state PRESENT without DELETED.
"""

from __future__ import annotations

from typing import Final

import numpy as np

EXPLICIT: Final = np.uint16(1 << 0)
PRESENT: Final = np.uint16(1 << 1)
NEW: Final = np.uint16(1 << 2)
DELETED: Final = np.uint16(1 << 3)
SPREAD: Final = np.uint16(1 << 4)
WAITING: Final = np.uint16(1 << 5)
CHECKED: Final = np.uint16(1 << 6)
PROVED: Final = np.uint16(1 << 7)
SATURATED: Final = np.uint16(1 << 8)
DELAYED: Final = np.uint16(1 << 9)
POSITIVE: Final = np.uint16(1 << 10)
TOUCHED: Final = np.uint16(1 << 11)
MARKED: Final = np.uint16(1 << 12)
DELETED_NEXT: Final = np.uint16(1 << 13)
RECORDED: Final = np.uint16(1 << 14)
KEPT: Final = np.uint16(1 << 15)

STATUS_EXPLICIT: Final = int(EXPLICIT | PRESENT)
STATUS_DERIVED: Final = int(PRESENT)
STATUS_NEW: Final = int(PRESENT | NEW)

LASTING: Final = np.uint16(EXPLICIT | PRESENT | MARKED | DELETED_NEXT | RECORDED)
"""What stays of a status when an update is over."""

# Masks of filters, with the value wanted.
OLD_STATE: Final = (int(PRESENT | NEW), int(PRESENT))
NEW_STATE: Final = (int(PRESENT | DELETED), int(PRESENT))
NOT_SPREAD: Final = (int(PRESENT | NEW | SPREAD), int(PRESENT))
