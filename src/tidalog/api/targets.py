"""The files of exports.  Separate from `sources`, so that reading a program does not import the writers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tidalog.io.binding import export_path
from tidalog.io.diagnostics import NotWritable
from tidalog.model.errors import DataError
from tidalog.model.program import DataBinding


def check_targets(exports: Iterable[tuple[DataBinding, Path]]) -> None:
    """No two exports, each with the folder that its path starts from, write the same file."""
    seen: dict[str, DataBinding] = {}
    for binding, folder in exports:
        path = export_path(binding, folder)
        other = seen.setdefault(os.path.realpath(path), binding)
        if other is not binding:
            why = f"the exports of {other.predicate} and {binding.predicate} both go to this file"
            raise DataError(NotWritable(path=path, why=why, hint="give each a resource of its own"))
