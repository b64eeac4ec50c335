"""Workloads with negation and aggregates.

egglog has neither and is not asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from bench import generators
from bench.workload import Workload

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
                "CREATE TABLE spent AS SELECT customer, sum(amount)::BIGINT AS total "
                "FROM counted GROUP BY ALL",
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
                "spread(C,L,H) :- buyer(C), L = #min { V : counted(_,C,V) }, "
                "H = #max { V : counted(_,C,V) }.",
                "idle(C) :- customer(C,_), not buyer(C).",
                "region(R) :- customer(C,R), spent(C,_).",
                "turnover(R,T) :- region(R), T = #sum { S,C : customer(C,R), spent(C,S) }.",
                "steady(C,S) :- spent(C,S), orders(C,N), N >= 20, spread(C,L,H), H - L < 950.",
            ),
            "cozo": (
                "?[purchase, customer, amount] := *purchase{purchase, customer, amount}, "
                "not *blocked{customer}, not *refunded{purchase} "
                ":create counted {purchase, customer, amount}",
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
                "turnover(r,t) :- customer(d,r), spent(d,_), t = sum s : { customer(c,r), spent(c,s) }.",
                "steady(c,s) :- spent(c,s), orders(c,n), n >= 20, spread(c,l,h), h - l < 950.",
            ),
        },
        expected,
    )


_NETWORK_RULES = """\
open(?x, ?y) :- edge(?x, ?y), ~closed(?x), ~closed(?y) .
reach(?x, ?y) :- open(?x, ?y) .
reach(?x, ?z) :- reach(?x, ?y), open(?y, ?z) .
oneway(?x, ?y) :- open(?x, ?y), ~reach(?y, ?x) .
audience(?x, #count(?y)) :- reach(?x, ?y) .
lowest(?x, #min(?y)) :- reach(?x, ?y) .
mostly(?x, ?n) :- audience(?x, ?n), ?n * 2 > {nodes}, ~closed(?x) .
"""


def network(
    name: str,
    nodes: int,
    edges: int,
    expected: Mapping[str, int] | None = None,
) -> Workload:
    """Recursion between a negation and aggregates: who is reached while some nodes are closed."""
    return Workload(
        name,
        f"negation, recursion and aggregates: open paths of a digraph, {nodes:,} nodes and {edges:,} edges",
        _NETWORK_RULES.format(nodes=nodes),
        {"open": 2, "reach": 2, "oneway": 2, "audience": 2, "lowest": 2, "mostly": 2},
        lambda: generators.network(nodes, edges),
        {
            "duckdb": (
                "CREATE TABLE open AS SELECT x, y FROM edge ANTI JOIN closed a ON edge.x = a.node "
                "ANTI JOIN closed b ON edge.y = b.node",
                "CREATE TABLE reach AS WITH RECURSIVE reach(x, y) AS (SELECT x, y FROM open UNION "
                "SELECT reach.x, open.y FROM reach JOIN open ON reach.y = open.x) SELECT x, y FROM reach",
                "CREATE TABLE oneway AS SELECT x, y FROM open ANTI JOIN reach "
                "ON open.y = reach.x AND open.x = reach.y",
                "CREATE TABLE audience AS SELECT x, count(*) AS n FROM reach GROUP BY ALL",
                "CREATE TABLE lowest AS SELECT x, min(y) AS y FROM reach GROUP BY ALL",
                "CREATE TABLE mostly AS SELECT x, n FROM audience ANTI JOIN closed ON x = node "
                f"WHERE n * 2 > {nodes}",
            ),
            "clingo": (
                "open(X,Y) :- edge(X,Y), not closed(X), not closed(Y).",
                "reach(X,Y) :- open(X,Y).",
                "reach(X,Z) :- reach(X,Y), open(Y,Z).",
                "oneway(X,Y) :- open(X,Y), not reach(Y,X).",
                "source(X) :- open(X,_).",
                "audience(X,N) :- source(X), N = #count { Y : reach(X,Y) }.",
                "lowest(X,L) :- source(X), L = #min { Y : reach(X,Y) }.",
                f"mostly(X,N) :- audience(X,N), N * 2 > {nodes}, not closed(X).",
            ),
            "cozo": (
                "?[x, y] := *edge{x, y}, not *closed{node: x}, not *closed{node: y} :create open {x, y}",
                "reach[x, y] := *open{x, y}\n"
                "reach[x, z] := reach[x, y], *open{x: y, y: z}\n"
                "?[x, y] := reach[x, y] :create reach {x, y}",
                "?[x, y] := *open{x, y}, not *reach{x: y, y: x} :create oneway {x, y}",
                "number[x, count(y)] := *reach{x, y}\n?[x, n] := number[x, n] :create audience {x, n}",
                "least[x, min(y)] := *reach{x, y}\n?[x, y] := least[x, y] :create lowest {x, y}",
                f"?[x, n] := *audience{{x, n}}, n * 2 > {nodes}, not *closed{{node: x}} "
                ":create mostly {x, n}",
            ),
            "souffle": (
                ".decl open(x:number, y:number)",
                ".decl reach(x:number, y:number)",
                ".decl oneway(x:number, y:number)",
                ".decl source(x:number)",
                ".decl audience(x:number, n:number)",
                ".decl lowest(x:number, y:number)",
                ".decl mostly(x:number, n:number)",
                "open(x,y) :- edge(x,y), !closed(x), !closed(y).",
                "reach(x,y) :- open(x,y).",
                "reach(x,z) :- reach(x,y), open(y,z).",
                "oneway(x,y) :- open(x,y), !reach(y,x).",
                "source(x) :- open(x,_).",
                "audience(x,n) :- source(x), n = count : { reach(x,_) }.",
                "lowest(x,l) :- source(x), l = min y : { reach(x,y) }.",
                f"mostly(x,n) :- audience(x,n), n * 2 > {nodes}, !closed(x).",
            ),
        },
        expected,
    )
