"""A command line in this process: what it prints and its exit code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        """The one object on stdout; nothing else is said anywhere."""
        assert self.err == ""
        parsed = json.loads(self.out)
        assert isinstance(parsed, dict)
        return parsed

    @property
    def steady(self) -> str:
        """Stdout with figures that differ from run to run blanked out."""
        text = re.sub(r"\d+\.\d+ m?s\b", "S s", self.out)
        return re.sub(r"[\d.]+ [kMG]?B$", "B", text, flags=re.MULTILINE)


Command = Callable[..., Outcome]
