"""Functions that compiled code computes, by number, and the tags of values on its stack."""

from __future__ import annotations

from typing import Final

from tidalog.model.program import Call, Expression

LOAD: Final = 0
ADD: Final = 1
SUBTRACT: Final = 2
MULTIPLY: Final = 3
DIVIDE: Final = 4
REMAINDER: Final = 5
POWER: Final = 6
NEGATE: Final = 7
ABSOLUTE: Final = 8
ROUND: Final = 9
FLOOR: Final = 10
CEIL: Final = 11
SQRT: Final = 12
EXP: Final = 13
MINIMUM: Final = 14
MAXIMUM: Final = 15
EQUAL: Final = 16
UNEQUAL: Final = 17
LESS: Final = 18
LESS_EQUAL: Final = 19
GREATER: Final = 20
GREATER_EQUAL: Final = 21
AND: Final = 22
OR: Final = 23
NOT: Final = 24
IF: Final = 25
COALESCE: Final = 26
IS_IRI: Final = 28
IS_BLANK: Final = 29
IS_STRING: Final = 30
IS_NUMERIC: Final = 31
IS_DOUBLE: Final = 32

NATIVE: Final = {
    "+": ADD,
    "-": SUBTRACT,
    "*": MULTIPLY,
    "/": DIVIDE,
    "%": REMAINDER,
    "REM": REMAINDER,
    "**": POWER,
    "POW": POWER,
    "neg": NEGATE,
    "ABS": ABSOLUTE,
    "ROUND": ROUND,
    "FLOOR": FLOOR,
    "CEIL": CEIL,
    "SQRT": SQRT,
    "EXP": EXP,
    "MIN": MINIMUM,
    "MAX": MAXIMUM,
    "=": EQUAL,
    "!=": UNEQUAL,
    "<": LESS,
    "<=": LESS_EQUAL,
    ">": GREATER,
    ">=": GREATER_EQUAL,
    "AND": AND,
    "OR": OR,
    "NOT": NOT,
    "IF": IF,
    "COALESCE": COALESCE,
    "ISIRI": IS_IRI,
    "ISURI": IS_IRI,
    "ISBLANK": IS_BLANK,
    "ISNULL": IS_BLANK,
    "ISSTRING": IS_STRING,
    "ISNUMERIC": IS_NUMERIC,
    "ISDOUBLE": IS_DOUBLE,
}
STACK: Final = 64

# Tags of values.
FAILED: Final = 0
INT: Final = 1
REAL: Final = 2
TRUTH: Final = 3
INSTANT: Final = 4
OTHER: Final = 5

NO_TERM: Final = -1


def is_native(expression: Expression) -> bool:
    """Whether compiled code computes this expression: it knows every function, and its stack is enough."""
    depth = deepest = 0
    for node in postfix(expression):
        if isinstance(node, Call):
            if node.function not in NATIVE:
                return False
            depth -= len(node.arguments)
        depth += 1
        deepest = max(deepest, depth)
    return deepest <= STACK


def postfix(expression: Expression) -> list[Expression]:
    """Calls, variables and terms of an expression, arguments before calls, without recursion."""
    waiting, found = [expression], []
    while waiting:
        one = waiting.pop()
        found.append(one)
        if isinstance(one, Call):
            waiting.extend(one.arguments)
    found.reverse()
    return found
