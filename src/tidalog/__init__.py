"""Tidalog keeps a Datalog materialisation right while facts, rules and time move under it.

The public names.  They are imported when first used, so that a command which needs no engine starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tidalog.api import open
    from tidalog.api.delta import Delta, PredicateChange
    from tidalog.api.knowledge_base import KnowledgeBase
    from tidalog.api.results import Result
    from tidalog.api.stats import Stats
    from tidalog.api.stored import StoredKnowledgeBase
    from tidalog.api.update import Update
    from tidalog.engine.limits import Limits, Progress, RunStats
    from tidalog.model.errors import (
        DataError,
        Diagnostic,
        ProgramError,
        RunError,
        StoreError,
        TidalogError,
        UsageError,
    )
    from tidalog.model.program import Program
    from tidalog.model.terms import (
        IRI,
        BlankNode,
        Boolean,
        Double,
        Integer,
        LangString,
        Literal,
        String,
        Term,
    )
    from tidalog.storage.inbox import Position

_HOMES: Final = {
    "tidalog.engine.limits": ("Limits", "Progress", "RunStats"),
    "tidalog.model.errors": (
        "DataError",
        "Diagnostic",
        "ProgramError",
        "RunError",
        "StoreError",
        "TidalogError",
        "UsageError",
    ),
    "tidalog.model.program": ("Program",),
    "tidalog.api.results": ("Result",),
    "tidalog.api": ("open",),
    "tidalog.api.stored": ("StoredKnowledgeBase",),
    "tidalog.storage.inbox": ("Position",),
    "tidalog.api.knowledge_base": ("KnowledgeBase",),
    "tidalog.api.stats": ("Stats",),
    "tidalog.model.terms": (
        "IRI",
        "BlankNode",
        "Boolean",
        "Double",
        "Integer",
        "LangString",
        "Literal",
        "String",
        "Term",
    ),
    "tidalog.api.delta": ("Delta", "PredicateChange"),
    "tidalog.api.update": ("Update",),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "IRI",
    "BlankNode",
    "Boolean",
    "DataError",
    "Delta",
    "Diagnostic",
    "Double",
    "Integer",
    "KnowledgeBase",
    "LangString",
    "Limits",
    "Literal",
    "Position",
    "PredicateChange",
    "Program",
    "ProgramError",
    "Progress",
    "Result",
    "RunError",
    "RunStats",
    "Stats",
    "StoreError",
    "StoredKnowledgeBase",
    "String",
    "Term",
    "TidalogError",
    "Update",
    "UsageError",
    "open",
]


def __getattr__(name: str) -> object:
    if name == "spark":
        return import_module("tidalog.spark")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'tidalog' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
