"""What compiled code shares: its decorators, hashing, prefetching, and arrays by address.

`entry` is for what Python calls, `compiled` and `inlined` are for what kernels call.

Compiled code is one object file (`kernel_object`), which numba builds once for each state of the sources
and each kind of processor.  A process that finds it never imports numba: there, `entry` gives the machine
code of a function, and the others give a function that refuses to be called.  Only the process that builds
the object has `BUILDING` set and gets numba's functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np

from tidalog.engine import kernel_object

F = TypeVar("F", bound=Callable[..., object])

BUILDING: Final = os.environ.get("TIDALOG_KERNELS") == "numba"

if BUILDING:
    import numba
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic as numba_intrinsic

    entries: dict[str, Callable[..., object]] = {}
    """The entry points by symbol, of the modules imported so far."""

    _OPTIONS: Final = {
        "nogil": True,
        "boundscheck": kernel_object.CHECKED,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }

    def compiled(function: F) -> F:
        """A kernel that other kernels call."""
        result: F = numba.njit(**_OPTIONS)(function)
        return result

    def inlined(function: F) -> F:
        """A few lines that each caller gets a copy of: for what runs once per row."""
        result: F = numba.njit(forceinline=True, **_OPTIONS)(function)
        return result

    def intrinsic(function: Callable[..., object]) -> Callable[..., Any]:
        """A function that writes the code of its calls; it has one argument more than these."""
        return numba_intrinsic(function)

    def entry(function: F) -> F:
        """A kernel that Python calls.  Its annotations are its types (`array_types`)."""
        result = compiled(function)
        entries[kernel_object.symbol_of(function)] = result
        return result

else:

    def compiled(function: F) -> F:
        """A kernel that other kernels call."""

        def refuse(*_: object) -> object:
            raise TypeError(
                f"{kernel_object.symbol_of(function)} is compiled code: only an @entry can be called"
            )

        return refuse

    inlined = intrinsic = compiled

    def entry(function: F) -> F:
        """A kernel that Python calls.  Its annotations are its types (`array_types`)."""
        result: F = kernel_object.bind(function)
        return result


_SEED = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_END = np.uint64(0x94D049BB133111EB)
_S32 = np.uint64(32)
_S29 = np.uint64(29)


@inlined
def hash_start(seed: int) -> np.uint64:
    return (np.uint64(seed) + np.uint64(1)) * _SEED


@inlined
def hash_add(h: np.uint64, value: int) -> np.uint64:
    """Mixes in one number; the order of calls matters."""
    h ^= np.uint64(value)
    h *= _MIX
    return h ^ (h >> _S29)


@inlined
def hash_end(h: np.uint64) -> np.uint64:
    h *= _END
    return h ^ (h >> _S32)


@intrinsic
def _pointer(typing_context, address):  # type: ignore[no-untyped-def]
    signature = types.voidptr(address)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return signature, codegen


@intrinsic
def prefetch(typing_context, array, offset):  # type: ignore[no-untyped-def]
    """Asks for the cache line of array[offset] and does not wait for it.  `offset` is not negative; outside
    the array nothing happens."""
    signature = types.void(array, offset)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), (byte, flag, flag, flag))
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte)
        builder.call(function, [address, flag(0), flag(3), flag(1)])  # to read, into every cache, data
        return context.get_dummy_value()

    return signature, codegen


@compiled
def int32_at(address: int, length: int) -> np.ndarray:
    """The int32 array at an address that Python keeps alive (see `Indexes`)."""
    return numba.carray(_pointer(address), (length,), np.int32)


@compiled
def int64_at(address: int, length: int) -> np.ndarray:
    return numba.carray(_pointer(address), (length,), np.int64)


@compiled
def uint16_at(address: int, length: int) -> np.ndarray:
    return numba.carray(_pointer(address), (length,), np.uint16)


@compiled
def uint32_at(address: int, length: int) -> np.ndarray:
    return numba.carray(_pointer(address), (length,), np.uint32)


@compiled
def uint64_at(address: int, length: int) -> np.ndarray:
    return numba.carray(_pointer(address), (length,), np.uint64)


@compiled
def float64_at(address: int, length: int) -> np.ndarray:
    return numba.carray(_pointer(address), (length,), np.float64)


@compiled
def int32_table(address: int, rows: int, columns: int) -> np.ndarray:
    """Arrays with two lengths."""
    return numba.carray(_pointer(address), (rows, columns), np.int32)


@compiled
def int64_table(address: int, rows: int, columns: int) -> np.ndarray:
    return numba.carray(_pointer(address), (rows, columns), np.int64)


@intrinsic
def double_bits(typing_context, value):  # type: ignore[no-untyped-def]
    """The 64 bits of a double as an integer."""
    signature = types.int64(types.float64)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], ir.IntType(64))

    return signature, codegen


@intrinsic
def bits_double(typing_context, bits):  # type: ignore[no-untyped-def]
    """The double whose bits an integer holds."""
    signature = types.float64(types.int64)

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], ir.DoubleType())

    return signature, codegen
