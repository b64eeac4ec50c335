"""Generated programs, and rearrangements of them, for every law that is tested on programs."""

from generators.datalog import EVERYTHING, PLAIN, Features, programs, spelt_literals, terms
from generators.rdf import triple_programs
from generators.rearrange import (
    SHUFFLES,
    alpha_rename,
    shuffle_bodies,
    shuffle_facts,
    shuffle_heads,
    shuffle_rules,
)

__all__ = [
    "EVERYTHING",
    "PLAIN",
    "SHUFFLES",
    "Features",
    "alpha_rename",
    "programs",
    "shuffle_bodies",
    "shuffle_facts",
    "shuffle_heads",
    "shuffle_rules",
    "spelt_literals",
    "terms",
    "triple_programs",
]
