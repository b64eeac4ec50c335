"""Random datasets and SPARQL queries with everything that queries asked once may have.

Beside what `sparql_queries` draws: property paths, GRAPH, FROM and FROM NAMED, sub-queries with LIMIT, EXISTS
in which nested groups use variables from outside, GROUP_CONCAT and SAMPLE, and DESCRIBE.  A triple is in one
graph only, and what LIMIT takes is decided by ORDER BY over nodes.  A path that may be empty has variables at
its ends.
"""

from __future__ import annotations

from generators.sparql_queries import LITERALS, NODES, PREDICATES, VARIABLES, QueryGenerator

GRAPHS = (":g", ":h")
Quad = tuple[str, str, str, str | None]


class OnceGenerator(QueryGenerator):
    """Draws from `random`; equal seeds give equal datasets and queries."""

    in_graph = False
    """pyoxigraph passes over a GRAPH without triple patterns of its own inside, and cuts the rows of LIMIT
    over all graphs."""

    def dataset(self) -> list[Quad]:
        """Triples in Turtle's terms, each in the default graph (None) or in a named one."""
        graphs = (None, None, *GRAPHS)
        return [(*triple, self.random.choice(graphs)) for triple in self.graph()]

    def query(self) -> str:
        choice = self.random.random()
        if choice < 0.05:
            self.bound = 0
            return f"DESCRIBE {self.random.choice((*NODES, '?a', '?a ?b'))} {self.group(1)}"
        text = super().query()
        if self.chance(0.12):
            graphs = [
                f"FROM {'NAMED ' if self.chance(0.5) else ''}{one}" for one in GRAPHS if self.chance(0.7)
            ]
            head, where, rest = text.partition(" WHERE ")
            text = f"{head} {' '.join(graphs)}{where}{rest}" if where else text
        return text

    def aggregate(self) -> str:
        if self.chance(0.15):
            value = self.random.choice(VARIABLES)
            return (
                f"STRLEN(GROUP_CONCAT({self.random.choice(('', 'DISTINCT '))}STR({value}); SEPARATOR='--'))"
            )
        return super().aggregate()

    def element(self, depth: int) -> str:
        choice = self.random.random()
        if depth and choice < 0.12 and not self.in_graph:
            if self.chance(0.2):
                return f"GRAPH {self.random.choice(VARIABLES)} {{ {self.triples()} }}"
            around, self.in_graph = self.in_graph, True
            inside = self.group(depth - 1)
            self.in_graph = around
            graph = self.random.choice((*GRAPHS, ":none", "?g", "?g"))
            return f"GRAPH {graph} {{ {self.triple()} {inside} }}"
        if depth and choice < 0.18 and not self.in_graph:
            return self.limited()
        return super().element(depth)

    def limited(self) -> str:
        one, two = self.random.sample(VARIABLES, 2)
        cut = self.random.choice(("LIMIT 1", "LIMIT 2", "LIMIT 2 OFFSET 1", "OFFSET 1", "LIMIT 0"))
        verb = self.path(1) if self.chance(0.3) else self.random.choice(PREDICATES)
        inner = f"{{ {one} {verb} {two} FILTER(isIRI({one})) }}"
        order = self.random.choice(("", "DESC"))
        return f"{{ SELECT DISTINCT {one} {inner} ORDER BY {order}({one}) {cut} }}"

    def triple(self) -> str:
        if self.chance(0.7):
            return super().triple()
        choose = self.random.choice
        path = self.path(2)
        constants = 0.0 if "*" in path or "?" in path else 0.25
        subject = choose((*NODES, "[]")) if self.chance(constants) else choose(VARIABLES)
        value = choose((*NODES, *LITERALS[:4])) if self.chance(constants) else choose(VARIABLES)
        return f"{subject} {path} {value} ."

    def path(self, depth: int, repeated: bool = False) -> str:
        """Alternatives and `!` of both directions stand inside of `*`, `+` or `?`: elsewhere their ends count
        as often as there are ways, which pyoxigraph does not do."""
        choose = self.random.choice
        if depth == 0:
            return choose(PREDICATES)
        one, inside = (lambda: self.path(depth - 1, repeated)), (lambda: self.path(depth - 1, True))
        forms = [
            lambda: f"({one()}/{one()})",
            lambda: f"^{one()}" if depth == 1 else f"^({one()})",
            lambda: f"({inside()})*",
            lambda: f"({inside()})+",
            lambda: f"({inside()})?",
            lambda: f"!({choose((':p', '^:p', ':p|:q', '^:p|^:q'))})",
        ]
        if repeated:
            forms += [lambda: f"({one()}|{one()})", lambda: "!(:p|^:q)"]
        return choose(forms)()

    def correlated(self) -> str:
        if self.chance(0.75):
            return super().correlated()
        condition = f"FILTER({self.expression(1)})"
        forms = (
            f"{{ {self.triple()} {condition} }} UNION {{ {self.triple()} }}",
            f"{{ {self.triple()} {condition} }}",
            f"{self.triple()} OPTIONAL {{ {self.triple()} OPTIONAL {{ {self.triple()} {condition} }} }}",
        )
        return f"{{ {self.random.choice(forms)} }}"


class PathGenerator(OnceGenerator):
    """Basic patterns with alternatives of sequences, inverses and `!`.  Alternatives inside of other paths,
    paths that may be empty, and joins of groups are evaluated otherwise by rdflib."""

    def query(self) -> str:
        union = f" UNION {{ {self.step()} }}" if self.chance(0.3) else ""
        more = self.step() if self.chance(0.4) else ""
        return f"SELECT ?a ?b ?c ?d WHERE {{ {{ ?a :p ?b . {self.step()} {more} }}{union} }}"

    def step(self) -> str:
        one, two = (self.random.choice(VARIABLES) for _ in range(2))
        ways = "|".join(self.way() for _ in range(self.random.randint(1, 3)))
        return f"{one} ({ways}) {two} ."

    def way(self) -> str:
        one, two = (self.random.choice((*PREDICATES, "^:p", "^:q")) for _ in range(2))
        return self.random.choice((one, one, f"({one}/{two})", "!(:p)", "!(:p|:q)"))
