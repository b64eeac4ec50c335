"""Materialising a program on an embedded engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from tidalog.analysis import Analysis
from tidalog.analysis.normal import NormalRule
from tidalog.builtins import NO_FUNCTIONS, PythonFunction
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.functions import is_native
from tidalog.engine.limits import Limits, ProgressCallback, RunStats
from tidalog.maintain.runner import Interrupted, Runner
from tidalog.maintain.seminaive import SemiNaive
from tidalog.maintain.uncomputed import example_of
from tidalog.model.amounts import times
from tidalog.model.errors import Diagnostic, RunError
from tidalog.model.program import Variable
from tidalog.model.term_text import term_text
from tidalog.plan.compile import CompiledProgram, compile
from tidalog.plan.executed import Executed
from tidalog.plan.lowering import constraint_predicate

NO_LIMITS = Limits()
_HEAD_START = 1 << 18  # capacity in facts from the start, so that small programs do not grow step by step
_HEAD_START_SHARE = 8  # times the explicit facts, which is less where they are few
_EXAMPLES = 3  # violations that a message shows


class Violated(Diagnostic):
    number = "T055"
    title = "constraint {rule} is violated {times}"
    reason = "for example {examples}"
    hint = "every fact is as it was before; take the facts away that make it true, or the constraint"


def materialise(
    engine: EmbeddedEngine,
    program: Analysis | CompiledProgram,
    *,
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
    limits: Limits = NO_LIMITS,
    progress: ProgressCallback | None = None,
    by_time: bool = False,
    judge: Judge | None = None,
) -> RunStats:
    """Derives everything from the explicit facts; facts derived before are dropped.  On any error the
    explicit facts are as before and nothing is derived.  `by_time`: facts go by time, so bounded components
    wait for an update that says when.  `judge` checks constraints; none may be violated without it."""
    compiled = compiled_program(program)
    engine.forget_derived()
    engine.executed = Executed()
    engine.store.ensure(min(_HEAD_START_SHARE * len(engine.store), _HEAD_START), 2)
    runner = Runner(engine, limits, progress)
    runner.components = len(compiled.components) + 1
    runner.example = lambda rule: example_of(engine, compiled.analysis.rules, rule, functions)
    try:
        with engine.savepoint():
            engine.derived, engine.executed = True, Executed()
            evaluation = SemiNaive(engine, runner, functions, executed=engine.executed)
            for number, component in enumerate(compiled.components):
                runner.component = number
                if not (by_time and component.is_bounded):
                    evaluation.run_component(component)
                runner.look()
            runner.component = len(compiled.components)
            for constraint in compiled.constraints:
                evaluation.run_component(constraint)
            (judge or check_constraints)(engine, compiled.analysis.constraints)
            return runner.finish()
    except KeyboardInterrupt:
        raise RunError(Interrupted(where=runner.where)) from None


def compiled_program(program: Analysis | CompiledProgram) -> CompiledProgram:
    """A program for the embedded engine."""
    return compile(program, is_native) if isinstance(program, Analysis) else program


Judge = Callable[[EmbeddedEngine, Sequence[NormalRule]], None]
"""Raises if an update is refused because of these constraints, which it may have changed."""


def check_constraints(
    engine: EmbeddedEngine, constraints: Sequence[NormalRule], allowed: Collection[str] = ()
) -> None:
    """Raises `RunError` (T055) for constraints that are violated, but for those that are allowed to be."""
    found: list[Diagnostic] = []
    for rule in constraints:
        name = constraint_predicate(rule.name)
        count = engine.count(name)
        if count and rule.name not in allowed:
            span = rule.origin.span if rule.origin is not None else None
            examples = examples_of(engine, rule, name)
            found.append(Violated(span, rule=rule.name, times=times(count), examples=examples))
    if found:
        raise RunError(found)


def unchecked(engine: EmbeddedEngine, constraints: Sequence[NormalRule]) -> None:
    """Refuses nothing: constraints are checked later."""


def examples_of(engine: EmbeddedEngine, rule: NormalRule, name: str) -> str:
    variables = list(dict.fromkeys(v for a in rule.atoms for v in a.arguments if isinstance(v, Variable)))
    variables += [c.variable for c in rule.computations]
    shown = [(i, v) for i, v in enumerate(variables) if not v.anonymous]
    columns = engine.columns(name)
    if not shown:
        return "its body is true"
    texts = [
        ", ".join(f"?{v.name} = {term_text(engine.dictionary.term(int(columns[i][row])))}" for i, v in shown)
        for row in range(min(_EXAMPLES, engine.count(name)))
    ]
    return "; ".join(texts)
