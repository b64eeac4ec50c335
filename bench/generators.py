"""Facts of the workloads, as Arrow tables.

Every generator is a function of its sizes and a seed alone: the same arguments give the same rows in the
same order on every machine, so that expected counts can be written down.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]


def pairs(rows: Integers) -> pa.Table:
    """A binary relation from an array of shape (n, 2)."""
    return pa.table({"x": np.ascontiguousarray(rows[:, 0]), "y": np.ascontiguousarray(rows[:, 1])})


def random_digraph(nodes: int, edges: int, seed: int = 7) -> pa.Table:
    """`edges` distinct edges without loops, in the order in which Python's `Random(seed)` draws them."""
    draw = random.Random(seed).randrange
    found: dict[tuple[int, int], None] = {}
    while len(found) < edges:
        source = draw(nodes)
        target = draw(nodes)
        if source != target:
            found[source, target] = None
    return pairs(np.array(list(found), np.int64))


def random_dag(nodes: int, edges: int, seed: int = 7) -> pa.Table:
    """As `random_digraph`, keeping only the draws that go from a smaller to a larger node."""
    draw = random.Random(seed).randrange
    found: dict[tuple[int, int], None] = {}
    while len(found) < edges:
        source = draw(nodes)
        target = draw(nodes)
        if source < target:
            found[source, target] = None
    return pairs(np.array(list(found), np.int64))


def chains(count: int, length: int) -> pa.Table:
    """`count` separate chains of `length` nodes each."""
    first = np.arange(count, dtype=np.int64)[:, None] * length + np.arange(length - 1, dtype=np.int64)
    source = first.ravel()
    return pairs(np.stack([source, source + 1], axis=1))


def binary_tree(depth: int) -> pa.Table:
    """Parent and child of the complete binary tree with `depth` levels below its root, node 1."""
    child = np.arange(2, 2 ** (depth + 1), dtype=np.int64)
    return pairs(np.stack([child // 2, child], axis=1))


def shop(customers: int, purchases: int, seed: int = 7) -> dict[str, pa.Table]:
    """Customers with regions, their purchases, and which of both do not count.

    The last tenth of the customers buys nothing, one in twenty is blocked, one purchase in fifty is
    refunded.
    """
    random_state = np.random.default_rng(seed)
    customer = np.arange(customers, dtype=np.int64)
    purchase = np.arange(purchases, dtype=np.int64)
    return {
        "customer": pa.table({"customer": customer, "region": customer % 50}),
        "blocked": pa.table({"customer": customer[customer % 20 == 3]}),
        "purchase": pa.table(
            {
                "purchase": purchase,
                "customer": random_state.integers(0, customers * 9 // 10, purchases, dtype=np.int64),
                "amount": random_state.integers(1, 1_000, purchases, dtype=np.int64),
            }
        ),
        "refunded": pa.table({"purchase": purchase[purchase % 50 == 7]}),
    }


def network(nodes: int, edges: int, seed: int = 7) -> dict[str, pa.Table]:
    """A random digraph of which one node in forty is closed."""
    node = np.arange(nodes, dtype=np.int64)
    return {
        "edge": random_digraph(nodes, edges, seed),
        "closed": pa.table({"node": node[node % 40 == 11]}),
    }


def distinct_pairs(count: int, terms: int, seed: int = 7) -> Integers:
    """`count` distinct pairs of numbers below `terms`, in random order."""
    random_state = np.random.default_rng(seed)
    codes = np.empty(0, np.int64)
    while len(codes) < count:
        more = random_state.integers(0, terms * terms, count - len(codes) + count // 50 + 16, dtype=np.int64)
        codes = np.unique(np.concatenate([codes, more]))
    codes = random_state.permutation(codes)[:count]
    return np.stack([codes // terms, codes % terms], axis=1)


def integer_pairs(count: int, terms: int) -> pa.Table:
    return pairs(distinct_pairs(count, terms))


def university_triples(count: int) -> Iterator[str]:
    """Lines of N-Triples as of a university: a few properties and classes, eight statements for each person,
    half of them about other persons."""
    base = "http://www.example.org/university"
    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    for person in range(count // 8):
        own = f"<{base}{person // 900}.example/department{person % 17}/person{person}>"
        yield f"{own} <{rdf_type}> <{base}#Class{person % 9}> .\n"
        yield f'{own} <{base}#name> "Person {person}" .\n'
        yield f'{own} <{base}#mail> "person{person}@department{person % 17}.example" .\n'
        yield f"{own} <{base}#memberOf> <{base}{person // 900}.example/department{person % 17}> .\n"
        for number in range(4):
            other = (person * (number + 3)) % max(1, count // 8)
            place = f"{base}{other // 900}.example/department{other % 17}"
            yield f"{own} <{base}#relation{number}> <{place}/person{other}> .\n"


def string_pairs(count: int, terms: int) -> pa.Table:
    """As `integer_pairs`, each number n being the text `node n`: a string with a blank is not a bare name."""
    names = pa.array([f"node {n}" for n in range(terms)])
    rows = distinct_pairs(count, terms)
    return pa.table({"x": names.take(pa.array(rows[:, 0])), "y": names.take(pa.array(rows[:, 1]))})
