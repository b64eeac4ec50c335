"""The dialect table: which module reads which text.

A dialect is a module with one function

    parse_source(source: Source) -> tuple[Program, list[Diagnostic]]

that never raises for errors in the text: errors and warnings are in the list, and the program holds
what could be read.  Modules are imported on first use, so an unused dialect costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import Final, cast

from tidalog.model.errors import Diagnostic, Source
from tidalog.model.program import Program

ParseSource = Callable[[Source], tuple[Program, list[Diagnostic]]]


@dataclass(frozen=True, slots=True)
class Dialect:
    """`suffix` is the file ending that selects the dialect; `module` has its `parse_source`."""

    name: str
    suffix: str
    module: str

    def parse_source(self, source: Source) -> tuple[Program, list[Diagnostic]]:
        function = cast(ParseSource, import_module(self.module).parse_source)
        return function(source)


DIALECTS: Final[dict[str, Dialect]] = {
    dialect.name: dialect
    for dialect in (
        Dialect("main", ".rls", "tidalog.lang.dialects.main"),
        Dialect("zodiac", ".rules", "tidalog.lang.dialects.zodiac"),
        Dialect("rdfox", ".dlog", "tidalog.lang.dialects.rdfox"),
        Dialect("jena", ".jrules", "tidalog.lang.dialects.jena"),
    )
}


def dialect_of(path: str | PurePath) -> Dialect:
    """The dialect that a file's ending selects; by default, the main dialect."""
    suffix = PurePath(path).suffix.lower()
    for dialect in DIALECTS.values():
        if dialect.suffix == suffix:
            return dialect
    return DIALECTS["main"]
