"""The generated programs and streams of maintenance serve whole knowledge bases as well."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "maintain"))
