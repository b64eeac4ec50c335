"""What a workload is: the program in each system's words, the facts, and what must come out.

Each system gets the same rules in its own words, so that it makes the same derivations; where a system has
a form that serves it better (DuckDB's USING KEY), it gets that one.  A system without an entry in `scripts`
cannot say the program, and the table says so.

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
