"""The facts of a store as Parquet files, in consistent versions.

    FOLDER/current                     a link to the newest version
    FOLDER/version-NUMBER/PREDICATE.parquet      or version-NUMBER.1, if the link points to version-NUMBER

A version has the facts of every predicate after the update NUMBER of the store; files of unchanged predicates
are shared with the previous version.  The link is replaced atomically, and the previous version is kept for
processes that still read it.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidalog.io.arrow_files import write_parquet
from tidalog.io.files import free_name, writing
from tidalog.io.spark_fields import for_spark
from tidalog.spark.feed import CHECK_DISK
from tidalog.storage import faults

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase

CURRENT: Final = "current"
_VERSION: Final = re.compile(r"version-\d+(\.\d+)?")


class Materialised:
    """Writes versions.  Writing all facts may take longer than applying updates, so the pause before the next
    version is as long as writing the last one took; it has all updates up to then."""

    def __init__(self, folder: Path, kb: KnowledgeBase) -> None:
        self.folder = folder
        self._kb = kb
        self._changed: set[str] = set(kb.predicates)
        self._files: dict[str, str] = {}
        """Predicate → its file in the newest version."""
        self._version: Path | None = None
        self._written_at = 0.0
        self._took = 0.0
        with writing(folder, CHECK_DISK):
            folder.mkdir(parents=True, exist_ok=True)

    def changed(self, predicates: Iterable[str], *, new_rules: bool = False) -> None:
        """Marks predicates whose facts differ from the newest version; with new rules, there may be
        others."""
        self._changed.update(predicates)
        if new_rules:
            self._changed |= set(self._kb.predicates) ^ set(self._files)

    def write_if_due(self, number: int) -> None:
        if self._version is None or time.monotonic() - self._written_at >= self._took:
            self.write(number)

    def write(self, number: int) -> None:
        """Writes the version of the update `number`."""
        if not self._changed and self._version is not None:
            return
        start = time.monotonic()
        with writing(self.folder, CHECK_DISK):
            self._version = self._written(number)
        self._changed = set()
        self._written_at = time.monotonic()
        self._took = self._written_at - start

    def _written(self, number: int) -> Path:
        version = self.folder / f"version-{number}"
        part = self.folder / f".{version.name}.{secrets.token_hex(4)}"
        part.mkdir()
        files = file_names(self._kb)
        for name, file in files.items():
            if self._version is not None and name in self._files and name not in self._changed:
                os.link(self._version / self._files[name], part / file)
            else:
                write_parquet(for_spark(self._kb.facts(name).table), part / file)
        current = self.folder / CURRENT
        before = os.readlink(current) if current.is_symlink() else ""
        if before == version.name:  # from an earlier run; a process may still read it
            version = self.folder / f"{version.name}.1"
        if version.exists():  # from a run that ended before the link was replaced
            shutil.rmtree(version)
        os.replace(part, version)
        faults.at("facts written")
        kept = {version.name, before}
        link = self.folder / f".{CURRENT}.{secrets.token_hex(4)}"
        link.symlink_to(version.name, target_is_directory=True)
        os.replace(link, current)
        faults.at("facts linked")
        self._remove_others(kept)
        self._files = files
        return version

    def _remove_others(self, kept: set[str]) -> None:
        """Removes older versions and unfinished ones."""
        for path in self.folder.iterdir():
            unfinished = path.name.startswith((".version-", f".{CURRENT}."))
            if unfinished or (_VERSION.fullmatch(path.name) and path.name not in kept):
                if path.is_symlink():
                    path.unlink()
                else:
                    shutil.rmtree(path, ignore_errors=True)


def file_names(kb: KnowledgeBase) -> dict[str, str]:
    """Predicate → the unique name of its file."""
    taken: dict[str, str] = {}
    for name in kb.predicates:
        taken[free_name(kb.analysis.label(name), taken)] = name
    return {name: f"{file}.parquet" for file, name in taken.items()}
