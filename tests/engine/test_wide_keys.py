"""Keys of more columns than most predicates have: each rule looks one up by all of them."""

from __future__ import annotations

import pytest

from engine_harness import evaluate_engine
from tidalog.lang import parse
from tidalog.reference import evaluate


@pytest.mark.parametrize("width", [79, 80, 81, 200])
def test_joins_absence_and_groups_over_many_columns(width: int) -> None:
    columns = [f"?x{n}" for n in range(width)]
    numbers, variables = ", ".join(map(str, range(width))), ", ".join(columns)
    rest = ", ".join(columns[1:])
    program = parse(
        f"""e({numbers}). f({numbers}). g(1, {numbers}). h({numbers.rpartition(" ")[0]} 9999).
        both({variables}) :- e({variables}), f({variables}).
        joined({variables}) :- e({variables}), g(?z, {variables}).
        none({variables}) :- e({variables}), ~h(_, {rest}).
        gone({variables}) :- e({variables}), ~f(_, {rest}).
        grouped({variables}, #count(?z)) :- e({variables}), g(?z, {variables}).""",
        "wide",
    )
    expected = {predicate: rows for predicate, rows in evaluate(program).items() if rows}
    assert set(expected) == {"e", "f", "g", "h", "both", "joined", "none", "grouped"}
    assert evaluate_engine(program)[0] == expected
