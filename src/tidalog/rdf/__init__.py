"""RDF: how triples are stored, and how their terms are written.

`layout` is the only code that knows that triples are stored by property and class; all other code asks a
`Layout`.  `columns` splits and joins columns of term ids, `bridges` builds the rules between the relations,
`shorthand` reads `ex:p(?x, ?y)` as a triple, and `ntriples` writes terms.  The readers of files are in `io`,
because they need the engine's scanners.
"""

from tidalog.rdf.layout import TRIPLE, Layout

__all__ = ["TRIPLE", "Layout"]
