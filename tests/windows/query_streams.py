"""Continuous queries under random changes, each answer held against an evaluation from scratch.

The content of a window is that of `reference.windows`, what follows from it and the background that of
`reference.naive`, and the answers to a query are those of pyoxigraph over these triples.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyoxigraph as ox

import tidalog
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.lang import parse
from tidalog.model.errors import ProgramError, UsageError
from tidalog.model.program import Fact, Program, Window
from tidalog.model.terms import IRI, BlankNode, Term, literal
from tidalog.reference.clauses import NotEvaluable
from tidalog.reference.naive import evaluate
from tidalog.reference.windows import Operation, WindowOracle

SECOND = 1_000_000
E = "http://e/"
STREAMS = (f"{E}s", f"{E}t")
Triple = tuple[Term, Term, Term]
Answer = frozenset[tuple[Term | None, ...]]

RULES = {
    "transitive": "triple(?x, :in, ?z) :- triple(?x, :in, ?y), triple(?y, :in, ?z).",
    "properties": "triple(?x, ?q, ?y) :- triple(?x, ?p, ?y), triple(?p, :sub, ?q).",
    "negation": "triple(?x, :alone, ?x) :- triple(?x, :in, ?y), ~triple(?x, :near, _).",
    "aggregate": "triple(?x, :degree, #count(?y)) :- triple(?x, :near, ?y).",
    "helper": "linked(?x, ?y) :- triple(?x, :near, ?y). linked(?x, ?z) :- linked(?x, ?y), linked(?y, ?z)."
    "triple(?x, :linked, ?y) :- linked(?x, ?y).",
    "after negation": "triple(?x, :quiet, ?y) :- triple(?x, :alone, ?x), triple(?x, :in, ?y).",
    "classes": "triple(?x, rdf:type, :Inside) :- triple(?x, :in, ?y). triple(?x, rdf:type, :Both) :- "
    "triple(?x, rdf:type, :Inside), triple(?x, :near, ?y).",
}
POSITIVE = ("transitive", "properties", "helper", "classes")
PATTERNS = {
    "property": "SELECT ?x ?y {} WHERE {{ ?x :in ?y }}",
    "everything": "SELECT ?x ?p ?y {} WHERE {{ ?x ?p ?y }}",
    "groups": "SELECT ?x (COUNT(*) AS ?n) {} WHERE {{ ?x :near ?y }} GROUP BY ?x",
    "absence": "SELECT ?x {} WHERE {{ ?x :in ?y FILTER NOT EXISTS {{ ?x :near ?z }} }}",
    "optional": "SELECT ?x ?y ?z {} WHERE {{ ?x :near ?y OPTIONAL {{ ?y :in ?z }} }}",
    "derived": "SELECT ?x ?y {} WHERE {{ {{ ?x :linked ?y }} UNION {{ ?x :alone ?y }} "
    "UNION {{ ?x :degree ?y }} UNION {{ ?x :quiet ?y }} }}",
    "types": "SELECT ?x ?c {} WHERE {{ ?x a ?c }}",
    "class": "SELECT ?x {} WHERE {{ ?x a :Both FILTER (?x != :a) }}",
    "construct": "CONSTRUCT {{ ?y :back ?x }} {} WHERE {{ ?x :near ?y }}",
    "ask": "ASK {} WHERE {{ ?x :alone ?x }}",
}
WINDOWS = {
    "[RANGE 6s STEP 2s]": ("range", 6 * SECOND, 2 * SECOND),
    "[RANGE 9s]": ("range", 9 * SECOND, 1),
    "[RANGE 5s TUMBLING]": ("range", 5 * SECOND, 5 * SECOND),
    "[TRIPLES 3]": ("count", 3, 1),
    "[TRIPLES 1]": ("count", 1, 1),
}
EQUAL_STEPS = {
    "[RANGE 3s]": ("range", 3 * SECOND, 1),
    "[RANGE 9s]": ("range", 9 * SECOND, 1),
    "[RANGE 20s]": ("range", 20 * SECOND, 1),
    "[RANGE 4s STEP 2s]": ("range", 4 * SECOND, 2 * SECOND),
    "[RANGE 10s STEP 2s]": ("range", 10 * SECOND, 2 * SECOND),
    "[RANGE 11s STEP 2s]": ("range", 11 * SECOND, 2 * SECOND),
}
"""Most are longer than another one by whole steps."""
STRATEGIES = ("auto", "auto", "expire", "expire", "ranked", "fbf", "dred", "counting", "recompute")
PREFIX = f"PREFIX : <{E}>\n"


def window_of(stream: str, text: str) -> Window:
    kind = {**WINDOWS, **EQUAL_STEPS}[text]
    return Window(f"{stream} {text}", stream, *kind)  # type: ignore[arg-type]


@dataclass
class Query:
    text: str
    pattern: str
    windows: tuple[Window, ...]
    every: int | None
    paused: bool = False
    ticked: bool = False
    """Whether its period has come since it was registered or resumed."""
    last: Answer = frozenset()
    """At the last evaluation."""
    heard: bool = False
    """Whether there was a change since it was registered or resumed."""
    gathered: set[tuple[object, ...]] = field(default_factory=set)
    """What came, without what went, as it was emitted."""


@dataclass
class Model:
    """What a knowledge base should hold."""

    late: int
    rules: dict[str, str] = field(default_factory=dict)
    background: set[Triple] = field(default_factory=set)
    plain: dict[str, set[Triple]] = field(default_factory=lambda: {s: set() for s in STREAMS})
    """Of streams without windows."""
    oracles: dict[Window, WindowOracle] = field(default_factory=dict)
    history: dict[str, list[Operation]] = field(default_factory=lambda: {s: [] for s in STREAMS})
    """Of streams with windows."""
    now: int | None = None

    def windows_over(self, stream: str) -> list[WindowOracle]:
        return [oracle for window, oracle in self.oracles.items() if window.source == stream]

    def open_window(self, window: Window) -> None:
        if window in self.oracles:
            return
        others, stream = self.windows_over(window.source), window.source
        oracle = WindowOracle([window], self.late, self.now)
        if others:
            held = set().union(*(other.content(other.windows[0]) for other in others))
            last = {op.row: op for op in sorted(self.history[stream], key=lambda op: (op.time, op.number))}
            known = [op for op in last.values() if not op.inserts or op.row in held]
            known.sort(key=lambda op: (op.time, op.number))
            oracle.operations = [replace(op, number=number) for number, op in enumerate(known)]
        else:
            rows = self.plain[stream]
            known = [Operation(self.now or 0, n, True, stream, row) for n, row in enumerate(rows)]
            oracle.operations = known
            self.history[stream], self.plain[stream] = list(known), set()
        self.oracles[window] = oracle

    def close_windows(self, wanted: set[Window]) -> None:
        for window in [w for w in self.oracles if w not in wanted]:
            del self.oracles[window]
        for stream in STREAMS:
            if not self.windows_over(stream):
                self.history[stream] = []

    def update(
        self, time: int, deleted: list[tuple[str, Triple]], inserted: list[tuple[str, Triple]]
    ) -> None:
        self.now = max(time, self.now if self.now is not None else time)
        for inserts, facts in ((False, deleted), (True, inserted)):
            for stream, row in facts:
                if self.windows_over(stream):
                    number = len(self.history[stream])
                    self.history[stream].append(Operation(time, number, inserts, stream, row))
                else:
                    (self.plain[stream].add if inserts else self.plain[stream].discard)(row)
        for oracle in self.oracles.values():
            source = oracle.windows[0].source
            own = [[fact for fact in part if fact[0] == source] for part in (deleted, inserted)]
            oracle.update(time, own[0], own[1])  # type: ignore[arg-type]
            oracle.now = self.now

    def answer(self, query: Query, at: int | None = None) -> Answer:
        content: set[Triple] = set(self.background)
        for window in query.windows:
            oracle = self.oracles[window]
            before, oracle.now = oracle.now, oracle.now if at is None else at
            content |= oracle.content(window)  # type: ignore[arg-type]
            oracle.now = before
        graph = ox.Store()
        for s, p, o in self.closure(content):
            graph.add(ox.Quad(_node(s), _node(p), _node(o)))  # type: ignore[arg-type]
        return _answer(graph, PREFIX + query.pattern.format(""))

    def closure(self, triples: set[Triple]) -> set[tuple[Term, ...]]:
        program = program_of(list(self.rules.values()))
        facts = tuple(Fact("triple", row) for row in triples)
        try:
            found = evaluate(Program(rules=program.rules, facts=facts))
        except NotEvaluable:  # it is stratified by property, and the oracle takes triples for one predicate
            kb = tidalog.open()
            kb.load(program)
            kb.insert("triple", sorted(triples, key=str))
            return set(kb.facts("triple").to_terms())
        return set(found.get("triple", ()))


def program_of(rules: list[str]) -> Program:
    return parse(f"@prefix : <{E}> .\n" + "\n".join(rules))


def _node(term: Term) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    match term:
        case IRI(value):
            return ox.NamedNode(value)
        case BlankNode(label):
            return ox.BlankNode(label)
    number = getattr(term, "value", None)
    assert isinstance(number, int)
    return ox.Literal(number)


def _term(found: object) -> Term | None:
    match found:
        case None:
            return None
        case ox.NamedNode(value=value):
            return IRI(value)
        case ox.Literal():
            return literal(found.value, found.datatype.value)
    raise AssertionError(found)


def _answer(graph: ox.Store, text: str) -> Answer:
    found = graph.query(text)
    if isinstance(found, ox.QueryBoolean):
        return frozenset(
            [(literal("true" if found else "false", "http://www.w3.org/2001/XMLSchema#boolean"),)]
        )
    if isinstance(found, ox.QueryTriples):
        return frozenset((_term(t.subject), _term(t.predicate), _term(t.object)) for t in found)
    assert isinstance(found, ox.QuerySolutions)
    return frozenset(tuple(map(_term, row)) for row in found)


class Checked:
    """A knowledge base beside the model, changed together."""

    def __init__(self, draw: random.Random, store: Path | None, windows: Collection[str] = WINDOWS) -> None:
        self.draw, self.store, self.windows = draw, store, windows
        self.late = draw.choice([0, 0, 4])
        self.strategy = draw.choice(STRATEGIES)
        self.kb: KnowledgeBase = self.opened()
        self.model = Model(self.late * SECOND)
        self.queries: dict[str, Query] = {}
        self.registered = 0
        self.kb.load(f"@prefix : <{E}> .\ntriple(?x, :in, ?x) :- triple(?x, :in, ?x).\n")
        self.model.rules["r1"] = "triple(?x, :in, ?x) :- triple(?x, :in, ?x)."
        self.evaluated = 0
        self.bounded = 0
        """How many facts were found that a window has from a longer one."""

    def opened(self) -> KnowledgeBase:
        if self.store is None:
            return tidalog.open(late=self.late, strategy=self.strategy)
        return tidalog.open(self.store, late=self.late, strategy=self.strategy, fsync="off")

    # --- changes ------------------------------------------------------------------------------------

    def triples(self, most: int) -> list[Triple]:
        draw = self.draw
        nodes = [IRI(E + name) for name in "abcd"]
        properties = [IRI(E + name) for name in ("in", "in", "near", "near", "sub")]
        found: list[Triple] = []
        for _ in range(draw.randrange(most + 1)):
            p = draw.choice(properties)
            s, o = draw.choice(nodes), draw.choice(nodes)
            if p.value == E + "sub":
                s, o = draw.choice(properties[:4]), draw.choice([IRI(E + "near"), IRI(E + "in")])
            found.append((s, p, o))
        return found

    def stream_update(self, time: int) -> None:
        draw = self.draw
        at = max(time - draw.choice([0, 0, 0, 1, 3, 6]), 0) * SECOND
        inserted = [(draw.choice(STREAMS), row) for row in self.triples(4)]
        deleted = [(draw.choice(STREAMS), row) for row in self.triples(2)]
        update = tidalog.Update(time=at / SECOND)
        for stream, row in deleted:
            update.delete(f"<{stream}>", [row])
        for stream, row in inserted:
            update.insert(f"<{stream}>", [row])
        now, windowed = self.model.now, bool(self.model.oracles)
        if not windowed:
            at = now if now is not None else 0
            update.time = None if now is None else at
            if now is None:
                return
        if now is not None and windowed and at < now - self.model.late:
            try:
                self.kb.apply(update)
            except UsageError as error:
                assert error.diagnostics[0].number == "T175"
                return
            raise AssertionError("the update came too late")
        before = self.due_before(at)
        self.kb.apply(update)
        self.model.update(at, deleted, inserted)
        self.after(now, before)

    def background_update(self) -> None:
        inserted, deleted = self.triples(3), self.triples(3)
        update = tidalog.Update(deletions={"triple": deleted} if deleted else {})
        if inserted:
            update.insert("triple", inserted)
        if self.model.now is not None and self.model.oracles:
            update.time = self.model.now
        elif self.model.oracles:
            return
        self.kb.apply(update)
        self.model.background = (self.model.background - set(deleted)) | set(inserted)

    def rule_edit(self, text: str = "") -> None:
        draw, model = self.draw, self.model
        if not text and len(model.rules) > 1 and draw.random() < 0.4:
            name = draw.choice([name for name in model.rules if name != "r1"])
            self.kb.rules.remove(name)
            del model.rules[name]
            return
        known = sorted(RULES) if self.windows is WINDOWS or draw.random() < 0.1 else POSITIVE
        text = text or RULES[draw.choice(known)]
        try:
            delta = self.kb.rules.add(text)
        except ProgramError as error:
            assert error.diagnostics[0].number in ("T020", "T021"), error
            return
        added = program_of([text]).rules
        names = list(delta.rules.added)
        known = len(added) - len(names)
        assert known == len(delta.rules.already_there)
        for name in names:
            model.rules[name] = self.kb.rules[name].removeprefix(f"{name}: ")

    def register(self) -> None:
        draw = self.draw
        self.registered += 1
        name, pattern = f"q{self.registered}", PATTERNS[draw.choice(sorted(PATTERNS))]
        chances = zip(STREAMS, (0.6, 0.6) if self.windows is WINDOWS else (0.95, 0.2), strict=True)
        chosen = [(s, draw.choice(self.windows_for(s))) for s, often in chances if draw.random() < often]
        dataset = " ".join(f"FROM STREAM <{stream}> {window}" for stream, window in chosen)
        every = draw.choice([None, 2, 3]) if chosen else None
        text = PREFIX + pattern.format(dataset)
        windows = tuple(window_of(*one) for one in chosen)
        query = Query(text, pattern, windows, every)
        kind = draw.choice(["rstream", "changes", "istream"])
        try:
            self.kb.register(
                name,
                text,
                emit=kind,
                every=f"{every}s" if every else None,
                materialise=draw.choice([None, True, False]),
            )
        except ProgramError as error:
            assert error.diagnostics[0].number in ("T020", "T021"), error
            return
        for window in windows:
            self.model.open_window(window)
        self.queries[name] = query
        self.listen(name)

    def windows_for(self, stream: str) -> tuple[str, ...]:
        """A window of the last n starts with any of those that came at the same time."""
        model = self.model
        known = {window for window in model.oracles if window.source == stream}
        if model.plain[stream] or any(model.oracles[w].content(w) for w in known):
            return tuple(w for w in self.windows if "TRIPLES" not in w or window_of(stream, w) in known)
        return tuple(self.windows)

    def listen(self, name: str) -> None:
        """Gathers what a query emits as changes."""
        found, query = self.kb.queries[name], self.queries[name]
        if found.emit != "changes":
            return

        def gather(inserted: tidalog.Result, deleted: tidalog.Result) -> None:
            gone, came = set(deleted.to_terms()), set(inserted.to_terms())
            assert gone <= query.gathered and not came & query.gathered
            query.gathered = (query.gathered - gone) | came

        found.subscribe(gather)

    def drop(self) -> None:
        if not self.queries:
            return
        name = self.draw.choice(sorted(self.queries))
        del self.queries[name]
        self.kb.queries[name].drop()
        self.model.close_windows({w for query in self.queries.values() for w in query.windows})

    def pause(self) -> None:
        if not self.queries:
            return
        name = self.draw.choice(sorted(self.queries))
        query = self.queries[name]
        query.paused = not query.paused
        if query.paused:
            self.kb.queries[name].pause()
        else:
            self.kb.queries[name].resume()

    def advance(self, time: int) -> None:
        if not self.model.oracles:
            return
        now, at = self.model.now, time * SECOND
        before = self.due_before(at)
        self.kb.advance(time)
        self.model.update(max(at, now or 0), [], [])
        self.after(now, before)

    def restart(self) -> None:
        if self.store is None:
            return
        if self.draw.random() < 0.3:
            self.kb.snapshot()  # type: ignore[attr-defined]
        self.kb.close()
        self.kb = self.opened()
        assert list(self.kb.queries) == list(self.queries)
        for name, query in self.queries.items():
            self.listen(name)
            if query.every is None and not query.heard:  # a listener begins with the answers of now
                query.gathered = set(self.kb.queries[name].result().to_terms())

    # --- periods ------------------------------------------------------------------------------------

    def due_before(self, time: int) -> dict[str, Answer]:
        """The answers at the last period before a time, of the queries that have one since now."""
        now = self.model.now
        found: dict[str, Answer] = {}
        for name, query in self.queries.items():
            if query.every is None or query.paused or now is None:
                continue
            period = query.every * SECOND
            last = (time - 1) // period * period
            if last > now:
                found[name] = self.model.answer(query, last)
        return found

    def after(self, before: int | None, due: dict[str, Answer]) -> None:
        now = self.model.now
        for name, query in self.queries.items():
            query.heard = True
            if query.every is None or query.paused:
                continue
            if name in due:
                query.last, query.ticked = due[name], True
            if now is not None and now % (query.every * SECOND) == 0 and now != before:
                query.last, query.ticked = self.model.answer(query), True

    # --- checks -------------------------------------------------------------------------------------

    def check(self) -> None:
        for name, query in self.queries.items():
            found = frozenset(self.kb.queries[name].result().to_terms())
            if query.every is not None and query.ticked:
                assert found == query.last, (name, query.text)
                if self.kb.queries[name].emit == "changes":
                    assert query.gathered == query.last
            elif query.every is None:
                assert found == self.model.answer(query), (name, query.text)
                if self.kb.queries[name].emit == "changes" and not query.paused and query.heard:
                    assert query.gathered == found, (name, query.text)
            self.evaluated += bool(found)
        analysis, engine = self.kb._open().analysis, self.kb._open().engine
        for rule in analysis.rules:
            if rule.lasting and rule.head is not None:
                self.bounded += engine.count(rule.head.predicate)
        expected = self.model.closure(self.model.background)
        assert set(self.kb.facts("triple").to_terms()) == expected
        assert all("|" not in name for name in (*self.kb.rules, *self.kb.predicates))


def run(seed: int, steps: int, store: Path | None = None) -> Checked:
    """Random changes."""
    draw = random.Random(seed)
    return _run(Checked(draw, store), steps)


def run_shared(seed: int, steps: int, store: Path | None = None) -> Checked:
    """Random changes of rules that join and of several queries over windows that mostly share."""
    draw = random.Random(seed)
    checked = Checked(draw, store, EQUAL_STEPS)
    for rule in draw.sample(POSITIVE, 2):
        checked.rule_edit(RULES[rule])
    for _ in range(draw.randrange(5)):
        checked.register()
    return _run(checked, steps)


def _run(checked: Checked, steps: int) -> Checked:
    draw = checked.draw
    time = draw.choice([1, 100])
    actions = ["stream"] * 8 + ["background"] * 2 + ["rules"] * 2 + ["register"] * 3
    actions += ["drop", "pause", "advance", "advance", "restart"]
    for _ in range(steps):
        match draw.choice(actions):
            case "stream":
                checked.stream_update(time)
            case "background":
                checked.background_update()
            case "rules":
                checked.rule_edit()
            case "register":
                checked.register()
            case "drop":
                checked.drop()
            case "pause":
                checked.pause()
            case "advance":
                checked.advance(time)
            case "restart":
                checked.restart()
        for query in checked.queries.values():
            query.heard &= not query.paused
        checked.check()
        time += draw.choice([0, 0, 1, 1, 2, 3, 12])
    checked.kb.close()
    return checked
