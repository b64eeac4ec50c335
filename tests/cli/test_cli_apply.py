"""`tidalog apply`: figures, files, options, exit codes."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import Command

COUNTERS = {
    "deletions",
    "backward",
    "forward",
    "insertions",
    "marks_explicit",
    "marks_implicit",
    "marks_positive",
    "derivations",
    "checked",
    "rederivations",
    "recorded",
}
RULES = """\
@export path :- csv{} .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
edge(a, b).
"""
SCRIPT = "+edge(b, c).\ncommit.\n-edge(a, b). +edge(a, c). -edge(q, q).\ncommit.\n+edge(c, d).\n"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    (tmp_path / "rules.rls").write_text(RULES)
    (tmp_path / "day.upd").write_text(SCRIPT)
    return tmp_path


def test_a_summary_is_printed_and_exports_are_written(tidalog: Command, graph: Path) -> None:
    outcome = tidalog("apply", "rules.rls", "day.upd")
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[:5] == [
        "predicate   inserted   deleted   now",
        "────────────────────────────────────",
        "edge              +3        −1     3",
        "path              +5        −1     5",
        "",
    ]
    assert lines[5] == "wrote path.csv"
    assert re.fullmatch(r"3 updates · \+8 −2 facts · 1 operation did nothing · \d+\.\d ms", lines[-1])
    assert set((graph / "path.csv").read_text().split()) == {"b,c", "a,c", "c,d", "b,d", "a,d"}
    assert outcome.err == ""


def test_operations_that_do_nothing_are_counted(tidalog: Command, graph: Path) -> None:
    (graph / "again.upd").write_text("+edge(a, b). -edge(x, y). commit. +edge(a, b). commit.")
    assert " · 3 operations did nothing · " in tidalog("apply", "rules.rls", "again.upd").out
    (graph / "again.upd").write_text("+edge(a, c).")
    assert "did nothing" not in tidalog("apply", "rules.rls", "again.upd").out


def test_many_updates_have_quantiles(tidalog: Command, graph: Path) -> None:
    (graph / "many.upd").write_text("".join(f"+edge(a, n{i}). commit.\n" for i in range(10)))
    assert " · median " in tidalog("apply", "rules.rls", "many.upd").out


def test_figures_of_every_update_and_in_sum(tidalog: Command, graph: Path) -> None:
    assert tidalog("apply", "rules.rls", "day.upd", "--stats", "stats.json", "-q").out == ""
    stats = json.loads((graph / "stats.json").read_text())
    assert [update["update"] for update in stats["updates"]] == [1, 2, 3]
    assert [(u["explicit_facts"], u["implicit_facts"]) for u in stats["updates"]] == [(2, 3), (2, 2), (3, 5)]
    assert [update["insertions"] for update in stats["updates"]] == [2, 0, 3]
    assert [update["ignored"] for update in stats["updates"]] == [0, 1, 0]
    for update in stats["updates"]:
        assert COUNTERS | {"seconds"} <= set(update)
    for name in COUNTERS | {"seconds"}:
        assert stats["totals"][name] == pytest.approx(sum(update[name] for update in stats["updates"]))
    assert stats["totals"]["updates"] == 3


@pytest.mark.parametrize("strategy", ["auto", "ranked", "counting", "bf", "fbf", "dred", "recompute"])
@pytest.mark.parametrize("options", [("--look-ahead", "0"), ("--look-ahead", "3"), ("--order", "paper")])
def test_every_strategy_ends_the_same(
    tidalog: Command, graph: Path, strategy: str, options: tuple[str, ...]
) -> None:
    outcome = tidalog("apply", "rules.rls", "day.upd", "--strategy", strategy, *options, "--json").json
    updates = outcome["updates"]
    assert isinstance(updates, list)
    assert (updates[-1]["explicit_facts"], updates[-1]["implicit_facts"]) == (3, 5)
    assert outcome["exports"] == ["path.csv"]


def test_the_first_update_runs_before_anything_else_is_read(tidalog: Command, graph: Path) -> None:
    (graph / "marks.upd").write_text(
        "+edge(b, c). commit. -edge(b, c). +edge(b, e). commit. -edge(b, e). commit. "
    )
    outcome = tidalog(
        "apply", "rules.rls", "marks.upd", "--marking", "paper", "--strategy", "bf", "--json"
    ).json
    updates = outcome["updates"]
    assert isinstance(updates, list)
    assert [update["marks_explicit"] for update in updates] == [0, 1, 0]


@pytest.mark.parametrize("format", ["csv", "ndjson", "parquet"])
def test_the_change_feed(tidalog: Command, graph: Path, format: str) -> None:
    outcome = tidalog("apply", "rules.rls", "day.upd", "--out", "out", "--format", format, "--json").json
    assert outcome["wrote"] == [str(Path("out") / f"changes.{format}")]
    path = graph / "out" / f"changes.{format}"
    if format == "csv":
        rows = list(csv.DictReader(path.open(newline="")))
    elif format == "ndjson":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        rows = pq.read_table(path).to_pylist()
    found = {(int(r["update"]), r["op"], r["predicate"], r["arg1"], r["arg2"], r["kind"]) for r in rows}
    assert found == {
        (1, "+", "edge", "b", "c", "explicit"),
        (1, "+", "path", "b", "c", "implicit"),
        (1, "+", "path", "a", "c", "implicit"),
        (2, "-", "edge", "a", "b", "explicit"),
        (2, "+", "edge", "a", "c", "explicit"),
        (2, "-", "path", "a", "b", "implicit"),
        (3, "+", "edge", "c", "d", "explicit"),
        (3, "+", "path", "c", "d", "implicit"),
        (3, "+", "path", "b", "d", "implicit"),
        (3, "+", "path", "a", "d", "implicit"),
    }


def test_all_facts_after_each_update(tidalog: Command, graph: Path) -> None:
    (graph / "table.csv").write_text(
        "update,op,predicate,arg1,arg2\n2026/1,+,edge,b,c\n2026/2,+,<http://e.org/p>,1,2\n"
    )
    outcome = tidalog("apply", "rules.rls", "table.csv", "--out", "out", "--materialised", "-q")
    assert outcome.code == 0, outcome.err
    folder = graph / "out" / "materialised"
    assert sorted(path.name for path in folder.iterdir()) == ["2026_1", "2026_2"]
    assert set((folder / "2026_1" / "path.csv").read_text().split()) == {"a,b", "b,c", "a,c"}
    assert (folder / "2026_2" / "http_e.org_p.csv").read_text() == "1,2\n"


def test_what_waits_is_applied_as_one(tidalog: Command, graph: Path) -> None:
    outcome = tidalog("apply", "rules.rls", "day.upd", "--latest-only", "--json").json
    updates, totals = outcome["updates"], outcome["totals"]
    assert isinstance(updates, list)
    assert isinstance(totals, dict)
    assert [update["update"] for update in updates] == [1, 3]
    assert totals["updates"] == 3
    assert (updates[-1]["explicit_facts"], updates[-1]["implicit_facts"]) == (3, 5)


def test_facts_that_updates_bring_are_no_reason_to_warn(tidalog: Command, graph: Path) -> None:
    (graph / "p.rls").write_text("p(?x) :- q(?x), nowhere(?x) .")
    (graph / "q.upd").write_text("+q(a).")
    outcome = tidalog("apply", "p.rls", "q.upd")
    assert "nowhere is used but" in outcome.err
    assert "q is used but" not in outcome.err


def test_bad_rows_are_an_error_or_set_aside(tidalog: Command, graph: Path) -> None:
    (graph / "u.csv").write_text("update,op,predicate,arg1,arg2\n1,+,edge,b,c\n1,?,edge,c,d\n")
    outcome = tidalog("apply", "rules.rls", "u.csv")
    assert (outcome.code, outcome.out) == (1, "")
    assert "error[T036]" in outcome.err
    outcome = tidalog("apply", "rules.rls", "u.csv", "--on-error", "skip", "--quarantine", "bad")
    assert outcome.code == 0
    assert outcome.err == "updates: 1 bad row left out\n"
    assert "?" in (graph / "bad" / "updates.quarantine.csv").read_text()


@pytest.mark.parametrize(
    ("options", "number", "code"),
    [
        (("--strategy", "magic"), "T076", 2),
        (("--marking", "red"), "T076", 2),
        (("--order", "random"), "T076", 2),
        (("--format", "xml", "--out", "o"), "T076", 2),
        (("--materialised",), "T076", 2),
        (("--look-ahead", "-1"), "T077", 2),
        (("--quarantine", "bad"), "T076", 2),
        (("--out", "rules.rls"), "T047", 1),
        (("nowhere.csv",), "T030", 1),
        (("--max-facts", "1"), "T050", 3),
    ],
)
def test_what_goes_wrong_has_a_number_and_a_code(
    tidalog: Command, graph: Path, options: tuple[str, ...], number: str, code: int
) -> None:
    outcome = tidalog("apply", "rules.rls", "day.upd", *options)
    assert f"error[{number}]" in outcome.err
    assert (outcome.code, outcome.out) == (code, "")


def test_what_was_applied_before_an_error_is_on_record(tidalog: Command, graph: Path) -> None:
    (graph / "rules.rls").write_text(RULES + "circle: :- path(?x, ?x) .")
    (graph / "bad.upd").write_text("+edge(b, c).\ncommit.\n+edge(c, a).\ncommit.\n+edge(c, d).\n")
    outcome = tidalog("apply", "rules.rls", "bad.upd", "--stats", "stats.json", "--out", "out")
    assert outcome.code == 1
    assert "error[T055]" in outcome.err
    assert len(json.loads((graph / "stats.json").read_text())["updates"]) == 1
    assert (graph / "out" / "changes.csv").read_text().count("\n") == 4
    assert not (graph / "path.csv").exists()


def test_rules_in_a_script_are_applied_and_told(tidalog: Command, graph: Path) -> None:
    """The feed replays to the materialisation, and the table of rules to the rules."""
    (graph / "rule.upd").write_text(
        "+edge(b, c).\ncommit.\n-rule r1. +rule pair: pair(?x, ?y, ?x) :- edge(?x, ?y).\ncommit.\n"
        "+rule far: far(?x) :- pair(?x, _, _).\ncommit.\n"
    )
    outcome = tidalog("apply", "rules.rls", "rule.upd", "--out", "out", "--stats", "stats.json")
    assert outcome.code == 0, outcome.err
    assert "+2 −1 rules" in outcome.out
    stats = json.loads((graph / "stats.json").read_text())
    assert [(u["rules_added"], u["rules_removed"]) for u in stats["updates"]] == [(0, 0), (1, 1), (1, 0)]
    assert (stats["totals"]["rules_added"], stats["totals"]["rules_removed"]) == (2, 1)
    rows = list(csv.DictReader((graph / "out" / "changes.csv").open(newline="")))
    assert {row["op"] for row in rows} == {"+", "-"}
    facts = {("edge", "a", "b"), ("path", "a", "b")}
    for row in rows:
        fact = tuple(row[name] for name in ("predicate", "arg1", "arg2", "arg3") if row[name])
        (facts.add if row["op"] == "+" else facts.remove)(fact)
    edges = {("edge", "a", "b"), ("edge", "b", "c")}
    assert facts == edges | {("pair", "a", "b", "a"), ("pair", "b", "c", "b"), ("far", "a"), ("far", "b")}
    changed = list(csv.DictReader((graph / "out" / "rules.csv").open(newline="")))
    assert [(row["update"], row["op"], row["predicate"]) for row in changed] == [
        ("2", "-rule", "r1"),
        ("2", "+rule", "pair"),
        ("3", "+rule", "far"),
    ]
    again = tidalog("apply", "rules.rls", "out/rules.csv", "--json").json
    assert again["totals"]["rules_added"] == 2


def test_a_rule_that_is_refused_says_where_it_stands(tidalog: Command, graph: Path) -> None:
    (graph / "rule.upd").write_text("+edge(b, c).\ncommit.\n+edge(c, d).\n-rule r77.\n")
    outcome = tidalog("apply", "rules.rls", "rule.upd", "--out", "out")
    assert outcome.code == 1
    assert "error[T130]: there is no rule r77 to remove\n  --> rule.upd:4:7" in outcome.err
    assert "c,d" not in (graph / "out" / "changes.csv").read_text()
