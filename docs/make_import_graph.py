"""Writes the import graph of the packages into docs/walkthrough.md: `python docs/make_import_graph.py`.

A row per package, in the order of the layers in pyproject.toml, with all packages that it imports.  Imports
inside functions count; imports for type checkers alone do not.  A test checks that the page is up to date.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "tidalog"
PAGE = Path(__file__).with_name("walkthrough.md")
BLOCK = re.compile(r"(<!-- not run: [^\n]* -->\n\n```text\n).*?(```\n\n<!-- end -->)", re.DOTALL)


def layers() -> list[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    found = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    return [name for name in found if (PACKAGE / name).is_dir()]


def imported(tree: ast.AST) -> Iterator[str]:
    """The packages that a module imports."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tidalog."):
            yield str(node.module).split(".")[1]
        yield from imported(node)


def graph() -> str:
    order = layers()
    lines = [f"{'package':<12}imports"]
    for package in order:
        texts = (path.read_text(encoding="utf-8") for path in sorted((PACKAGE / package).rglob("*.py")))
        found = {name for text in texts for name in imported(ast.parse(text))} - {package}
        names = ", ".join(name for name in order if name in found)
        lines.append(f"{package:<12}{names or '–'}")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with the current graph."""
    return BLOCK.sub(lambda found: f"{found[1]}{graph()}{found[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
