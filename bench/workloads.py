"""The workloads: what is computed, by which program in each system, and what must come out.

A workload is a function of its sizes, so that tests run the same programs on small inputs.  Each system
gets the same rules in its own words, so that it makes the same derivations; where a system has a form
that serves it better (DuckDB's USING KEY), it gets that one.  A system without an entry in `scripts` cannot
say the program, and the table says so.

Scripts, by system:

    duckdb    one CREATE TABLE statement for each derived predicate, named after it
    clingo    the rules
    egglog    relations of derived predicates and rules, all in the ruleset `rules`
    cozo      one query for each derived predicate that stores it under its name
    souffle   declarations and rules of derived predicates
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from bench import generators


@dataclass(frozen=True)
class Workload:
    """`expected` gives the number of facts of each derived predicate, `derivations` that of all rule
    instances; both are None where nothing but the agreement of the systems is known beforehand."""

    name: str
    title: str
    program: str
    results: Mapping[str, int]
    """Derived predicates and their arities."""
    facts: Callable[[], dict[str, pa.Table]] = field(repr=False)
    scripts: Mapping[str, tuple[str, ...]] = field(repr=False)
    expected: Mapping[str, int] | None = None
    derivations: int | None = None


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
                "path[x, y] := *edge{x, y}\n"
                "path[x, z] := path[x, y], *edge{x: y, y: z}\n" + _COZO_STORE,
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
            "cozo": (
                "path[x, y] := *edge{x, y}\n"
                "path[x, z] := *edge{x, y}, path[y, z]\n" + _COZO_STORE,
            ),
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
            "cozo": (
                "path[x, y] := *edge{x, y}\n"
                "path[x, z] := path[x, y], path[y, z]\n" + _COZO_STORE,
            ),
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


_SHOP_RULES = """\
counted(?o, ?c, ?v) :- purchase(?o, ?c, ?v), ~blocked(?c), ~refunded(?o) .
spent(?c, #sum(?v, ?o)) :- counted(?o, ?c, ?v) .
orders(?c, #count(?o)) :- counted(?o, ?c, ?v) .
spread(?c, #min(?v), #max(?v)) :- counted(?o, ?c, ?v) .
idle(?c) :- customer(?c, ?r), ~orders(?c, ?n) .
turnover(?r, #sum(?s, ?c)) :- customer(?c, ?r), spent(?c, ?s) .
steady(?c, ?s) :- spent(?c, ?s), orders(?c, ?n), ?n >= 20, spread(?c, ?low, ?high), ?high - ?low < 950 .
"""


def shop(
    name: str,
    customers: int,
    purchases: int,
    expected: Mapping[str, int] | None = None,
) -> Workload:
    """Negation and every cheap aggregate over purchases; nothing is recursive."""
    return Workload(
        name,
        f"negation and aggregates over {purchases:,} purchases of {customers:,} customers",
        _SHOP_RULES,
        {"counted": 3, "spent": 2, "orders": 2, "spread": 3, "idle": 1, "turnover": 2, "steady": 2},
        lambda: generators.shop(customers, purchases),
        {
            "duckdb": (
                "CREATE TABLE counted AS SELECT purchase, customer, amount FROM purchase "
                "ANTI JOIN blocked USING (customer) ANTI JOIN refunded USING (purchase)",
                "CREATE TABLE spent AS SELECT customer, sum(amount)::BIGINT AS total FROM counted GROUP BY ALL",
                "CREATE TABLE orders AS SELECT customer, count(*) AS n FROM counted GROUP BY ALL",
                "CREATE TABLE spread AS SELECT customer, min(amount) AS low, max(amount) AS high "
                "FROM counted GROUP BY ALL",
                "CREATE TABLE idle AS SELECT customer FROM customer ANTI JOIN orders USING (customer)",
                "CREATE TABLE turnover AS SELECT region, sum(total)::BIGINT AS total FROM customer "
                "JOIN spent USING (customer) GROUP BY ALL",
                "CREATE TABLE steady AS SELECT customer, total FROM spent JOIN orders USING (customer) "
                "JOIN spread USING (customer) WHERE n >= 20 AND high - low < 950",
            ),
            "clingo": (
                "counted(O,C,V) :- purchase(O,C,V), not blocked(C), not refunded(O).",
                "buyer(C) :- counted(_,C,_).",
                "spent(C,S) :- buyer(C), S = #sum { V,O : counted(O,C,V) }.",
                "orders(C,N) :- buyer(C), N = #count { O : counted(O,C,_) }.",
                "spread(C,L,H) :- buyer(C), L = #min { V : counted(_,C,V) }, H = #max { V : counted(_,C,V) }.",
                "idle(C) :- customer(C,_), not buyer(C).",
                "region(R) :- customer(_,R).",
                "turnover(R,T) :- region(R), T = #sum { S,C : customer(C,R), spent(C,S) }.",
                "steady(C,S) :- spent(C,S), orders(C,N), N >= 20, spread(C,L,H), H - L < 950.",
            ),
            "cozo": (
                "?[purchase, customer, amount] := *purchase{purchase, customer, amount}, "
                "not *blocked{customer}, not *refunded{purchase} :create counted {purchase, customer, amount}",
                "total[customer, sum(amount)] := *counted{purchase, customer, amount}\n"
                "?[customer, total] := total[customer, total] :create spent {customer, total}",
                "number[customer, count(purchase)] := *counted{purchase, customer}\n"
                "?[customer, n] := number[customer, n] :create orders {customer, n}",
                "ends[customer, min(amount), max(amount)] := *counted{purchase, customer, amount}\n"
                "?[customer, low, high] := ends[customer, low, high] :create spread {customer, low, high}",
                "?[customer] := *customer{customer}, not *orders{customer} :create idle {customer}",
                "total[region, sum(s)] := *customer{customer, region}, *spent{customer, total: s}\n"
                "?[region, total] := total[region, total] :create turnover {region, total}",
                "?[customer, total] := *spent{customer, total}, *orders{customer, n}, n >= 20, "
                "*spread{customer, low, high}, high - low < 950 :create steady {customer, total}",
            ),
            "souffle": (
                ".decl counted(o:number, c:number, v:number)",
                ".decl buyer(c:number)",
                ".decl spent(c:number, s:number)",
                ".decl orders(c:number, n:number)",
                ".decl spread(c:number, l:number, h:number)",
                ".decl idle(c:number)",
                ".decl turnover(r:number, t:number)",
                ".decl steady(c:number, s:number)",
                "counted(o,c,v) :- purchase(o,c,v), !blocked(c), !refunded(o).",
                "buyer(c) :- counted(_,c,_).",
                "spent(c,s) :- buyer(c), s = sum v : { counted(_,c,v) }.",
                "orders(c,n) :- buyer(c), n = count : { counted(_,c,_) }.",
                "spread(c,l,h) :- buyer(c), l = min v : { counted(_,c,v) }, h = max v : { counted(_,c,v) }.",
                "idle(c) :- customer(c,_), !buyer(c).",
                "turnover(r,t) :- customer(_,r), t = sum s : { customer(c,r), spent(c,s) }.",
                "steady(c,s) :- spent(c,s), orders(c,n), n >= 20, spread(c,l,h), h - l < 950.",
            ),
        },
        expected,
    )


def speed_workloads(quick: bool = False) -> tuple[Workload, ...]:
    """The rows of the speed table; `quick` gives the same programs on inputs that take moments."""
    if quick:
        return (
            left_closure(
                "digraph",
                "closure of a random digraph, 300 nodes and 600 edges",
                lambda: generators.random_digraph(300, 600),
            ),
            left_closure(
                "chains",
                "closure of 20 chains of 100 nodes",
                lambda: generators.chains(20, 100),
                *chain_closure_size(20, 100),
            ),
            left_closure(
                "dag",
                "closure of a random DAG, 1,000 nodes and 2,000 edges",
                lambda: generators.random_dag(1_000, 2_000),
            ),
            same_generation("samegen", 7),
            symmetric_closure("symmetric", 60),
            right_closure(
                "digraph-right",
                "the same digraph, edge before path",
                lambda: generators.random_digraph(300, 600),
            ),
            nonlinear_closure(
                "digraph-nonlinear",
                "closure by paths of paths, random digraph, 100 nodes and 200 edges",
                lambda: generators.random_digraph(100, 200),
            ),
            shop("shop", 1_000, 20_000),
        )
    return (
        left_closure(
            "digraph",
            "closure of a random digraph, 2,000 nodes and 4,000 edges",
            lambda: generators.random_digraph(2_000, 4_000),
        ),
        left_closure(
            "chains",
            "closure of 100 chains of 200 nodes",
            lambda: generators.chains(100, 200),
            *chain_closure_size(100, 200),
        ),
        left_closure(
            "dag",
            "closure of a random DAG, 5,000 nodes and 10,000 edges",
            lambda: generators.random_dag(5_000, 10_000),
        ),
        same_generation("samegen", 12),
        symmetric_closure("symmetric", 400),
        right_closure(
            "digraph-right",
            "the same digraph, edge before path",
            lambda: generators.random_digraph(2_000, 4_000),
        ),
        nonlinear_closure(
            "digraph-nonlinear",
            "closure by paths of paths, random digraph, 500 nodes and 1,000 edges",
            lambda: generators.random_digraph(500, 1_000),
        ),
        shop("shop", 50_000, 1_000_000),
    )


def chain_closure_size(count: int, length: int) -> tuple[int, int]:
    """Facts and rule instances of the linear closure of `count` chains of `length` nodes."""
    paths = length * (length - 1) // 2
    longer = (length - 1) * (length - 2) // 2
    return count * paths, count * (length - 1 + longer)
