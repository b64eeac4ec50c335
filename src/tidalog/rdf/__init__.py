"""RDF: how triples are stored, and how their terms are written.

`layout` is the only code that knows that triples are stored split by property and class; everybody else asks
a `Layout`.  `columns` splits and joins columns of term ids, `bridges` writes the rules between the relations,
`shorthand` reads `ex:p(?x, ?y)` as a triple, and `ntriples` writes terms.  The readers of files are in `io`,
for they need the engine's scanners.
"""

from tidalog.rdf.layout import TRIPLE, Layout

__all__ = ["TRIPLE", "Layout"]
