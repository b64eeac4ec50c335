"""Knowledge bases whose rules come and go: what can be seen of one, and streams of updates for one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from consistency import check_ranks, check_store
from maintained import Fact, State
from rule_streams import Rules, RuleScenario
from rule_streams import Update as Facts

import tidalog
from tidalog.analysis import analyse
from tidalog.lang import print_program, print_rule


def state(kb: tidalog.KnowledgeBase) -> State:
    """What the oracle would say of it."""
    every = {(name, row) for name in kb.predicates for row in kb.facts(name).to_terms()}
    explicit = {(name, row) for name in kb.predicates for row in kb.facts(name, True).to_terms()}
    return State(explicit, every)


def digest(kb: tidalog.KnowledgeBase) -> tuple[object, ...]:
    """Everything that a refused update must leave as it was, down to the arrays of the engine."""
    database = kb._open()
    engine = database.engine
    arrays = engine.store.arrays
    count = len(engine.store)
    maintainer = database.maintenance.maintainer if database.maintenance is not None else None
    return (
        print_program(kb.program),
        dict(kb.rules),
        database.analysis.rules,
        database.analysis.components,
        database.analysis.triples,
        list(database._state.witnesses),
        [name for name in engine.names if not name.startswith("#")],
        np.asarray(arrays.status[:count]).tobytes(),
        np.asarray(arrays.arguments[: engine.store.used]).tobytes(),
        None if maintainer is None else [(node.name, node.stage) for node in maintainer.components],
        sorted(state(kb).facts, key=repr),
        sorted(state(kb).explicit, key=repr),
    )


def check_whole(kb: tidalog.KnowledgeBase) -> None:
    """The store agrees with itself; what is known of the program is what an analysis of it says."""
    database = kb._open()
    check_store(database.engine)
    # The oracle that looks for proofs takes the names of relations of triples for IRIs.
    if database.maintenance is not None and not database.analysis.triples.active:
        check_ranks(database.maintenance.maintainer)
    facts = tuple(database._state.witnesses.values())
    scratch = analyse(
        replace(database.program, facts=facts),
        database.environment.parameters,
        database.environment.arguments,
        kept=database.analysis.triples,
    )
    assert scratch.rules == database.analysis.rules
    assert scratch.components == database.analysis.components
    assert scratch.triples == database.analysis.triples
    assert scratch.predicates == database.analysis.predicates
    assert [w.render() for w in scratch.warnings] == [w.render() for w in database.warnings]


def update_for(kb: tidalog.KnowledgeBase, given: RuleScenario, facts: Facts, rules: Rules) -> tidalog.Update:
    """The update that makes facts so and leaves the rules of a scenario with these numbers."""
    wanted = {str(rule.name): rule for rule in given.with_rules(rules).rules}
    update = tidalog.Update()
    for name in kb.rules:
        if name not in wanted:
            update.remove_rule(name)
    for name, rule in wanted.items():
        if name not in kb.rules:
            update.add_rule(print_rule(rule))
    for some, add in ((facts[0], update.delete), (facts[1], update.insert)):
        for name, rows in by_predicate(some).items():
            add(name, rows)
    return update


def by_predicate(facts: Iterable[Fact]) -> dict[str, list[object]]:
    grouped: dict[str, list[object]] = {}
    for name, row in facts:
        grouped.setdefault(name, []).append(row)
    return grouped


def check_delta(delta: tidalog.Delta, before: State, after: State) -> None:
    """It is the difference of two states."""
    for what, wanted in (
        ("inserted", after.facts - before.facts),
        ("inserted_explicit", (after.facts - before.facts) & after.explicit),
        ("deleted", before.facts - after.facts),
        ("deleted_explicit", (before.facts - after.facts) & before.explicit),
        ("became_explicit", before.facts & after.explicit - before.explicit),
        ("became_implicit", after.facts & before.explicit - after.explicit),
    ):
        rows = [(name, row) for name in delta for row in getattr(delta[name], what).to_terms()]
        assert len(rows) == len(set(rows))
        assert set(rows) == wanted, what
    assert delta.explicit_facts == len(after.explicit)
    assert delta.implicit_facts == len(after.facts - after.explicit)
