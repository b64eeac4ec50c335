"""What rules do to a bucket of keys where it is easy to get wrong."""

from __future__ import annotations

import pyarrow as pa
import pytest
from keyed_oracle import Row, RuleRow, changes_in, config_for, rule_table, table_of

from tidalog.keyed.bucket import Bucket
from tidalog.keyed.outcome import BatchOutcome
from tidalog.keyed.rules import edits_in, rules_of
from tidalog.lang import parse
from tidalog.model.errors import RunError


class Kept:
    """A bucket with a program."""

    def __init__(self, program: str, **how: object) -> None:
        self.config = config_for(parse(program), **how)  # type: ignore[arg-type]
        self.bucket = Bucket(self.config)

    def apply(self, rows: list[Row], *rules: RuleRow, now: int = 0) -> BatchOutcome:
        table = table_of(rows, self.config.arguments)
        about = rule_table(rules) if rules else None
        if self.config.labels is None:
            table = table.drop_columns(["update"])
            about = about.drop_columns(["update"]) if about is not None else None
        return self.bucket.apply(table, now, about)

    def emitted(self, rows: list[Row], *rules: RuleRow, now: int = 0) -> set[tuple[object, ...]]:
        return set(changes_in(self.apply(rows, *rules, now=now).changes, self.config.arguments))


def test_a_constraint_that_no_key_could_begin_with_is_refused() -> None:
    kept = Kept("q(?x) :- p(?x). p(z).")
    applied = kept.apply([], (1, "+rule", "c", ":- p(z)"))
    (refused,) = applied.refused_rules
    assert "T136" in refused.why
    assert kept.emitted([("k", 2, "+", "p", ("a",))]) >= {("k", 2, "+", "q", ("a",), "implicit")}


def test_a_constraint_that_a_key_violates_ends_the_batch() -> None:
    kept = Kept("q(?x) :- p(?x).")
    kept.apply([("k", 1, "+", "p", ("a",))])
    with pytest.raises(RunError, match="T135"):
        kept.apply([], (2, "+rule", "c", ":- q(a)"))


def test_the_order_of_rows_does_not_matter() -> None:
    config = config_for(parse("q(?x) :- p(?x)."))
    rows: list[RuleRow] = [(5, "+rule", None, "u(?x) :- p(?x)"), (5, "+rule", None, "v(?x) :- p(?x)")]
    texts = set()
    for ordered in (rows, rows[::-1]):
        (edits,) = edits_in(rule_table(ordered), None).edits
        texts.add(rules_of(config).after(5, edits).text)
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("program", "first", "change", "emitted"),
    [
        ("r: r(?x) :- p(?x). c: :- z(?x).", [], ("+rule", "n", "q(?x) :- p(?x)"), "+"),
        ("r: q(?x) :- p(?x). n: q(?x) :- p(?x), p(?x). c: :- z(?x).", ["n"], ("-rule", "r", None), "-"),
    ],
)
def test_what_a_change_leaves_of_an_update_that_is_refused(
    program: str, first: list[str], change: tuple[str, str, str | None], emitted: str
) -> None:
    """The key's own facts are gone, and the changes by the rule are as if they had never been there."""
    kept = Kept(program + " q(?x) :- o(?x).")
    kept.apply([("k", 1, "+", "p", ("a",))], *((2, "-rule", name, None) for name in first))
    applied = kept.apply([("k", 3, "+", "q", ("a",)), ("k", 3, "+", "z", ("a",))], (3, *change))
    assert applied.refused.num_rows == 1
    found = changes_in(applied.changes, kept.config.arguments)
    assert found == [("k", 3, emitted, "q", ("a",), "implicit")]


def test_without_labels_a_refused_update_has_its_number() -> None:
    kept = Kept("q(?x) :- p(?x).", labels=None)
    kept.apply([("k", 1, "+", "p", ("a",))])
    applied = kept.apply([("k", 1, "+", "p", ("b",))], (1, "+rule", None, "odd(?z) :- p(?x)"))
    assert {(one.key, one.update) for one in applied.refused_rules} == {(None, None), ("k", 2)}


def test_an_expired_key_loses_what_a_rule_has_brought_behind_it() -> None:
    kept = Kept("q(?x) :- p(?x).", ttl=100)
    kept.apply([("k", 1, "+", "p", ("a",))])
    kept.apply([], (5, "+rule", "n", "r(?x) :- p(?x)"), now=10)
    emitted = kept.emitted([], now=200)
    assert {(one[1], one[2], one[3]) for one in emitted} == {(5, "-", "p"), (5, "-", "q"), (5, "-", "r")}


def test_a_rule_about_all_classes_is_refused_where_classes_alone_are_known() -> None:
    program = """
        triple(?x, <http://e/b>, ?y) :- triple(?x, <http://e/a>, ?y) .
        <http://e/c>(?x) :- <http://e/b>(?x, ?y) .
    """
    kept = Kept(program)
    (refused,) = kept.apply([], (1, "+rule", "v", "v(?c) :- triple(?x, rdf:type, ?c)")).refused_rules
    assert "T134" in refused.why
    assert isinstance(kept.apply([]).changes, pa.Table)
