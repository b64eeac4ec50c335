"""Generators give the sizes they promise, and programs mean what their counts say."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from bench.closures import chain_closure_size, same_generation, symmetric_closure
from bench.workloads import speed_workloads

from bench import generators

Pairs = set[tuple[int, int]]


def rows(table: pa.Table) -> Pairs:
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


def closure(edges: Pairs) -> Pairs:
    """Transitive closure by search from every node."""
    onward: dict[int, list[int]] = {}
    for source, target in edges:
        onward.setdefault(source, []).append(target)
    found: Pairs = set()
    for start in onward:
        reached: set[int] = set()
        frontier = list(onward[start])
        while frontier:
            node = frontier.pop()
            if node not in reached:
                reached.add(node)
                frontier += onward.get(node, [])
        found |= {(start, node) for node in reached}
    return found


def test_a_random_digraph_has_distinct_edges_without_loops() -> None:
    table = generators.random_digraph(50, 120)
    edges = rows(table)
    assert len(table) == len(edges) == 120
    assert all(source != target for source, target in edges)


def test_a_random_digraph_is_the_same_on_every_machine() -> None:
    first = generators.random_digraph(2_000, 4_000).slice(0, 3).to_pydict()
    assert first == {"x": [663, 308, 1333], "y": [1941, 808, 98]}


def test_a_random_dag_goes_upward_only() -> None:
    table = generators.random_dag(50, 120)
    assert len(table) == len(rows(table)) == 120
    assert all(source < target for source, target in rows(table))


def test_chains_do_not_touch() -> None:
    edges = rows(generators.chains(3, 5))
    assert len(edges) == 3 * 4
    assert {source // 5 for source, _ in edges} == {0, 1, 2}
    assert all(source // 5 == target // 5 and target == source + 1 for source, target in edges)


def test_a_binary_tree_is_complete() -> None:
    edges = rows(generators.binary_tree(4))
    assert len(edges) == 2**5 - 2
    children = Counter(parent for parent, _ in edges)
    assert set(children.values()) == {2}
    assert set(children) == set(range(1, 2**4))


def test_distinct_pairs_are_distinct_and_as_many_as_asked_for() -> None:
    assert len(rows(generators.integer_pairs(1_000, 40))) == 1_000
    strings = generators.string_pairs(1_000, 40)
    assert len(rows(strings)) == 1_000
    assert strings.schema.field("x").type == pa.string()


@pytest.mark.parametrize(("count", "length"), [(1, 2), (3, 7), (10, 20)])
def test_the_closure_of_chains_has_the_stated_size(count: int, length: int) -> None:
    edges = rows(generators.chains(count, length))
    paths = closure(edges)
    steps = Counter(source for source, _ in edges)
    instances = len(edges) + sum(steps[target] for _, target in paths)
    assert (len(paths), instances) == chain_closure_size(count, length)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_same_generation_has_the_stated_size(depth: int) -> None:
    level = {node: node.bit_length() for node in range(2, 2 ** (depth + 1))}
    pairs = {(x, y) for x in level for y in level if level[x] == level[y]}
    workload = same_generation("same", depth)
    assert workload.expected == {"same": len(pairs)}
    derived_again = [pair for pair in pairs if level[pair[0]] > 2]
    assert workload.derivations == 4 * (2**depth - 1) + len(derived_again)


def test_a_symmetric_chain_reaches_every_pair() -> None:
    workload = symmetric_closure("symmetric", 12)
    edges = rows(workload.facts()["edge"])
    paths = closure(edges | {(target, source) for source, target in edges})
    assert workload.expected == {"path": len(paths)}
    instances = len(edges) + len(paths) + sum(a[1] == b[0] for a in paths for b in paths)
    assert workload.derivations == instances


@pytest.mark.parametrize("name", ["digraph", "digraph-right", "dag", "digraph-nonlinear"])
def test_written_down_counts_of_small_closures_are_right(name: str) -> None:
    workload = next(w for w in speed_workloads(quick=True) if w.name == name)
    edges = rows(workload.facts()["edge"])
    paths = closure(edges)
    assert workload.expected == {"path": len(paths)}
    into, out_of = Counter(target for _, target in paths), Counter(source for source, _ in paths)
    sources, targets = Counter(source for source, _ in edges), Counter(target for _, target in edges)
    instances = {
        "digraph": sum(into[node] * sources[node] for node in sources),
        "dag": sum(into[node] * sources[node] for node in sources),
        "digraph-right": sum(targets[node] * out_of[node] for node in targets),
        "digraph-nonlinear": sum(into[node] * out_of[node] for node in into),
    }
    assert workload.derivations == len(edges) + instances[name]


def test_both_sizes_have_the_same_rows() -> None:
    assert [w.name for w in speed_workloads(quick=True)] == [w.name for w in speed_workloads()]
    assert [set(w.scripts) for w in speed_workloads(quick=True)] == [
        set(w.scripts) for w in speed_workloads()
    ]


def test_scripts_that_store_results_name_each_of_them() -> None:
    for workload in speed_workloads():
        created = [line.split()[2] for line in workload.scripts["duckdb"]]
        assert created == list(workload.results), workload.name
        if workload.expected is not None:
            assert set(workload.expected) == set(workload.results)
