"""Static analysis of a program: passes, graphs, strata.

Reads the AST (`tidalog.model.program`) and returns an `Analysis`.  Nothing here sees data, plans or the
engine.
"""

from tidalog.analysis.components import Component
from tidalog.analysis.edit_impact import (
    ComponentState,
    ComponentVisit,
    EditImpact,
    NodeMerge,
    NodeSplit,
    NodeState,
)
from tidalog.analysis.edited_program import EditedProgram
from tidalog.analysis.graph_text import GRAPH_FORMATS, GraphFormat, render_graph
from tidalog.analysis.hypernodes import HyperNode, RuleEdges
from tidalog.analysis.model import Analysis, PredicateInfo
from tidalog.analysis.normal import AggregateColumn, Argument, Computation, NormalAtom, NormalRule
from tidalog.analysis.passes import PASSES, analyse
from tidalog.analysis.query import analyse_query
from tidalog.analysis.report import describe, describe_json
from tidalog.analysis.rule_edit import AlreadyThere, RuleDiff
from tidalog.analysis.rule_graph import RuleGraph
from tidalog.model.rule_edit import NamedRemoval

__all__ = [
    "GRAPH_FORMATS",
    "PASSES",
    "AggregateColumn",
    "AlreadyThere",
    "Analysis",
    "Argument",
    "Component",
    "ComponentState",
    "ComponentVisit",
    "Computation",
    "EditImpact",
    "EditedProgram",
    "GraphFormat",
    "HyperNode",
    "NamedRemoval",
    "NodeMerge",
    "NodeSplit",
    "NodeState",
    "NormalAtom",
    "NormalRule",
    "PredicateInfo",
    "RuleDiff",
    "RuleEdges",
    "RuleGraph",
    "analyse",
    "analyse_query",
    "describe",
    "describe_json",
    "render_graph",
]
