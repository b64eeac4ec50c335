"""Runs in processes of their own: limits end them, differences are reported, tables come out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from bench.__main__ import main
from bench.compare import NOT_INSTALLED, Contender, contest, disagreements
from bench.digest import Content
from bench.process import ERROR, MEMORY, OK, TIMEOUT, Limits, Run, run_job, watched
from bench.report import Section, markdown, ratio
from bench.staging import stage
from bench.systems import SYSTEMS, System
from bench.workloads import speed_workloads

DUCKDB = SYSTEMS["duckdb"]


def ran(label: str, **counts: int) -> Contender:
    contents = {name: Content(count) for name, count in counts.items()}
    return Contender(System(label, label, "nowhere", label), OK, (Run(OK, 1, contents=contents),))


def test_a_run_reports_phases_memory_and_contents(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    workload = next(w for w in speed_workloads(quick=True) if w.name == "chains")
    stage(workload, tmp_path)
    run = run_job(DUCKDB, tmp_path, 1, Limits())
    assert run.status == OK, run.detail
    assert set(run.phases) == {"start", "load", "evaluate"}
    assert run.phase("evaluate").cpu > 0
    assert {name: content.count for name, content in run.contents.items()} == workload.expected
    assert run.peak_bytes >= run.base_bytes > 0


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    status, detail = watched([sys.executable, "-c", "while True: pass"], Limits(seconds=0.3), tmp_path)
    assert (status, detail) == (TIMEOUT, "more than 0.3 s")


def test_a_run_that_grows_too_large_is_ended(tmp_path: Path) -> None:
    grow = "held = bytearray(300_000_000)\nwhile True: held[::4096] = held[::4096]"
    status, _ = watched([sys.executable, "-c", grow], Limits(60.0, 150_000_000), tmp_path)
    assert status == MEMORY


def test_a_run_that_fails_says_why(tmp_path: Path) -> None:
    status, detail = watched([sys.executable, "-c", "raise SystemExit('no such file')"], Limits(), tmp_path)
    assert (status, detail) == (ERROR, "no such file")


def test_a_system_that_is_missing_is_reported_and_not_run(tmp_path: Path) -> None:
    absent = System("absent", "Absent", "bench.peers.absent", "a-package-that-does-not-exist")
    (contender,) = contest([absent], {"absent"}, tmp_path, 3, Limits())
    assert (contender.status, contender.runs) == (NOT_INSTALLED, ())
    assert disagreements([contender], {"path": 3}) == []


def test_differing_results_are_found() -> None:
    assert disagreements([ran("One", path=3), ran("Two", path=3)], {"path": 3}) == []
    assert disagreements([ran("One", path=3), ran("Two", path=4)], None) == [
        "One and Two differ in their results"
    ]
    assert disagreements([ran("One", path=3)], {"path": 5}) == ["One: path has 3 facts, expected 5"]
    assert disagreements([ran("One", path=3)], {"reach": 5}) == ["One: reach has no facts, expected 5"]


def test_a_ratio_below_one_means_the_own_side_is_faster() -> None:
    assert ratio(1.0, 4.0) == "0.25"
    assert ratio(None, 4.0) == ratio(1.0, 0.0) == "–"


def test_a_section_becomes_a_markdown_table() -> None:
    section = Section("Speed", ("workload", "system", "CPU s"))
    section.add("chains", "Tidalog", "0.07")
    section.problems.append("two\nlines")
    text = markdown([section], {"cores": 2})
    assert "| chains | Tidalog | 0.07 |" in text
    assert "|---|---|---:|" in text
    assert "* cores: 2" in text
    assert "**problem**: two lines" in text


def test_a_section_refuses_a_row_of_the_wrong_width() -> None:
    with pytest.raises(ValueError, match="2 cells for 3 columns"):
        Section("Speed", ("workload", "system", "CPU s")).add("chains", "Tidalog")


def test_the_command_line_stores_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.setattr("bench.__main__._RESULTS", tmp_path / "results")
    figures = tmp_path / "figures.json"
    code = main(["dag", "--quick", "--repeat", "2", "--only", "duckdb", "--json", str(figures)])
    assert code == 0
    assert "11,033" in capsys.readouterr().out
    (record,) = json.loads(figures.read_text())["sections"][0]["records"]
    assert [run["threads"] for run in record["runs"]] == [1, 2, 1, 2]
    assert {path.suffix for path in (tmp_path / "results").iterdir()} == {".json", ".md"}


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["no-such-workload"])
    assert stopped.value.code == 2
    assert "no suite or workload 'no-such-workload'" in capsys.readouterr().err


def test_the_list_names_suites_workloads_and_systems(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    shown = capsys.readouterr().out
    for word in ("speed", "scaling", "loading", "startup", "samegen", "DuckDB"):
        assert word in shown


def test_loading_is_compared_for_strings_and_integers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("egglog")
    monkeypatch.setattr("bench.__main__._RESULTS", tmp_path / "results")
    assert main(["loading", "--quick", "--repeat", "1", "--only", "egglog"]) == 0
    shown = capsys.readouterr().out
    assert "strings, csv" in shown
    assert "integers, csv" in shown
    assert "50,000" in shown
