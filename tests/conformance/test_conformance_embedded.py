"""The knowledge base in memory conforms, under every strategy."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st
from maintained import State
from ruled import check_whole

import tidalog
from conformance import Conformance
from tidalog.api.engine import Engine, NetChange
from tidalog.maintain.choose import STRATEGIES


class TestEmbedded(Conformance):
    examples = 40
    options = st.fixed_dictionaries({"strategy": st.sampled_from(STRATEGIES)})

    def engine(self, **options: str) -> tidalog.KnowledgeBase:
        return tidalog.open(**options)  # type: ignore[call-overload,no-any-return]

    def check_inside(self, engine: Engine, delta: Mapping[str, NetChange] | None, state: State) -> None:
        """The arrays agree with each other, the analysis is that of the whole program, the delta counts the
        facts."""
        assert isinstance(engine, tidalog.KnowledgeBase)
        check_whole(engine)
        names = [rule.name for rule in engine.program.rules]
        assert len(engine.rules) == len(names)
        assert list(engine.rules) == names or None in names
        if delta is not None:
            assert isinstance(delta, tidalog.Delta)
            assert delta.explicit_facts == len(state.explicit)
            assert delta.implicit_facts == len(state.facts - state.explicit)
