"""The closure of the random digraph, one edge deleted and inserted again, over and over."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.generators import random_digraph
from bench.incremental.driver import Kept, Rows, as_rows
from bench.peers_incremental.task import chosen
from tidalog.maintain.choose import Options

PROGRAM = """\
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
_BLOCK = 10
"""Edges that a strategy changes before another has its turn."""


def edges_of(nodes: int, edges: int) -> list[tuple[int, int]]:
    table = random_digraph(nodes, edges)
    return list(zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True))


@dataclass
class _Track:
    """One strategy on its own store."""

    kept: Kept
    deletes: list[float] = field(default_factory=list)
    inserts: list[float] = field(default_factory=list)
    status: str = ""
    chosen: Counter[str] = field(default_factory=Counter)
    """Deletions by the strategy that carried them out."""

    def change(self, edge: Sequence[int], left: float | None = None) -> bool:
        """One pair; False if it was stopped for taking longer than `left` seconds."""
        row: Rows = as_rows([edge])
        gone, back = self.kept.update("edge", deleted=row), self.kept.update("edge", inserted=row)
        outcome, deleting = self.kept.timed(gone, cap=left)
        if outcome is None:
            return False
        self.chosen.update(outcome.chosen.values())
        self.deletes.append(deleting)
        self.inserts.append(self.kept.timed(back)[1])
        return True

    @property
    def spent(self) -> float:
        return sum(self.deletes) + sum(self.inserts)


def pairs(
    nodes: int, edges: int, changes: int, strategies: Sequence[str], cap: float, repeat: int
) -> dict[str, object]:
    """Pairs by strategy, in turn; one that has used up its `cap` of seconds changes no more edges.  All begin
    with an edge that is not in the sample and, if there is one, leads to a dead end: it warms up."""
    graph = edges_of(nodes, edges)
    sample = chosen(graph, changes)
    inner = {source for source, _ in graph}
    spare = min((edge for edge in graph if edge not in set(sample)), key=lambda edge: edge[1] in inner)
    facts = {"edge": as_rows(graph)}
    scratch = min(Kept(PROGRAM, facts, Options()).scratch_seconds for _ in range(repeat + 1))
    tracks = {}
    for strategy in strategies:
        track = tracks[strategy] = _Track(Kept(PROGRAM, facts, Options(strategy)))
        track.kept.prepare()
        if not track.change(spare, cap):
            track.status = f"> {cap:g} s"
        track.deletes.clear()
        track.inserts.clear()
    whole = next(iter(tracks.values())).kept.facts
    for begin in range(0, len(sample), _BLOCK):
        for track in tracks.values():
            for edge in sample[begin : begin + _BLOCK]:
                if track.status or track.spent > cap:
                    break
                if not track.change(edge, cap):
                    track.status = f"> {cap:g} s"
    return {
        "facts": whole,
        "scratch_cpu_seconds": scratch,
        "strategies": {
            name: {
                "delete_cpu_seconds": track.deletes,
                "insert_cpu_seconds": track.inserts,
                "status": track.status,
                "facts_after": track.kept.facts,
            }
            for name, track in tracks.items()
        },
    }


def endurance(nodes: int, edges: int, changes: int, window: int, cap: float) -> dict[str, object]:
    """Many pairs on one store.  The last `window` pairs change the edges of the first, so that the two cost
    the same unless the store has become worse.  After `cap` seconds there are no more of them."""
    graph = edges_of(nodes, edges)
    first = chosen(graph, window)
    others = random.Random(4).choices(graph, k=max(0, changes - 2 * window))
    track = _Track(Kept(PROGRAM, {"edge": as_rows(graph)}, Options()))
    track.kept.prepare()
    track.change(others[0] if others else first[0])
    track.deletes.clear()
    track.inserts.clear()
    engine = track.kept.engine
    moments = []
    for edge in [None, *first, *others, *first]:
        if track.spent > cap:
            break
        if edge is not None:
            track.change(edge)
        moments.append((engine.nbytes, len(engine.store), track.kept.facts))
    return {
        "pairs": len(moments) - 1,
        "chosen": dict(track.chosen),
        "pair_cpu_seconds": [d + i for d, i in zip(track.deletes, track.inserts, strict=True)],
        "bytes": [moment[0] for moment in moments],
        "ids": [moment[1] for moment in moments],
        "facts": [moment[2] for moment in moments],
    }
