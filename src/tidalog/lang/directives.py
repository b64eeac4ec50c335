"""The directives of the main dialect, of which rules and update scripts have @prefix and @base only."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final

from lark import Token, Tree

from tidalog.lang.builder import Builder
from tidalog.lang.diagnostics import BadStatement, ColumnTwice, NamesOfTypes, UnknownType
from tidalog.lang.grammar import Node
from tidalog.lang.names import Names
from tidalog.model.column_types import TEMPORAL, TYPES, TYPES_OF_NEMO, similar_type, type_named
from tidalog.model.errors import Diagnostic, Source, Span
from tidalog.model.program import (
    Call,
    Column,
    DataBinding,
    Declaration,
    Expression,
    OptionValue,
    Parameter,
    Variable,
    Window,
    WindowKind,
    variables,
)
from tidalog.model.terms import Double, Integer, Literal, String
from tidalog.model.window_times import UNITS, duration_of

_OF_TEXTS: Final = ("prefix", "base")
_OF_PROGRAMS: Final = ("import", "export", "output", "parameter", "declare", "window", "equality")
DIRECTIVES: Final = (*_OF_TEXTS, *_OF_PROGRAMS)
OF_PROGRAMS: Final = re.compile(rf"@({'|'.join(_OF_PROGRAMS)})\b")
"""A directive that only a program has."""
_COLUMN: Final = re.compile(r'("(?:[^"\\]|\\.)*"|[^\s:"]+)(?:\s*:\s*(\S+))?')
"""The tokens of a column: its name, and perhaps its type."""
_NUMBER: Final = r"[0-9]+(?:\.[0-9]+)?"
_WINDOW: Final = re.compile(
    r"(?P<landmark>landmark)|count (?P<count>[0-9]{1,10})"
    rf"|(?P<kind>range|tumbling) (?P<length>{_NUMBER}) (?P<unit>[a-z]+)"
    rf"(?: step (?P<step>{_NUMBER}) (?P<step_unit>[a-z]+))?"
)
"""The words of a window, with a blank between a number and its unit."""


class DirectiveReader:
    """Collects the contents of directives, in text order."""

    def __init__(self, source: Source, names: Names, errors: list[Diagnostic]) -> None:
        self.source = source
        self.names = names
        self.errors = errors
        self.warnings: list[Diagnostic] = []
        self.imports: list[DataBinding] = []
        self.exports: list[DataBinding] = []
        self.outputs: list[str] = []
        self.declarations: list[Declaration] = []
        self.windows: list[Window] = []
        self.equalities: list[str] = []
        self.parameters: dict[str, Expression | None] = {}

    def take(self, directive: Node, offset: int) -> None:
        """Adds the contents of one directive; `offset` is that of its statement."""
        assert isinstance(directive, Tree)
        builder = Builder(self.source, offset, self.names, self.errors)
        before = len(self.errors)
        children = directive.children
        match directive.data:
            case "prefix":
                iri = builder.iri(_token(children[1]))
                if len(self.errors) == before:
                    self.names.declare(_token(children[0])[:-1], iri)
            case "base":
                iri = builder.iri(_token(children[0]))
                if len(self.errors) == before:
                    self.names.base = iri
            case "import_" | "export":
                binding = self._binding(builder, directive)
                if len(self.errors) == before:
                    (self.imports if directive.data == "import_" else self.exports).append(binding)
            case "output":
                predicates = [builder.iri(_predicate(child)) for child in children]
                if len(self.errors) == before:
                    self.outputs += predicates
            case "equality":
                predicates = [builder.iri(_predicate(child)) for child in children]
                if len(self.errors) == before:
                    self.equalities += (p for p in predicates if p not in self.equalities)
            case "parameter":
                self._parameter(builder, children)
            case "declare":
                declaration = self._declaration(builder, directive)
                if len(self.errors) == before:
                    self.declarations.append(declaration)
            case "window":
                window = self._window(builder, directive)
                if window is not None and len(self.errors) == before:
                    self.windows.append(window)

    def _declaration(self, builder: Builder, directive: Tree[Token]) -> Declaration:
        predicate, *columns = directive.children
        trees = [column for column in columns if isinstance(column, Tree)]
        words = [_token(part) for tree in trees for part in tree.children]
        if len(words) == len(trees) and all(word in TYPES_OF_NEMO for word in words):
            found = [Column(None, type_named(word) or "any") for word in words]
        else:
            found = [self._column(builder, tree) for tree in trees]
            if len(words) == len(trees) and _are_types(words):
                listed = ", ".join(words)
                self.warnings.append(NamesOfTypes(builder.span(directive), names=listed, first=words[0]))
        known: dict[str, int] = {}
        for number, (column, tree) in enumerate(zip(found, trees, strict=True), 1):
            name = column.name or f"arg{number}"
            if known.setdefault(name, number) != number:
                first = known[name]
                self.errors.append(ColumnTwice(builder.span(tree), name=name, first=first, number=number))
        return Declaration(builder.iri(_predicate(predicate)), tuple(found), builder.span(directive))

    def _column(self, builder: Builder, tree: Tree[Token]) -> Column:
        tokens = [_token(child) for child in tree.children]
        found = _COLUMN.fullmatch(" ".join(tokens))
        if found is None:
            problem, why = "this is not a column", "a column is a name, or a name and a type"
            self._bad(builder.span(tree), problem, why, "write turbine: string, or turbine, or _: string")
            return Column(None)
        written, kind = found[1], type_named((found[2] or "any").removeprefix("xsd:"))
        if kind is None:
            end = builder.span(tree).end
            near = similar_type(found[2])
            self.errors.append(
                UnknownType(
                    Span(self.source, end - len(found[2]), end),
                    name=found[2],
                    suggestion=f"did you mean {near}?" if near is not None else "no type has this name",
                    known=", ".join(TYPES),
                )
            )
        quoted = tokens[0].type == "STRING"
        name = builder.string(tokens[0]) if quoted else "" if written == "_" else written
        return Column(name or None, kind or "any")

    def _window(self, builder: Builder, directive: Tree[Token]) -> Window | None:
        """`@window NAME :- [SOURCE,] KIND … [, time ARGUMENT]`."""
        first, *parts = (child for child in directive.children if isinstance(child, Tree))
        tokens = [
            [_token(word) for tree in part.find_data("word") for word in tree.children] for part in parts
        ]
        span = Span(self.source, builder.span(parts[0]).start, builder.span(parts[-1]).end)
        time = ""
        if len(tokens) > 1 and len(tokens[-1]) == 2 and tokens[-1][0] == "time":
            written = tokens.pop()[1]
            time = builder.string(written) if written.type == "STRING" else str(written)
        *source_words, words = tokens
        found = _WINDOW.fullmatch(" ".join(words))
        if found is None or len(source_words) > 1 or any(not _is_name(part) for part in source_words):
            why = "a window is range 10s, range 10s step 1s, tumbling 1m, landmark or count 1000"
            self._bad(span, "this is not a window", why, "durations are written 500ms, 10s, 1m, 2h or 7d")
            return None
        name = builder.iri(_predicate(first))
        source = builder.iri(source_words[0][0]) if source_words else name
        span = builder.span(directive)
        if found["landmark"]:
            return Window(name, source, "landmark", time=time, span=span)
        if found["count"]:
            length = int(found["count"])
            if not 0 < length < 2**31:
                self._bad(span, "this window is empty or too long", "it counts 1 to 2,147,483,647 facts", "")
            return Window(name, source, "count", length, time=time, span=span)
        size = duration_of(found["length"], found["unit"])
        step = (duration_of(found["step"], found["step_unit"]) or 0) if found["step"] else 1
        if found["step"] and found["kind"] == "tumbling":
            self._bad(span, "a tumbling window has no step", "it moves by its own length", "leave step out")
            return None
        if not size or not step:
            units = ", ".join(UNITS)
            self._bad(span, "this is not a duration", f"units are {units}", "write range 10s step 1s")
            return None
        kind: WindowKind = "range" if found["kind"] == "range" else "tumbling"
        return Window(name, source, kind, size, step, time, span)

    def _binding(self, builder: Builder, directive: Tree[Token]) -> DataBinding:
        predicate, data, *more = directive.children
        assert isinstance(data, Tree)
        kind, *options = data.children
        values: dict[str, OptionValue] = {}
        for option in options:
            assert isinstance(option, Tree)
            name, value = option.children
            if str(name) in values:
                self._bad(
                    builder.span(name), f"option {name} is given twice", "it has a value already", "keep one"
                )
            values[str(name)] = self._value(builder, value)
        computed: dict[str, Expression] = {}
        for tree in more:
            assert isinstance(tree, Tree)
            variable = _token(tree.children[0])
            if variable[1:] in computed:
                problem = f"{variable} is given two values"
                self._bad(builder.span(variable), problem, "it has a value already", "keep one")
            computed[variable[1:]] = builder.expression(tree.children[1])
        return DataBinding(
            builder.iri(_predicate(predicate)),
            str(kind).lower(),
            MappingProxyType(values),
            builder.span(directive),
            MappingProxyType(computed),
        )

    def _value(self, builder: Builder, node: Node) -> OptionValue:
        if isinstance(node, Tree):
            if node.data == "tuple":
                return tuple(self._value(builder, child) for child in node.children)
            return self._number(builder, _token(node.children[0]), "-")
        match node.type:
            case "STRING" | "LONG_STRING":
                return builder.string(node)
            case "FORMAT_STRING" | "PARAMETER" | "VARIABLE":
                value = builder.expression(node)
                assert isinstance(value, Call | Parameter | Variable | String)
                return value.value if isinstance(value, String) else value
            case "TRUE" | "FALSE":
                return node.type == "TRUE"
            case "NAME" | "PREFIXED_NAME" | "IRI_REFERENCE":
                return builder.iri(node)
            case _:
                return self._number(builder, node, "")

    def _number(self, builder: Builder, token: Token, sign: str) -> OptionValue:
        number = builder.number(token, sign)
        if isinstance(number, Integer | Double):
            return number.value
        if isinstance(number, Literal):
            self._bad(
                builder.span(token), "this number is too large", "an option's number has at most 64 bits", ""
            )
        return 0

    def _parameter(self, builder: Builder, children: list[Node]) -> None:
        token = _token(children[0])
        name = token[1:]
        before = len(self.errors)
        value = builder.expression(children[1]) if len(children) > 1 else None
        if name in self.parameters:
            self._bad(
                builder.span(token),
                f"parameter ${name} is declared twice",
                "it was declared before",
                "keep one",
            )
        for variable in variables(value) if value is not None else ():
            self._bad(
                builder.span(children[1]),
                f"variable ?{variable.name} in the value of a parameter",
                "a parameter has one value, known before any rule is applied",
                "write a constant, or another parameter",
            )
            break
        if len(self.errors) == before:
            self.parameters[name] = value

    def _bad(self, span: Span, problem: str, why: str, advice: str) -> None:
        self.errors.append(BadStatement(span, problem=problem, why=why, advice=advice))


def _are_types(words: list[Token]) -> bool:
    """Whether the names of columns are those of types; date and the like may be names."""
    return all(map(type_named, words)) and any(type_named(word) not in (*TEMPORAL, "iri") for word in words)


def _is_name(words: list[Token]) -> bool:
    return len(words) == 1 and words[0].type in ("NAME", "PREFIXED_NAME", "IRI_REFERENCE")


def _predicate(node: Node) -> Token:
    assert isinstance(node, Tree)
    return _token(node.children[0])


def _token(node: Node) -> Token:
    assert isinstance(node, Token)
    return node
