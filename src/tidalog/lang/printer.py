"""The printer: any program as text of the main dialect.

Law: `parse(print_program(p)) == p`, and printing is idempotent.  If the plain form would mean something else,
another form is used: `<contains>(?x)` for a predicate with the name of a built-in condition, parentheses for
a function call that is a condition by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from tidalog.lang.conditions import is_condition
from tidalog.model.column_types import TYPES_OF_NEMO
from tidalog.model.program import (
    COMPARISONS,
    Aggregate,
    Atom,
    BodyLiteral,
    Call,
    Column,
    Condition,
    DataBinding,
    Declaration,
    Disjunction,
    Expression,
    Fact,
    Negation,
    OptionValue,
    Parameter,
    Program,
    Rule,
    Variable,
    Window,
    variables,
)
from tidalog.model.term_text import NAME, TermWriter, iri_reference, is_absolute, quote
from tidalog.model.terms import IRI, RDF_TYPE, BlankNode, String
from tidalog.model.window_times import duration_text

LINE_LENGTH: Final = 100

# Binding strength of expressions; an operand that binds less tightly than its operator requires gets
# parentheses.
_COMPARISON, _SUM, _PRODUCT, _UNARY, _POWER, _PRIMARY = range(6)
_BINARY: Final = {  # operator: its own strength, the least strength of its left and right operand
    "+": (_SUM, _SUM, _PRODUCT),
    "-": (_SUM, _SUM, _PRODUCT),
    "*": (_PRODUCT, _PRODUCT, _UNARY),
    "/": (_PRODUCT, _PRODUCT, _UNARY),
    "%": (_PRODUCT, _PRODUCT, _UNARY),
    "**": (_POWER, _PRIMARY, _UNARY),
    **dict.fromkeys(COMPARISONS, (_COMPARISON, _SUM, _SUM)),
}
_DECLARATION: Final = re.compile(r"(@declare \S+?) *\((.+)\Z", re.DOTALL)
_ALIGNED: Final = 40
"""Longer names of declared predicates are not aligned with others."""
_IN_FORMAT_STRING: Final = re.compile(r'(?:(?!""")[^{}])*')
_AFTER_PERCENT: Final = re.compile(r"(?:[?$]\w+|[0-9][\w.+-]*)\Z")


class Printer:
    """Prints nodes with one set of prefixes.

    A string that reads as a name stands without quotes as an argument of a predicate; in a triple pattern
    and in a computation it has them.
    """

    def __init__(self, prefixes: Mapping[str, str] | None = None) -> None:
        self.writer = TermWriter(prefixes)

    # --- expressions --------------------------------------------------------------------------------

    def expression(self, expression: Expression | Aggregate, least: int = _COMPARISON) -> str:
        text, level = self._expression(expression)
        return text if level >= least else f"({text})"

    def _operand(self, expression: Expression | Aggregate, least: int = _COMPARISON) -> str:
        return (
            quote(expression.value) if isinstance(expression, String) else self.expression(expression, least)
        )

    def _expression(self, expression: Expression | Aggregate) -> tuple[str, int]:
        if isinstance(expression, Variable):
            return ("_" if expression.anonymous else f"?{expression.name}"), _PRIMARY
        if isinstance(expression, Parameter):
            return f"${expression.name}", _PRIMARY
        if isinstance(expression, Aggregate):
            return f"#{expression.operator}({self._list(expression.arguments)})", _PRIMARY
        if not isinstance(expression, Call):
            text = self.writer.term(expression)
            return text, _UNARY if text.startswith("-") else _PRIMARY
        function, arguments = expression.function, expression.arguments
        if function in _BINARY and len(arguments) == 2:
            level, least_left, least_right = _BINARY[function]
            left, right = (
                self._operand(arguments[0], least_left),
                self._operand(arguments[1], least_right),
            )
            if function == "%" and not _AFTER_PERCENT.match(right):
                return f"{left} %({right})", level  # % and a blank would start a comment
            return f"{left} {function} {right}", level
        if function == "IN" and arguments:
            member = self.expression(arguments[0], _COMPARISON + 1)
            return f"{member} IN ({self._list(arguments[1:])})", _COMPARISON
        if function == "neg":
            (operand,) = arguments
            text = self._operand(operand, _UNARY)
            # -5 is the number; the minus of 5 is -(5)
            return (f"-({text})" if text[0].isdigit() or text[0] == "-" else f"-{text}"), _UNARY
        if expression.is_format_string and (format_string := self._format_string(arguments)) is not None:
            return format_string, _PRIMARY
        name = function if NAME.match(function) else self.writer.iri(function)
        return f"{name}({', '.join(map(self._operand, arguments))})", _PRIMARY

    def _format_string(self, arguments: Iterable[Expression | Aggregate]) -> str | None:
        """Texts and STR(…) as an f-string; None if they cannot be written as one."""
        parts, marks = [], '"'
        for part in arguments:
            if isinstance(part, String):
                parts.append(quote(part.value)[1:-1].replace("{", "{{").replace("}", "}}"))
                continue
            if not (isinstance(part, Call) and part.function == "STR" and len(part.arguments) == 1):
                return None
            value = self._operand(part.arguments[0])
            if not _IN_FORMAT_STRING.fullmatch(value):
                return None
            parts.append(f"{{{value}}}")
            marks = '"""' if '"' in value else marks
        return f"f{marks}{''.join(parts)}{marks}"

    def _list(self, arguments: Iterable[Expression | Aggregate]) -> str:
        return ", ".join([self.expression(argument) for argument in arguments])

    # --- literals -----------------------------------------------------------------------------------

    def atom(self, atom: Atom | Fact, in_body: bool = False) -> str:
        if atom.predicate == "triple" and len(atom.arguments) == 3:
            pattern = self._triple(atom.arguments)
            if pattern is not None:
                return pattern
        if in_body and atom.arguments and is_condition(atom.predicate):
            self.writer.relative = True
            name = iri_reference(atom.predicate)
        else:
            name = self.writer.predicate(atom.predicate)
        return f"{name}({self._list(atom.arguments)})" if atom.arguments else name

    def _triple(self, arguments: tuple[Expression | Aggregate, ...]) -> str | None:
        """`?x ex:p ?y`, if all three parts can be written in this form."""
        subject, verb, value = arguments
        if not isinstance(verb, IRI) or isinstance(value, Aggregate | Call):
            return None
        if not isinstance(subject, Variable | IRI | BlankNode):
            return None
        if verb.value != RDF_TYPE and not is_absolute(verb.value):
            return None
        middle = "a" if verb.value == RDF_TYPE else self.writer.iri(verb.value)
        return f"{self.expression(subject)} {middle} {self._operand(value)}"

    def literal(self, literal: BodyLiteral) -> str:
        if isinstance(literal, Atom):
            return self.atom(literal, in_body=True)
        if isinstance(literal, Negation):
            return f"~{self.atom(literal.atom, in_body=True)}"
        if isinstance(literal, Disjunction):
            return f"({self.alternatives(literal)})"
        text = self._operand(literal.expression)
        return f"({text})" if _reads_as_atom(literal) else text

    def alternatives(self, disjunction: Disjunction) -> str:
        return " ; ".join(", ".join(map(self.literal, part)) for part in disjunction.alternatives)

    # --- statements ---------------------------------------------------------------------------------

    def rule(self, rule: Rule) -> str:
        name = ""
        if rule.name is not None:
            name = f"{rule.name}: " if NAME.match(rule.name) else f"#[name({quote(rule.name)})] "
        head = ", ".join([self.atom(atom) for atom in rule.heads])
        body = [self.literal(literal) for literal in rule.body]
        if len(rule.body) == 1 and isinstance(rule.body[0], Disjunction):
            body = [self.alternatives(rule.body[0])]
        if not body:
            return f"{name}{head}." if _stands_without_arrow(rule) else f"{name}{head} :- ."
        start = f"{name}{head} :-" if head else f"{name}:-"
        line = f"{start} {', '.join(body)}."
        if len(line) <= LINE_LENGTH:
            return line
        return start + "\n    " + ",\n    ".join(body) + "."

    def fact(self, fact: Fact) -> str:
        return f"{self.atom(fact)}."

    def binding(self, directive: str, binding: DataBinding) -> str:
        options = ", ".join(f"{name} = {self._option(value)}" for name, value in binding.options.items())
        computed = "".join(f", ?{name} = {self._operand(value)}" for name, value in binding.computed.items())
        predicate = self.writer.predicate(binding.predicate)
        return f"@{directive} {predicate} :- {binding.format}{{{options}}}{computed} ."

    def _option(self, value: OptionValue) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return quote(value)
        if isinstance(value, tuple):
            return "(" + ", ".join(map(self._item, value)) + ")"
        return self.expression(value) if isinstance(value, Parameter | Variable | Call) else repr(value)

    def _item(self, value: OptionValue) -> str:
        """A name in a list has no quotes: format = (string, int)."""
        bare = isinstance(value, str) and NAME.match(value) and value not in ("true", "false")
        return str(value) if bare else self._option(value)

    def declaration(self, declaration: Declaration) -> str:
        """One line; a long one has a line for each column, with the types below each other."""
        start = f"@declare {self.writer.predicate(declaration.predicate)}("
        columns = [(_column_name(column), column.type) for column in declaration.columns]
        line = start + ", ".join(name + _type(kind, 1) for name, kind in columns) + ") ."
        if len(line) <= LINE_LENGTH:
            return line
        width = max(len(name) for name, _ in columns) + 1
        cells = [name + _type(kind, width - len(name)) for name, kind in columns]
        return start + "\n    " + ",\n    ".join(cells) + "\n) ."

    def window(self, window: Window) -> str:
        name, source = (self.writer.predicate(one) for one in (window.name, window.source))
        time = f", time {_column_name(Column(window.time))}" if window.time else ""
        return f"@window {name} :- {'' if name == source else source + ', '}{window_text(window)}{time} ."

    def output(self, predicate: str) -> str:
        return f"@output {self.writer.predicate(predicate)} ."

    def equality(self, predicate: str) -> str:
        return f"@equality {self.writer.predicate(predicate)} ."

    def parameter(self, name: str, value: Expression | None) -> str:
        return (
            f"@parameter ${name} ." if value is None else f"@parameter ${name} = {self.expression(value)} ."
        )

    def prefix(self, name: str, iri: str) -> str:
        if not is_absolute(iri):
            self.writer.relative = True
        return f"@prefix {name}: {iri_reference(iri)} ."

    def program(self, program: Program) -> str:
        groups = [
            [self.prefix(name, iri) for name, iri in program.prefixes.items()],
            [self.parameter(name, value) for name, value in program.parameters.items()],
            aligned([self.declaration(declaration) for declaration in program.declarations]),
            [self.window(window) for window in program.windows],
            [self.equality(predicate) for predicate in program.equalities],
            [self.binding("import", binding) for binding in program.imports],
            [self.fact(fact) for fact in program.facts],
            [self.rule(rule) for rule in program.rules],
            [self.output(predicate) for predicate in program.outputs],
            [self.binding("export", binding) for binding in program.exports],
        ]
        if program.base is not None:
            base = [f"@base {iri_reference(program.base)} ."]
            # a base would change the relative IRIs after it, which are already resolved
            groups.insert(len(groups) if self.writer.relative else 0, base)
        return "\n".join("\n".join(group) + "\n" for group in groups if group)


def window_text(window: Window) -> str:
    """The kind and size of a window: range 10s step 1s."""
    if window.kind == "landmark":
        return window.kind
    if window.kind == "count":
        return f"count {window.length}"
    step = f" step {duration_text(window.step)}" if window.step > 1 else ""
    return f"{window.kind} {duration_text(window.length)}{step}"


def aligned(lines: list[str]) -> list[str]:
    """Lines with the parentheses of declarations that follow each other below each other."""
    result = list(lines)
    start = 0
    for end in range(len(lines) + 1):
        if end < len(lines) and _DECLARATION.match(lines[end]):
            continue
        found = [match for line in lines[start:end] if (match := _DECLARATION.match(line)) is not None]
        width = max((len(match[1]) for match in found), default=0)
        if width <= _ALIGNED:
            result[start:end] = [f"{match[1].ljust(width)}({match[2]}" for match in found]
        start = end + 1
    return result


def _column_name(column: Column) -> str:
    name = column.name
    if name is None:
        return "_"
    return name if NAME.match(name) and name not in ("_", *TYPES_OF_NEMO) else quote(name)


def _type(kind: str, blanks: int) -> str:
    return "" if kind == "any" else f":{' ' * blanks}{kind}"


def _reads_as_atom(condition: Condition) -> bool:
    expression = condition.expression
    if isinstance(expression, Call):
        operator = expression.function in (*_BINARY, "neg", "IN")
        return not operator and not is_condition(expression.function)
    return isinstance(expression, IRI | String)


def _stands_without_arrow(rule: Rule) -> bool:
    """Whether a rule without a body is parsed as a rule when written like a fact."""
    arguments = [argument for head in rule.heads for argument in head.arguments]
    if any(isinstance(a, Aggregate) or next(variables(a), None) for a in arguments):
        return False
    return rule.name is not None or any(isinstance(a, Call | Parameter) for a in arguments)


def print_program(program: Program) -> str:
    """A program as text of the main dialect; empty for an empty program."""
    return Printer(program.prefixes).program(program)


def print_rule(rule: Rule, prefixes: Mapping[str, str] | None = None) -> str:
    """A rule with its full stop, or a query (whose head is `?`) without."""
    printer = Printer(prefixes)
    if len(rule.heads) == 1 and rule.heads[0].predicate == "?":
        answers = ", ".join(printer.expression(answer) for answer in rule.heads[0].arguments)
        body = ", ".join(printer.literal(literal) for literal in rule.body)
        return f"{answers} :- {body}" if answers else body
    return printer.rule(rule)


def print_fact(fact: Fact, prefixes: Mapping[str, str] | None = None) -> str:
    """A fact with its full stop."""
    return Printer(prefixes).fact(fact)


def print_atom(atom: Atom | Fact, prefixes: Mapping[str, str] | None = None) -> str:
    """An atom, or a fact without its full stop."""
    return Printer(prefixes).atom(atom)


def print_literal(literal: BodyLiteral, prefixes: Mapping[str, str] | None = None) -> str:
    return Printer(prefixes).literal(literal)


def print_expression(expression: Expression | Aggregate, prefixes: Mapping[str, str] | None = None) -> str:
    return Printer(prefixes).expression(expression)
