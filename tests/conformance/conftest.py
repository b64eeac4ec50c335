"""Generated programs and streams, and the checks of the layers below, are data of the suite as well."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("maintain", "api", "storage"):
    sys.path.append(str(Path(__file__).resolve().parent.parent / folder))
