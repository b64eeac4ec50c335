"""Recursive workloads: closures of graphs, and same generation.

Each is a function of its input, so that tests run the same programs on small ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from bench import generators
from bench.workload import Workload

Atom = tuple[str, str, str]
Rule = tuple[Atom, ...]
"""The head, then the body."""
_FIRST: Rule = (("path", "x", "y"), ("edge", "x", "y"))


def _in_datalog(rule: Rule, change: Callable[[str], str], between: str) -> str:
    head, *body = (f"{name}({change(first)}{between}{change(second)})" for name, first, second in rule)
    return f"{head} :- {', '.join(body)}"


def _in_egglog(rule: Rule) -> str:
    head, *body = (f"({' '.join(atom)})" for atom in rule)
    return f"(rule ({' '.join(body)}) ({head}) :ruleset rules)"


def _in_cozo(rule: Rule) -> str:
    def shown(atom: Atom) -> str:
        name, *arguments = atom
        if name == "path":
            return f"path[{', '.join(arguments)}]"
        columns = (c if c == a else f"{c}: {a}" for c, a in zip("xy", arguments, strict=True))
        return f"*{name}{{{', '.join(columns)}}}"

    head, *body = map(shown, rule)
    return f"{head} := {', '.join(body)}\n"


def _closure(
    duckdb: str,
    more: tuple[Rule, ...],
    name: str,
    title: str,
    edges: Callable[[], pa.Table],
    expected: int | None = None,
    derivations: int | None = None,
) -> Workload:
    """Paths from edges by a first rule, `path(x, y)` from `edge(x, y)`, and more rules."""
    rules = (_FIRST, *more)
    return Workload(
        name,
        title,
        "".join(f"{_in_datalog(rule, '?{}'.format, ', ')} .\n" for rule in rules),
        {"path": 2},
        lambda: {"edge": edges()},
        {
            "duckdb": (duckdb,),
            "clingo": tuple(f"{_in_datalog(rule, str.upper, ',')}." for rule in rules),
            "egglog": ("(relation path (i64 i64))", *map(_in_egglog, rules)),
            "cozo": ("".join(map(_in_cozo, rules)) + "?[x, y] := path[x, y] :create path {x, y}",),
            "souffle": (
                ".decl path(x:number, y:number)",
                *(f"{_in_datalog(rule, str, ',')}." for rule in rules),
            ),
        },
        None if expected is None else {"path": expected},
        derivations,
    )


left_closure = partial(
    _closure,
    "CREATE TABLE path AS WITH RECURSIVE path(x, y) AS (SELECT x, y FROM edge UNION "
    "SELECT path.x, edge.y FROM path JOIN edge ON path.y = edge.x) SELECT x, y FROM path",
    ((("path", "x", "z"), ("path", "x", "y"), ("edge", "y", "z")),),
)
"""Transitive closure that grows at its end: a path and then an edge."""

right_closure = partial(
    _closure,
    "CREATE TABLE path AS WITH RECURSIVE path(x, y) AS (SELECT x, y FROM edge UNION "
    "SELECT edge.x, path.y FROM path JOIN edge ON edge.y = path.x) SELECT x, y FROM path",
    ((("path", "x", "z"), ("edge", "x", "y"), ("path", "y", "z")),),
)
"""Transitive closure that grows at its beginning: an edge and then a path."""

_DUCKDB_BOTH_SIDES = (
    "SELECT path.x, whole.y FROM path JOIN recurring.path AS whole ON path.y = whole.x UNION "
    "SELECT whole.x, path.y FROM path JOIN recurring.path AS whole ON whole.y = path.x"
)
"""New paths joined with all paths on either side: semi-naive for a rule with two recursive atoms."""
_JOINED: Rule = (("path", "x", "z"), ("path", "x", "y"), ("path", "y", "z"))

nonlinear_closure = partial(
    _closure,
    "CREATE TABLE path AS WITH RECURSIVE path(x, y) USING KEY (x, y) AS (SELECT x, y FROM edge "
    f"UNION ({_DUCKDB_BOTH_SIDES})) SELECT x, y FROM path",
    (_JOINED,),
)
"""Transitive closure by joining paths with paths."""


def symmetric_closure(name: str, length: int) -> Workload:
    """Symmetric and transitive closure of one chain: few facts, each derived very often."""
    return _closure(
        "CREATE TABLE path AS WITH RECURSIVE path(x, y) USING KEY (x, y) AS (SELECT x, y FROM edge "
        f"UNION (SELECT y, x FROM path UNION {_DUCKDB_BOTH_SIDES})) SELECT x, y FROM path",
        ((("path", "y", "x"), ("path", "x", "y")), _JOINED),
        name,
        f"symmetric and transitive closure of a chain of {length:,} nodes",
        lambda: generators.chains(1, length),
        length**2,
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
