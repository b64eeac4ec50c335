"""The knowledge base on disk conforms, reopened between updates."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from maintained import State
from stored import check_consistent

import tidalog
from conformance import Conformance
from tidalog.api.engine import Engine, NetChange


class TestStored(Conformance):
    examples = 30

    def engine(self, **options: str) -> tidalog.StoredKnowledgeBase:
        return tidalog.open(Path(tempfile.mkdtemp(dir=self.folder)) / "kept.tidalog", fsync="off")

    def reopened(self, engine: Engine) -> tidalog.StoredKnowledgeBase:
        assert isinstance(engine, tidalog.StoredKnowledgeBase)
        engine.close()
        return tidalog.open(engine.path, fsync="off")

    def check_inside(self, engine: Engine, delta: Mapping[str, NetChange] | None, state: State) -> None:
        """The arrays agree with each other, and ids are ranks where they are said to be."""
        assert isinstance(engine, tidalog.StoredKnowledgeBase)
        check_consistent(engine)
