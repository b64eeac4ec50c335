"""The output of `tidalog apply --out`: the change feed, and all facts after each update.

FOLDER/changes.csv                              the facts that updates insert and delete
FOLDER/rules.csv                                the rules that they add and remove, as an update table
FOLDER/materialised/UPDATE/PREDICATE.csv        all facts after each update, with --materialised
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from tidalog.api.rules import rules_added
from tidalog.io.change_feed import ChangeFeedWriter
from tidalog.io.files import free_name, writing
from tidalog.model.errors import ProgramError
from tidalog.rdf.layout import TRIPLE

if TYPE_CHECKING:
    from tidalog.api.delta import Delta
    from tidalog.api.knowledge_base import KnowledgeBase
    from tidalog.model.program import Rule
    from tidalog.model.update import EncodedUpdate, Label

_NAMES_GRAPHS: Final = re.compile(r"\b(graph|with)\b", re.IGNORECASE)


class OutputFolder:
    def __init__(
        self,
        kb: KnowledgeBase,
        folder: Path,
        format: str,
        materialised: bool,
        updates: list[EncodedUpdate],
        *,
        requests: Sequence[str] = (),
    ) -> None:
        """`requests` are the texts of SPARQL updates that come, too."""
        self._kb, self._folder, self._format = kb, folder, format
        self._materialised = materialised
        self._labels_are_text = bool(requests) or any(not isinstance(update.label, int) for update in updates)
        self._names: dict[str, str] = {}
        feed = folder / f"changes.{format}"
        self.paths = [feed]
        with writing(folder, "name another folder"):
            folder.mkdir(parents=True, exist_ok=True)
        self._feed = ChangeFeedWriter(feed, max(_widest(kb, updates), *map(_width_of, requests), 0), format)
        self._rules: ChangeFeedWriter | None = None
        if any(update.changes_rules for update in updates):
            self.paths.append(folder / f"rules.{format}")
            self._rules = ChangeFeedWriter(self.paths[-1], 1, format)

    def write(self, delta: Delta) -> None:
        label: Label = delta.label if delta.label is not None else 0
        if self._labels_are_text:
            label = str(label)
        for batch in delta.batches(label):
            self._feed.write(batch)
        if self._rules is not None:
            for batch in delta.rules.batches(label):
                self._rules.write(batch)
        if self._materialised:
            folder = self._folder / "materialised" / self._file_name(f"update {label}", str(label))
            folder.mkdir(parents=True, exist_ok=True)
            if folder.parent not in self.paths:
                self.paths.append(folder.parent)
            for name in self._kb.predicates:
                file = self._file_name(f"predicate {name}", self._kb.analysis.label(name))
                self._kb.export(name, folder / f"{file}.{self._format}", self._format)

    def _file_name(self, what: str, text: str) -> str:
        """A unique file name for an update or a predicate."""
        if what not in self._names:
            kind = what.partition(" ")[0]
            taken = {name for key, name in self._names.items() if key.startswith(kind)}
            self._names[what] = free_name(text, taken)
        return self._names[what]

    def __enter__(self) -> Self:
        self._feed.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for writer in (self._feed, self._rules):
            if writer is not None:
                writer.__exit__(kind, error, trace)


def _widest(kb: KnowledgeBase, updates: list[EncodedUpdate]) -> int:
    """The largest arity of a fact, now or after the updates."""
    known = [info.arity for info in kb.predicates.values()]
    coming = [len(rows.columns) for update in updates for rows in (*update.insertions, *update.deletions)]
    names = [rows.predicate for update in updates for rows in update.insertions]
    for update in updates:
        heads = [head for rule in coming_rules(kb, update) for head in rule.heads]
        coming += [head.arity for head in heads]
        names += [head.predicate for head in heads]
    triples = 3 if any(":" in name or name == TRIPLE for name in names) else 0
    return max([triples, *known, *coming], default=0)


def _width_of(request: str) -> int:
    """The arity of the facts that a request may insert."""
    return 4 if _NAMES_GRAPHS.search(request) else 3


def coming_rules(kb: KnowledgeBase, update: EncodedUpdate) -> list[Rule]:
    """The rules that an update adds; none if they cannot be parsed, which is reported when it is applied."""
    try:
        return rules_added(update.rules, kb.program.prefixes)
    except ProgramError:
        return []
