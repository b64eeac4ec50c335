"""Old names of `rdf.layout`."""

from tidalog.rdf.layout import ALL_TRIPLES, ALL_TYPES, TRIPLE, TYPE

__all__ = ["ALL_TRIPLES", "ALL_TYPES", "TRIPLE", "TYPE"]
