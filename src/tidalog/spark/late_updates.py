"""Why updates come too late: after others (T125), or for windows (T174)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidalog.io.update_diagnostics import UpdateTooLate as TooLateForWindows
from tidalog.model.window_times import time_text
from tidalog.spark.diagnostics import UpdateTooLate
from tidalog.spark.sequencer import Ordered

if TYPE_CHECKING:
    from tidalog.api.acceptance import Late
    from tidalog.model.update import Label


def late_texts(
    found: Ordered, late: Sequence[Late | None], last: Label | None
) -> dict[Label | None, tuple[str, str]]:
    """The number and the message of each late update, by label.  `late` is about the updates of `found`, and
    `last` is the last label before them."""
    why: dict[Label, str] = dict.fromkeys(found.changed, "it was applied with other rows")
    why |= dict.fromkeys(found.unseen, f"update {last} came before it")
    texts: dict[Label | None, tuple[str, str]] = {
        label: (UpdateTooLate.number, f"{UpdateTooLate(label=label, why=reason).message}: {reason}")
        for label, reason in why.items()
    }
    for label, one in zip(found.updates.updates, late, strict=True):
        if one is not None:
            message = TooLateForWindows(time=time_text(one.time), now="", late="").message
            texts[label] = TooLateForWindows.number, f"{message}: time is at {time_text(one.now)}"
    return texts
