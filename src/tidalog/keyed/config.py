"""The config of a bucket: plain values, computed once at the driver and sent to the executors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import numpy as np

from tidalog.analysis import Analysis
from tidalog.analysis.draft import ArgumentRange
from tidalog.analysis.keyed import KeyedProgram
from tidalog.analysis.rewrite import atoms
from tidalog.api.functions import argument_range
from tidalog.api.load import Environment, analysed, witness_of
from tidalog.builtins import PythonFunction
from tidalog.engine.dictionary import Dictionary
from tidalog.io.declared_rows import Declarations
from tidalog.keyed.shard_map import entry_of_bucket
from tidalog.lang import parse, print_program
from tidalog.lang.printer import Printer
from tidalog.model.facts import Facts, Ids
from tidalog.model.program import Window
from tidalog.model.terms import Term
from tidalog.model.update import EncodedUpdate
from tidalog.rdf.columns import split
from tidalog.rdf.layout import Layout
from tidalog.storage.records import changes_of, changes_packed, unpacked

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase

_CACHED: Final = ("digest", "first_entry", "declarations", "written")


@dataclass(frozen=True)
class BucketConfig:
    """`text` is the rewritten program, `facts` a record of those that every key starts with."""

    text: str
    facts: bytes
    key: str
    violated: str
    names: dict[str, str]
    prefixes: dict[str, str]
    layout: Layout
    arguments: int
    """The largest number of arguments of a fact, without the key."""
    labels: str | None
    """`integer`, `text`, or None if a batch is one update of each of its keys."""
    buckets: int = 1
    ttl: int | None = None
    """Milliseconds without an update after which a key is removed."""
    functions: Mapping[str, PythonFunction] = field(default_factory=dict)
    original: str = ""
    """The program as the user wrote it, without facts."""
    known: Mapping[str, int] = field(default_factory=dict)
    """Its predicates and their arities."""
    parameters: Mapping[str, Term] = field(default_factory=dict)
    windows: tuple[Window, ...] = ()
    late: int = 0
    """How much older than the time of its key an update may be, in microseconds."""
    time_arguments: Mapping[str, int] = field(default_factory=dict)
    """The arguments, from 0 and without the key, at whose times facts come, if updates have no time."""
    facts_only: bool = False
    """Whether a bucket only holds facts: it keeps the text of the rules without evaluating them."""

    @property
    def text_labels(self) -> bool:
        return self.labels == "text"

    @cached_property
    def digest(self) -> str:
        """Identifies the program; the state of one cannot be used by another."""
        windows = "".join(map(Printer().window, self.windows))
        text = f"{self.buckets} {self.labels} {self.text}{windows}"
        return sha256(text.encode() + self.facts).hexdigest()[:16]

    @cached_property
    def declarations(self) -> Declarations:
        """What arguments are declared as; the key is not one of them."""
        return Declarations(
            parse(self.original).declared if "@declare" in self.original else {}, self.prefixes
        )

    @cached_property
    def written(self) -> Analysis:
        """The analysis of the program as the user wrote it; its predicates that are in no rule have explicit
        facts."""
        program = parse(self.original)
        in_rules = {atom.predicate for rule in program.rules for atom in atoms(rule)}
        given = [known for known in self.known.items() if known[0] not in in_rules]
        environment = Environment(self.parameters, self.known_functions, self.ranges)
        return analysed(program, environment, {witness: witness_of(*witness) for witness in given})

    @property
    def ranges(self) -> dict[str, ArgumentRange]:
        return {name: argument_range(name, function) for name, function in self.functions.items()}

    @property
    def known_functions(self) -> dict[str, PythonFunction]:
        """By the names that rules use."""
        return {name.upper(): function for name, function in self.functions.items()}

    @cached_property
    def first_entry(self) -> int:
        """The entry of the bucket that reports what is the same in all buckets."""
        return int(entry_of_bucket(self.buckets)[0])

    def shared_facts(self, dictionary: Dictionary) -> list[Facts]:
        """The facts that every key starts with, without the key."""
        return list(changes_of(unpacked(memoryview(self.facts)), dictionary)[0].insertions)

    def first_facts(self, keys: Ids, shared: Iterable[Facts]) -> list[Facts]:
        """The facts that new keys start with: that they are known, and those that all keys share."""
        found = [Facts(self.key, [keys], len(keys))]
        for facts in shared:
            columns = [np.tile(column, len(keys)) for column in facts.columns]
            count = len(keys) * facts.count
            found.append(Facts(facts.predicate, [np.repeat(keys, facts.count), *columns], count))
        return found

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name not in _CACHED}


def config_of(
    keyed: KeyedProgram,
    kb: KnowledgeBase,
    *,
    arguments: int,
    labels: str | None,
    ttl: int | None,
    functions: Mapping[str, PythonFunction],
    buckets: int = 1,
    parameters: Mapping[str, Term] | None = None,
    late: int = 0,
) -> BucketConfig:
    """`kb` has loaded the original program."""
    dictionary, windows = kb.dictionary, kb.program.windows
    parts = [part for rows in kb.asserted_id_rows() for part in split(rows, keyed.layout, dictionary)]
    change = EncodedUpdate(insertions=[_renamed(part, keyed) for part in parts])
    return BucketConfig(
        print_program(keyed.program),
        b"".join(changes_packed({"kind": "shared"}, [change], dictionary)),
        keyed.key,
        keyed.violated,
        dict(keyed.names),
        dict(kb.program.prefixes),
        keyed.layout,
        arguments,
        labels,
        buckets,
        ttl,
        dict(functions),
        print_program(replace(kb.program, facts=())),
        {name: info.arity for name, info in kb.predicates.items()},
        dict(parameters or {}),
        tuple(
            replace(one, name=keyed.name(one.name), source=keyed.name(one.source), span=None)
            for one in windows
        ),
        late,
        {keyed.name(name): number for name, number in kb.program.time_arguments.items()},
    )


def facts_only(labels: str | None) -> BucketConfig:
    """The config of a bucket that only holds facts."""
    facts = b"".join(changes_packed({"kind": "shared"}, [EncodedUpdate()], Dictionary()))
    return BucketConfig(
        "", facts, "keyed:key", "keyed:violated", {}, {}, Layout(), 0, labels, facts_only=True
    )


def _renamed(rows: Facts, keyed: KeyedProgram) -> Facts:
    return Facts(keyed.name(rows.predicate), rows.columns, rows.count)
