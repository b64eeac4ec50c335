"""Which update rows are right."""

from __future__ import annotations

from typing import Final

ADD_RULE: Final = "+rule"
REMOVE_RULE: Final = "-rule"
