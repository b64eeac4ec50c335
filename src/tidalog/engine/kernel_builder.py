"""Compiles the entry points of compiled code into one object file.

Numba types and lowers each kernel; its own optimiser is left out, so that a helper that fifty kernels call
is optimised once, in one LLVM module, with the wrappers that Python calls.

A wrapper has the signature of a Python function (METH_FASTCALL).  It reads the address and the shape of an
array from the array object itself, checks its kind, dimensions and order, releases the GIL and calls the
kernel.  A named tuple comes as a block of addresses (`addresses`): one array, whatever the tuple has in it.
Arrays have no owner in compiled code, so nothing counts references to them: the caller keeps them alive.

The object needs neither numba nor its runtime.  What kernels allocate is memory of the C library
(`_MEMORY`), and an exception leaves as `jit.KernelError`.
"""

from __future__ import annotations

import typing
from collections.abc import Callable

import llvmlite.binding as ll
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, compiler_lock, registry
from numba.core.codegen import JITCodeLibrary
from numba.np.arrayobj import make_array, populate_array

from tidalog.engine.array_types import EACH, kind_of
from tidalog.engine.kernel_object import ARRAY_TYPE, C_SYMBOLS, ERROR_TYPE, PYTHON_SYMBOLS

BYTE = ir.IntType(8)
POINTER = BYTE.as_pointer()
INT = ir.IntType(32)
WORD = ir.IntType(64)

# Fields of a numpy array object (PyArrayObject_fields) and of a dtype (PyArray_Descr), in bytes.
ARRAY_DATA = 16
ARRAY_DIMENSIONS = 24
ARRAY_SHAPE = 32
ARRAY_DTYPE = 56
ARRAY_FLAGS = 64
DTYPE_NUMBER = 28
OBJECT_TYPE = 8
C_CONTIGUOUS = 0x1
ALIGNED = 0x100

_BLOCK = types.Array(types.int64, 1, "C")
_SCALARS = {int: types.int64, float: types.float64, bool: types.boolean, np.uint64: types.uint64}

# What replaces numba's runtime: memory for arrays that a kernel allocates.  Before the data comes a header of
# five words (references, destructor, its argument, data, size) and one of padding.
_MEMORY = """
declare ptr @malloc(i64)
declare void @free(ptr)
define ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 %align) {
  %mask = zext i32 %align to i64
  %header = add i64 %mask, 48
  %all = add i64 %size, %header
  %info = call ptr @malloc(i64 %all)
  %failed = icmp eq ptr %info, null
  br i1 %failed, label %none, label %some
none:
  ret ptr null
some:
  %address = ptrtoint ptr %info to i64
  %after = add i64 %address, %header
  %over = urem i64 %after, %mask
  %data = sub i64 %after, %over
  %pointer = inttoptr i64 %data to ptr
  store i64 1, ptr %info
  %dtor = getelementptr i64, ptr %info, i64 1
  store ptr null, ptr %dtor
  %dtor_info = getelementptr i64, ptr %info, i64 2
  store ptr null, ptr %dtor_info
  %data_at = getelementptr i64, ptr %info, i64 3
  store ptr %pointer, ptr %data_at
  %size_at = getelementptr i64, ptr %info, i64 4
  store i64 %size, ptr %size_at
  ret ptr %info
}
define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %info = call ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 %align)
  ret ptr %info
}
define void @NRT_MemInfo_call_dtor(ptr %info) {
  call void @free(ptr %info)
  ret void
}
"""


class UnoptimisedLibrary(JITCodeLibrary):
    """The code of one function as numba lowered it, with the libraries that it calls."""

    def _optimize_functions(self, ll_module: ll.ModuleRef) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 1  # numba makes a function of it, which is never called


class ObjectBuilder:
    """Adds entry points one after the other, then emits the object file."""

    def __init__(self) -> None:
        self._context = registry.cpu_target.target_context
        self._context.refresh()
        codegen = self._context.codegen()
        codegen._library_class = UnoptimisedLibrary
        codegen.set_env = lambda name, environment: None  # nothing runs here
        self._codegen = codegen
        self._wrappers = self._context.create_module("tidalog.wrappers")
        self._libraries: dict[int, JITCodeLibrary] = {}
        for name in (ARRAY_TYPE, ERROR_TYPE):
            variable = ir.GlobalVariable(self._wrappers, POINTER, name)
            variable.initializer = ir.Constant(POINTER, None)
        self._names: list[str] = [ARRAY_TYPE, ERROR_TYPE]

    def add(self, symbol: str, dispatcher: typing.Any) -> None:
        """Compiles an entry point and writes its wrapper, which gets the name `symbol`."""
        hints = typing.get_type_hints(dispatcher.py_func, include_extras=True)
        returns = hints.pop("return")
        arguments = tuple(type_of(hint) for hint in hints.values())
        with compiler_lock.global_compiler_lock:
            dispatcher.compile(arguments)
            result = dispatcher.overloads[arguments]
            self._collect(result.library)
            _Wrapper(self._context, self._wrappers, symbol, list(hints)).write(result)
        if not _same(result.signature.return_type, type_of(returns)):
            raise TypeError(f"{symbol} returns {result.signature.return_type}, not {returns}")
        self._names.append(symbol)

    def _collect(self, library: JITCodeLibrary) -> None:
        if id(library) not in self._libraries:
            self._libraries[id(library)] = library
            for called in library._linking_libraries:
                self._collect(called)

    def emit(self, report: Callable[[str], None]) -> bytes:
        """The object file: everything linked, what is not a wrapper made private, optimised once."""
        with compiler_lock.global_compiler_lock:
            report("linking")
            module = ll.parse_assembly(_MEMORY)
            module.triple, module.data_layout = ll.get_process_triple(), self._codegen._data_layout
            for library in self._libraries.values():
                module.link_in(library._final_module, preserve=True)
            wrappers = ll.parse_assembly(cgutils.normalize_ir_text(str(self._wrappers)))
            wrappers.data_layout = self._codegen._data_layout
            module.link_in(wrappers)
            public = set(self._names)
            for value in (*module.functions, *module.global_variables):
                if not value.is_declaration and value.name not in public:
                    value.linkage = "internal"
            module.verify()
            report("optimising")
            for cost in ("cheap", None):
                options = (
                    {
                        "loop_vectorize": self._codegen._loopvect,
                        "slp_vectorize": False,
                        "opt": 3,
                        "cost": cost,
                    }
                    if cost
                    else {}
                )
                passes, pass_builder = self._codegen._module_pass_manager(**options)
                passes.run(module, pass_builder)
            report("writing machine code")
            check_symbols(module)
            code: bytes = self._codegen._tm.emit_object(module)
        return code


def check_symbols(module: ll.ModuleRef) -> None:
    """The object calls nothing but Python and the C library: a process that loads it has no numba."""
    text = str(module)
    missing = [
        function.name
        for function in module.functions
        if function.is_declaration
        and not function.name.startswith("llvm.")
        and function.name not in (*PYTHON_SYMBOLS, *C_SYMBOLS)
        and text.count(f"@{function.name}(") > 1  # the first is the declaration
    ]
    if missing:
        raise RuntimeError(f"compiled code calls unknown functions: {', '.join(sorted(missing))}")


def type_of(hint: typing.Any) -> types.Type:
    """The type that an annotation stands for."""
    if hint is type(None):
        return types.none
    if hint in _SCALARS:
        return _SCALARS[hint]
    if typing.get_origin(hint) is typing.Annotated:
        dtype, dimensions = kind_of(hint)
        return types.Array(numba.from_dtype(dtype), dimensions, "C")
    if typing.get_origin(hint) is tuple:
        return types.Tuple([type_of(item) for item in typing.get_args(hint)])
    if isinstance(hint, type) and issubclass(hint, tuple):
        fields = typing.get_type_hints(hint, include_extras=True)
        return types.NamedTuple([type_of(field) for field in fields.values()], hint)
    raise TypeError(f"compiled code takes no {hint}: see `array_types`")


def _same(one: types.Type, other: types.Type) -> bool:
    """Whether results are of the same type; an integer is an integer."""
    if isinstance(one, types.BaseTuple) and isinstance(other, types.BaseTuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other or (isinstance(one, types.Integer) and isinstance(other, types.Integer))


def _numbers_of(kind: types.Type) -> int:
    """The numbers that a block has for an array, or for all arrays of a tuple."""
    if isinstance(kind, types.BaseTuple):
        return sum(map(_numbers_of, kind))
    if not isinstance(kind, types.Array):
        raise TypeError(f"a block names arrays, not {kind}")
    return EACH


class _Wrapper:
    """Writes the function that Python calls for one kernel."""

    def __init__(self, context: typing.Any, module: ir.Module, symbol: str, names: list[str]) -> None:
        self._context, self._module, self._symbol, self._names = context, module, symbol, names
        function_type = ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), WORD])
        self._function = ir.Function(module, function_type, symbol)
        self._builder = ir.IRBuilder(self._function.append_basic_block("entry"))

    def write(self, result: typing.Any) -> None:
        builder, context = self._builder, self._context
        given = self._function.args[2]
        wanted = WORD(len(self._names))
        self._fail_unless(builder.icmp_signed("==", given, wanted), f"takes {len(self._names)} arguments")
        values = [
            self._value(builder.load(builder.gep(self._function.args[1], [WORD(i)])), kind, name)
            for i, (kind, name) in enumerate(zip(result.signature.args, self._names, strict=True))
        ]
        kernel = context.declare_function(self._module, result.fndesc)
        thread = self._call("PyEval_SaveThread", POINTER)
        values = [
            self._view(value, kind, 0) if isinstance(kind, types.BaseTuple) else value
            for value, kind in zip(values, result.signature.args, strict=True)
        ]
        status, value = context.call_conv.call_function(
            builder, kernel, result.signature.return_type, result.signature.args, values
        )
        self._call("PyEval_RestoreThread", ir.VoidType(), thread)
        with builder.if_then(status.is_error, likely=False):
            self._raise(status.excinfoptr)
        builder.ret(self._object(value, result.signature.return_type))

    # --- arguments ----------------------------------------------------------------------------------

    def _value(self, argument: ir.Value, kind: types.Type, name: str) -> ir.Value:
        """An argument, checked: of a block its first number."""
        if isinstance(kind, types.Array):
            return self._array(argument, kind, name)
        if isinstance(kind, types.BaseTuple):
            block = make_array(_BLOCK)(self._context, self._builder, self._array(argument, _BLOCK, name))
            fits = self._builder.icmp_signed("==", block.nitems, WORD(_numbers_of(kind)))
            self._fail_unless(fits, f"{name}: a block of {_numbers_of(kind) // EACH} arrays")
            return block.data
        return self._scalar(argument, kind)

    def _view(self, block: ir.Value, kind: types.Type, first: int) -> ir.Value:
        """What a block names from one of its numbers on: an array, or a tuple of what comes in its order."""
        builder = self._builder
        if isinstance(kind, types.BaseTuple):
            items = []
            for item in kind:
                items.append(self._view(block, item, first))
                first += _numbers_of(item)
            return self._context.make_tuple(builder, kind, items)
        numbers = [builder.load(builder.gep(block, [WORD(first + i)])) for i in range(1 + kind.ndim)]
        data = self._context.get_data_type(kind.dtype).as_pointer()
        return self._array_of(kind, builder.inttoptr(numbers[0], data), numbers[1:])

    def _scalar(self, argument: ir.Value, kind: types.Type) -> ir.Value:
        builder = self._builder
        if kind == types.boolean:
            truth = self._call("PyObject_IsTrue", INT, argument)
            return builder.icmp_signed("!=", truth, INT(0))
        if kind == types.float64:
            value = self._call("PyFloat_AsDouble", ir.DoubleType(), argument)
            doubtful = builder.fcmp_ordered("==", value, ir.Constant(ir.DoubleType(), -1.0))
        else:
            reader = "PyLong_AsLongLong" if kind == types.int64 else "PyLong_AsUnsignedLongLongMask"
            value = self._call(reader, WORD, argument)
            doubtful = builder.icmp_signed("==", value, WORD(-1))
        with builder.if_then(doubtful, likely=False):
            raised = self._call("PyErr_Occurred", POINTER)
            with builder.if_then(builder.icmp_unsigned("!=", raised, POINTER(None))):
                builder.ret(POINTER(None))
        return value

    def _array(self, argument: ir.Value, kind: types.Array, name: str) -> ir.Value:
        builder = self._builder
        described = f"{name}: a {kind.dtype} array of {kind.ndim} dimensions in C order"
        array_type = builder.load(self._module.get_global(ARRAY_TYPE))
        its_type = self._field(argument, OBJECT_TYPE, POINTER)
        is_array = builder.icmp_unsigned("==", its_type, array_type)
        with builder.if_then(builder.not_(is_array), likely=False):
            derived = self._call("PyType_IsSubtype", INT, its_type, array_type)
            self._fail_unless(builder.icmp_signed("!=", derived, INT(0)), described)
        number = self._field(self._field(argument, ARRAY_DTYPE, POINTER), DTYPE_NUMBER, INT)
        dimensions = self._field(argument, ARRAY_DIMENSIONS, INT)
        flags = builder.and_(self._field(argument, ARRAY_FLAGS, INT), INT(C_CONTIGUOUS | ALIGNED))
        fits = builder.icmp_signed("==", dimensions, INT(kind.ndim))
        fits = builder.and_(fits, builder.icmp_signed("==", flags, INT(C_CONTIGUOUS | ALIGNED)))
        fits = builder.and_(fits, self._is_number(number, kind.dtype))
        self._fail_unless(fits, described)
        shape_at = builder.bitcast(self._field(argument, ARRAY_SHAPE, POINTER), WORD.as_pointer())
        shape = [builder.load(builder.gep(shape_at, [WORD(i)])) for i in range(kind.ndim)]
        data = self._context.get_data_type(kind.dtype).as_pointer()
        return self._array_of(kind, builder.bitcast(self._field(argument, ARRAY_DATA, POINTER), data), shape)

    def _array_of(self, kind: types.Array, data: ir.Value, shape: list[ir.Value]) -> ir.Value:
        builder, context = self._builder, self._context
        size = WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        strides = [size]
        for extent in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], extent))
        array = make_array(kind)(context, builder)
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()

    def _is_number(self, number: ir.Value, kind: types.Type) -> ir.Value:
        """Whether a dtype's number is that of a kind; C has two names for 64 bits."""
        dtype = np.dtype(kind.name)
        numbers = {np.dtype(code).num for code in np.typecodes["All"] if np.dtype(code) == dtype}
        found = ir.IntType(1)(0)
        for one in sorted(numbers):
            found = self._builder.or_(found, self._builder.icmp_signed("==", number, INT(one)))
        return found

    def _field(self, pointer: ir.Value, offset: int, kind: ir.Type) -> ir.Value:
        at = self._builder.gep(pointer, [WORD(offset)])
        return self._builder.load(self._builder.bitcast(at, kind.as_pointer()))

    # --- results ------------------------------------------------------------------------------------

    def _object(self, value: ir.Value, kind: types.Type) -> ir.Value:
        builder = self._builder
        if kind == types.none:
            return self._call("Py_BuildValue", POINTER, self._text(""))
        if isinstance(kind, types.BaseTuple):
            values = cgutils.unpack_tuple(builder, value, len(kind))
            items = [self._object(item, of) for item, of in zip(values, kind, strict=True)]
            result = self._call("PyTuple_New", POINTER, WORD(len(items)))
            for i, item in enumerate(items):
                self._call("PyTuple_SetItem", INT, result, WORD(i), item)
            return result
        if kind == types.boolean:
            return self._call("PyBool_FromLong", POINTER, builder.zext(value, WORD))
        if kind == types.float64:
            return self._call("PyFloat_FromDouble", POINTER, value)
        maker = "PyLong_FromLongLong" if kind.signed else "PyLong_FromUnsignedLongLong"
        whole = types.int64 if kind.signed else types.uint64
        return self._call(maker, POINTER, self._context.cast(builder, value, kind, whole))

    # --- errors -------------------------------------------------------------------------------------

    def _raise(self, information: ir.Value) -> None:
        """Raises `KernelError` with the description that numba pickled at compile time."""
        builder = self._builder
        address = builder.load(cgutils.gep_inbounds(builder, information, 0, 0))
        size = builder.zext(builder.load(cgutils.gep_inbounds(builder, information, 0, 1)), WORD)
        pickled = self._call("PyBytes_FromStringAndSize", POINTER, address, size)
        self._call(
            "PyErr_SetObject", ir.VoidType(), builder.load(self._module.get_global(ERROR_TYPE)), pickled
        )
        builder.ret(POINTER(None))

    def _fail_unless(self, condition: ir.Value, message: str) -> None:
        builder = self._builder
        with builder.if_then(builder.not_(condition), likely=False):
            kind = builder.load(self._module.get_global(ERROR_TYPE))
            self._call("PyErr_SetString", ir.VoidType(), kind, self._text(f"{self._symbol} {message}"))
            builder.ret(POINTER(None))

    def _text(self, text: str) -> ir.Value:
        return self._context.insert_const_string(self._module, text)

    def _call(self, name: str, returns: ir.Type, *arguments: ir.Value) -> ir.Value:
        """Calls a function of Python's C interface."""
        kind = ir.FunctionType(
            returns, [argument.type for argument in arguments], var_arg=name == "Py_BuildValue"
        )
        function = cgutils.get_or_insert_function(self._module, kind, name)
        return self._builder.call(function, arguments)
