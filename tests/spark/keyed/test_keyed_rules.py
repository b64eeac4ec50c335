"""What rules do to a bucket of keys where it is easy to get wrong."""

from __future__ import annotations

import pyarrow as pa
import pytest
from keyed_oracle import Row, RuleRow, changes_in, config_for, rule_table, table_of

from tidalog.keyed import config, rules
from tidalog.keyed.bucket import Bucket
from tidalog.keyed.outcome import BatchOutcome
from tidalog.keyed.rules import Rules, edits_in
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
    of_bucket = config_for(parse("q(?x) :- p(?x)."))
    new: list[RuleRow] = [(5, "+rule", None, "u(?x) :- p(?x)"), (5, "+rule", None, "v(?x) :- p(?x)")]
    texts = set()
    for ordered in (new, new[::-1]):
        (edits,) = edits_in(rule_table(ordered), None).edits
        edited = Rules(of_bucket)
        edited.edit(5, edits)
        texts.add(edited.text)
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


def test_an_edit_reads_no_rule_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept("q(?x) :- p(?x). c: :- z(?x).")
    kept.apply([("k", 1, "+", "p", ("a",))], (2, "+rule", "n", "r(?x) :- p(?x)"))

    def again(*_: object) -> None:
        pytest.fail("the program is read again")

    for name in ("parse", "print_program", "analysed"):
        monkeypatch.setattr(rules, name, again)
        monkeypatch.setattr(config, name, again, raising=False)
    monkeypatch.setattr(Rules, "text", "")
    assert kept.emitted([], (3, "+rule", "m", "s(?x) :- r(?x)")) == {("k", 3, "+", "s", ("a",), "implicit")}
    assert kept.emitted([], (4, "-rule", "n", None)) == {
        ("k", 4, "-", "r", ("a",), "implicit"),
        ("k", 4, "-", "s", ("a",), "implicit"),
    }


def test_bridges_come_and_go_with_the_rules_that_need_them() -> None:
    kept = Kept("triple(?x, <http://e/b>, ?y) :- triple(?x, <http://e/a>, ?y) .")
    kept.apply([("k", 1, "+", "triple", ("x", "<http://e/a>", "y"))])
    before = set(kept.bucket.database.program.rules)
    found = kept.emitted([], (2, "+rule", "v", "v(?p) :- triple(?x, ?p, ?y)"))
    assert found == {("k", 2, "+", "v", (f"<http://e/{name}>",), "implicit") for name in "ab"}
    assert len(kept.bucket.database.program.rules) == 4
    kept.apply([], (3, "-rule", "v", None))
    assert set(kept.bucket.database.program.rules) == before


def test_a_rule_in_two_forms_is_there_until_both_are_gone() -> None:
    kept = Kept("r: q(?x) :- triple(?x, <http://e/a>, ?y) .")
    kept.apply([("k", 1, "+", "triple", ("x", "<http://e/a>", "y"))])
    kept.apply([], (2, "+rule", "s", "q(?x) :- <http://e/a>(?x, ?y)"))
    assert not kept.emitted([], (3, "-rule", "r", None))
    assert kept.emitted([], (4, "-rule", "s", None)) == {("k", 4, "-", "q", ("x",), "implicit")}


def test_a_predicate_keeps_its_arity_when_its_last_rule_goes() -> None:
    kept = Kept("q(?x) :- p(?x). r(?x) :- s(?x, ?y).")
    applied = kept.apply([], (1, "-rule", "r1", None), (1, "+rule", "n", "q(?x, ?y) :- s(?x, ?y)"))
    assert len(applied.refused_rules) == 1
    kept.apply([], (2, "-rule", "r1", None))
    applied = kept.apply([], (3, "+rule", "n", "q(?x, ?y) :- s(?x, ?y)"))
    assert len(applied.refused_rules) == 1


def test_a_condition_that_is_an_atom_has_the_key() -> None:
    kept = Kept("q(?x) :- p(?x), (r(?x)) .")
    rows: list[Row] = [("k", 1, "+", "p", ("a",)), ("k", 1, "+", "r", ("b",)), ("m", 1, "+", "r", ("a",))]
    assert not {one for one in kept.emitted(rows) if one[3] == "q"}


def test_only_records_of_rule_edits_have_rules() -> None:
    kept = Kept("q(?x) :- p(?x).")
    records = [
        kept.apply([("k", 1, "+", "p", ("a",))], (2, "+rule", "n", "r(?x) :- p(?x)")).record,
        kept.apply([("k", 3, "+", "p", ("b",))]).record,
    ]
    assert [b"r(?x)" in record for record in records] == [True, False]
    other = Bucket(kept.config)
    for record in records:
        other.restore(record)
    assert other.rules.text == kept.bucket.rules.text
    assert other.database.program.rules == kept.bucket.database.program.rules


def test_rules_that_read_triples_through_a_view_come_and_go() -> None:
    kept = Kept("""
        r1: all(?p) :- triple(?x, ?p, ?y) . triple(?x, ?p, ?y) :- in(?x, ?p, ?y) .
        good(?x) :- triple(?x, <http://e/p>, ?y), ~triple(?x, <http://e/n>, ?y) .
        triple(?x, <http://e/q>, ?x) :- good(?x) .
    """)
    assert kept.config.layout.views
    kept.apply([("k", 1, "+", "triple", ("x", "<http://e/p>", "y"))])
    emitted = kept.emitted([], (2, "+rule", "n", "some(?p) :- triple(?x, ?p, ?y)"))
    assert emitted == {("k", 2, "+", "some", (f"<http://e/{name}>",), "implicit") for name in "pq"}
    kept.apply([], (3, "-rule", "r1", None), (3, "-rule", "n", None))
    emitted = kept.emitted([], (4, "+rule", "r1", "all(?p) :- triple(?x, ?p, ?y)"))
    assert emitted == {("k", 4, "+", "all", (f"<http://e/{name}>",), "implicit") for name in "pq"}
