"""Composition: no class of the package has more than two ancestors of the package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import tidalog

MOST = 2
"""A class may extend one that extends another.  Deeper, and a call no longer says which code it runs."""


def _classes() -> set[type]:
    found: set[type] = set()
    for module in pkgutil.walk_packages(tidalog.__path__, "tidalog."):
        if module.name.endswith("__main__"):
            continue
        try:
            loaded = importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # pyspark is optional
            assert not (error.name or "").startswith("tidalog"), error
            continue
        found |= {c for _, c in inspect.getmembers(loaded, inspect.isclass) if c.__module__ == module.name}
    return found


def test_no_class_has_more_than_two_ancestors_of_ours() -> None:
    deep = {}
    for one in _classes():
        ancestors = [c for c in one.__mro__[1:] if c.__module__.startswith("tidalog")]
        if len(ancestors) > MOST:
            deep[f"{one.__module__}.{one.__name__}"] = [c.__name__ for c in ancestors]
    assert deep == {}


def test_a_stored_knowledge_base_is_a_knowledge_base_that_reads() -> None:
    names = [c.__name__ for c in tidalog.StoredKnowledgeBase.__mro__ if c.__module__.startswith("tidalog")]
    assert names == ["StoredKnowledgeBase", "KnowledgeBase", "Reader"]
