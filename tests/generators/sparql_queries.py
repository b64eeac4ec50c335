"""Random small graphs and SPARQL queries of the subset that becomes rules.

What is left out on purpose is listed in `tidalog.lang.sparql.expressions` as a difference: comparisons of
order have a constant on one side, MIN and MAX are of numbers, COUNT is of variables or of everything, and
there is no NaN, no literal of an unknown type and no double that is a whole number.
"""

from __future__ import annotations

from random import Random

PROLOGUE = "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
NODES = (":a", ":b", ":c")
PREDICATES = (":p", ":q")
LITERALS = ("0", "1", "2", "3", "1.5", "2.5e0", '"x"', '"xy"', '""', '"x"@en', "true", "false")
LIMITS = ("1", "2", "1.5", '"x"')
VARIABLES = ("?a", "?b", "?c", "?d")


class QueryGenerator:
    """Draws from `random`; equal seeds give equal graphs and queries."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.bound = 0

    def graph(self) -> list[tuple[str, str, str]]:
        """Triples in Turtle's terms, without repetitions."""
        choose = self.random.choice
        size = self.random.choice((0, 12, 24, 48))
        triples = {
            (choose(NODES), choose(PREDICATES), choose(NODES if self.chance(0.6) else LITERALS))
            for _ in range(size)
        }
        return sorted(triples)

    def query(self) -> str:
        """A SELECT, mostly; every variable of the answer has a name, in a fixed order."""
        self.bound = 0
        kind = self.random.random()
        if kind < 0.08:
            return f"ASK {self.group(2)}"
        if kind < 0.16:
            verb = self.random.choice((*PREDICATES, "?c"))
            return f"CONSTRUCT {{ ?a {verb} ?b . ?b :r ?d }} WHERE {self.group(2)}"
        return self.aggregation(2) if kind < 0.4 else self.selection(2)

    def selection(self, depth: int) -> str:
        group = self.group(depth)
        distinct = self.random.choice(("", "DISTINCT "))
        computed = f" ({self.expression(2)} AS {self.new()})" if self.chance(0.2) else ""
        chosen = self.random.sample(VARIABLES, self.random.randint(1, 4))
        return f"SELECT {distinct}{' '.join(sorted(chosen))}{computed} WHERE {group}"

    def aggregation(self, depth: int) -> str:
        group = self.group(depth)
        keys = self.random.sample(VARIABLES, self.random.choice((0, 1, 1, 2)))
        values = " ".join(f"({self.aggregate()} AS {self.new()})" for _ in range(self.random.randint(1, 2)))
        by = f" GROUP BY {' '.join(keys)}" if keys else ""
        having = f" HAVING({self.aggregate()} > {self.random.choice('0123')})" if self.chance(0.2) else ""
        return f"SELECT {' '.join(keys)} {values} WHERE {group}{by}{having}"

    def aggregate(self) -> str:
        if self.chance(0.25):
            return "COUNT(*)"
        operator = self.random.choice(("COUNT", "COUNT", "SUM", "AVG", "MIN", "MAX"))
        value = self.random.choice(VARIABLES)
        if operator != "COUNT":
            value = self.random.choice((value, f"COALESCE(ABS({value}), 7)", f"({value} * 2)"))
        if operator in ("MIN", "MAX"):
            value = f"ABS({value})"
        return f"{operator}({self.random.choice(('', 'DISTINCT '))}{value})"

    # --- patterns -----------------------------------------------------------------------------------

    def group(self, depth: int) -> str:
        parts = [self.triples() if self.chance(0.85) else self.element(depth)]
        parts += [self.element(depth) for _ in range(self.random.choice((0, 1, 1, 2)))]
        if self.chance(0.25):
            parts.append(f"FILTER({self.expression(2)})")
        if depth > 1 and self.chance(0.25):
            exists = f"{self.random.choice(('', 'NOT '))}EXISTS {self.correlated()}"
            either = f"({self.expression(1)} || {exists})"
            parts.append(f"FILTER {exists if self.chance(0.7) else either}")
        return f"{{ {' '.join(parts)} }}"

    def element(self, depth: int) -> str:
        choice = self.random.random()
        if depth == 0 or choice < 0.2:
            return self.triples()
        if choice < 0.45:
            return f"OPTIONAL {self.group(depth - 1)}"
        if choice < 0.6:
            return f"{self.group(depth - 1)} UNION {self.group(depth - 1)}"
        if choice < 0.7:
            return f"MINUS {self.group(depth - 1)}"
        if choice < 0.82:
            return f"BIND({self.expression(2)} AS {self.new()})"
        if choice < 0.9:
            return self.values()
        inner = self.selection(depth - 1) if self.chance(0.6) else self.aggregation(depth - 1)
        return f"{{ {inner} }}"

    def triples(self) -> str:
        return " ".join(self.triple() for _ in range(self.random.choice((1, 1, 1, 2))))

    def triple(self) -> str:
        choose = self.random.choice
        subject = choose(VARIABLES) if self.chance(0.85) else choose((*NODES, "[]"))
        verb = choose(PREDICATES) if self.chance(0.9) else choose(VARIABLES)
        value = choose(VARIABLES) if self.chance(0.8) else choose((*NODES, *LITERALS, "[]", "_:n"))
        return f"{subject} {verb} {value} ."

    def values(self) -> str:
        names = self.random.sample(VARIABLES, self.random.randint(1, 2))
        rows = [
            f"({' '.join(self.random.choice((*NODES, '1', 'UNDEF')) for _ in names)})"
            for _ in range(self.random.randint(0, 3))
        ]
        return f"VALUES ({' '.join(names)}) {{ {' '.join(rows)} }}"

    def correlated(self) -> str:
        condition = f" FILTER({self.expression(1)})" if self.chance(0.4) else ""
        more = f" OPTIONAL {{ {self.triples()}{condition} }}" if self.chance(0.2) else ""
        union = f" {{ {self.triple()} }} UNION {{ {self.triple()} }}" if self.chance(0.1) else ""
        return f"{{ {self.triples()}{more}{union}{condition} }}"

    # --- expressions --------------------------------------------------------------------------------

    def expression(self, depth: int) -> str:
        choose = self.random.choice
        if depth == 0:
            return choose(VARIABLES) if self.chance(0.7) else choose((*NODES, *LITERALS))
        one, two = (lambda: self.expression(depth - 1)), (lambda: self.expression(depth - 1))
        forms = (
            lambda: f"({one()} {choose(('=', '!='))} {two()})",
            lambda: f"({one()} {choose(('<', '<=', '>', '>='))} {choose(LIMITS)})",
            lambda: f"({one()} {choose(('+', '-', '*', '/'))} {two()})",
            lambda: f"({one()} {choose(('&&', '||'))} {two()})",
            lambda: f"(! {one()})",
            lambda: f"BOUND({choose(VARIABLES)})",
            lambda: f"IF({one()}, {two()}, {one()})",
            lambda: f"COALESCE({one()}, {two()})",
            lambda: f"({one()} {choose(('', 'NOT '))}IN ({two()}, {choose((*NODES, *LITERALS))}))",
            lambda: f"{choose(('isIRI', 'isLiteral', 'isNumeric', 'isBlank', 'LANG', 'DATATYPE'))}({one()})",
            lambda: f"{choose(('STRLEN', 'UCASE', 'ABS', 'CEIL', 'FLOOR', 'ROUND'))}({one()})",
            lambda: f"{choose(('STRSTARTS', 'CONTAINS', 'REGEX'))}({one()}, 'x')",
            lambda: f"sameTerm({one()}, {two()})",
            lambda: f"xsd:{choose(('integer', 'decimal', 'boolean'))}({choose(VARIABLES)})",
            lambda: f"(- {choose(VARIABLES)})",
        )
        return choose(forms)()

    def new(self) -> str:
        self.bound += 1
        return f"?n{self.bound}"

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability
