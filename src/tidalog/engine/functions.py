"""Functions that compiled code computes, by number, and the tags of values on its stack."""

from __future__ import annotations

from typing import Final

from tidalog.engine.value_kinds import BOOLEAN_VALUE, DOUBLE_VALUE, INT_VALUE, NO_VALUE
from tidalog.model.program import Call, Expression

LOAD: Final = 0
ADD: Final = 1
SUBTRACT: Final = 2
MULTIPLY: Final = 3
DIVIDE: Final = 4
REMAINDER: Final = 5
POWER: Final = 6
DIV: Final = 7
MOD: Final = 8
NEGATE: Final = 9
ABSOLUTE: Final = 10
ROUND: Final = 11
FLOOR: Final = 12
CEIL: Final = 13
SQRT: Final = 14
EXP: Final = 15
MINIMUM: Final = 16
MAXIMUM: Final = 17
EQUAL: Final = 18
UNEQUAL: Final = 19
LESS: Final = 20
LESS_EQUAL: Final = 21
GREATER: Final = 22
GREATER_EQUAL: Final = 23
AND: Final = 24
OR: Final = 25
NOT: Final = 26
IF: Final = 27
COALESCE: Final = 28
IS_IRI: Final = 29
IS_BLANK: Final = 30
IS_STRING: Final = 31
IS_NUMERIC: Final = 32
IS_DOUBLE: Final = 33

NATIVE: Final = {
    "+": ADD,
    "-": SUBTRACT,
    "SUBTRACTION": SUBTRACT,
    "*": MULTIPLY,
    "/": DIVIDE,
    "DIVISION": DIVIDE,
    "%": REMAINDER,
    "REM": REMAINDER,
    "**": POWER,
    "POW": POWER,
    "DIV": DIV,
    "MOD": MOD,
    "neg": NEGATE,
    "INVERTSIGN": NEGATE,
    "ABS": ABSOLUTE,
    "ROUND": ROUND,
    "FLOOR": FLOOR,
    "CEIL": CEIL,
    "SQRT": SQRT,
    "EXP": EXP,
    "MIN": MINIMUM,
    "MAX": MAXIMUM,
    "=": EQUAL,
    "EQUALITY": EQUAL,
    "!=": UNEQUAL,
    "UNEQUALITY": UNEQUAL,
    "<": LESS,
    "NUMLESS": LESS,
    "<=": LESS_EQUAL,
    "NUMLESSEQ": LESS_EQUAL,
    ">": GREATER,
    "NUMGREATER": GREATER,
    ">=": GREATER_EQUAL,
    "NUMGREATEREQ": GREATER_EQUAL,
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

NAMES: Final = {number: name for name, number in reversed(NATIVE.items())}
"""The name of each function, the first that it has."""

# Tags of values on the stack: what a term counts as (`dictionary_kernels`), or that there is no value.
ASKED: Final = -2  # Python has been asked, see `questions`
FAILED: Final = -1
OTHER: Final = NO_VALUE
INT: Final = INT_VALUE
REAL: Final = DOUBLE_VALUE
TRUTH: Final = BOOLEAN_VALUE

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
