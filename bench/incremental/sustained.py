"""Many small updates one after the other: the three tracks on the map program, again and again."""

from __future__ import annotations

import time

from bench.incremental.driver import Kept, as_rows
from bench.papers.programs import P_MAP
from bench.papers.streams import TRACKS, Update, track
from tidalog.maintain.choose import Options

PREDICATE = "nextInWay"


def journey(rounds: int) -> list[Update]:
    """The tracks in turn; each ends with an update that deletes what it has left."""
    once: list[Update] = []
    for name in TRACKS:
        stream = track(name)
        once += stream.updates
        *_, left = stream.states()
        once.append(Update(tuple(sorted(left)), ()))
    return once * rounds


def run(rounds: int, repeat: int) -> dict[str, object]:
    """Updates a second, the best of `repeat` in turn."""
    updates = journey(rounds)
    ways = {
        "Maintainer": lambda: direct(updates, Options()),
        "Maintainer, no marks": lambda: direct(updates, Options(marking="none")),
        "kb.stream": lambda: streamed(updates),
    }
    best: dict[str, float] = {}
    for _ in range(repeat + 1):
        for name, go in ways.items():
            best[name] = min(best.get(name, float("inf")), go())
    return {"updates": len(updates), "cpu_seconds": best}


def direct(updates: list[Update], options: Options) -> float:
    kept = Kept(P_MAP, {}, options)
    ready = [kept.update(PREDICATE, as_rows(u.deleted), as_rows(u.inserted)) for u in updates]
    kept.prepare()
    began = time.process_time()
    for number, update in enumerate(ready):
        kept.maintainer.apply(update, ready[number + 1 : number + 2])
    seconds = time.process_time() - began
    if kept.facts:
        raise RuntimeError(f"{kept.facts} facts are left of none")
    return seconds


def streamed(updates: list[Update]) -> float:
    """The way of a user: `Update` objects in, deltas out; making the objects is not timed."""
    import tidalog

    kb = tidalog.open()
    kb.load(P_MAP)
    kb.materialise()
    ready = [
        tidalog.Update(
            deletions={PREDICATE: list(u.deleted)} if u.deleted else None,
            insertions={PREDICATE: list(u.inserted)} if u.inserted else None,
        )
        for u in updates
    ]
    began = time.process_time()
    for _ in kb.stream(ready):
        pass
    return time.process_time() - began
