"""The rule sets of the ZodiacEdge paper (its appendices A to C), their data, and how many facts they derive.

`n` is what the data grow with: turbines for rule set 1, a quarter of them for rule sets 2 and 3, where each
of p1 to p4 is a chain of `n` steps and the four chains follow one another.  Every count is that of the facts
of predicates in the head of a rule, given ones among them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt

from tidalog.lang import parse
from tidalog.model.program import Program

Rows = npt.NDArray[np.int64]
"""One fact a row; turbines are numbers."""

RS1 = """\
r1: hasNeighbour(X, Y) :- hasNeighbour(Y, X) .
r2: hasNeighbour(X, Y) :- hasNeighbour(X, Z) ∧ hasNeighbour(Z, Y) ∧ COMP(X, !=, Y) .
r3: hasNeighbourAirTemperatureMeasurementNumber(X, Z) :-
    aggregate(hasNeighbour(X, Y) ∧ hasAirTemperatureMeasurement(Y, T)) on X with count(T) as Z .
r4: hasMedianAirTemperatureMeasurementNearby(X, Z) :-
    aggregate(hasNeighbour(X, Y) ∧ hasAirTemperatureMeasurement(Y, T)) on X with Med(T) as Z .
r5: MoreThan3Neighbours(X) :- hasNeighbourAirTemperatureMeasurementNumber(X, N) ∧ Comp(N, >=, 3) .
r6: SensorAnomalyWindTurbine(X) :- hasMedianAirTemperatureMeasurementNearby(X, M) ∧ MoreThan3Neighbours(X)
    ∧ hasAirTemperatureMeasurement(X, T) and bind(abs(T-M) as D) ∧ Comp(D, >, 5) .
"""

RS2 = """\
r1: p11(X, Y) :- p1(X, Y) .
r2: p11(X, Y) :- p11(Y, X) .
r3: p11(X, Y) :- p11(X, Z) ∧ p11(Z, Y) ∧ COMP(X, !=, Y) .
r4: p12(X, Y) :- p2(X, Y) .
r5: p12(X, Y) :- p12(X, Z) ∧ p12(Z, Y) ∧ COMP(X, !=, Y) .
r6: p13(X, Y) :- p3(X, Y) .
r7: p14(X, Y) :- p13(X, Y) .
r8: p13(X, Y) :- p14(Y, X) .
r9: p20(X, Y) :- p11(X, Y) .
r10: p20(X, Y) :- p12(X, Y) .
r11: p20(X, Y) :- p13(X, Y) .
r12: p21(X, Y) :- p20(X, Y) .
r13: p22(X, Y) :- p21(X, Y) .
r14: p20(X, Y) :- p22(X, Y) .
r15: p25(X, Z) :- p11(X, Y) ∧ p12(Y, Z) ∧ not p5(Y, Z) .
r16: p26(X, Z) :- p12(X, Y) ∧ p13(Z, Y) ∧ not p5(Z, Y) .
r17: p30(X, Z) :- p22(X, Y) ∧ p21(Y, Z) .
r18: p31(X, Y) :- p25(X, Y) ∧ p26(Y, Z) .
"""

_R10 = "r10: p20(X, Y) :- p12(X, Y) ."
_R10_NEW = "r10new: p20(X, Y) :- p12(X, Y) ∧ not p13(Y, Z) ."
RS3 = RS2.replace(_R10, _R10_NEW)

LEAVES = ("r17", "r18")
"""Rules of rule sets 2 and 3 whose facts no rule reads."""

RULE_SETS: Mapping[str, str] = {"RS1": RS1, "RS2": RS2, "RS3": RS3}

NEIGHBOUR, TEMPERATURE = "hasNeighbour", "hasAirTemperatureMeasurement"
CHAINS = ("p1", "p2", "p3", "p4")
EXTRA = "p5"
"""Empty at first; see `extra_fact`."""

_LEAST_NEIGHBOURS = 3
_MILD, _MILD_DEGREES = 20, 5
"""Temperatures are so near to one another that no turbine is an anomaly."""


@cache
def program(name: str, without: frozenset[str] = frozenset()) -> Program:
    """A rule set, some of its rules left out."""
    whole = parse(RULE_SETS[name], name, "zodiac")
    unknown = without - {rule.name for rule in whole.rules}
    if unknown:
        raise ValueError(f"{name} has no rule {', '.join(sorted(unknown))}")
    return replace(whole, rules=tuple(rule for rule in whole.rules if rule.name not in without))


def heads(name: str) -> tuple[str, ...]:
    """The predicates that a whole rule set derives."""
    return tuple(dict.fromkeys(head.predicate for rule in program(name).rules for head in rule.heads))


def chains(n: int) -> dict[str, Rows]:
    """The data of rule sets 2 and 3."""
    return {chain: _steps(number * n, n) for number, chain in enumerate(CHAINS)}


def extra_fact(n: int) -> Rows:
    """The one fact of p5: the first step of p2."""
    return _steps(n, 1)


def turbines(n: int, first: int = 1) -> dict[str, Rows]:
    """The data of rule set 1: turbines `first` to `n`, each but the first of all next to the one before it,
    each with its temperature."""
    numbers = np.arange(first, n + 1, dtype=np.int64)
    before = max(first - 1, 1)
    return {
        NEIGHBOUR: _steps(before, n - before),
        TEMPERATURE: np.stack([numbers, _MILD + numbers % _MILD_DEGREES], axis=1),
    }


def _steps(begin: int, count: int) -> Rows:
    numbers = np.arange(begin, begin + count, dtype=np.int64)
    return np.stack([numbers, numbers + 1], axis=1)


def derived(name: str, n: int, without: Collection[str] = (), extra: bool = False) -> int:
    """Facts that a rule set derives from its data; closed formulas, for the programs that have one.

    `extra` is whether the fact of p5 is there.
    """
    if name == "RS1" and not without and not extra and n > _LEAST_NEIGHBOURS:
        return n * (n - 1) + 3 * n
    rs2 = (21 * n * n + 43 * n) // 2
    known = {
        ("RS2", frozenset(), False): rs2,
        ("RS2", frozenset(), True): rs2 - 2 * n,
        ("RS3", frozenset(), False): rs2 - 6 * n + 1,
        ("RS3", frozenset({"r6"}), False): (19 * n * n + 15 * n) // 2 + 1,
        ("RS3", frozenset({"r10new"}), False): (15 * n * n + 39 * n) // 2,
    }
    return known[name, frozenset(without), extra]


def retracted_by_r6(n: int) -> int:
    """Facts of rule set 3 that are no more once r6 is added: r10new negates what it derives."""
    return 5 * n - 1
