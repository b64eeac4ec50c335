"""`tidalog check --rule-change`."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Command

CHANGE = """\
+parent(zoe, ada).
-rule r2.  +rule far: ancestor(?x, ?z) :- ancestor(?x, ?y), ancestor(?y, ?z) .
commit.
+parent(yan, zoe).
commit.
+rule ancestor(?young, ?old) :- parent(?young, ?old) .
"""


@pytest.fixture
def change(tmp_path: Path) -> Path:
    path = tmp_path / "change.upd"
    path.write_text(CHANGE)
    return path


def test_each_update_with_rules_is_told(tidalog: Command, family: Path, change: Path) -> None:
    outcome = tidalog("check", family, "--rule-change", change)
    assert outcome.code == 0
    assert outcome.out.startswith(tidalog("check", family).out)
    assert f"{change}, update 1: 1 rule added, 1 rule removed\n" in outcome.out
    assert f"{change}, update 2" not in outcome.out
    assert outcome.out.endswith(
        f"{change}, update 3: 1 already there\n"
        "  = ancestor(?young, ?old) :- parent(?young, ?old).  is there as r1\n"
    )


def test_as_json(tidalog: Command, family: Path, change: Path) -> None:
    parsed = tidalog("check", family, "--rule-change", change, "--json").json
    assert set(parsed) == {"ok", "warnings", "analysis", "strategies", "rule_changes"}
    first, last = parsed["rule_changes"]
    assert (first["update"], last["update"]) == (1, 3)
    assert [rule["name"] for rule in first["added"]] == ["far"]
    assert [rule["name"] for rule in first["removed"]] == ["r2"]
    assert [node["rules"] for node in first["directly_impacted"]] == [["far"]]
    assert [(c["predicates"], c["direct"]) for c in first["components"]] == [(["ancestor"], True)]
    assert [there["as"] for there in last["already_there"]] == ["r1"]
    assert (last["plan"], last["components"]) == ([], [])


@pytest.mark.parametrize(
    ("file", "mark"),
    [
        ("g.svg", 'class="box recursive impacted"'),
        ("g.mmd", "class hn6 impacted"),
        ("g.dot", 'fillcolor="#f6c5bf"'),
    ],
)
def test_the_picture_marks_what_is_impacted(
    tidalog: Command, family: Path, tmp_path: Path, file: str, mark: str
) -> None:
    (tmp_path / "change.upd").write_text(CHANGE.partition("commit.")[0])
    assert tidalog("check", family, "--rule-change", "change.upd", "--graph", file).code == 0
    assert mark in (tmp_path / file).read_text()


def test_a_change_that_cannot_be_is_refused_with_its_errors(
    tidalog: Command, family: Path, tmp_path: Path
) -> None:
    (tmp_path / "change.upd").write_text(
        "+rule parent(?x, ?y) :- ancestor(?x, ?y), ~many(?y) .\n+rule odd(?y) :- many(?x) .  -rule r9.\n"
    )
    outcome = tidalog("check", family, "--rule-change", "change.upd")
    assert (outcome.code, outcome.out) == (1, "")
    for number in ("T012", "T020", "T130"):
        assert f"error[{number}]" in outcome.err
    assert "negation in a cycle: many → children → parent → ~many" in outcome.err
    assert "--> change.upd:1:" in outcome.err


def test_a_script_without_rules_says_so(tidalog: Command, family: Path, tmp_path: Path) -> None:
    (tmp_path / "facts.upd").write_text("+parent(zoe, ada).\n")
    assert tidalog("check", family, "--rule-change", "facts.upd").out.endswith("facts.upd: no rule changes\n")
    assert tidalog("check", family, "--rule-change", "nowhere.upd").code == 2
    (tmp_path / "wrong.upd").write_text("parent(zoe, ada).\n")
    assert "error[T025]" in tidalog("check", family, "--rule-change", "wrong.upd").err
