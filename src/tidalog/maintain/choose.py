"""Which strategy maintains a component in an update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tidalog.maintain.component import Node

STRATEGIES: Final = ("auto", "ranked", "counting", "bf", "fbf", "dred", "recompute")
MARKINGS: Final = ("auto", "none", "paper", "linked", "complete")
ORDERS: Final = ("ours", "paper")


@dataclass(frozen=True, slots=True)
class Options:
    strategy: str = "auto"
    marking: str = "auto"
    order: str = "ours"
    look_ahead: int = 1


def marking_of(options: Options) -> str:
    """Complete marks cost nothing where nothing is announced, and save most.  DRed has marks of its own, for
    which those of its first description are taken."""
    if options.marking == "paper" and options.strategy == "dred":
        return "dred"
    return "complete" if options.marking == "auto" else options.marking


_STEPS_PER_FACT: Final = 0.4
_STEPS_PER_DERIVATION: Final = 0.1
_NEAR: Final = 0.5
"""Steps of a search that take as long as to delete and insert a fact, or to find an instance, anew; of the
latter, the part that it takes where all facts are near, in the caches of the machine."""
_FEW_FACTS: Final = 1 << 16
_TOO_MUCH: Final = 8
"""So many times the steps that starting over is worth are taken to be ahead, where it was given up."""
_LEAST_PER_SEED: Final = 2
"""Steps that every deleted fact costs, whatever it affects."""
_MANY_PROOFS: Final = 5.0
"""Derivations for each fact, in the mean, from which on B/F is tried first: it ends with the first proof that
it finds, wherever that is, and leaves facts where they are."""
_MANY_SEEDS: Final = 50
"""Deletions that are worth it: what B/F leaves unranked costs something later."""
_TRIAL_PER_SEED: Final = 128
"""Steps after which that is given up."""
_FIRST_PAUSE, _LONGEST_PAUSE = 32, 1024
"""Deletions for which it is not tried again then."""
_MEMORY: Final = 0.5
"""How much the last update says about the next."""


def steps_worth(node: Node) -> int:
    """Steps of searches that may be taken before deriving the component anew is cheaper."""
    derivations = node.engine.derivations.get(node.predicates, node.facts)
    if node.passing is not None:
        derivations = int(min(derivations, node.passing.instances))
    facts = node.facts
    each = _STEPS_PER_DERIVATION * (_NEAR if facts < _FEW_FACTS else 1.0)
    return 2000 + int(_STEPS_PER_FACT * facts + each * derivations)


def _least_per_seed(node: Node) -> float:
    """Steps that a deletion is expected to take for each fact it begins with, whatever was learnt: without
    recursion a fact takes part in so many instances, in the mean, and each is met."""
    if node.recursive:
        return _LEAST_PER_SEED
    derivations = node.engine.derivations.get(node.predicates, 0)
    return max(_LEAST_PER_SEED, derivations / max(1, sum(map(node.engine.store.count, node.lower))))


def learn(node: Node, seeds: int, steps: int) -> None:
    if seeds:
        node.steps_per_seed += _MEMORY * (steps / seeds - node.steps_per_seed)


def give_up(node: Node, seeds: int, worth: int) -> None:
    """Looking for proofs takes longer than to start over.  How much longer, nobody knows."""
    node.reason = "looking for proofs takes longer than to start over"
    learn(node, seeds, _TOO_MUCH * worth)


def trial(node: Node, seeds: int) -> int:
    """Steps that B/F may take before `ranked` has its turn; 0 if it is not worth to be tried."""
    if seeds < _MANY_SEEDS or not node.recursive or node.passing is not None:
        return 0
    if node.engine.log.book.is_open:
        return 0
    if node.pause:
        node.pause -= 1
        return 0
    derivations = node.engine.derivations.get(node.predicates, 0)
    if derivations < _MANY_PROOFS * node.facts:
        return 0
    return min(steps_worth(node), _TRIAL_PER_SEED * seeds)


def learn_of_trial(node: Node, found: bool) -> None:
    if found:
        node.reason = "most facts have another proof at hand"
        node.last_pause //= 2
    else:
        node.pause = node.last_pause = max(_FIRST_PAUSE, min(_LONGEST_PAUSE, 2 * node.last_pause))


def choose(node: Node, options: Options, seeds: int) -> str:
    """The strategy for a component, of which `seeds` facts are deleted below or in it; why is in
    `node.reason`."""
    wanted = options.strategy
    if node.passing is not None and node.passing.anew:
        node.reason = "a fold has become one of several rules, or the only one"
        return "recompute"
    if node.stage.fold is not None and wanted != "recompute":
        node.reason = "the groups that change are folded anew"
        return "groups"
    if node.asks_in_vain:
        node.reason = "most answers of Python are wanted no more"
        return "recompute"
    if not node.incremental:
        node.reason = "a rule has too many atoms to be searched"
        return "recompute"
    if wanted == "counting":
        node.reason = (
            "its derivations are counted" if node.countable else "recursive derivations prove nothing"
        )
        if node.countable and node.passing is None:
            return "counting"
        wanted = "ranked"
    if wanted == "auto":
        wanted = "ranked"
        node.reason = "its ids are ranks" if node.recursive else "one step proves or disproves a fact"
        if seeds * max(node.steps_per_seed, _least_per_seed(node)) > steps_worth(node):
            node.reason = f"{seeds:,} deletions are expected to reach most of its {node.facts:,} facts"
            node.steps_per_seed *= _MEMORY  # what is not tried is forgotten, so that it is tried again
            return "recompute"
    if wanted == "ranked" and not node.in_rank_order:
        node.reason = "its facts are no longer in the order of ranks"
        return "recompute"
    return wanted
