"""SPARQL 1.1 queries and continuous queries (C-SPARQL): text to algebra to rules.

    text ──grammar──▶ tree ──reader──▶ Query, Registration ──translate──▶ rules and an answer predicate

**Covered.**  SELECT, CONSTRUCT, ASK and DESCRIBE: all of SPARQL 1.1 Query but SERVICE, and updates but LOAD,
CREATE, ADD, MOVE and COPY.  `REGISTER QUERY|STREAM name COMPUTED EVERY 1s AS …` with RSTREAM (default),
ISTREAM, DSTREAM or CHANGES (both) after REGISTER or AS; `FROM STREAM <s>` with `[RANGE 10s STEP 1s]`,
`[RANGE 10s TUMBLING]` or `[TRIPLES 1000]`.  Also read: COMPUTE EVERY, `1sec`,
and typed literals in expressions without `^^`
(`"PT30M"xsd:duration`, with a warning), as the papers print them.

**Asked once, or kept up to date.**  `translate(…, once=True)` is for a query that is asked once: LIMIT in a
sub-query is a stage of its own (`Cut`), NOW, RAND, UUID and BNODE have values, FROM and FROM NAMED choose
graphs.  Otherwise these are refused, and the dataset is the caller's: whatever FROM says, rules read one
predicate of triples, and GRAPH one of quads.

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
