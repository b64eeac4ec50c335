"""The house keeps its promises: commands, import directions, generated files, documentation.

Nothing here evaluates a program; test_examples.py runs the examples, test_docs.py the documentation.
"""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidalog.builtins import BUILTINS

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src" / "tidalog").rglob("*.py"))


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """The import contract of a copy of the project in `folder`, which needs `src` on the path."""
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def copy_of_the_package(folder: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.nb?"))
    return folder / "src" / "tidalog"


class TestImportContract:
    def test_the_package_keeps_it(self) -> None:
        result = lint_imports(ROOT)
        assert result.returncode == 0, result.stdout

    def test_an_import_against_the_direction_breaks_it(self, tmp_path: Path) -> None:
        package = copy_of_the_package(tmp_path)
        terms = package / "model/terms.py"
        terms.write_text(terms.read_text() + "\nfrom tidalog import program\n")
        result = lint_imports(tmp_path)
        assert result.returncode != 0
        assert "Imports go one way" in result.stdout

    def test_a_module_without_a_place_breaks_it(self, tmp_path: Path) -> None:
        (copy_of_the_package(tmp_path) / "homeless.py").write_text("")
        result = lint_imports(tmp_path)
        assert result.returncode != 0
        assert "homeless" in result.stdout


class TestCommands:
    MAKEFILE = (ROOT / "Makefile").read_text()

    def test_the_default_is_a_list_of_all_targets(self) -> None:
        shown = subprocess.run(
            ["make"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
        ).stdout
        for target in ("help", "demo", "test", "test-all", "lint", "bench", "docs", "fmt", "clean"):
            assert re.search(rf"^  make {target} +\S", shown, re.MULTILINE), f"make {target} is not listed"

    def test_an_old_python_is_named_and_so_is_the_way_out(self, tmp_path: Path) -> None:
        old = tmp_path / "python3"
        old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.1 && exit 0\nexit 1\n')
        old.chmod(0o755)
        for tool in ("make", "sh", "touch"):
            found = shutil.which(tool)
            assert found is not None
            (tmp_path / tool).symlink_to(found)
        shutil.copy(ROOT / "Makefile", tmp_path)
        (tmp_path / "pyproject.toml").touch()
        result = subprocess.run(
            ["make", "demo"],
            cwd=tmp_path,
            env={"PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert result.returncode != 0
        assert "needs Python 3.11 or newer; found: Python 3.9.1" in result.stderr
        assert "make PYTHON=" in result.stderr

    def test_ci_runs_what_a_developer_runs(self) -> None:
        script = ROOT / ".ci" / "run"
        assert os.access(script, os.X_OK)
        assert script.read_text().splitlines()[-1] == "make test"

    @pytest.mark.parametrize("command", ["make demo", "make test"])
    def test_the_readme_names_the_two_commands(self, command: str) -> None:
        assert command in (ROOT / "README.md").read_text()


class TestTypes:
    def test_mypy_is_relaxed_for_what_writes_machine_code_alone(self) -> None:
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
        assert settings["strict"]
        overrides = [one for one in settings["overrides"] if set(one) != {"module", "ignore_missing_imports"}]
        relaxed = {module for override in overrides for module in override["module"]}
        assert relaxed == {"tidalog.engine.jit", "tidalog.engine.kernel_builder"}

    def test_no_file_relaxes_mypy_for_itself(self) -> None:
        for path in SOURCES:
            assert not re.search(r"^# (mypy:|type: ignore)", path.read_text(), re.MULTILINE), path


class TestGeneratedFiles:
    def test_the_table_of_the_map_is_what_its_script_makes_of_the_stream(self) -> None:
        script = runpy.run_path(str(ROOT / "examples" / "map" / "make_facts.py"))
        assert script["TABLE"].read_text() == script["table_text"](script["inserted_facts"](script["STREAM"]))

    def test_the_picture_is_what_its_script_draws(self) -> None:
        script = runpy.run_path(str(ROOT / "docs" / "img" / "draw_architecture.py"))
        assert script["PICTURE"].read_text(encoding="utf-8") == script["picture"]()

    def test_the_tables_of_built_ins_are_those_of_the_code(self) -> None:
        script = runpy.run_path(str(ROOT / "docs" / "make_builtins.py"))
        page = script["PAGE"].read_text(encoding="utf-8")
        assert page == script["refreshed"](page)
        for name in BUILTINS:
            assert name == "neg" or re.search(rf"`(x )?{re.escape(name)}[( ]", page), f"{name} is not there"

    def test_the_import_graph_is_that_of_the_code(self) -> None:
        script = runpy.run_path(str(ROOT / "docs" / "make_import_graph.py"))
        page = script["PAGE"].read_text(encoding="utf-8")
        assert page == script["page"](page)
        assert "cli         spark, " in page


def defined_in(path: Path) -> set[str]:
    """The functions, classes and constants of a module, methods with the name of their class."""

    def names(node: ast.AST, prefix: str) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                yield prefix + child.name
                yield from names(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.AnnAssign | ast.Assign):
                targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))

    return set(names(ast.parse(path.read_text(encoding="utf-8")), ""))


def test_the_walkthrough_names_functions_that_exist() -> None:
    page = (ROOT / "docs" / "walkthrough.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py):([\w.]+)`", page)
    assert len(named) > 60
    missing = [
        f"{file}:{name}" for file, name in named if name not in defined_in(ROOT / "src/tidalog" / file)
    ]
    assert missing == []


def numbers_in_the_code() -> dict[str, str]:
    """Number → class of every diagnostic, read off the sources so that no module can be forgotten."""
    found: dict[str, str] = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ClassDef):
                continue
            for statement in node.body:
                if (
                    isinstance(statement, ast.Assign)
                    and isinstance(statement.value, ast.Constant)
                    and isinstance(statement.value.value, str)
                    and any(isinstance(t, ast.Name) and t.id == "number" for t in statement.targets)
                ):
                    number = statement.value.value
                    assert number not in found, f"{number}: both {found.get(number)} and {node.name}"
                    found[number] = node.name
    return found


def sections(page: str) -> dict[str, str]:
    """Heading → text of the second-level sections of a page of the documentation."""
    parts = re.split(r"^## (.+)$", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


class TestDocumentation:
    def test_every_number_in_the_code_has_a_section_and_every_section_a_number(self) -> None:
        assert set(sections("errors.md")) == set(numbers_in_the_code())

    def test_sections_of_errors_are_in_order(self) -> None:
        headings = list(sections("errors.md"))
        assert headings == sorted(headings)

    def test_every_page_is_in_the_navigation(self) -> None:
        navigation = (ROOT / "mkdocs.yml").read_text()
        for page in (ROOT / "docs").glob("*.md"):
            assert f": {page.name}" in navigation, f"{page.name} cannot be reached"
