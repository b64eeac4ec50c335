"""Data in the shape of the Lehigh University Benchmark, and two programs over it.

`generator` makes the triples of any number of universities, `programs` the rules: of the ontology, each of
its axioms a rule over constant classes and properties; and general ones, over its axioms as data.
"""
