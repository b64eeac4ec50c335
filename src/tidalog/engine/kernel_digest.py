"""A digest of the parts of the sources that determine the machine code.

A comment, a docstring or a function that is not compiled changes no machine code, and building it takes a
minute: the digest covers the kernels, the constants and types of their modules, and the imports that these
use.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_DECORATORS: Final = {"entry", "compiled", "inlined", "intrinsic"}
_WHOLE: Final = {"jit.py", "kernel_builder.py"}
"""Files that decide how kernels are compiled."""


def digest_of_kernels(files: Iterable[Path], package: Path) -> str:
    modules = {_name_of(file, package): _Module(file) for file in files}
    waiting = [name for name, module in modules.items() if module.has_kernels]
    needed = set(waiting)
    while waiting:
        new = modules[waiting.pop()].imported & modules.keys() - needed
        needed |= new
        waiting += new
    digest = hashlib.sha256()
    for name in sorted(needed):
        digest.update(f"{name}\0{modules[name].text}\0".encode())
    return digest.hexdigest()


def _name_of(file: Path, package: Path) -> str:
    return ".".join((package.name, *file.relative_to(package).with_suffix("").parts))


class _Module:
    """The statements of a module that compiled code may depend on, and the modules that these use."""

    def __init__(self, file: Path) -> None:
        tree = ast.parse(file.read_text())
        body = [_without_docstring(node) for node in tree.body if not _is_text(node)]
        functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        self.has_kernels = any(map(_is_kernel, functions.values()))
        kept = [node for node in body if _matters(node)]
        used = _names_in(kept)
        kept += [node for name, node in functions.items() if name in used and node not in kept]
        if file.name in _WHOLE:
            self.has_kernels, kept = True, body
        used = _names_in(kept)
        imports = [
            (node.module or "", alias.name)
            for node in body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if (alias.asname or alias.name) in used
        ]
        self.imported = {module for module, _ in imports} | {f"{module}.{name}" for module, name in imports}
        self.text = "\n".join((*map(str, sorted(imports)), *map(ast.dump, kept)))


def _matters(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        return _is_kernel(node)
    if isinstance(node, ast.ClassDef):
        return _is_record(node)
    return not isinstance(node, ast.Import | ast.ImportFrom | ast.If)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _without_docstring(node: ast.stmt) -> ast.stmt:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        node.body = [inner for inner in node.body if not _is_text(inner)]
    return node


def _is_kernel(node: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id in _DECORATORS for d in node.decorator_list)


def _is_record(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases)


def _names_in(nodes: Iterable[ast.stmt]) -> set[str]:
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)}
