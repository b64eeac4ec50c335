"""What a program means before any fact is seen: its passes, its graphs, its strata.

Reads the AST (`tidalog.program`), gives an `Analysis`.  No data, no plans and no engine enter here.
"""

from tidalog.analysis.hypernodes import HyperNode, RuleEdges
from tidalog.analysis.model import Analysis, Component, PredicateInfo
from tidalog.analysis.normal import AggregateColumn, Argument, Computation, NormalAtom, NormalRule
from tidalog.analysis.passes import PASSES, analyse
from tidalog.analysis.triples import TripleLayout

__all__ = [
    "PASSES",
    "AggregateColumn",
    "Analysis",
    "Argument",
    "Component",
    "Computation",
    "HyperNode",
    "NormalAtom",
    "NormalRule",
    "PredicateInfo",
    "RuleEdges",
    "TripleLayout",
    "analyse",
]
