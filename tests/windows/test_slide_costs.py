"""When `auto` maintains a component by expiries, and when it tries without: laws of `SlideCosts`."""

from __future__ import annotations

import numpy as np

from tidalog.maintain.slide_costs import Mean, SlideCosts
from tidalog.model.facts import Facts
from tidalog.model.lifetimes import Lifetimes

MANY = 100_000
"""Facts of a component that is worth a trial."""
BEGIN = 5.0
"""What expiries cost to begin with."""


def lifetimes(rows: int) -> Lifetimes:
    column = np.arange(rows, dtype=np.int32)
    return Lifetimes(0, [(Facts("edge", [column], rows), column.astype(np.int64))], lambda _: [], frozenset())


class Stream:
    """Slides of ten rows over a component that has expiries, or not, as `SlideCosts` says."""

    def __init__(
        self, with_expiries: float, without: float, *, facts: int = MANY, slides: bool = True
    ) -> None:
        self.costs, self.facts, self.slides = SlideCosts(share=0.0), facts, slides
        self.with_expiries, self.without = with_expiries, without
        self.kept = False
        self.began = 0
        """How often expiries have begun."""

    def step(self) -> bool:
        favoured = self.costs.favour_expiries(lifetimes(10), self.facts, Mean(), kept=self.kept)
        begins = favoured and not self.kept
        self.began += begins
        seconds = BEGIN if begins else self.with_expiries if favoured else self.without
        self.costs.note(seconds, kept=favoured, begins=begins, slides=self.slides)
        self.kept = favoured
        return favoured

    def run(self, steps: int) -> list[bool]:
        return [self.step() for _ in range(steps)]


class TestTrials:
    def test_what_is_cheaper_stays_after_the_first_trial(self) -> None:
        assert sum(Stream(with_expiries=1.0, without=0.5).run(200)) < 20
        assert sum(Stream(with_expiries=0.5, without=1.0).run(200)) > 150

    def test_a_trial_in_vain_is_followed_by_a_pause_twice_as_long(self) -> None:
        stream = Stream(with_expiries=1.0, without=2.0)
        by_expiries = stream.run(2000)
        assert 3 <= stream.began <= 9
        assert sum(by_expiries) > 0.95 * len(by_expiries)

    def test_costs_that_change_are_noticed(self) -> None:
        stream = Stream(with_expiries=1.0, without=2.0)
        stream.run(200)
        stream.without = 0.1
        stream.run(2000)
        assert not stream.kept or sum(stream.run(300)) < 60

    def test_expiries_are_tried_again_after_a_pause(self) -> None:
        stream = Stream(with_expiries=1.0, without=0.5)
        stream.run(200)
        stream.with_expiries = 0.01
        assert sum(stream.run(1000)) > 500

    def test_a_trial_costs_at_most_what_was_spent_before(self) -> None:
        stream = Stream(with_expiries=0.001, without=0.0005)
        assert all(stream.run(1000))

    def test_nothing_is_tried_while_a_window_fills(self) -> None:
        assert all(Stream(with_expiries=1.0, without=0.1, slides=False).run(500))

    def test_a_small_component_is_not_worth_a_trial(self) -> None:
        assert all(Stream(with_expiries=1.0, without=0.1, facts=1000).run(500))


class TestRules:
    def test_expiries_do_not_start_while_much_changes(self) -> None:
        costs = SlideCosts()
        assert not costs.favour_expiries(lifetimes(900), 1000, Mean(), kept=False)

    def test_facts_with_one_proof_each_go_without(self) -> None:
        proofs = Mean()
        proofs.note(5000, 5000)
        assert not SlideCosts(share=0.0).favour_expiries(lifetimes(1), MANY, proofs, kept=True)
