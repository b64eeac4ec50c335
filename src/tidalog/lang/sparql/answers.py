"""The rules of a query, and its answers as rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidalog.lang.sparql.solutions import UNBOUND
from tidalog.model.program import Program, Rule
from tidalog.model.terms import IRI, BlankNode, SortKey, Term, sort_key

Row = tuple[Term | None, ...]


@dataclass(frozen=True)
class Cut:
    """Some rows of a predicate: those of a sub-query with LIMIT or OFFSET.

    What `rules` derive for `source` is put in order, cut (for each value of the first `keys` columns) and
    becomes the facts of `target`.
    """

    rules: tuple[Rule, ...]
    source: str
    target: str
    arity: int
    keys: int
    order: tuple[tuple[int, bool], ...]
    limit: int | None
    offset: int


@dataclass(frozen=True)
class Translation:
    """`predicate` has `arity` columns: those called `columns`, then those of ORDER BY that are not among
    them, then, if `counted`, those that keep equal solutions apart.  `order` has indexes of columns, with
    whether each is descending.  `cuts` come before `rules`, in this order."""

    rules: tuple[Rule, ...]
    predicate: str
    columns: tuple[str, ...]
    arity: int
    counted: bool = False
    order: tuple[tuple[int, bool], ...] = ()
    limit: int | None = None
    offset: int = 0
    cuts: tuple[Cut, ...] = ()

    @property
    def program(self) -> Program:
        return Program(rules=self.rules)

    def rows(self, facts: Iterable[tuple[Term, ...]]) -> list[Row]:
        """The answer, given the facts of `predicate`; None is a variable without a value.  Without ORDER BY
        the rows are in the order of the facts."""
        ordered = list(facts)
        for column, descending in reversed(self.order):
            ordered.sort(key=lambda fact: order_key(fact[column]), reverse=descending)
        width = len(self.columns)
        rows = [tuple(None if cell == UNBOUND else cell for cell in fact[:width]) for fact in ordered]
        if not self.counted:
            rows = list(dict.fromkeys(rows))
        return rows[self.offset :][: self.limit]


def order_key(term: Term) -> tuple[int, str, SortKey | None]:
    """SPARQL's order: no value, blank nodes, IRIs, literals; literals are in the order of terms."""
    if term == UNBOUND:
        return (0, "", None)
    if isinstance(term, BlankNode):
        return (1, term.label, None)
    if isinstance(term, IRI):
        return (2, term.value, None)
    return (3, "", sort_key(term))
