"""Stores: opening, snapshots, the log and the policies of `fsync`, beside the same work in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.report import Section
from bench.storage import sections
from bench.suites.options import Options

_SIZES = (10_000_000, 100_000, 1000)
"""Facts of a store, rows of a batch, updates of one row."""
_QUICK = (20_000, 2000, 20)


def run(options: Options) -> Iterator[Section]:
    if not options.with_tidalog:
        return
    options.say("stores")
    with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as folder:
        yield from sections(Path(folder), *(_QUICK if options.quick else _SIZES))
