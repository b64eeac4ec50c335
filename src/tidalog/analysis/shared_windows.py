"""Which windows hold the same for different times, and which rules keep it so.

Of two windows over one stream with equal steps, whose lengths differ by whole steps, each fact leaves the
longer one the same time after the shorter one, whenever it came.  What follows by positive rules goes with
the first of the facts that it follows from, so that difference stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import lcm
from typing import Final

from tidalog.analysis.rewrite import nodes
from tidalog.model.program import (
    Aggregate,
    Atom,
    Call,
    Condition,
    Expression,
    FlatLiteral,
    Rule,
    Window,
    flat_literals,
)

_MOST_ATOMS: Final = 32
"""Of a rule that is certain to be searched for single instances."""
Streams = tuple[str, ...]


def of_equal_step(
    datasets: Iterable[tuple[Streams, Sequence[Window]]],
) -> Iterator[list[tuple[Streams, int]]]:
    """Groups of datasets, given as streams and the windows among these, from which facts go at times that
    differ by a constant: the one that keeps them longest first, and how much less long each one does."""
    groups: dict[object, list[tuple[Streams, int]]] = {}
    for streams, windows in datasets:
        shortest = min((window.length for window in windows), default=0)
        groups.setdefault(_kind(streams, windows, shortest), []).append((streams, shortest))
    for group in groups.values():
        group.sort(key=lambda one: (-one[1], one[0]))
        longest = group[0][1]
        yield [(streams, longest - length) for streams, length in group]


def _kind(streams: Streams, windows: Sequence[Window], shortest: int) -> object:
    """Equal for datasets of one group."""
    if {w.name for w in windows} != {*streams} or any(w.kind != "range" for w in windows):
        return streams
    own = sorted((window.source, window.step, window.length - shortest) for window in windows)
    return tuple(own), shortest % lcm(*(window.step for window in windows))


def are_positive(rules: Iterable[Rule], is_native: Callable[[Expression], bool]) -> bool:
    """Whether what rules derive goes when the first of the facts does that it follows from."""
    for rule in rules:
        literals = list(flat_literals(rule.body))
        if not 0 < sum(isinstance(literal, Atom) for literal in literals) < _MOST_ATOMS:
            return False
        if not all(_is_positive(literal, is_native) for literal in (*rule.heads, *literals)):
            return False
    return True


def is_join(rule: Rule) -> bool:
    """Whether it pays to apply a rule once: a copy is as fast."""
    return sum(isinstance(literal, Atom) for literal in flat_literals(rule.body)) > 1


def _is_positive(literal: FlatLiteral, is_native: Callable[[Expression], bool]) -> bool:
    """Whether a literal is true of what it is about at any time."""
    if not isinstance(literal, Atom | Condition):
        return False
    calls = [node for node in nodes(literal) if isinstance(node, Call | Aggregate)]
    return all(isinstance(call, Call) and is_native(call) for call in calls)
