"""Tidalog keeps a Datalog materialisation right while facts, rules and time move under it.

The public names.  They are imported when first used, so that a command which needs no engine starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tidalog.engine.limits import Limits, Progress, RunStats
    from tidalog.errors import (
        DataError,
        Diagnostic,
        ProgramError,
        RunError,
        StoreError,
        TidalogError,
        UsageError,
    )
    from tidalog.program import Program
    from tidalog.results import Result
    from tidalog.session import open
    from tidalog.session.durable import Position, StoredKnowledgeBase
    from tidalog.session.knowledge_base import KnowledgeBase
    from tidalog.session.stats import Stats
    from tidalog.terms import IRI, BlankNode, Boolean, Double, Integer, LangString, Literal, String, Term
    from tidalog.update import Delta, PredicateChange, Update

_HOMES: Final = {
    "tidalog.engine.limits": ("Limits", "Progress", "RunStats"),
    "tidalog.errors": (
        "DataError",
        "Diagnostic",
        "ProgramError",
        "RunError",
        "StoreError",
        "TidalogError",
        "UsageError",
    ),
    "tidalog.program": ("Program",),
    "tidalog.results": ("Result",),
    "tidalog.session": ("open",),
    "tidalog.session.durable": ("Position", "StoredKnowledgeBase"),
    "tidalog.session.knowledge_base": ("KnowledgeBase",),
    "tidalog.session.stats": ("Stats",),
    "tidalog.terms": (
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
    "tidalog.update": ("Delta", "PredicateChange", "Update"),
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
