"""Many facts deleted at once: strategies that process sets as blocks have the state of the oracle, and count
the same instances as one by one, whatever a block holds."""

from __future__ import annotations

import random

import pytest
from maintained import Maintained, Scenario, check_scenario, scenario

from tidalog.maintain.choose import Options
from tidalog.maintain.kernels.retraction import LEAST_BLOCK

NODES = 16
EDGES = 60
PROGRAMS = {
    "closure": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), e(?y, ?z).",
    "doubled closure": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), p(?y, ?z).",
    "two predicates in one component": (
        "p(?x, ?y) :- e(?x, ?y). q(?x, ?z) :- p(?x, ?y), e(?y, ?z). p(?x, ?z) :- q(?x, ?y), e(?y, ?z)."
    ),
    "a fact twice in a body": "p(?x, ?z) :- e(?x, ?y), e(?y, ?z). q(?x) :- p(?x, ?x), e(?x, ?y).",
    "repeated variables and constants": "p(?x) :- e(?x, ?x). q(?y) :- e(1, ?y). r(?x) :- p(?x), q(?x).",
    "computed heads": "p(?x, ?n) :- e(?x, ?y), ?n = ?x + ?y. q(?x, ?n) :- p(?x, ?n), p(?y, ?n), ?x < ?y.",
    "negation": "p(?x) :- e(?x, ?y). q(?x, ?y) :- e(?x, ?y), ~e(?y, ?x). r(?x) :- p(?x), ~q(?x, ?x).",
    "three atoms": "p(?x, ?w) :- e(?x, ?y), e(?y, ?z), e(?z, ?w). q(?x) :- p(?x, ?y), p(?y, ?x).",
}
CONFIGURATIONS = [
    Options(strategy, marking=marking, look_ahead=look_ahead)
    for strategy in ("dred", "counting", "ranked", "bf", "auto")
    for marking, look_ahead in (("none", 0), ("complete", 1))
]
CONFIGURATIONS.append(Options("dred", marking="paper"))


def churned(program: str, seed: int) -> Scenario:
    """Half of a digraph's edges go at once, some of them come back with others, then most go."""
    source = random.Random(seed)
    edges = [(source.randrange(NODES), source.randrange(NODES)) for _ in range(EDGES)]
    edges = list(dict.fromkeys(edges))
    first, last = edges[: len(edges) // 2], edges[len(edges) // 4 :]
    explicit = "".join(f"p({x}, {y}). " for x, y in edges[::7]) if "p(?x, ?y)" in program else ""
    text = "".join(f"e({x}, {y}). " for x, y in edges)
    lists = (
        "".join(f"-e({x}, {y}). " for x, y in first),
        "".join(f"+e({x}, {y}). " for x, y in first[::2]) + "+e(99, 3). ",
        "".join(f"-e({x}, {y}). " for x, y in last),
    )
    assert min(len(first), len(last)) >= LEAST_BLOCK
    return scenario(f"{program} {text}{explicit}", "commit. ".join(lists))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(3))
def test_many_deletions_at_once_leave_what_the_oracle_leaves(name: str, seed: int) -> None:
    check_scenario(churned(PROGRAMS[name], seed), CONFIGURATIONS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_overdeletion_and_counting_agree_on_what_is_not_recursive(name: str) -> None:
    """Both visit every instance with a deleted fact once, by blocks; `ranked` does one by one."""
    given = churned(PROGRAMS[name], 7)
    found = []
    for strategy in ("dred", "counting", "ranked"):
        kept = Maintained(given.program, Options(strategy, marking="none", look_ahead=0))
        if any(component.recursive for component in kept.maintainer.components):
            pytest.skip("a strategy deletes other facts where there is recursion")
        found.append([kept.apply(update).counters.deletions for update in given.updates])
    assert found[0] == found[1] == found[2]
