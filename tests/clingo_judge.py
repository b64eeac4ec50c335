"""clingo as a foreign judge: a program as an answer-set program, and its one answer set read back.

A stratified program has exactly one answer set, its least model; clingo computes it by code that has nothing
in common with ours.  Only what means the same there is translated: constants and small integers as terms,
`+ - *`, comparisons, negation and `#count #sum #min #max`.

Constants are numbered in the order of `sort_key`, so that clingo's order of constants is ours.  Where our
operations need numbers, `T-T == 0` is added: clingo drops an instance in which arithmetic meets a constant,
as we do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import clingo

from tidalog.model.program import (
    Aggregate,
    Atom,
    Call,
    Condition,
    Expression,
    Negation,
    Program,
    Rule,
    Variable,
)
from tidalog.model.program import variables as variables_of
from tidalog.model.terms import IRI, Integer, Term, sort_key

Row = tuple[Term, ...]
Model = dict[str, set[Row]]

JUDGED_AGGREGATES = ("count", "sum", "min", "max")
_ARITHMETIC = ("+", "-", "*")


def judge(program: Program) -> Model:
    """The least model according to clingo, for the predicates of the program."""
    return _Translation(program).solve()


class _Translation:
    def __init__(self, program: Program) -> None:
        self.program = program
        constants = {term for term in _terms(program) if isinstance(term, IRI)}
        self.constants = {iri: f"c{n:05}" for n, iri in enumerate(sorted(constants, key=sort_key))}
        self.by_name = {name: iri for iri, name in self.constants.items()}
        names = {atom.predicate for atom in _atoms(program)} | {f.predicate for f in program.facts}
        self.predicates = {predicate: f"p{n}" for n, predicate in enumerate(sorted(names))}
        self.by_symbol = {name: predicate for predicate, name in self.predicates.items()}

    def solve(self) -> Model:
        control = clingo.Control(["--warn=none"], message_limit=0)
        control.add("base", [], "\n".join(self.statements()))
        control.ground([("base", [])])
        model: Model = {predicate: set() for predicate in self.predicates}
        with control.solve(yield_=True) as answers:
            answer_sets = [answer.symbols(atoms=True) for answer in answers]
        assert len(answer_sets) == 1, "a stratified program has one answer set"
        for symbol in answer_sets[0]:
            model[self.by_symbol[symbol.name]].add(tuple(map(self.read, symbol.arguments)))
        return model

    def read(self, symbol: clingo.Symbol) -> Term:
        if symbol.type == clingo.SymbolType.Number:
            return Integer(symbol.number)
        return self.by_name[symbol.name]

    def statements(self) -> Iterator[str]:
        for fact in self.program.facts:
            yield f"{self.atom(Atom(fact.predicate, fact.arguments))}."
        for rule in self.program.rules:
            for head in rule.heads:
                yield self.rule(head, rule)

    def rule(self, head: Atom, rule: Rule) -> str:
        body = [text for literal in rule.body for text in self.literal(literal)]
        arguments: list[str] = []
        extra: list[str] = []
        for number, argument in enumerate(head.arguments):
            if isinstance(argument, Aggregate):
                name = f"Aggregate{number}"
                extra.extend(self.aggregate(name, argument, head, body))
                arguments.append(name)
            else:
                arguments.append(self.expression(argument))
        return f"{self.applied(head.predicate, arguments)} :- {', '.join([*body, *extra]) or '#true'}."

    def aggregate(self, result: str, aggregate: Aggregate, head: Atom, body: list[str]) -> Iterator[str]:
        """`Result = #op { V, … : body }` over a copy of the body that shares the group's variables only.

        Another copy stands outside: a group without a row has no fact.
        """
        plain = [argument for argument in head.arguments if not isinstance(argument, Aggregate)]
        group = {self.expression(variable) for argument in plain for variable in variables_of(argument)}
        values = [self.expression(argument) for argument in aggregate.arguments]
        guards = [_is_number(values[0])] if aggregate.operator == "sum" else []

        def copied(texts: list[str], place: str) -> str:
            def renamed(found: re.Match[str]) -> str:
                return found[0] if found[0] in group else f"{found[0]}_{result}_{place}"

            return re.sub(r"\bV\w+", renamed, ", ".join(texts))

        rows = [*body, *guards]
        yield copied(rows, "outside")
        yield f"{result} = #{aggregate.operator} {{ {copied(values, 'inside')} : {copied(rows, 'inside')} }}"

    def literal(self, literal: Atom | Negation | Condition) -> Iterator[str]:
        if isinstance(literal, Atom):
            yield self.atom(literal)
        elif isinstance(literal, Negation):
            yield f"not {self.atom(literal.atom)}"
        else:
            call = literal.expression
            assert isinstance(call, Call)
            left, right = map(self.expression, call.arguments)
            if call.function in ("<", "<=", ">", ">="):
                yield _is_number(left)
                yield _is_number(right)
            yield f"{left} {call.function} {right}"

    def atom(self, atom: Atom) -> str:
        arguments = [self.expression(a) for a in atom.arguments if not isinstance(a, Aggregate)]
        return self.applied(atom.predicate, arguments)

    def applied(self, predicate: str, arguments: Iterable[str]) -> str:
        texts = list(arguments)
        name = self.predicates[predicate]
        return f"{name}({', '.join(texts)})" if texts else name

    def expression(self, node: Expression) -> str:
        match node:
            case Variable():
                return "_" if node.anonymous else f"V{node.name}"
            case IRI():
                return self.constants[node]
            case Integer(value):
                return str(value)
            case Call(function, (left, right)) if function in _ARITHMETIC:
                return f"({self.expression(left)} {function} {self.expression(right)})"
        raise AssertionError(f"no translation of {node}")


def _is_number(text: str) -> str:
    return f"{text}-{text} == 0"


def _atoms(program: Program) -> Iterator[Atom]:
    for rule in program.rules:
        yield from rule.heads
        for literal in rule.body:
            if isinstance(literal, Atom):
                yield literal
            elif isinstance(literal, Negation):
                yield literal.atom


def _terms(program: Program) -> Iterator[Term]:
    for fact in program.facts:
        yield from fact.arguments
    waiting: list[Expression | Aggregate] = [a for atom in _atoms(program) for a in atom.arguments]
    for rule in program.rules:
        waiting.extend(literal.expression for literal in rule.body if isinstance(literal, Condition))
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call | Aggregate):
            waiting.extend(node.arguments)
        elif isinstance(node, Term):
            yield node
