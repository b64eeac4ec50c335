"""`Delta`: the net change of one update.

For every predicate the facts that became true and those that stopped being true, explicit and implicit apart;
and the rules that were added and removed.

Invariant.  A delta keeps term ids and turns them into Arrow when it is read: an unread one costs nothing, and
one that is read later says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from tidalog.api.expired import NOTHING_EXPIRED, Expired
from tidalog.api.results import Result, decoded_result
from tidalog.api.shown import SHOWN_PARTS, SHOWN_ROWS, html_table, more, text_table
from tidalog.io.change_feed import ADD_RULE, REMOVE_RULE, ChangeBatch, Kind
from tidalog.model.amounts import counted
from tidalog.model.errors import UsageError
from tidalog.model.facts import Ids, Mask
from tidalog.model.term_text import TermWriter
from tidalog.model.update import Label

if TYPE_CHECKING:
    from tidalog.engine.dictionary import Dictionary
    from tidalog.maintain.counters import Counters
    from tidalog.maintain.delta import PredicateDelta
    from tidalog.model.program import Program


@dataclass(frozen=True)
class RuleChanges:
    """The rules that an update added and removed."""

    added: Mapping[str, str] = field(default_factory=dict)
    """Name → text."""
    removed: Mapping[str, str] = field(default_factory=dict)
    already_there: tuple[tuple[str, str], ...] = ()
    """Of each rule that was to be added and was there, up to the names of its variables: its text, and the
    name of the one that is there."""

    def __bool__(self) -> bool:
        """Whether there are other rules than before."""
        return bool(self.added or self.removed)

    def batches(self, label: Label) -> Iterator[ChangeBatch]:
        """Rows of an update table that makes the same changes, to be written like a change feed."""
        for op, rules in ((REMOVE_RULE, self.removed), (ADD_RULE, self.added)):
            for name, text in rules.items():
                yield ChangeBatch(label, op, name, "rule", [pa.array([text])], 1)

    def __repr__(self) -> str:
        lines = [f"− {text}" for text in self.removed.values()]
        lines += [f"+ {text}" for text in self.added.values()]
        lines += [f"= {text}   is there as {name}" for text, name in self.already_there]
        shown = [*lines[:SHOWN_PARTS], *more(len(lines), SHOWN_PARTS, "rules")]
        return "\n".join(shown) or "no rule was changed"


class PredicateChange:
    """The change of one predicate.  Every property is a `Result`, built when it is read."""

    def __init__(
        self,
        predicate: str,
        change: PredicateDelta,
        dictionary: Dictionary,
        program: Program,
        expired: Expired = NOTHING_EXPIRED,
    ) -> None:
        self.predicate = predicate
        self.ids = change
        """The same as term ids."""
        self._dictionary = dictionary
        self._program = program
        self._expired = expired

    @property
    def inserted_count(self) -> int:
        return self.ids.inserted_rows

    @property
    def deleted_count(self) -> int:
        return self.ids.deleted_rows

    @property
    def expired_count(self) -> int:
        return int(np.count_nonzero(self.is_expired))

    @cached_property
    def inserted(self) -> Result:
        """Facts that were not true before."""
        return self._result(self.ids.inserted, self.ids.inserted_rows)

    @cached_property
    def inserted_explicit(self) -> Result:
        """Those of `inserted` that were asserted."""
        return self._chosen(self.ids.inserted, self.ids.inserted_explicit)

    @cached_property
    def inserted_implicit(self) -> Result:
        """Those of `inserted` that are derived and not asserted."""
        return self._chosen(self.ids.inserted, ~self.ids.inserted_explicit)

    @cached_property
    def deleted(self) -> Result:
        """Facts that are no longer true."""
        return self._result(self.ids.deleted, self.ids.deleted_rows)

    @cached_property
    def deleted_explicit(self) -> Result:
        """Those of `deleted` that had been asserted."""
        return self._chosen(self.ids.deleted, self.ids.deleted_explicit)

    @cached_property
    def deleted_implicit(self) -> Result:
        """Those of `deleted` that had been derived and not asserted."""
        return self._chosen(self.ids.deleted, ~self.ids.deleted_explicit)

    @cached_property
    def expired(self) -> Result:
        """Those of `deleted` that were too old for a window, or followed from facts that were."""
        return self._chosen(self.ids.deleted, self.is_expired)

    @cached_property
    def is_expired(self) -> Mask:
        """Which of the deleted facts, as term ids."""
        return self._expired.among(self.predicate, self.ids)

    @cached_property
    def became_explicit(self) -> Result:
        """Facts that were derived before, are true still, and are asserted now."""
        return self._result(self.ids.became_explicit, self.ids.became_explicit_rows)

    @cached_property
    def became_implicit(self) -> Result:
        """Facts that were asserted before and are true still because they are derived."""
        return self._result(self.ids.became_implicit, self.ids.became_implicit_rows)

    def _chosen(self, columns: Sequence[Ids], mask: Mask) -> Result:
        return self._result([column[mask] for column in columns], int(np.count_nonzero(mask)))

    def _result(self, columns: Sequence[Ids], rows: int) -> Result:
        names = self._program.argument_names(self.predicate, len(columns))
        return decoded_result(self._dictionary, names, columns, rows, self._program.prefixes)

    def batches(self, label: Label) -> Iterator[ChangeBatch]:
        """The rows of a change feed (`io.change_feed`), deletions first."""
        change, expired = self.ids, self.is_expired
        parts: tuple[tuple[int, Kind, list[Ids], Mask], ...] = (
            (-1, "expired", change.deleted, expired),
            (-1, "explicit", change.deleted, change.deleted_explicit & ~expired),
            (-1, "implicit", change.deleted, ~change.deleted_explicit & ~expired),
            (1, "explicit", change.inserted, change.inserted_explicit),
            (1, "implicit", change.inserted, ~change.inserted_explicit),
        )
        for op, kind, columns, mask in parts:
            rows = int(np.count_nonzero(mask))
            if rows:
                texts = [self._dictionary.decode(column[mask]) for column in columns]
                yield ChangeBatch(label, op, self.predicate, kind, texts, rows)

    def _repr_html_(self) -> str:
        write = TermWriter(self._program.prefixes).term
        rows: list[tuple[str, ...]] = []
        remarks: list[str] = []
        for sign, facts in (("+", self.inserted), ("−", self.deleted)):
            rows += [(sign, *map(write, row)) for row in facts.first(SHOWN_ROWS).to_terms()]
            remarks += more(len(facts), SHOWN_ROWS, f"{sign} facts")
        return html_table((self.predicate, *self.inserted.columns), rows, *remarks)

    def __bool__(self) -> bool:
        change = self.ids
        return bool(
            change.inserted_rows
            or change.deleted_rows
            or change.became_explicit_rows
            or change.became_implicit_rows
        )

    def __repr__(self) -> str:
        write = TermWriter(self._program.prefixes).term
        lines = [f"{self.predicate}  +{self.inserted_count:,} −{self.deleted_count:,}"]
        parts = (
            ("+", "explicit", self.inserted_explicit),
            ("+", "", self.inserted_implicit),
            ("−", "explicit", self.deleted_explicit),
            ("−", "", self.deleted_implicit),
            ("=", "now explicit", self.became_explicit),
            ("=", "now implicit", self.became_implicit),
        )
        for sign, remark, facts in parts:
            shown = (", ".join(map(write, row)) for row in facts.first(SHOWN_ROWS).to_terms())
            lines += [f"  {sign} ({row})  {remark}".rstrip() for row in shown]
            if len(facts) > SHOWN_ROWS and facts.columns:
                lines.append(f"  {sign} … {len(facts) - SHOWN_ROWS:,} more")
        return "\n".join(lines)


class Deltas(Iterator["Delta"]):
    """The deltas of a stream of updates, each applied when it is asked for.  To print it must not build them:
    it knows the updates and the last totals only."""

    def __init__(self, deltas: Generator[Delta]) -> None:
        self._deltas = deltas
        self._updates, self._explicit, self._implicit = 0, 0, 0
        self._ended = False

    def __next__(self) -> Delta:
        try:
            delta = next(self._deltas)
        except BaseException:
            self._ended = True
            raise
        self._updates += delta.updates
        self._explicit, self._implicit = delta.explicit_facts, delta.implicit_facts
        return delta

    def close(self) -> None:
        """Applies no more updates."""
        self._ended = True
        self._deltas.close()

    def __repr__(self) -> str:
        facts = (
            f", {self._explicit:,} explicit and {self._implicit:,} implicit facts" if self._updates else ""
        )
        ended = ", ended" if self._ended else ""
        return f"<stream: {counted(self._updates, 'update')} applied{facts}{ended}>"

    def _repr_html_(self) -> str:
        counts = [f"{number:,}" for number in (self._updates, self._explicit, self._implicit)]
        columns = ("updates", "explicit facts", "implicit facts")
        return html_table(columns, [counts], "ended" if self._ended else "not ended")


class Delta(Mapping[str, PredicateChange]):
    """The net change of one update: changed predicates by name, all relations of triples as `triple`.

    `delta["path"]` is also there for a predicate that did not change, and `delta["ex:p"]` for the triples of
    a property; `"path" in delta` says whether there is a change, `len(delta)` in how many predicates.
    """

    def __init__(
        self,
        changes: Mapping[str, PredicateChange],
        of_others: Callable[[str], PredicateChange],
        counters: Counters,
        *,
        label: Label | None = None,
        ignored: int = 0,
        chosen: Mapping[str, str] | None = None,
        explicit_facts: int = 0,
        implicit_facts: int = 0,
        updates: int = 1,
        rules: RuleChanges | None = None,
        derived: bool = True,
        time: datetime | None = None,
        uncomputed: Mapping[str, int] | None = None,
        violated: Sequence[str] = (),
    ) -> None:
        self._changes = changes
        self._of_others = of_others
        self.counters = counters
        """What the update cost, by name: `counters.derivations`, `counters.seconds`, …"""
        self.label = label
        self.ignored = ignored
        """Deletions of facts that were not explicit, and insertions of facts that were."""
        self.chosen = chosen or {}
        """Component → strategy that maintained it."""
        self.explicit_facts = explicit_facts
        """Explicit facts after the update."""
        self.implicit_facts = implicit_facts
        """Facts after the update that are derived and not explicit as well."""
        self.updates = updates
        """How many updates were applied as one."""
        self.rules = rules if rules is not None else RuleChanges()
        """Rules that were added and removed."""
        self.derived = derived
        """False if only the rules changed, because nothing had been derived yet."""
        self.time = time or datetime.now(UTC)
        """When the update was applied."""
        self.uncomputed = uncomputed or {}
        """Rule → computations of the update that failed; the literals were false."""
        self.violated = tuple(violated)
        """The constraints that are violated after it: time has done that."""

    def __getitem__(self, predicate: str) -> PredicateChange:
        found = self._changes.get(predicate)
        return found if found is not None else self._of_others(predicate)

    def of_facts(self, predicate: str) -> PredicateChange:
        """The difference of `kb.facts(predicate)`: that of `delta[predicate]`, unless the update has turned
        facts of an IRI into triples, or back, which leaves them what they are under their own name."""
        return self._of_others(predicate)

    def __contains__(self, predicate: object) -> bool:
        if predicate in self._changes or not isinstance(predicate, str):
            return predicate in self._changes
        try:
            return bool(self._of_others(predicate))
        except UsageError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._changes)

    def __len__(self) -> int:
        return len(self._changes)

    @property
    def inserted_count(self) -> int:
        """Facts that became true, of all predicates."""
        return sum(change.inserted_count for change in self._changes.values())

    @property
    def deleted_count(self) -> int:
        """Facts that stopped being true."""
        return sum(change.deleted_count for change in self._changes.values())

    @property
    def expired_count(self) -> int:
        """Those of them that were too old for a window, or followed from facts that were."""
        return sum(change.expired_count for change in self._changes.values())

    def batches(self, label: Label | None = None) -> Iterator[ChangeBatch]:
        """The rows of a change feed (`io.change_feed`)."""
        own = self.label if self.label is not None else 0
        for change in self._changes.values():
            yield from change.batches(own if label is None else label)

    # --- for people ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        rules = [repr(self.rules)] if self.rules or self.rules.already_there else []
        cells = list(self._cells())
        table = text_table(_COLUMNS, cells, right={1, 2, 3, 4}) if cells else ()
        return "\n".join([*rules, *table, *self._left_out(), self._summary()])

    def _repr_html_(self) -> str:
        rules = [repr(self.rules)] if self.rules or self.rules.already_there else []
        return html_table(_COLUMNS, self._cells(), *self._left_out(), *rules, self._summary())

    def _left_out(self) -> list[str]:
        return more(len(self._changes), SHOWN_PARTS, "predicates")

    def _cells(self) -> Iterator[tuple[str, ...]]:
        for name, change in islice(self._changes.items(), SHOWN_PARTS):
            ids = change.ids
            asserted, retracted = map(np.count_nonzero, (ids.inserted_explicit, ids.deleted_explicit))
            counts = (asserted, ids.inserted_rows - asserted, retracted, ids.deleted_rows - retracted)
            yield name, *(f"{count:,}" if count else "" for count in counts)

    def _summary(self) -> str:
        name = "update" if self.label is None else f"update {self.label}"
        change = f"+{self.inserted_count:,} −{self.deleted_count:,} facts" if len(self) else "nothing changed"
        if self.rules:
            change = f"+{len(self.rules.added)} −{len(self.rules.removed)} rules, {change}"
        if not self.derived:
            return (
                f"{name}: +{len(self.rules.added)} −{len(self.rules.removed)} rules, nothing is derived yet"
            )
        if self.uncomputed:
            change += f", {sum(self.uncomputed.values()):,} not computable"
        return f"{name}: {change}, {self.counters.seconds * 1000:.1f} ms"


_COLUMNS: Final = ("predicate", "+ explicit", "+ implicit", "− explicit", "− implicit")
