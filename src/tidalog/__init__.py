"""Tidalog maintains a Datalog materialisation exactly while facts, rules and time change.

The public names.  They are imported when first used, so that a command which needs no engine starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tidalog.analysis.maintenance_program import volz_program, window_program
    from tidalog.api import open
    from tidalog.api.continuous import register_file
    from tidalog.api.delta import Delta, PredicateChange
    from tidalog.api.knowledge_base import KnowledgeBase
    from tidalog.api.results import Result
    from tidalog.api.sparql_results import Solutions, Triples, Truth
    from tidalog.api.stats import Stats
    from tidalog.api.stored import StoredKnowledgeBase
    from tidalog.api.update import Update
    from tidalog.engine.limits import Limits, Progress, RunStats
    from tidalog.io.change_feed import ChangeFeedWriter
    from tidalog.io.update_tables import read_update_table
    from tidalog.lang import parse_file
    from tidalog.lang.updates import parse_updates_file, print_updates
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
    from tidalog.stream import QueueSource, Source

_MODULES: Final = {
    "tidalog.analysis.maintenance_program": ("volz_program", "window_program"),
    "tidalog.engine.limits": ("Limits", "Progress", "RunStats"),
    "tidalog.io.change_feed": ("ChangeFeedWriter",),
    "tidalog.io.update_tables": ("read_update_table",),
    "tidalog.lang": ("parse_file",),
    "tidalog.lang.updates": ("parse_updates_file", "print_updates"),
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
    "tidalog.api.sparql_results": ("Solutions", "Triples", "Truth"),
    "tidalog.api": ("open",),
    "tidalog.api.continuous": ("register_file",),
    "tidalog.api.stored": ("StoredKnowledgeBase",),
    "tidalog.storage.inbox": ("Position",),
    "tidalog.stream": ("QueueSource", "Source"),
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
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "IRI",
    "BlankNode",
    "Boolean",
    "ChangeFeedWriter",
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
    "QueueSource",
    "Result",
    "RunError",
    "RunStats",
    "Solutions",
    "Source",
    "Stats",
    "StoreError",
    "StoredKnowledgeBase",
    "String",
    "Term",
    "TidalogError",
    "Triples",
    "Truth",
    "Update",
    "UsageError",
    "open",
    "parse_file",
    "parse_updates_file",
    "print_updates",
    "read_update_table",
    "register_file",
    "volz_program",
    "window_program",
]


def __getattr__(name: str) -> object:
    if name == "spark":
        return import_module("tidalog.spark")
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'tidalog' has no attribute {name!r}")
    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
