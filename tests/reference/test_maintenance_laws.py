"""Laws of maintenance on generated positive programs and streams: after every update each algorithm holds
what evaluation from scratch gives, whatever updates were announced.

Streams are made to hurt: facts that are explicit and derived at once, deletions of what is not there, a fact
in both halves of an update, facts that support each other in a circle, updates that take back the one before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paper_programs import from_scratch

from generators import Features, programs
from tidalog.model.program import Atom, BodyLiteral, Call, Condition, Program, Rule, Variable, variables
from tidalog.model.terms import IRI
from tidalog.reference import (
    BackwardForward,
    BackwardForwardMarking,
    DRed,
    DRedMarking,
    Fact,
    Maintenance,
    PositiveMarking,
    Update,
)

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
TERMS = tuple(map(IRI, "abc"))
ARITIES = {"e": 2, "f": 1, "p": 2, "q": 1, "r": 2}
POSITIVE = Features(negation=False, aggregates=(), functions=False, wide=False, choices=False)


@st.composite
def atoms(draw: st.DrawFn, names: Sequence[str], arguments: Sequence[Variable | IRI]) -> Atom:
    name = draw(st.sampled_from(names))
    return Atom(name, tuple(draw(st.sampled_from(arguments)) for _ in range(ARITIES[name])))


@st.composite
def tangled_rules(draw: st.DrawFn) -> Rule:
    """Few predicates and few terms, and any of them anywhere: most programs are circular."""
    places: tuple[Variable | IRI, ...] = (*map(Variable, "xyz"), *map(Variable, "xyz"), *TERMS[:1])
    body: list[BodyLiteral] = draw(st.lists(atoms(tuple(ARITIES), places), min_size=1, max_size=3))
    bound = list(dict.fromkeys(v for literal in body for v in variables(literal)))
    if len(bound) > 1 and draw(st.booleans()):
        body.append(Condition(Call("!=", (bound[0], bound[1]))))
    return Rule((draw(atoms(("p", "q", "r", "p", "q", "r", "e"), (*bound, *bound, TERMS[1]))),), tuple(body))


@st.composite
def streams(draw: st.DrawFn, pool: Sequence[Fact], start: Iterable[Fact], length: int) -> list[Update]:
    """Deletions are of explicit facts or of anything; many updates take back part of the one before."""
    explicit = dict.fromkeys(start)
    result: list[Update] = []
    for _ in range(length):
        take_back: str | None = draw(st.sampled_from((None, "deletions", "deletions", "insertions")))
        only_explicit: bool = draw(st.booleans())
        deletable = tuple(explicit) if explicit and only_explicit else pool
        deletions = draw(st.lists(st.sampled_from(deletable), max_size=4))
        insertions = draw(st.lists(st.sampled_from(pool), max_size=3))
        if result and take_back == "deletions":
            insertions += result[-1][0]
        elif result and take_back == "insertions":
            deletions += result[-1][1]
        result.append((deletions, insertions))
        explicit = {fact: None for fact in explicit if fact not in deletions} | dict.fromkeys(insertions)
    return result


TANGLED_POOL = tuple(
    (name, row)
    for name, arity in ARITIES.items()
    for row in ([(a,) for a in TERMS] if arity == 1 else [(a, b) for a in TERMS for b in TERMS])
)
STARTS = st.lists(st.sampled_from(TANGLED_POOL), min_size=2, max_size=9, unique=True)


def algorithms(rules: Program, start: Sequence[Fact] = ()) -> list[Maintenance]:
    return [
        DRed(rules, start),
        DRed(rules, start, filtered=False),
        BackwardForward(rules, start),
        BackwardForwardMarking(rules, start, marks="none"),
        BackwardForwardMarking(rules, start, marks="paper"),
        BackwardForwardMarking(rules, start, marks="paper", first_update_alone=False),
        BackwardForwardMarking(rules, start, marks="linked", first_update_alone=False),
        PositiveMarking(rules, start, first_update_alone=False),
        DRedMarking(rules, start),
        DRedMarking(rules, start, first_update_alone=False),
    ]


def check_stream(
    rules: Program, start: Sequence[Fact], stream: list[Update], announced: list[list[Update]]
) -> None:
    explicit = {(f.predicate, f.arguments) for f in rules.facts} | set(start)
    bare = Program(rules=rules.rules)
    under_test = algorithms(bare, sorted(explicit, key=repr))
    for update, upcoming in zip(stream, announced, strict=True):
        explicit = explicit - set(update[0]) | set(update[1])
        expected = from_scratch(bare, explicit)
        for algorithm in under_test:
            algorithm.apply(update, upcoming)
            assert algorithm.explicit == explicit
            assert algorithm.materialisation == expected, type(algorithm).__name__


@settings(RELAXED, max_examples=150)
@given(st.lists(tangled_rules(), min_size=1, max_size=5), st.data())
def test_every_algorithm_is_right_after_every_update_of_a_tangled_program(
    rules: list[Rule], data: st.DataObject
) -> None:
    start = data.draw(STARTS)
    stream = data.draw(streams(TANGLED_POOL, start, 5))
    announced = [stream[n + 1 : n + 2] for n in range(len(stream))]
    check_stream(Program(rules=tuple(rules)), start, stream, announced)


@settings(RELAXED, max_examples=40)
@given(st.lists(tangled_rules(), min_size=1, max_size=4), st.data())
def test_false_announcements_change_nothing(rules: list[Rule], data: st.DataObject) -> None:
    start = data.draw(STARTS)
    stream, false = data.draw(streams(TANGLED_POOL, start, 4)), data.draw(streams(TANGLED_POOL, start, 4))
    check_stream(Program(rules=tuple(rules)), start, stream, [[update] for update in false])


@settings(RELAXED, max_examples=40)
@given(programs(POSITIVE), st.data())
def test_every_algorithm_is_right_on_layered_programs_with_computed_values(
    rules: Program, data: st.DataObject
) -> None:
    given_facts = [(f.predicate, f.arguments) for f in rules.facts]
    derived = sorted(from_scratch(rules, ()) - set(given_facts), key=repr)
    absent = [(name, row[::-1]) for name, row in given_facts]
    stream = data.draw(streams([*given_facts, *derived[:10], *absent], given_facts, 3))
    check_stream(rules, (), stream, [stream[n + 1 : n + 2] for n in range(len(stream))])


@settings(RELAXED, max_examples=60)
@given(st.lists(tangled_rules(), min_size=1, max_size=5), st.data())
def test_no_instance_is_derived_twice_in_a_step(rules: list[Rule], data: st.DataObject) -> None:
    program = Program(rules=tuple(rules))
    start = data.draw(STARTS)
    dred, backward_forward = DRed(program, start), BackwardForward(program, start)
    for update in data.draw(streams(TANGLED_POOL, start, 3)):
        dred.apply(update)
        backward_forward.apply(update)
        assert all(times == 1 for instances in dred.derived.values() for times in instances.values())
        assert len(set(backward_forward.derived)) == len(backward_forward.derived)


@settings(RELAXED, max_examples=60)
@given(st.lists(tangled_rules(), min_size=1, max_size=5), st.data())
def test_a_negative_mark_of_dred_saves_exactly_one_deletion(rules: list[Rule], data: st.DataObject) -> None:
    """Overdeletion is the same set with marks and without; positive marks only ever save insertions."""
    program = Program(rules=tuple(rules))
    start = data.draw(STARTS)
    stream = data.draw(streams(TANGLED_POOL, start, 4))
    marked, plain = DRedMarking(program, start, first_update_alone=False), DRedMarking(program, start)
    for number, update in enumerate(stream):
        saved = marked.counters["marks_implicit"]
        marked.apply(update, stream[number + 1 : number + 2])
        plain.apply(update)
        assert marked.counters["deletions"] + saved == plain.counters["deletions"]
        assert marked.counters["rederivations"] == plain.counters["rederivations"]
        assert marked.counters["insertions"] <= plain.counters["insertions"]


def test_generated_streams_reach_every_part_of_the_algorithms() -> None:
    """Guards the generator: a change that makes streams tame would weaken every law above."""
    seen: Counter[str] = Counter()

    @settings(RELAXED, max_examples=100, derandomize=True, database=None)
    @given(st.lists(tangled_rules(), min_size=1, max_size=5), st.data())
    def look(rules: list[Rule], data: st.DataObject) -> None:
        program = Program(rules=tuple(rules))
        start = data.draw(STARTS)
        stream = data.draw(streams(TANGLED_POOL, start, 5))
        marking = BackwardForwardMarking(program, start, first_update_alone=False)
        dred = DRedMarking(program, start, first_update_alone=False)
        for number, update in enumerate(stream):
            explicit_before = set(marking.explicit)
            marking.apply(update, stream[number + 1 : number + 2])
            dred.apply(update, stream[number + 1 : number + 2])
            seen["both halves"] += bool(set(update[0]) & set(update[1]))
            seen["absent"] += bool(set(update[0]) - explicit_before)
            gone = explicit_before - marking.explicit
            seen["stays implicit"] += bool(gone & marking.materialisation)
            seen["carried"] += bool(dred.carry)
        seen.update({f"b/f {name}": count for name, count in marking.totals.items()})
        seen.update({f"dred {name}": count for name, count in dred.totals.items()})

    look()
    expected: tuple[str, ...] = ("both halves", "absent", "stays implicit", "carried")
    expected += tuple(f"b/f {name}" for name in BackwardForwardMarking.COUNTERS)
    expected += tuple(f"dred {name}" for name in DRedMarking.COUNTERS)
    assert all(seen[name] >= 5 for name in expected), seen
