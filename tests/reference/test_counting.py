"""Counting: every number is the number of a fact's derivations, after every update."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_programs import facts, from_scratch, program
from test_maintenance_laws import RELAXED, STARTS, TANGLED_POOL, streams, tangled_rules

from tidalog.model.program import Program, Rule
from tidalog.reference import Counting, NotCountable

LAYERED = ("e", "f", "p", "q", "r")


def layered(rules: list[Rule]) -> Program:
    """The rules that read only what stands before their heads in a fixed order."""
    place = {name: number for number, name in enumerate(LAYERED)}
    return Program(
        rules=tuple(
            rule
            for rule in rules
            if all(
                place[atom.predicate] < place[rule.heads[0].predicate]
                for atom in rule.body
                if hasattr(atom, "predicate")
            )
        )
    )


@settings(RELAXED, max_examples=150)
@given(st.lists(tangled_rules(), min_size=4, max_size=16), st.data())
def test_counts_are_right_after_every_update(rules: list[Rule], data: st.DataObject) -> None:
    wanted = layered(rules)
    start = data.draw(STARTS)
    counting = Counting(wanted, start)
    explicit = set(start)
    for update in data.draw(streams(TANGLED_POOL, start, 5)):
        explicit = explicit - set(update[0]) | set(update[1])
        counting.apply(update)
        assert counting.materialisation == from_scratch(wanted, explicit)
        assert counting.derivations == Counting(wanted, explicit).derivations


def test_a_fact_goes_with_its_last_derivation() -> None:
    counting = Counting(program("p(?x) :- e(?x, ?y)."), facts("e(a, b). e(a, c)."))
    (p,) = facts("p(a).")
    assert counting.derivations[p] == 2
    counting.apply((facts("e(a, b)."), ()))
    assert (counting.derivations[p], counting.counters["lost"]) == (1, 1)
    assert p in counting.materialisation
    counting.apply((facts("e(a, c)."), ()))
    assert p not in counting.materialisation


def test_an_instance_with_two_deleted_facts_is_lost_once() -> None:
    counting = Counting(program("p(?x) :- e(?x), f(?x), e(?x)."), facts("e(a). f(a)."))
    counting.apply((facts("e(a). f(a)."), ()))
    assert counting.counters == {"lost": 1, "gained": 0}
    counting.apply(((), facts("e(a). f(a).")))
    assert counting.counters == {"lost": 0, "gained": 1}


def test_recursion_cannot_be_counted() -> None:
    with pytest.raises(NotCountable, match="p"):
        Counting(program("p(?x) :- q(?x). q(?x) :- p(?x)."))
