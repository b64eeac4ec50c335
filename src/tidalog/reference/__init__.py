"""The executable specification: the meaning of a program in plain Python sets, slow and simple.

Everything fast is tested against this package, so nothing here may come from `analysis`, `plan` or
`engine`: it reads the syntax tree itself.

`evaluate` computes the meaning from scratch.  The other modules follow the papers' maintenance algorithms
line by line over positive programs; each maintains a materialisation under a stream of updates and counts its
work as the paper does.
"""

from tidalog.reference.bf import BackwardForward
from tidalog.reference.clauses import NotEvaluable
from tidalog.reference.counting import Counting, NotCountable
from tidalog.reference.dred import DRed
from tidalog.reference.dred_marking import DRedMarking
from tidalog.reference.fact_sets import Fact
from tidalog.reference.instances import Instance, NotPositive, PositiveProgram
from tidalog.reference.maintenance import Maintenance, Trace, Update
from tidalog.reference.marking import BackwardForwardMarking, Marks
from tidalog.reference.naive import Model, Violation, evaluate, violations
from tidalog.reference.positive_marking import PositiveMarking

__all__ = [
    "BackwardForward",
    "BackwardForwardMarking",
    "Counting",
    "DRed",
    "DRedMarking",
    "Fact",
    "Instance",
    "Maintenance",
    "Marks",
    "Model",
    "NotCountable",
    "NotEvaluable",
    "NotPositive",
    "PositiveMarking",
    "PositiveProgram",
    "Trace",
    "Update",
    "Violation",
    "evaluate",
    "violations",
]
