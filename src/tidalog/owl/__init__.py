"""Ontologies compiled into rules.

A profile (`profiles/*.rls`) is rules over triples.  `stages` splits each of them into what reads axioms and
what reads data; `axiom_program` is the Datalog program that evaluates the first part over the axioms of an
ontology, and `residual` makes of every answer a rule with the names of the ontology in it.  `outside` and
`malformed` say which axioms have no such rules, or none that say all they mean.  Nothing here evaluates:
`api.ontology` does, and maintains it.
"""

from typing import Final

PROFILES: Final = ("rdfs", "rdfs-plus", "owl2-rl")
