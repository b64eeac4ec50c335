"""The executable specification: the meaning of a program in plain Python sets, as slow as it is plain.

Everything fast is tested against what stands here, so nothing here may come from `analysis`, `plan` or
`engine`: it reads the syntax tree itself.
"""

from tidalog.reference.clauses import NotEvaluable
from tidalog.reference.naive import Model, Violation, evaluate, violations

__all__ = ["Model", "NotEvaluable", "Violation", "evaluate", "violations"]
