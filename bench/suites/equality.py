"""`@equality` beside the rules for equality: many small classes that are merged and fall apart."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from statistics import mean

import tidalog
from bench.report import Section
from bench.suites.options import Options
from tidalog import IRI, KnowledgeBase
from tidalog.lang import parse
from tidalog.reference.equality import with_equality_rules

_CLASSES, _MEMBERS, _UPDATES = 1_000, 10, 20
_SEED = 1
_PROGRAM = """\
@equality same .
same(?x, ?y) :- key(?x, ?k), key(?y, ?k) .
friend(?x, ?z) :- knows(?x, ?y), knows(?y, ?z) .
"""
_ARITIES = (("same", 2), ("key", 2), ("knows", 2), ("friend", 2))
_COLUMNS = (
    "how",
    "classes × members",
    "materialise CPU s",
    "facts seen",
    "MB",
    "merge a member ms",
    "take it out ms",
    "other fact ms",
)


def run(options: Options) -> Iterator[Section]:
    if not options.with_tidalog:
        return
    section = Section("Equality: classes of equal terms", _COLUMNS)
    sizes = ((20, 5),) if options.quick else ((100, 10), (_CLASSES, _MEMBERS))
    for classes, members in sizes:
        seen: set[int] = set()
        for how, load in (("@equality", _load), ("rules for equality", _load_rules)):
            options.say(f"equality: {how}, {classes:,} classes of {members}")
            row, facts = _measured(load, classes, members, 5 if options.quick else _UPDATES)
            section.rows.append((how, f"{classes:,} × {members}", *row))
            seen.add(facts)
        if len(seen) > 1:
            section.problems.append(f"{classes:,} classes: the two have different facts")
    yield section


def _load(kb: KnowledgeBase) -> None:
    kb.load(_PROGRAM)


def _load_rules(kb: KnowledgeBase) -> None:
    kb.load(with_equality_rules(parse(_PROGRAM), _ARITIES))


def _measured(
    load: Callable[[KnowledgeBase], None], classes: int, members: int, updates: int
) -> tuple[tuple[str, ...], int]:
    rng = random.Random(_SEED)
    terms = [IRI(f"t{number}") for number in range(classes * members)]
    kb = tidalog.open()
    load(kb)
    kb.insert("key", [(term, number % classes) for number, term in enumerate(terms)])
    kb.insert("knows", [(term, rng.choice(terms)) for term in terms[::members]])
    start = time.process_time()
    kb.materialise()
    derived = time.process_time() - start
    stats = kb.stats()
    chosen = [(terms[number], number % classes) for number in rng.sample(range(len(terms)), updates)]
    pairs = [(rng.choice(terms), rng.choice(terms)) for _ in range(updates)]
    apart = [_update(kb, delete=("key", row)) for row in chosen]
    together = [_update(kb, insert=("key", row)) for row in chosen]
    others = [_update(kb, insert=("knows", row)) for row in pairs]
    shown = (f"{1000 * mean(times):,.2f}" for times in (together, apart, others))
    row = (f"{derived:.2f}", f"{stats.facts:,}", f"{stats.bytes / 1e6:,.1f}", *shown)
    return row, kb.stats().facts


def _update(
    kb: KnowledgeBase,
    delete: tuple[str, tuple[object, ...]] | None = None,
    insert: tuple[str, tuple[object, ...]] | None = None,
) -> float:
    start = time.process_time()
    with kb.update() as update:
        if delete is not None:
            update.delete(delete[0], [delete[1]])
        if insert is not None:
            update.insert(insert[0], [insert[1]])
    return time.process_time() - start
