"""SPARQL 1.1 queries and continuous queries (C-SPARQL): text to algebra to rules.

    text ──grammar──▶ tree ──reader──▶ Query, Registration ──translate──▶ rules and an answer predicate

**Covered.**  SELECT, CONSTRUCT and ASK; basic graph patterns with `;`, `,`, `a`, `[…]` and collections;
FILTER, OPTIONAL, UNION, MINUS, BIND, VALUES, sub-queries, [NOT] EXISTS anywhere in an expression; GROUP BY,
HAVING, COUNT, SUM, AVG, MIN, MAX, SAMPLE; DISTINCT, ORDER BY, LIMIT, OFFSET; all operators, and the functions
that are built-ins or registered.  `REGISTER QUERY|STREAM name COMPUTED EVERY 1s AS …` with RSTREAM (default),
ISTREAM, DSTREAM or CHANGES (both) after REGISTER or AS; `FROM STREAM <s>` with `[RANGE 10s STEP 1s]`,
`[RANGE 10s TUMBLING]` or `[TRIPLES 1000]`.  Also read: COMPUTE EVERY, `1sec`,
and typed literals in expressions without `^^`
(`"PT30M"xsd:duration`, with a warning), as the papers print them.

**Refused, with a numbered error.**  Property paths, GRAPH, SERVICE, DESCRIBE, updates, GROUP_CONCAT, LIMIT in
a sub-query, blank nodes in a CONSTRUCT template, variables from outside in the inner groups of EXISTS; NOW,
RAND, UUID, BNODE.

**The dataset is the caller's.**  Rules read one predicate of triples, whatever FROM says.

**Sets and bags.**  A predicate is a set, so an answer has each row once.  `translate(…, counted=True)` adds
columns that keep equal solutions apart: then the rows are SPARQL's bag.  Aggregates always count solutions.

**Unbound** is `<|unbound|>` in the columns that may lack a value, an IRI that nothing else yields, and None
in `Translation.rows`.

**Other than SPARQL 1.1 or other engines.**  Terms are normalised on entry (`01` is `1`).  `expressions` lists
what functions do otherwise.  MIN, MAX and ORDER BY put literals of different kinds in the order of terms; MIN
and MAX take IRIs for larger than literals.  SAMPLE is the smallest value, and COUNT passes over values that
cannot be computed; pyoxigraph leaves such a COUNT unbound and rdflib counts them.  COUNT(DISTINCT *) is over
named variables; pyoxigraph and rdflib count blank nodes of the pattern too.  A MINUS inside EXISTS shares the
variables from outside.  `SELECT *` has its columns in the order of the text.
"""

from tidalog.lang.sparql.answers import Translation
from tidalog.lang.sparql.parser import (
    Parsed,
    parse_registrations,
    parse_statement,
    parse_statements,
    parse_updates,
)
from tidalog.lang.sparql.translate import translate

__all__ = [
    "Parsed",
    "Translation",
    "parse_registrations",
    "parse_statement",
    "parse_statements",
    "parse_updates",
    "translate",
]
