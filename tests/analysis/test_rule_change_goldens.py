"""`tidalog check --rule-change` word for word, of the program and the script in a folder of rule_changes/.

They are those of Xu and Curé, "ZodiacEdge" (2023): Fig. 3 (a)–(c), Fig. 5, the rule sets 1–3 with the changes
of Tables 2 and 3 and of Fig. 7–9.  The text shows the graph before, the picture the one after.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tidalog.cli.app import run

FOLDER = Path(__file__).parent / "rule_changes"
CASES = sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", CASES)
def test_what_a_change_of_rules_does(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER / name)
    picture = tmp_path / "graph.mmd"
    assert run(["check", "program.rules", "--rule-change", "change.upd", "--graph", str(picture)]) == 0
    printed = capsys.readouterr().out.removesuffix(f"\nwrote {picture}\n")
    assert printed == Path("expected.txt").read_text(encoding="utf-8")
    assert picture.read_text(encoding="utf-8") == Path("graph.mmd").read_text(encoding="utf-8")
