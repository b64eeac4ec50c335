"""The IMaRS paper on windows: Fig. 4 second by second, Fig. 3 over a stream, and both printed programs run
beside the engine."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import tidalog
from engine_harness import evaluate_engine
from tidalog.analysis.maintenance_program import NEVER, volz_program, window_program
from tidalog.lang import parse, parse_file, print_program
from tidalog.maintain.choose import STRATEGIES
from tidalog.model.program import Fact, Program
from tidalog.model.terms import IRI, RDF_TYPE, Double, Integer, String, Term
from tidalog.reference.naive import evaluate
from tidalog.reference.windows import WindowOracle

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SECOND = 1_000_000
Row = tuple[Term, ...]

# --- Fig. 4 -------------------------------------------------------------------------------------------------

R = "R: isIn(?x, ?z) :- isIn(?x, ?y), isIn(?y, ?z) ."
IN_WINDOW = {
    "R over the stream itself": ("isIn", R),
    "two rules": (
        "within",
        "within(?x, ?y) :- isIn(?x, ?y) . within(?x, ?z) :- isIn(?x, ?y), within(?y, ?z) .",
    ),
}
ENTERING = {1: "AB", 2: "BC", 3: "CD", 4: "AE ED"}
FIG_4 = {
    1: "AB",
    2: "AB BC AC",
    3: "AB BC AC CD BD AD",
    4: "AB BC AC CD BD AD AE ED",
    11: "BC CD BD AD AE ED",
    12: "CD AD AE ED",
    13: "AD AE ED",
    14: "",
}
"""What holds from each second on in which it changes."""
WITHOUT_ED = {
    **{second: facts for second, facts in FIG_4.items() if second < 5},
    5: "AB BC AC CD BD AD AE",
    11: "BC CD BD AE",
    12: "CD AE",
    13: "AE",
    14: "",
}
"""The same if E isIn D is deleted at second 5: A isIn D then follows through B and C alone."""


def facts(text: str) -> set[tuple[str, str]]:
    return {(x, y) for x, y in text.split()}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("program", IN_WINDOW)
@pytest.mark.parametrize("deleted", ["nothing", "ED"])
def test_figure_4_second_by_second(program: str, deleted: str, strategy: str) -> None:
    predicate, rules = IN_WINDOW[program]
    content = FIG_4 if deleted == "nothing" else WITHOUT_ED
    kb = tidalog.open(strategy=strategy)
    kb.load(f"@window isIn :- range 10s step 1s . {rules}")
    before: set[tuple[str, str]] = set()
    for second in range(1, 16):
        with kb.update(time=second) as update:
            if second in ENTERING:
                update.insert("isIn", sorted(facts(ENTERING[second])))
            if second == 5 and deleted != "nothing":
                update.delete("isIn", sorted(facts(deleted)))
        now = facts(content[second]) if second in content else before
        change = update.delta[predicate]
        assert set(kb.facts(predicate).to_rows()) == now
        assert set(change.inserted.to_rows()) == now - before
        assert set(change.deleted.to_rows()) == before - now
        assert set(change.expired.to_rows()) == (before - now if second >= 11 else set())
        before = now


# --- Fig. 3 -------------------------------------------------------------------------------------------------

EX = "http://example.org/transport/"
STREAM = "http://mobileservice.org/positions.trdf"
BRIDGE = f"@window <{STREAM}> :- range 6s step 2s . triple(?s, ?p, ?o) :- <{STREAM}>(?s, ?p, ?o) ."
PEOPLE, TRAINS, STATIONS = ("ada", "ben", "cho"), ("r7", "r8"), ("central", "harbour")


def triple(subject: str, predicate: str, object_: str) -> Row:
    return tuple(IRI(name if ":" in name else EX + name) for name in (subject, predicate, object_))


def some_triple(draw: random.Random) -> Row:
    kind = draw.randrange(4)
    if kind == 0:
        return triple(draw.choice(TRAINS), "stopsAt", draw.choice(STATIONS))
    if kind == 1:
        return triple(draw.choice(TRAINS), RDF_TYPE, "Train")
    return triple(draw.choice(PEOPLE), "ridesIn", draw.choice(TRAINS))


@cache
def rides() -> tuple[tuple[tuple[int, tuple[Row, ...], tuple[Row, ...]], ...], tuple[set[Row], ...]]:
    """Updates of a stream of triples, and all triples after each, as the oracle says."""
    draw, time = random.Random(3), 0
    rules, windows = parse_file(EXAMPLES / "rdfs" / "rdfs.jrules"), parse(BRIDGE)
    background = {row for name, row in kb_background() if name == "triple"}
    oracle = WindowOracle(windows.windows)
    whole = replace(windows, rules=(*rules.rules, *windows.rules), windows=())
    updates, states = [], []
    for _ in range(14):
        time += draw.choice((1, 1, 2, 4))
        inserted = tuple(some_triple(draw) for _ in range(draw.randrange(3)))
        deleted = tuple(some_triple(draw) for _ in range(draw.choice((0, 0, 2))))
        deleted = tuple(row for row in deleted if row not in inserted)
        oracle.update(time * SECOND, [(STREAM, row) for row in deleted], [(STREAM, row) for row in inserted])
        model = evaluate(whole, {STREAM: set(oracle.explicit()[STREAM]), "triple": background})
        updates.append((time, deleted, inserted))
        states.append(set(model["triple"]))
    return tuple(updates), tuple(states)


def kb_background() -> Iterable[tuple[str, Row]]:
    kb = tidalog.open()
    kb.load(f'@import triple :- turtle{{resource = "{EXAMPLES / "rdfs" / "transport.ttl"}"}} .')
    return [("triple", row) for row in kb.facts("triple").to_terms()]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_figure_3_runs_over_a_stream_with_background(strategy: str) -> None:
    kb = tidalog.open(strategy=strategy)
    kb.load(EXAMPLES / "rdfs" / "rdfs.jrules")
    kb.load(BRIDGE)
    kb.load(f'@import triple :- turtle{{resource = "{EXAMPLES / "rdfs" / "transport.ttl"}"}} .')
    before = set(kb.facts("triple").to_terms())
    updates, states = rides()
    for (time, deleted, inserted), state in zip(updates, states, strict=True):
        with kb.update(time=time) as update:
            if deleted:
                update.delete(STREAM, list(deleted))
            if inserted:
                update.insert(STREAM, list(inserted))
        assert set(kb.facts("triple").to_terms()) == state
        change = update.delta["triple"]
        assert set(change.inserted.to_terms()) == state - before
        assert set(change.deleted.to_terms()) == before - state
        before = state


def test_a_passenger_is_one_while_the_triple_is_in_the_window() -> None:
    kb = tidalog.open()
    kb.load(EXAMPLES / "rdfs" / "rdfs.jrules")
    kb.load(BRIDGE)
    kb.load(f'@import triple :- turtle{{resource = "{EXAMPLES / "rdfs" / "transport.ttl"}"}} .')
    with kb.update(time=1) as update:
        update.insert(STREAM, [triple("ada", "ridesIn", "r7")])
    held = set(kb.facts("triple").to_terms())
    wanted = {
        triple("ada", RDF_TYPE, "Passenger"),
        triple("ada", "isIn", "r7"),
        triple("r7", "isIn", "central"),
    }
    assert wanted <= held
    kb.advance(8)
    assert wanted & set(kb.facts("triple").to_terms()) == {triple("r7", "isIn", "central")}


# --- the printed programs -----------------------------------------------------------------------------------

PRINTED = {
    "R": ("isIn", R),
    "two rules": (
        "edge",
        "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- edge(?x, ?y), path(?y, ?z) .",
    ),
    "joins and computed values": (
        "edge",
        "two(?x, ?z) :- edge(?x, ?y), edge(?y, ?z), ?x != ?z . next(?x, ?m) :- two(?x, ?y), ?m = ?y + 1 ."
        "both(?x), back(?y, ?x) :- edge(?x, ?y), next(?y, _) .",
    ),
}
LENGTH = 5
Facts = Mapping[str, Iterable[Row]]


class Printed:
    """A printed program that keeps a state: what it says comes and goes is all that changes it."""

    def __init__(self, program: Program) -> None:
        self._program = parse(print_program(program))
        self.state: set[tuple[str, Row]] = set()

    def run(self, given: Facts) -> None:
        rows = [*self.state, *((name, row) for name, part in given.items() for row in part)]
        model, _ = evaluate_engine(replace(self._program, facts=tuple(Fact(*fact) for fact in rows)))
        plus, minus = (
            {
                (name.removesuffix(ending), row)
                for name, found in model.items()
                if name.endswith(ending)
                for row in found
            }
            for ending in ("_plus", "_minus")
        )
        assert minus <= self.state and not plus & self.state
        self.state = self.state - minus | plus

    def facts(self, timed: bool) -> dict[str, set[Row]]:
        found: dict[str, set[Row]] = {}
        for name, row in self.state:
            found.setdefault(name, set()).add(row[:-1] if timed else row)
        return found


@pytest.mark.parametrize("strategy", ["auto", STRATEGIES[1]])
@pytest.mark.parametrize("program", PRINTED)
def test_the_printed_programs_agree_with_the_engine_at_every_step(program: str, strategy: str) -> None:
    stream, rules = PRINTED[program]
    kb = tidalog.open(strategy=strategy)
    kb.load(f"@window {stream} :- range {LENGTH}s step 1s . {rules}")
    volz, window = Printed(volz_program(parse(rules))), Printed(window_program(parse(rules)))
    draw, now = random.Random(program), 0
    expiry: dict[Row, int] = {}
    for _ in range(16):
        now += draw.choice((1, 1, 1, 2, 3))
        entering = {
            (Integer(draw.randrange(5)), Integer(draw.randrange(5))) for _ in range(draw.randrange(4))
        }
        before = set(expiry)
        expiry = {row: time for row, time in expiry.items() if time > now}
        expiry |= dict.fromkeys(entering, now + LENGTH)
        after = set(expiry)
        given = {"del": before - after, "ins": after - before, "red": before & after}
        volz.run({f"{stream}_{kind}": part for kind, part in given.items()})
        timed = [(*row, Integer(now + LENGTH)) for row in entering]
        window.run({"now": [(Integer(now),)], f"{stream}_ins": timed})
        with kb.update(time=now) as update:
            if entering:
                update.insert(stream, [tuple(term.value for term in row) for row in entering])
        held = {name: set(kb.facts(name).to_terms()) for name in kb.predicates}
        held = {name: rows for name, rows in held.items() if rows}
        assert volz.facts(timed=False) == held
        assert window.facts(timed=True) == held
        lasting = {row[:2]: row[2] for name, row in window.state if name == stream}
        assert all(lasting[row].value >= time for row, time in expiry.items())


def test_facts_without_end_stay_in_the_printed_program() -> None:
    window = Printed(window_program(parse(R)))
    row = (String("A"), String("B"))
    window.run({"now": [(Double(1.0),)], "isIn_ins": [(*row, NEVER)]})
    window.run({"now": [(Double(1e300),)]})
    assert window.facts(timed=True) == {"isIn": {row}}
