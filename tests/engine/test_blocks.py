"""Where a block ends changes nothing: with blocks of a few rows every generated program has full blocks and
probes that go on in the next one."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine_harness import evaluate_engine
from generators import PLAIN, Features, programs, triple_programs
from tidalog.engine.binding_blocks import new_blocks
from tidalog.maintain import seminaive
from tidalog.model.program import Program
from tidalog.reference import evaluate

ROUNDS = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
SIZES = st.sampled_from((1, 2, 3, 5, 8))
WHOLE = Features(choices=False)
"""To the executor alternatives and ranges are ordinary rules; here they would only multiply facts."""


def same_with_blocks_of(rows: int, program: Program) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seminaive, "BLOCK", rows)
        patch.setattr(seminaive, "new_blocks", partial(new_blocks, block=rows))
        model, small = evaluate_engine(program)
    assert model == {predicate: found for predicate, found in evaluate(program).items() if found}
    _, large = evaluate_engine(program)
    assert (small.derived, small.derivations) == (large.derived, large.derivations)


@ROUNDS
@given(programs(PLAIN), SIZES)
def test_in_recursion(program: Program, rows: int) -> None:
    same_with_blocks_of(rows, program)


@ROUNDS
@given(programs(WHOLE), SIZES)
def test_in_the_whole_language(program: Program, rows: int) -> None:
    same_with_blocks_of(rows, program)


@settings(ROUNDS, max_examples=40)
@given(triple_programs(), SIZES)
def test_in_triples(program: Program, rows: int) -> None:
    same_with_blocks_of(rows, program)
