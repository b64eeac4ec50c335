"""When batches start: the option `trigger`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tidalog.api.diagnostics import BadArgument
from tidalog.model.errors import UsageError

AVAILABLE_NOW: Final = "available-now"
CONTINUOUS: Final = "continuous"
_INTERVAL: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|min|seconds?|minutes?|hours?)\s*")
_MILLISECONDS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


def interval_of(trigger: Mapping[str, Any]) -> float:
    """Seconds between the starts of two batches."""
    return float(str(trigger.get("processingTime", "0")).split()[0]) / 1000


def read_trigger(text: str | None) -> dict[str, Any]:
    """The arguments of Spark's `trigger`."""
    if text is None or text == CONTINUOUS:
        return {"processingTime": "0 seconds"}
    if text == AVAILABLE_NOW:
        return {"availableNow": True}
    found = _INTERVAL.fullmatch(text)
    if found is None:
        why = f"it is an interval such as 1s or 5m, {AVAILABLE_NOW} or {CONTINUOUS}"
        raise UsageError(BadArgument(problem=f"{text} is not a trigger", why=why, hint=""))
    unit = "ms" if found[2] == "ms" else found[2][0]
    return {"processingTime": f"{round(float(found[1]) * _MILLISECONDS[unit])} milliseconds"}
