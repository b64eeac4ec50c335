"""An example of what a rule could not compute: `1 / ?n with ?n = 0: division by zero`.

Compiled code counts failures and keeps no inputs.  The example is searched for afterwards, among the first
matches of the rule's atoms, so it costs nothing unless something fails, and little then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from tidalog.analysis.normal import NormalAtom, NormalRule
from tidalog.builtins import NO_FUNCTIONS, CannotCompute, PythonFunction
from tidalog.builtins.evaluation import evaluate_all
from tidalog.engine.engine import EmbeddedEngine
from tidalog.lang import print_expression
from tidalog.model.program import Expression, Variable, variables
from tidalog.model.term_text import term_text
from tidalog.model.terms import Boolean, Integer, Term

_MATCHES: Final = 10_000
"""How many matches are tried."""
_ROWS: Final = 50_000
"""How many facts of a predicate are looked at."""

Bindings = Mapping[Variable, Term]


def example_of(
    engine: EmbeddedEngine,
    rules: Sequence[NormalRule],
    name: str,
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
) -> str:
    """Inputs for which an expression of the rule has no value, and why; empty if none is found."""
    rule = next((rule for rule in rules if rule.name == name), None)
    if rule is None:
        return ""
    for bindings in islice(_matches(engine, rule.atoms), _MATCHES):
        found = _failure(rule, bindings, functions)
        if found is not None:
            expression, values, why = found
            inputs = ", ".join(
                f"?{variable.name} = {term_text(values[variable])}"
                for variable in dict.fromkeys(variables(expression))
                if variable in values
            )
            return print_expression(expression) + (f" with {inputs}" if inputs else "") + f": {why}"
    return ""


def _failure(
    rule: NormalRule, bindings: Bindings, functions: Mapping[str, PythonFunction]
) -> tuple[Expression, Bindings, str] | None:
    """The first expression without a value.  Tests that need no computation are first, as in a plan."""
    values = dict(bindings)
    waiting: list[tuple[Variable | None, Expression]] = [(None, test) for test in rule.tests]
    waiting += [(one.variable, one.expression) for one in rule.computations]
    while waiting:
        ready = next((w for w in waiting if all(v in values for v in variables(w[1]))), None)
        if ready is None:
            return None
        waiting.remove(ready)
        variable, expression = ready
        try:
            found = evaluate_all(expression, values, functions)
        except CannotCompute as failure:
            return expression, values, str(failure)
        if not found or (variable is None and found[0] != Boolean(True)):
            return None
        if variable is not None:
            value = Integer(found[0]) if isinstance(found, range) else found[0]
            if values.setdefault(variable, value) != value:
                return None
    return None


def _matches(engine: EmbeddedEngine, atoms: Sequence[NormalAtom]) -> Iterator[Bindings]:
    """The matches of atoms, in the order of the text; each is probed on what those before it bind."""
    bound: set[Variable] = set()
    tables = []
    for atom in atoms:
        known = [n for n, a in enumerate(atom.arguments) if not isinstance(a, Variable) or a in bound]
        table: dict[tuple[Term, ...], list[tuple[Term, ...]]] = {}
        for row in _rows(engine, atom):
            table.setdefault(tuple(row[n] for n in known), []).append(row)
        tables.append((atom.arguments, known, table))
        bound |= atom.variables

    def extend(number: int, bindings: dict[Variable, Term]) -> Iterator[Bindings]:
        if number == len(tables):
            yield bindings
            return
        arguments, known, table = tables[number]
        key = tuple(bindings[a] if isinstance(a := arguments[n], Variable) else a for n in known)
        for row in table.get(key, ()):
            extended = dict(bindings)
            new = zip(arguments, row, strict=True)
            if all(extended.setdefault(a, term) == term for a, term in new if isinstance(a, Variable)):
                yield from extend(number + 1, extended)

    return extend(0, {})


def _rows(engine: EmbeddedEngine, atom: NormalAtom) -> Iterator[tuple[Term, ...]]:
    if not engine.has(atom.predicate):
        return
    if not atom.arguments:
        yield from [()] * min(1, engine.count(atom.predicate))
        return
    columns = [column[:_ROWS].tolist() for column in engine.columns(atom.predicate)]
    term = engine.dictionary.term
    for row in zip(*columns, strict=True):
        yield tuple(map(term, row))
