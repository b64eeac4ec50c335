"""Programs in the style of other systems, each about one construct, by the engine and by the oracle.

`NAME.rls` or `NAME.rules` with `NAME.expected`: the facts of some predicates in the main dialect, and a line
`error T009` or `warning W001` for each message.  A predicate that a rule derives and no expected fact has is
empty.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tidalog
from golden_data import imported_facts
from tidalog.analysis.parameters import with_option_values
from tidalog.lang import DIALECTS, dialect_of, parse
from tidalog.model.errors import Diagnostic, Source
from tidalog.model.program import Program
from tidalog.model.terms import Term
from tidalog.reference import evaluate

HERE = Path(__file__).parent
PROGRAMS = sorted(p for suffix in ("rls", "rules") for p in HERE.glob(f"*.{suffix}"))
CONSTRUCTS = {
    "aggregates in expressions": r"#\w+\([^)]*\) [*+-]",
    "alternatives": r":- .*;",
    "DIV and MOD": r"DIV\(.*MOD\(",
    "lists of values": r" IN \(",
    "ranges": r"RANGE\(",
    "f-strings in resources": r'resource = f"""',
    "variables in resources": r"\}, \?x =",
    "Nemo's functions": r"INVERTSIGN\(",
    "integers in other notations": r'INT\("0x',
    "registered aggregates": r"#spread\(",
    "registered aggregates of ZodiacEdge": r"with SPREAD\(",
    "func:": r"func:",
    "relative IRIs": r"<\w+>\(X",
    "POSIX classes": r"\[\[:upper:\]\]",
    "Unicode classes": r"\\p\{L\}",
    "Soufflé": r"^\.decl",
    "lower-case names": r"path\(x, y\) :-",
}
"""What the programs are about, and how a program looks that has it."""


def spread(values: list[int]) -> int:
    return max(values) - min(values)


def weighted(values: list[int], weights: list[int]) -> float:
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def score(value: int, factor: int) -> int:
    return value * factor


FUNCTIONS = {"#spread": spread, "#weighted": weighted, "score": score}
Model = dict[str, set[tuple[Term, ...]]]


def read(path: Path) -> tuple[Program, list[Diagnostic]]:
    source = Source(path.name, path.read_text(encoding="utf-8"))
    return DIALECTS[dialect_of(path).name].parse_source(source)


def expected(path: Path, program: Program) -> tuple[list[str], Model]:
    """The messages, and the facts of every predicate that is derived or expected."""
    lines = path.with_suffix(".expected").read_text(encoding="utf-8").splitlines()
    messages = [line for line in lines if re.match(r"(error|warning) [TW]\d{3}\Z", line)]
    model: Model = {head.predicate: set() for rule in program.rules for head in rule.heads}
    for fact in parse("\n".join(line for line in lines if line not in messages)).facts:
        model.setdefault(fact.predicate, set()).add(fact.arguments)
    return messages, model


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_means_what_is_expected(path: Path) -> None:
    program, found = read(path)
    messages, model = expected(path, program)
    assert [f"{'warning' if d.is_warning else 'error'} {d.number}" for d in found] == messages
    if any(message.startswith("error") for message in messages):
        with pytest.raises(tidalog.ProgramError) as raised:
            tidalog.open(functions=FUNCTIONS).load(path)
        assert len(raised.value.diagnostics) == 1
        return
    given = with_option_values(program, {})
    by_oracle = evaluate(given, imported_facts(HERE, given), functions=FUNCTIONS)
    assert {name: by_oracle[name] for name in model} == model
    kb = tidalog.open(functions=FUNCTIONS)
    kb.load(path)
    assert {name: set(kb.facts(name).to_terms()) for name in model} == model


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_every_construct_has_a_program(construct: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in PROGRAMS]
    assert any(re.search(CONSTRUCTS[construct], text, re.MULTILINE) for text in texts)


def test_the_resource_of_an_export_may_be_computed(tmp_path: Path) -> None:
    kb = tidalog.open()
    kb.load(HERE / "nemo_resources.rls")
    assert [path.name for path in kb.write_exports(tmp_path)] == ["north-20.csv"]
    kb.load(HERE / "nemo_resource_variables.rls")
    assert (tmp_path / "file-name-42.csv") in kb.write_exports(tmp_path)
    assert sorted((tmp_path / "north-20.csv").read_text().split("\n")) == ["", "bergen: 10 km", "oslo: 5 km"]
