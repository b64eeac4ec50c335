"""Blank nodes of files: each file has its own.

`_:b` of a file is `_:f0123456789ab_b` in facts: the digits are those of a hash of the file's bytes.  So two
files never share a node, and reading a file again, to delete what it holds, gives the same nodes.  Nodes
without a label are numbered as they come: `_:f0123456789abg0`.  Labels of these two forms are kept, so what
was exported is read as the same nodes.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import stat
from pathlib import Path
from typing import Final

import pyarrow as pa

from tidalog import arrow_compute as pc

_DIGITS: Final = 12
_KEPT: Final = rf"^_:f[0-9a-f]{{{_DIGITS}}}[_g]"
_GENERATED: Final = re.compile(r"_:[a-f][0-9a-f]{24,31}")
"""What the parser calls a node without a label: other digits at each reading."""
_PIECE: Final = 1 << 20


class BlankNodes:
    """The names of the blank nodes of a file.  With `generated`, the parser names those without a label."""

    def __init__(self, path: Path, *, generated: bool = False) -> None:
        self._path, self._generated = path, generated
        self._prefix: str | None = None
        self._numbers: dict[str, int] = {}

    def named(self, labels: pa.Array) -> pa.Array:
        """Blank nodes of the file, in the order in which they occur, as those of facts."""
        encoded = labels.dictionary_encode()
        distinct = encoded.dictionary
        if self._prefix is None:
            self._prefix = f"_:f{_digits_of(self._path)}"
        kept = pc.match_substring_regex(distinct, _KEPT)
        own = pc.replace_substring_regex(distinct, "^_:", f"{self._prefix}_")
        names = pc.if_else(kept, distinct, own)
        if self._generated:
            texts = distinct.to_pylist()
            found = [self._numbered(text) if _GENERATED.fullmatch(text) else None for text in texts]
            names = pc.coalesce(pa.array(found, pa.string()), names)
        return names.take(encoded.indices)

    def forget(self) -> None:
        """The file is read again."""
        self._numbers.clear()

    def _numbered(self, text: str) -> str:
        return f"{self._prefix}g{self._numbers.setdefault(text, len(self._numbers))}"


def _digits_of(path: Path) -> str:
    """The digits of a file; any, if it can be read only once."""
    if not stat.S_ISREG(path.stat().st_mode):
        return secrets.token_hex(_DIGITS // 2)
    digest = hashlib.blake2b(digest_size=_DIGITS // 2)
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
