"""Folding all groups in one pass gives the same facts, in the same order, as reading each off an index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine_harness import loaded
from tidalog.analysis import analyse
from tidalog.engine.group_aggregates import is_key, number_by_key, number_by_term
from tidalog.lang import parse
from tidalog.maintain.group_scan import GroupedFolds
from tidalog.maintain.materialise import materialise

MANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

HEADS = (
    "m(?g, #{op}(?v)) :- e(?g, ?h, ?v, ?k) .",
    "m(?g, #{op}(?v, ?k, ?h)) :- e(?g, ?h, ?v, ?k) .",
    "m(?g, #{op}(?k)) :- e(?g, ?h, ?v, ?k) .",
    "m(?h, x, ?g, #{op}(?v, ?k)) :- e(?g, ?h, ?v, ?k) .",
    "m(#{op}(?v, ?g)) :- e(?g, ?h, ?v, ?k) .",
    "m(?g, #{op}(?v), #max(?k), #min(?v), ?g) :- e(?g, ?h, ?v, ?k) .",
    "m(?g, #{op}(?v, ?g)) :- e(?g, ?h, ?v, ?k), ?v != 2 . m(a, 1) .",
)
INTEGERS = ("0", "1", "2", "3", "-7", "1000000")
ANYTHING = (*INTEGERS, "9223372036854775807", "-9223372036854775808", "2.5", "1.0E300", '"text"', "a")

values = st.one_of(
    st.lists(st.sampled_from(INTEGERS), max_size=25),
    st.lists(st.sampled_from(ANYTHING), max_size=25),
)


def derived(program: str) -> tuple[list[tuple[object, ...]], object, dict[str, int]]:
    analysis = analyse(parse(program))
    engine = loaded(analysis)
    stats = materialise(engine, analysis)
    columns = [column.tolist() for column in engine.columns("m")]
    term = engine.dictionary.term
    return (
        [tuple(repr(term(i)) for i in row) for row in zip(*columns, strict=True)],
        stats.derivations,
        dict(stats.uncomputed),
    )


@pytest.mark.parametrize("operator", ["count", "sum", "min", "max", "avg", "median"])
@pytest.mark.parametrize("head", HEADS)
@MANY
@given(column=values, data=st.data())
def test_both_ways_agree(head: str, operator: str, column: list[str], data: st.DataObject) -> None:
    with_key = data.draw(st.booleans())
    rows = []
    for place, value in enumerate(column):
        g, h = data.draw(st.sampled_from("abc")), data.draw(st.sampled_from("pq"))
        rows.append(f"e({g}, {h}, {value}, {place if with_key else place % 3}) .")
    program = "\n".join([*rows, head.replace("{op}", operator)])
    in_one_pass = derived(program)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GroupedFolds, "run", lambda *_: False)
        assert derived(program) == in_one_pass


@pytest.mark.parametrize("width", [1, 2, 3])
def test_groups_are_numbered_in_the_order_of_their_first_rows(width: int) -> None:
    rows = 20_000
    columns = np.random.default_rng(1).integers(0, 3000 if width == 1 else 40, (width, rows)).astype(np.int32)
    seen: dict[tuple[int, ...], int] = {}
    wanted = [seen.setdefault(tuple(row), len(seen)) for row in columns.T.tolist()]
    group_of, first = np.empty(rows, np.int32), np.empty(rows, np.int32)
    assert number_by_key(columns, group_of, first) == len(seen)
    assert group_of.tolist() == wanted
    assert first[: len(seen)].tolist() == [wanted.index(group) for group in range(len(seen))]
    if width == 1:
        by_term = np.empty(rows, np.int32)
        assert number_by_term(columns[0], np.zeros(3000, np.int32), by_term, first) == len(seen)
        assert by_term.tolist() == wanted


def test_a_key_has_no_value_twice() -> None:
    assert is_key(np.array([3, 1, 2], np.int32), np.zeros(4, np.uint8))
    assert not is_key(np.array([3, 1, 3], np.int32), np.zeros(4, np.uint8))
