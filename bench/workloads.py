"""The rows of the speed table, at full size and small.

Counts of facts and of rule instances of random graphs are those on which the peers agree; all others follow
from the sizes.
"""

from __future__ import annotations

from functools import partial

from bench.closures import (
    chain_closure_size,
    left_closure,
    nonlinear_closure,
    right_closure,
    same_generation,
    symmetric_closure,
)
from bench.generators import chains, random_dag, random_digraph
from bench.stratified import network, shop
from bench.workload import Workload


def speed_workloads(quick: bool = False) -> tuple[Workload, ...]:
    """The full sizes, or the same programs on inputs that take moments."""
    return _small() if quick else _full()


def _full() -> tuple[Workload, ...]:
    digraph = partial(random_digraph, 2_000, 4_000)
    return (
        left_closure(
            "digraph",
            "closure of a random digraph, 2,000 nodes and 4,000 edges",
            digraph,
            2_554_087,
            5_108_566,
        ),
        left_closure(
            "chains",
            "closure of 100 chains of 200 nodes",
            partial(chains, 100, 200),
            *chain_closure_size(100, 200),
        ),
        left_closure(
            "dag",
            "closure of a random DAG, 5,000 nodes and 10,000 edges",
            partial(random_dag, 5_000, 10_000),
            61_418,
            61_981,
        ),
        same_generation("samegen", 12),
        symmetric_closure("symmetric", 400),
        right_closure(
            "digraph-right",
            "the same digraph, edge before path",
            digraph,
            2_554_087,
            5_087_902,
        ),
        nonlinear_closure(
            "digraph-nonlinear",
            "closure by paths of paths, random digraph, 500 nodes and 1,000 edges",
            partial(random_digraph, 500, 1_000),
            154_873,
            47_544_718,
        ),
        shop(
            "shop",
            50_000,
            1_000_000,
            {
                "counted": 930_866,
                "spent": 42_750,
                "orders": 42_750,
                "spread": 42_750,
                "idle": 7_250,
                "turnover": 50,
                "steady": 19_301,
            },
        ),
        network(
            "network",
            2_000,
            4_000,
            {
                "open": 3_802,
                "reach": 2_364_323,
                "oneway": 1_436,
                "audience": 1_688,
                "lowest": 1_688,
                "mostly": 1_547,
            },
        ),
    )


def _small() -> tuple[Workload, ...]:
    digraph = partial(random_digraph, 300, 600)
    return (
        left_closure(
            "digraph", "closure of a random digraph, 300 nodes and 600 edges", digraph, 59_325, 120_880
        ),
        left_closure(
            "chains",
            "closure of 20 chains of 100 nodes",
            partial(chains, 20, 100),
            *chain_closure_size(20, 100),
        ),
        left_closure(
            "dag",
            "closure of a random DAG, 1,000 nodes and 2,000 edges",
            partial(random_dag, 1_000, 2_000),
            11_033,
            11_453,
        ),
        same_generation("samegen", 7),
        symmetric_closure("symmetric", 60),
        right_closure("digraph-right", "the same digraph, edge before path", digraph, 59_325, 118_724),
        nonlinear_closure(
            "digraph-nonlinear",
            "closure by paths of paths, random digraph, 100 nodes and 200 edges",
            partial(random_digraph, 100, 200),
            7_075,
            502_737,
        ),
        shop("shop", 1_000, 20_000),
        network("network", 300, 600),
    )
