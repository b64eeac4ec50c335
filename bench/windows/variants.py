"""Ways to keep what follows from a window up to date.  Each is stepped by itself and timed inside.

A variant that cannot go on raises `TooSlow`.  Results are compared as codes: x times nodes plus y.
"""

from __future__ import annotations

import gc
import heapq
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.incremental.driver import Rows, analysed
from bench.papers.programs import P_TRANS
from bench.windows.naive_closure import NaiveClosure
from bench.windows.streams import WindowStream
from tidalog.analysis import analyse
from tidalog.analysis.maintenance_program import NEVER, volz_program, window_program
from tidalog.api.database import Database
from tidalog.api.load import Environment
from tidalog.api.outcome import Outcome
from tidalog.api.relations import rows_of
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.limits import Limits
from tidalog.lang import parse, print_program
from tidalog.maintain.choose import STRATEGIES, Options
from tidalog.maintain.materialise import compiled_program, materialise
from tidalog.model.errors import RunError
from tidalog.model.facts import Facts, Ids
from tidalog.model.update import EncodedUpdate
from tidalog.model.window_times import SECOND

Codes = npt.NDArray[np.int64]
_PARTS = 64
"""Updates by which a window is filled."""


@dataclass(frozen=True)
class Rules:
    """A program over one stream: the predicate that comes in, and the one that is compared."""

    text: str
    stream: str
    result: str

    @property
    def with_background(self) -> str:
        return f"{self.stream}(?x, ?y) :- fixed(?x, ?y) .\n{self.text}"

    def in_window(self, seconds: int) -> str:
        return f"@window {self.stream} :- range {seconds}s step 1s .\n{self.with_background}"


PROGRAMS = {
    "closure": Rules(P_TRANS, "edge", "path"),
    "R": Rules("R: isIn(?x, ?z) :- isIn(?x, ?y), isIn(?y, ?z) .", "isIn", "isIn"),
}
"""Two rules, and the transitive rule of the paper."""


class TooSlow(Exception):
    """A step took longer than it may."""


class Variant(Protocol):
    def step(self, number: int) -> float:
        """Does a step; its CPU seconds."""

    def codes(self) -> Codes:
        """The result, ascending."""


class Nodes:
    """Numbers of nodes as terms, and back."""

    def __init__(self, dictionary: Dictionary, nodes: int) -> None:
        self.count = nodes
        self._ids = dictionary.encode(pa.array(np.arange(nodes)), "native")
        self._numbers = np.full(int(self._ids.max()) + 1, -1, np.int64)
        self._numbers[self._ids] = np.arange(nodes)

    def facts(self, predicate: str, rows: Rows) -> Facts:
        return Facts(predicate, self.columns(rows), len(rows))

    def columns(self, rows: Rows) -> list[Ids]:
        return [np.ascontiguousarray(self._ids[rows[:, c]]) for c in range(rows.shape[1])]

    def codes(self, columns: Sequence[Ids]) -> Codes:
        x, y = (self._numbers[column] for column in columns)
        return x * self.count + y

    def of_codes(self, codes: Codes) -> list[Ids]:
        return [self._ids[codes // self.count], self._ids[codes % self.count]]


# --- ours ---------------------------------------------------------------------------------------------------


class Slid:
    """A database with the window, as users have it, except that facts are ids already.

    Without a window (`windowed`) updates say themselves which facts leave.
    """

    def __init__(
        self,
        rules: Rules,
        stream: WindowStream,
        strategy: str,
        cap: float | None = None,
        *,
        windowed: bool = True,
    ) -> None:
        self.rules, self.stream, self.options, self._windowed = rules, stream, Options(strategy), windowed
        self.database = Database(Limits() if cap is None else Limits(max_seconds=cap))
        program = parse(rules.in_window(stream.seconds) if windowed else rules.with_background)
        self.database.load(self.database.plan_load(program, Environment()))
        self.nodes = Nodes(self.database.dictionary, stream.nodes)
        if len(stream.background):
            fixed = self.nodes.facts("fixed", stream.background)
            self.database.load(self.database.plan_insertion([fixed]))
        self.maintaining = 0.0
        """CPU seconds of `Maintainer.apply` in the last step."""
        self.outcome = Outcome()

    def update(self, number: int) -> EncodedUpdate:
        facts = self._facts(number)
        if self._windowed:
            return EncodedUpdate(insertions=(facts,), time=number * SECOND)
        old = number - self.stream.seconds
        return EncodedUpdate((self._facts(old),) if old >= 0 else (), (facts,))

    def _facts(self, number: int) -> Facts:
        return self.nodes.facts(self.rules.stream, self.stream.entering(number))

    def fill(self) -> int:
        """Everything until the window is full, in some parts as it came; the number of the next step."""
        first = self.stream.seconds
        size = -(-first // _PARTS)
        try:
            for begin in range(0, first, size):
                updates = [self.update(number) for number in range(begin, min(begin + size, first))]
                self.database.apply(updates, options=self.options)
        except RunError:
            raise TooSlow from None
        self._watch()
        return first

    def _watch(self) -> None:
        """Notes what the maintainer takes of a step."""
        maintainer = self.database.maintained().maintainer
        apply = maintainer.apply

        def timed(*given, **named):  # type: ignore[no-untyped-def]
            began = time.process_time()
            try:
                return apply(*given, **named)
            finally:
                self.maintaining = time.process_time() - began

        maintainer.apply = timed  # type: ignore[method-assign]

    def step(self, number: int) -> float:
        update = self.update(number)
        began = time.process_time()
        try:
            self.outcome = self.database.apply([update], options=self.options)
        except RunError:
            raise TooSlow from None
        return time.process_time() - began

    @property
    def counters(self) -> dict[str, int | float]:
        """What the maintainer counted in the last step."""
        counted = self.outcome.counters.as_dict()
        return {name: count for name, count in counted.items() if name != "seconds"}

    def codes(self) -> Codes:
        facts = rows_of(self.database.engine, self.database.analysis, self.rules.result, None)
        return np.sort(self.nodes.codes(facts.columns))


# --- starting over ------------------------------------------------------------------------------------------


class FromScratch:
    """The paper's naive way: everything is derived again, here by our own evaluation.  It gives no deltas."""

    def __init__(self, rules: Rules, stream: WindowStream) -> None:
        self._rules, self._stream = rules, stream
        self._dictionary = Dictionary()
        self._nodes = Nodes(self._dictionary, stream.nodes)
        self._program = compiled_program(analysed(rules.text))
        self._engine = EmbeddedEngine(self._dictionary)

    def step(self, number: int) -> float:
        rows = np.concatenate([self._stream.background, self._stream.content(number)])
        columns = self._nodes.columns(rows)
        gc.collect()
        began = time.process_time()
        self._engine = EmbeddedEngine(self._dictionary)
        self._engine.insert(self._rules.stream, columns, len(rows))
        materialise(self._engine, self._program)
        return time.process_time() - began

    def codes(self) -> Codes:
        return np.sort(self._nodes.codes(self._engine.columns(self._rules.result)))


class BareKernel:
    """The leanest naive closure."""

    def __init__(self, stream: WindowStream) -> None:
        self._stream, self._closure = stream, NaiveClosure(stream.nodes)

    def step(self, number: int) -> float:
        rows = np.concatenate([self._stream.background, self._stream.content(number)])
        x, y = np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1])
        began = time.process_time()
        self._closure.run(x, y)
        return time.process_time() - began

    def codes(self) -> Codes:
        return np.sort(self._closure.codes)


# --- the printed programs -----------------------------------------------------------------------------------


class _Printed:
    """A maintenance program as it is printed, evaluated in each step on a new working space, as in
    the paper: the state and the update are loaded, the program is run, the state takes the changes."""

    def __init__(self, rules: Rules, stream: WindowStream, cap: float) -> None:
        self.rules, self.stream = rules, stream
        self._limits = Limits(max_seconds=cap)
        rewritten = parse(print_program(self.rewriting(rules)))
        self._program = compiled_program(analyse(rewritten))
        self.predicates = sorted({rules.stream, rules.result})
        self.dictionary = Dictionary()
        self.nodes = Nodes(self.dictionary, stream.nodes)
        self.state: dict[str, Codes] = {}

    def rewriting(self, rules: Rules):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    def columns_of(self, codes: Codes) -> list[Ids]:
        raise NotImplementedError

    def codes_of(self, columns: Sequence[Ids]) -> Codes:
        raise NotImplementedError

    def run(self, given: Mapping[str, list[Ids]]) -> float:
        gc.collect()
        began = time.process_time()
        engine = EmbeddedEngine(self.dictionary)
        for predicate, codes in self.state.items():
            engine.insert(predicate, self.columns_of(codes), len(codes))
        for predicate, columns in given.items():
            engine.insert(predicate, columns, len(columns[0]))
        try:
            materialise(engine, self._program, limits=self._limits)
        except RunError:
            raise TooSlow from None
        for predicate, before in self.state.items():
            plus, minus = (self._changed(engine, f"{predicate}_{sign}") for sign in ("plus", "minus"))
            kept = np.setdiff1d(before, minus, assume_unique=True)
            self.state[predicate] = np.concatenate([kept, plus])
        return time.process_time() - began

    def _changed(self, engine: EmbeddedEngine, predicate: str) -> Codes:
        found = engine.columns(predicate)
        return self.codes_of(found) if found else np.empty(0, np.int64)


class Volz(_Printed):
    """incremental-volz: Table 3."""

    def rewriting(self, rules: Rules):  # type: ignore[no-untyped-def]
        return volz_program(parse(rules.text))

    def columns_of(self, codes: Codes) -> list[Ids]:
        return self.nodes.of_codes(codes)

    def codes_of(self, columns: Sequence[Ids]) -> Codes:
        return self.nodes.codes(columns)

    def _explicit(self, number: int) -> Codes:
        rows = np.concatenate([self.stream.background, self.stream.content(number)])
        return np.unique(rows[:, 0] * self.stream.nodes + rows[:, 1])

    def start(self, number: int) -> None:
        """The state after a step, by other means."""
        explicit = self._explicit(number)
        closure = NaiveClosure(self.stream.nodes)
        closure.run(explicit // self.stream.nodes, explicit % self.stream.nodes)
        self.state = {self.rules.stream: explicit}
        self.state[self.rules.result] = np.sort(closure.codes)

    def step(self, number: int) -> float:
        before, after = self._explicit(number - 1), self._explicit(number)
        stream = self.rules.stream
        parts = {
            f"{stream}_del": np.setdiff1d(before, after, assume_unique=True),
            f"{stream}_ins": np.setdiff1d(after, before, assume_unique=True),
            f"{stream}_red": np.intersect1d(before, after, assume_unique=True),
        }
        return self.run({name: self.columns_of(codes) for name, codes in parts.items()})

    def codes(self) -> Codes:
        return np.sort(self.state[self.rules.result])


class Imars(_Printed):
    """incremental-stream: Table 6.  Expiry 0 is that of the background: it never comes."""

    def __init__(self, rules: Rules, stream: WindowStream, cap: float, last: int) -> None:
        """No step comes after step `last`."""
        super().__init__(rules, stream, cap)
        self._times = last + stream.seconds + 1
        terms = self.dictionary.encode(pa.array(np.arange(self._times)), "native")
        self._clock = terms.copy()
        terms[0] = self.dictionary.id_of(NEVER)
        self._terms = terms
        self._expiries = np.full(int(terms.max()) + 1, -1, np.int64)
        self._expiries[terms] = np.arange(self._times)

    def rewriting(self, rules: Rules):  # type: ignore[no-untyped-def]
        return window_program(parse(rules.text))

    def columns_of(self, codes: Codes) -> list[Ids]:
        return [*self.nodes.of_codes(codes // self._times), self._terms[codes % self._times]]

    def codes_of(self, columns: Sequence[Ids]) -> Codes:
        x, y, expiry = columns
        return self.nodes.codes([x, y]) * self._times + self._expiries[expiry]

    def start(self, number: int) -> None:
        """The state after a step, by other means."""
        expiry: dict[tuple[int, int], int] = {}
        first = max(0, number + 1 - self.stream.seconds)
        for step in range(first, number + 1):
            for x, y in self.stream.entering(step).tolist():
                expiry[x, y] = step + self.stream.seconds
        for x, y in self.stream.background.tolist():
            expiry[x, y] = self._times
        explicit = {edge: time % self._times for edge, time in expiry.items()}
        derived = {path: time % self._times for path, time in longest(expiry).items()}
        self.state = {self.rules.stream: self._codes(explicit)}
        self.state[self.rules.result] = self._codes(derived)

    def _codes(self, facts: Mapping[tuple[int, int], int]) -> Codes:
        rows = np.array([(x, y, time) for (x, y), time in facts.items()], np.int64).reshape(-1, 3)
        return (rows[:, 0] * self.stream.nodes + rows[:, 1]) * self._times + rows[:, 2]

    def step(self, number: int) -> float:
        rows = self.stream.entering(number)
        expiry = np.full(len(rows), self._terms[number + self.stream.seconds])
        entering = [*self.nodes.columns(rows), expiry]
        return self.run({"now": [self._clock[[number]]], f"{self.rules.stream}_ins": entering})

    def codes(self) -> Codes:
        return np.sort(self.state[self.rules.result] // self._times)


def longest(edges: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """When each path ends that is as good as any: a path ends with its first edge."""
    following: dict[int, list[tuple[int, int]]] = {}
    for (x, y), expiry in edges.items():
        following.setdefault(x, []).append((y, expiry))
    found: dict[tuple[int, int], int] = {}
    for source, steps in following.items():
        queue = [(-expiry, y) for y, expiry in steps]
        heapq.heapify(queue)
        while queue:
            falling, node = heapq.heappop(queue)
            if (source, node) in found:
                continue
            found[source, node] = -falling
            for y, expiry in following.get(node, ()):
                if (source, y) not in found:
                    heapq.heappush(queue, (max(falling, -expiry), y))
    return found


# --- all of them --------------------------------------------------------------------------------------------

OURS = tuple(name for name in ("expire", "ranked", "bf", "dred", "recompute", "auto") if name in STRATEGIES)
"""Strategies; one that this version does not have is left out."""
BARE, SCRATCH, VOLZ, IMARS = "bare kernel", "from scratch", "volz", "stream"
NAMES = (BARE, SCRATCH, VOLZ, IMARS, *OURS)


def started(name: str, rules: Rules, stream: WindowStream, cap: float, last: int) -> Variant:
    """A variant whose window is full: its next step is step `stream.seconds`."""
    if name == BARE:
        return BareKernel(stream)
    if name == SCRATCH:
        return FromScratch(rules, stream)
    if name == VOLZ:
        volz = Volz(rules, stream, cap)
        volz.start(stream.seconds - 1)
        return volz
    if name == IMARS:
        imars = Imars(rules, stream, cap, last)
        imars.start(stream.seconds - 1)
        return imars
    slid = Slid(rules, stream, name, cap)
    slid.fill()
    return slid
