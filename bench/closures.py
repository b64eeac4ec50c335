"""Recursive workloads: closures of graphs, and same generation.

Each is a function of its input, so that tests run the same programs on small ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from bench import generators
from bench.workload import Workload


def _binary(predicate: str, expected: int | None) -> Mapping[str, int] | None:
    return None if expected is None else {predicate: expected}


def _edges(table: Callable[[], pa.Table]) -> Callable[[], dict[str, pa.Table]]:
    return lambda: {"edge": table()}


_FIRST_STEP = "path(?x, ?y) :- edge(?x, ?y) ."
_CLINGO_FIRST = "path(X,Y) :- edge(X,Y)."
_EGGLOG_FIRST = (
    "(relation path (i64 i64))",
    "(rule ((edge x y)) ((path x y)) :ruleset rules)",
)
_COZO_STORE = "?[x, y] := path[x, y] :create path {x, y}"
_SOUFFLE_FIRST = (".decl path(x:number, y:number)", "path(x,y) :- edge(x,y).")


def left_closure(
    name: str,
    title: str,
    edges: Callable[[], pa.Table],
    expected: int | None = None,
    derivations: int | None = None,
) -> Workload:
    """Transitive closure that grows at its end: a path and then an edge."""
    return Workload(
        name,
        title,
        f"{_FIRST_STEP}\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n",
        {"path": 2},
        _edges(edges),
        {
            "duckdb": (
                "CREATE TABLE path AS WITH RECURSIVE path(x, y) AS (SELECT x, y FROM edge UNION "
                "SELECT path.x, edge.y FROM path JOIN edge ON path.y = edge.x) SELECT x, y FROM path",
            ),
            "clingo": (_CLINGO_FIRST, "path(X,Z) :- path(X,Y), edge(Y,Z)."),
            "egglog": (*_EGGLOG_FIRST, "(rule ((path x y) (edge y z)) ((path x z)) :ruleset rules)"),
            "cozo": (
                "path[x, y] := *edge{x, y}\npath[x, z] := path[x, y], *edge{x: y, y: z}\n" + _COZO_STORE,
            ),
            "souffle": (*_SOUFFLE_FIRST, "path(x,z) :- path(x,y), edge(y,z)."),
        },
        _binary("path", expected),
        derivations,
    )


def right_closure(
    name: str,
    title: str,
    edges: Callable[[], pa.Table],
    expected: int | None = None,
    derivations: int | None = None,
) -> Workload:
    """Transitive closure that grows at its beginning: an edge and then a path."""
    return Workload(
        name,
        title,
        f"{_FIRST_STEP}\npath(?x, ?z) :- edge(?x, ?y), path(?y, ?z) .\n",
        {"path": 2},
        _edges(edges),
        {
            "duckdb": (
                "CREATE TABLE path AS WITH RECURSIVE path(x, y) AS (SELECT x, y FROM edge UNION "
                "SELECT edge.x, path.y FROM path JOIN edge ON edge.y = path.x) SELECT x, y FROM path",
            ),
            "clingo": (_CLINGO_FIRST, "path(X,Z) :- edge(X,Y), path(Y,Z)."),
            "egglog": (*_EGGLOG_FIRST, "(rule ((edge x y) (path y z)) ((path x z)) :ruleset rules)"),
            "cozo": ("path[x, y] := *edge{x, y}\npath[x, z] := *edge{x, y}, path[y, z]\n" + _COZO_STORE,),
            "souffle": (*_SOUFFLE_FIRST, "path(x,z) :- edge(x,y), path(y,z)."),
        },
        _binary("path", expected),
        derivations,
    )


_DUCKDB_BOTH_SIDES = (
    "SELECT path.x, whole.y FROM path JOIN recurring.path AS whole ON path.y = whole.x UNION "
    "SELECT whole.x, path.y FROM path JOIN recurring.path AS whole ON whole.y = path.x"
)
"""New paths joined with all paths on either side: semi-naive for a rule with two recursive atoms."""


def nonlinear_closure(
    name: str,
    title: str,
    edges: Callable[[], pa.Table],
    expected: int | None = None,
    derivations: int | None = None,
) -> Workload:
    """Transitive closure by joining paths with paths."""
    return Workload(
        name,
        title,
        f"{_FIRST_STEP}\npath(?x, ?z) :- path(?x, ?y), path(?y, ?z) .\n",
        {"path": 2},
        _edges(edges),
        {
            "duckdb": (
                "CREATE TABLE path AS WITH RECURSIVE path(x, y) USING KEY (x, y) AS (SELECT x, y FROM edge "
                f"UNION ({_DUCKDB_BOTH_SIDES})) SELECT x, y FROM path",
            ),
            "clingo": (_CLINGO_FIRST, "path(X,Z) :- path(X,Y), path(Y,Z)."),
            "egglog": (*_EGGLOG_FIRST, "(rule ((path x y) (path y z)) ((path x z)) :ruleset rules)"),
            "cozo": ("path[x, y] := *edge{x, y}\npath[x, z] := path[x, y], path[y, z]\n" + _COZO_STORE,),
            "souffle": (*_SOUFFLE_FIRST, "path(x,z) :- path(x,y), path(y,z)."),
        },
        _binary("path", expected),
        derivations,
    )


def symmetric_closure(name: str, length: int) -> Workload:
    """Symmetric and transitive closure of one chain: few facts, each derived very often."""
    return Workload(
        name,
        f"symmetric and transitive closure of a chain of {length:,} nodes",
        f"{_FIRST_STEP}\npath(?y, ?x) :- path(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), path(?y, ?z) .\n",
        {"path": 2},
        _edges(lambda: generators.chains(1, length)),
        {
            "duckdb": (
                "CREATE TABLE path AS WITH RECURSIVE path(x, y) USING KEY (x, y) AS (SELECT x, y FROM edge "
                f"UNION (SELECT y, x FROM path UNION {_DUCKDB_BOTH_SIDES})) SELECT x, y FROM path",
            ),
            "clingo": (
                _CLINGO_FIRST,
                "path(Y,X) :- path(X,Y).",
                "path(X,Z) :- path(X,Y), path(Y,Z).",
            ),
            "egglog": (
                *_EGGLOG_FIRST,
                "(rule ((path x y)) ((path y x)) :ruleset rules)",
                "(rule ((path x y) (path y z)) ((path x z)) :ruleset rules)",
            ),
            "cozo": (
                "path[x, y] := *edge{x, y}\n"
                "path[y, x] := path[x, y]\n"
                "path[x, z] := path[x, y], path[y, z]\n" + _COZO_STORE,
            ),
            "souffle": (
                *_SOUFFLE_FIRST,
                "path(y,x) :- path(x,y).",
                "path(x,z) :- path(x,y), path(y,z).",
            ),
        },
        {"path": length**2},
        (length - 1) + length**2 + length**3,
    )


def same_generation(name: str, depth: int) -> Workload:
    """Pairs of nodes on the same level of a complete binary tree, below the root."""
    levels = [4**level for level in range(1, depth + 1)]
    return Workload(
        name,
        f"same generation in a complete binary tree of depth {depth}",
        "same(?x, ?y) :- parent(?p, ?x), parent(?p, ?y) .\n"
        "same(?x, ?y) :- parent(?p, ?x), same(?p, ?q), parent(?q, ?y) .\n",
        {"same": 2},
        lambda: {"parent": generators.binary_tree(depth)},
        {
            "duckdb": (
                "CREATE TABLE same AS WITH RECURSIVE same(x, y) AS (SELECT a.y, b.y FROM parent a "
                "JOIN parent b ON a.x = b.x UNION SELECT a.y, b.y FROM same JOIN parent a ON a.x = same.x "
                "JOIN parent b ON b.x = same.y) SELECT x, y FROM same",
            ),
            "clingo": (
                "same(X,Y) :- parent(P,X), parent(P,Y).",
                "same(X,Y) :- parent(P,X), same(P,Q), parent(Q,Y).",
            ),
            "egglog": (
                "(relation same (i64 i64))",
                "(rule ((parent p x) (parent p y)) ((same x y)) :ruleset rules)",
                "(rule ((same p q) (parent p x) (parent q y)) ((same x y)) :ruleset rules)",
            ),
            "cozo": (
                "same[x, y] := *parent{x: p, y: x}, *parent{x: p, y}\n"
                "same[x, y] := same[p, q], *parent{x: p, y: x}, *parent{x: q, y}\n"
                "?[x, y] := same[x, y] :create same {x, y}",
            ),
            "souffle": (
                ".decl same(x:number, y:number)",
                "same(x,y) :- parent(p,x), parent(p,y).",
                "same(x,y) :- parent(p,x), same(p,q), parent(q,y).",
            ),
        },
        {"same": sum(levels)},
        4 * (2**depth - 1) + sum(levels[1:]),
    )


def chain_closure_size(count: int, length: int) -> tuple[int, int]:
    """Facts and rule instances of the linear closure of `count` chains of `length` nodes."""
    paths = length * (length - 1) // 2
    longer = (length - 1) * (length - 2) // 2
    return count * paths, count * (length - 1 + longer)
