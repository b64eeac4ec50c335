"""`tidalog check`, `tidalog fmt`, help and version."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Command

from tidalog.analysis import analyse
from tidalog.lang import parse

UNTIDY = "p( a,b ).  % why\nq(?x):-p(?x,_)."
TIDY = "p(a, b).  % why\nq(?x) :- p(?x, _).\n"


def test_check_describes_a_program(tidalog: Command, family: Path) -> None:
    outcome = tidalog("check", family)
    assert outcome.code == 0
    assert outcome.out.startswith(f"{family}: 5 rules, 5 predicates, recursive, no negation, aggregates")
    assert "hyper-nodes of the rule graph" in outcome.out
    assert "warning[W011]" in outcome.err


def test_check_as_json(tidalog: Command, family: Path) -> None:
    parsed = tidalog("check", family, "--json").json
    assert set(parsed) == {"ok", "warnings", "analysis", "strategies"}
    assert parsed["strategies"][0].keys() == {"component", "predicates", "strategy", "reason"}
    analysis = parsed["analysis"]
    assert isinstance(analysis, dict)
    assert [rule["name"] for rule in analysis["rules"]] == ["r1", "r2", "r3", "r4", "r5"]


@pytest.mark.parametrize(
    ("file", "start"), [("g.svg", "<svg"), ("g.mmd", "flowchart"), ("g.dot", "digraph"), ("g.gv", "digraph")]
)
def test_check_draws(tidalog: Command, family: Path, tmp_path: Path, file: str, start: str) -> None:
    assert tidalog("check", family, "--graph", file).out.endswith(f"wrote {file}\n")
    assert (tmp_path / file).read_text().startswith(start)


def test_check_refuses(tidalog: Command, family: Path) -> None:
    assert tidalog("check", family, "--graph", "g.png").code == 2
    assert tidalog("check", family, "--graph", "nowhere/g.svg").code == 2
    wrong = tidalog("check", "-", stdin="p(?x) :- ~p(?x) .\nq(?x) :- r(?y) .")
    assert wrong.code == 1
    assert wrong.err.count("error[T012]") == 2
    assert "--> <stdin>:2:3" in wrong.err


def test_fmt_prints(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "p.rls").write_text(UNTIDY)
    outcome = tidalog("fmt", "p.rls")
    assert (outcome.code, outcome.out) == (0, TIDY)
    assert tidalog("fmt", "-", stdin=UNTIDY).out == TIDY
    assert (tmp_path / "p.rls").read_text() == UNTIDY


def test_fmt_checks_and_writes(tidalog: Command, tmp_path: Path) -> None:
    path = tmp_path / "p.rls"
    path.write_text(UNTIDY)
    path.chmod(0o640)
    checked = tidalog("fmt", "--check", "p.rls")
    assert (checked.code, checked.out) == (1, "p.rls would change\n")
    assert tidalog("fmt", "--write", "p.rls").out == "p.rls changed\n"
    assert path.read_text() == TIDY
    assert path.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.rls"]
    again = tidalog("fmt", "--check", "p.rls")
    assert (again.code, again.out) == (0, "")


def test_fmt_translates_other_dialects_but_does_not_overwrite_them(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "p.rules").write_text("r1: p(X, Z) :- p(X, Y) and p(Y, Z).")
    assert tidalog("fmt", "p.rules").out == "r1: p(?X, ?Z) :- p(?X, ?Y), p(?Y, ?Z).\n"
    assert tidalog("fmt", "--write", "p.rules").code == 2
    assert tidalog("fmt", "-", "--dialect", "zodiac", stdin="p(X) :- q(X).").out == "p(?X) :- q(?X).\n"


def test_fmt_tells_all_errors_of_all_files(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "p.rls").write_text("p(((.")
    (tmp_path / "q.rls").write_text("q(")
    outcome = tidalog("fmt", "p.rls", "q.rls")
    assert (outcome.code, outcome.out) == (1, "")
    assert "p.rls:1" in outcome.err
    assert "q.rls:1" in outcome.err
    assert tidalog("fmt", "--check", "--write", "p.rls").code == 2


def test_fmt_as_json(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "p.rls").write_text(UNTIDY)
    assert tidalog("fmt", "p.rls", "--json").json["files"] == [
        {"file": "p.rls", "changed": True, "text": TIDY}
    ]
    checked = tidalog("fmt", "p.rls", "--check", "--json")
    assert (checked.code, checked.json["files"]) == (1, [{"file": "p.rls", "changed": True}])


def test_the_bare_command_prints_help(tidalog: Command) -> None:
    outcome = tidalog()
    assert outcome.code == 0
    for command in ("run", "query", "check", "fmt", "repl", "version"):
        assert f" {command} " in outcome.out


@pytest.mark.parametrize("command", ["run", "query", "check", "fmt", "repl", "version"])
def test_every_command_has_help(tidalog: Command, command: str) -> None:
    outcome = tidalog(command, "--help")
    assert outcome.code == 0
    assert "--json" in outcome.out


def test_version(tidalog: Command) -> None:
    version = str(tidalog("version", "--json").json["version"])
    assert tidalog("version").out == tidalog("--version").out == f"tidalog {version}\n"


def test_an_unknown_command_is_a_mistake_of_usage(tidalog: Command) -> None:
    outcome = tidalog("rnu")
    assert (outcome.code, outcome.out) == (2, "")
    assert "error[T077]: no such command 'rnu'" in outcome.err


def test_commands_that_need_no_engine_do_not_import_one() -> None:
    script = (
        "import sys; from tidalog.cli.app import run; run(['fmt', '-']); run(['check', '-']);"
        "print([m for m in ('numba', 'pyarrow', 'rich', 'pandas', 'pyoxigraph') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input="", capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_check_prints_plans(tidalog: Command, family: Path) -> None:
    whole = tidalog("check", family, "--plan").out
    assert whole.startswith("component ")
    assert "    scan " in whole and "    emit " in whole
    one = tidalog("check", family, "--plan-of", "grandparent").out
    assert one.strip() in whole and len(one) < len(whole)
    updates = tidalog("check", family, "--plan-of", "grandparent", "--plan-updates").out
    assert updates.count("scan       changed") == 2
    assert tidalog("check", family, "--plan-of", "grandparnt").code == 2


def test_plans_as_json(tidalog: Command, family: Path) -> None:
    checked = tidalog("check", family, "--plan", "--json").json["plan"]
    run = tidalog("run", family, "--plan", "--json").json
    assert isinstance(checked, dict)
    assert [c["predicates"] for c in checked["components"]] == [
        c["predicates"] for c in run["plan"]["components"]
    ]
    emitted = [
        plan["operators"][-1]["rows"]
        for component in run["plan"]["components"]
        for stage in component["stages"]
        for plan in stage["plans"]
    ]
    assert sum(emitted) == run["stats"]["derivations"]


def test_run_prints_plans(tidalog: Command, family: Path) -> None:
    lines = tidalog("run", family, "--plan").out.splitlines()
    titles = next(line for line in lines if line.startswith("component "))
    assert titles.split()[-2:] == ["estimate", "rows"]


def test_of_very_many_messages_the_first_are_shown_and_the_others_counted(
    tidalog: Command, tmp_path: Path
) -> None:
    """A hundred; JSON has them all, and each is shown once."""
    (tmp_path / "many.rls").write_text("\n".join(f"p{i}(?x) :- q{i}(?x) ." for i in range(250)))
    warned = tidalog("check", "many.rls")
    assert warned.err.count("warning[W010]") == 100
    assert warned.err.endswith("\n\n… and 150 more warnings\n\n")
    found = tidalog("check", "many.rls", "--json").json["warnings"]
    assert isinstance(found, list)
    assert len(found) == 250
    (tmp_path / "wrong.rls").write_text("\n".join(f"p{i}(?y) :- q(?x) ." for i in range(101)))
    refused = tidalog("check", "wrong.rls")
    assert refused.err.count("error[T012]") == 100
    assert refused.err.endswith("… and 1 more error\n")


def test_messages_have_equal_keys_if_and_only_if_their_texts_are_equal() -> None:
    texts = [
        "p(?x) :- q(?x) .",
        "p(?x) :- q(?x) . ",
        "p(?x) :- q(?x) .\np(?x) :- z(?x) .",
        "\np(?x) :- q(?x) .",
    ]
    found = [w for text in texts for w in analyse(parse(text)).warnings]
    assert len(found) == 5
    for one in found:
        for other in found:
            assert (one.key == other.key) == (one.render() == other.render())
