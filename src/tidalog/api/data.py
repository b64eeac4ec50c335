"""Data that is given to `insert` and `delete`: values in memory, or a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidalog.api.arguments import check_fitting, check_on_error
from tidalog.api.progress import bar_for
from tidalog.io.frames import from_python
from tidalog.io.read import read_table
from tidalog.io.result import OnError, ReadResult


@dataclass(frozen=True, slots=True)
class DataOptions:
    """The options of `KnowledgeBase.insert`."""

    format: str | None = None
    formats: Sequence[str] | None = None
    header: bool | None = None
    columns: Sequence[str] | None = None
    on_error: OnError = "error"
    quarantine: str | os.PathLike[str] | None = None
    progress: bool | None = None


def read_data(name: str, data: object, arity: int | None, options: DataOptions) -> ReadResult:
    """Rows for a predicate."""
    check_on_error(options.on_error)
    from_file = isinstance(data, str | os.PathLike)
    check_fitting(from_file, format=options.format, header=options.header, columns=options.columns)
    kept = Path(options.quarantine) if options.quarantine is not None else None
    if not isinstance(data, str | os.PathLike):
        return from_python(
            data,
            arity,
            options.columns,
            formats=options.formats,
            on_error=options.on_error,
            quarantine=kept,
        )
    with bar_for(options.progress) as bar:
        return read_table(
            data,
            options.format,
            formats=options.formats,
            header=options.header,
            on_error=options.on_error,
            quarantine=kept,
            arity=arity,
            progress=bar.on_read(name),
        )
