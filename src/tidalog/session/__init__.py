"""The knowledge base that a user holds: loading, inserting, materialising, asking.

Knows every room below it and none of the command line above it.  The engine is imported when the first
knowledge base is opened, so that what needs no engine starts at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidalog.session.knowledge_base import KnowledgeBase


def open(
    *,
    max_facts: int | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    strict: bool = False,
    strategy: str = "auto",
    marking: str = "auto",
    order: str = "ours",
) -> KnowledgeBase:
    """An empty knowledge base in memory.

    The limits hold for every materialisation, update and query: facts in all, seconds of a run, bytes of the
    engine.  `strict` makes a built-in that cannot be computed an error instead of a literal that is false.
    `strategy`, `marking` and `order` say how updates are maintained, where these are not told otherwise.
    """
    from tidalog.session.knowledge_base import KnowledgeBase
    from tidalog.session.limits import checked_limits
    from tidalog.session.maintenance import checked_options

    return KnowledgeBase(
        checked_limits(max_facts, max_seconds, max_memory, strict),
        checked_options(strategy, marking, order, look_ahead=1),
    )


__all__ = ["open"]
