"""The object file of compiled code: where it is, how a process gets it, and how Python calls it.

`python -m tidalog.compile_kernels` writes the file.  Its name is a digest of the sources of all kernels,
the processor and the versions of numba and LLVM; a process that does not find it runs that command first,
and processes that start together wait for one build.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import pickle
import platform
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from tidalog.engine.kernel_digest import digest_of_kernels
from tidalog.user_cache import cache_folder, write_whole

CHECKED: Final = os.environ.get("TIDALOG_BOUNDSCHECK", os.environ.get("NUMBA_BOUNDSCHECK", "0")) not in (
    "",
    "0",
)
"""Whether kernels check every index: for tests."""

SOURCES: Final = ("engine/*.py", "*/kernels/*.py", "io/*_scan.py")
"""The files that may hold kernels, in the package."""

PACKAGE: Final = Path(__file__).parent.parent
ARRAY_TYPE: Final = "tidalog_array_type"
ERROR_TYPE: Final = "tidalog_error_type"

PYTHON_SYMBOLS: Final = (
    *("PyBool_FromLong", "PyBytes_FromStringAndSize", "PyErr_Occurred", "PyErr_SetObject", "PyErr_SetString"),
    *("PyEval_RestoreThread", "PyEval_SaveThread", "PyFloat_AsDouble", "PyFloat_FromDouble"),
    *("PyLong_AsLongLong", "PyLong_AsUnsignedLongLongMask", "PyLong_FromLongLong"),
    *("PyLong_FromUnsignedLongLong", "PyObject_IsTrue", "PyTuple_New", "PyTuple_SetItem"),
    *("PyType_IsSubtype", "Py_BuildValue"),
)
C_SYMBOLS: Final = (
    *("ceil", "exp", "floor", "fmod", "free", "log", "malloc", "memcmp", "memcpy", "memmove", "memset"),
    *("pow", "rint", "round", "sqrt", "trunc"),
)
"""The functions that the object calls: it is checked when it is built, and needs nothing else."""

_METH_FASTCALL: Final = 0x80


class KernelError(Exception):
    """Compiled code got arguments of the wrong kind, or an index was out of bounds (`CHECKED`)."""

    def __init__(self, what: str | bytes) -> None:
        if isinstance(what, bytes):
            kind, arguments, location = pickle.loads(what)[:3]
            where = f" in {location[0]}, line {location[2]}" if location else ""
            what = f"{kind.__name__}: {', '.join(map(str, arguments or ()))}{where}"
        super().__init__(what)


def symbol_of(function: Callable[..., object]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def bind(function: Callable[..., object]) -> Any:
    """What Python calls for a kernel: its machine code, or until that is built, something that builds it."""
    symbol = symbol_of(function)
    code = _code_if_built()
    if code is None:
        return _Unbuilt(symbol, function)
    return code.function(symbol, function.__name__)


class _Unbuilt:
    """Builds the object on its first call; every call goes through it from then on."""

    def __init__(self, symbol: str, function: Callable[..., object]) -> None:
        self._symbol, self.__name__, self.__doc__ = symbol, function.__name__, function.__doc__
        self._code: Any = None

    def __call__(self, *arguments: object) -> object:
        if self._code is None:
            self._code = built_code().function(self._symbol, self.__name__)
        return self._code(*arguments)


# --- where it is ------------------------------------------------------------------------------------


@cache
def object_path() -> Path:
    """The object file for the sources as they are.

    A file for each state of the sources names the digest of their kernels, which takes longer to work out.
    """
    folder, sources = cache_folder(), _digest_of_sources()
    if CHECKED:  # messages name lines
        return folder / f"kernels-{sources}.o"
    note = folder / f"sources-{sources}"
    if not note.exists():
        kernels = f"{_machine()} {digest_of_kernels(source_files(), PACKAGE)}"
        write_whole(note, hashlib.sha256(kernels.encode()).hexdigest()[:24].encode())
    return folder / f"kernels-{note.read_text()}.o"


def source_files() -> list[Path]:
    return sorted(file for pattern in SOURCES for file in PACKAGE.glob(pattern))


def _digest_of_sources() -> str:
    digest = hashlib.sha256(f"{_machine()} {CHECKED}".encode())
    for file in source_files():
        digest.update(file.read_bytes())
    return digest.hexdigest()[:24]


def _machine() -> str:
    """The processor and the compiler."""
    import llvmlite.binding as ll

    parts = version("numba"), version("llvmlite"), sys.platform, platform.machine(), ll.get_host_cpu_name()
    return " ".join(parts)


# --- how a process gets it --------------------------------------------------------------------------


@cache
def _code_if_built() -> _Code | None:
    path = object_path()
    return _Code(path.read_bytes()) if path.exists() else None


@cache
def built_code() -> _Code:
    """The code, built first if it must be."""
    path = object_path()
    if not path.exists():
        ended = subprocess.run(
            [sys.executable, "-m", "tidalog.compile_kernels", "--later"], stdin=subprocess.DEVNULL
        )
        if ended.returncode:
            raise RuntimeError(
                f"compiled code was not built: the process that builds it ended with {ended.returncode}"
            )
    return _Code(path.read_bytes())


class _MethodDefinition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Code:
    """Machine code in memory, for the life of the process."""

    def __init__(self, code: bytes) -> None:
        import llvmlite.binding as ll

        ll.initialize_native_target()
        ll.initialize_native_asmprinter()
        c_library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
        for library, symbols in ((ctypes.pythonapi, PYTHON_SYMBOLS), (c_library, C_SYMBOLS)):
            for symbol in symbols:
                ll.add_symbol(symbol, ctypes.cast(library[symbol], ctypes.c_void_p).value)
        self._module = ll.parse_assembly("")
        machine = ll.Target.from_default_triple().create_target_machine(
            opt=0, jit=True, codemodel="jitdefault"
        )
        self._engine = ll.create_mcjit_compiler(self._module, machine)
        self._object = ll.ObjectFileRef.from_data(code)
        self._engine.add_object_file(self._object)
        self._engine.finalize_object()
        for name, value in ((ARRAY_TYPE, np.ndarray), (ERROR_TYPE, KernelError)):
            ctypes.c_void_p.from_address(self._engine.get_global_value_address(name)).value = id(value)
        self._definitions: list[_MethodDefinition] = []

    def function(self, symbol: str, name: str) -> Any:
        """The Python function of a wrapper."""
        address = self._engine.get_function_address(symbol)
        if not address:
            raise RuntimeError(f"{symbol} is not in {object_path()}")
        definition = _MethodDefinition(name.encode(), address, _METH_FASTCALL, None)
        self._definitions.append(definition)
        new = ctypes.pythonapi.PyCFunction_NewEx
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        return new(ctypes.addressof(definition), None, None)
