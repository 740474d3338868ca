"""tvm-ffi (package apache-tvm-ffi): its functions as targets, farcall's functions as its functions.

Tensors are passed by DLPack, without copies. A function takes its operands, then tensors for its
results, which it writes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core
from farcall._export_handler import recorder_of
from farcall._functions import are_strings
from farcall._public import show_names_of
from farcall.ffi import ffi_call

__all__ = ["function", "function_of_target", "register"]

_exchange = _core.exchange
_numbers = itertools.count()


def _tvm_ffi(where: str) -> Any:
    """Imports tvm_ffi and tells the core the path of its library."""
    try:
        import tvm_ffi
        from tvm_ffi import libinfo
    except ImportError as error:
        raise ImportError(
            f"{where}: needs tvm-ffi ({error}): pip install apache-tvm-ffi"
        ) from error
    _exchange.load_tvm_ffi(str(libinfo.find_libtvm_ffi()))
    return tvm_ffi


def register(name: str, function: Any, arguments: Sequence[str] = ("args", "rets")) -> None:
    """Registers a tvm-ffi function as a foreign target on the CPU.

    ``ffi_call`` of the name calls it with tensors in the memory of the operands and results. It
    runs without the interpreter lock, unless it is a Python function.

    Args:
      name: the name of the target.
      function: a ``tvm_ffi.Function``, or a value that ``tvm_ffi.convert`` converts to one. It
        writes its results into the given tensors and returns nothing. It may keep a tensor; the
        values of a kept tensor do not change.
      arguments: its arguments, in order: ``args`` and ``rets`` stand for all operands and all
        results, other names for attributes of the call: bools, numbers and strings.

    Raises:
      ImportError: if apache-tvm-ffi is not installed.
      TypeError: if ``function`` is not a function, or ``arguments`` is not a list of names.
      RuntimeError: if the name is taken.
      FfiError: at a call, if the function raises an error: INVALID_ARGUMENT for ValueError and
        TypeError, OUT_OF_RANGE for IndexError, NOT_FOUND for KeyError, else INTERNAL.
    """
    tvm_ffi = _tvm_ffi("tvm_ffi.register")
    if not isinstance(function, tvm_ffi.Function) and callable(function):
        function = tvm_ffi.convert(function)
    if not isinstance(function, tvm_ffi.Function):
        raise TypeError(
            f'tvm_ffi.register("{name}"): expected a function, got {function!r} of type '
            f"{type(function).__name__}"
        )
    if not are_strings(arguments):
        raise TypeError(
            f'tvm_ffi.register("{name}"): arguments must be a list of names, got {arguments!r}'
        )
    _exchange.register_tvm_function(name, function.__chandle__(), list(arguments))


def function(fun: Any, *args: Any, num_results: int = 1, name: str | None = None) -> Any:
    """Makes a ``tvm_ffi.Function`` that runs ``fun``.

    It takes dense row-major tensors on the CPU: the operands, then the results, which it writes in
    place. Any thread may call it. It raises ValueError, MemoryError or RuntimeError.

    Args:
      fun: a function, a jitted function, or a program, as for ``ffi.export_handler``.
      args: for a function, example arguments that give the types of the operands; it then takes
        batches of these too. Without them, it is recorded and compiled for the types of each call.
      num_results: the number of results of a function without ``args``.
      name: the name in error messages; by default the function's own.

    Raises:
      ImportError: if apache-tvm-ffi is not installed.
      TypeError: as for ``export_handler``.
    """
    tvm_ffi = _tvm_ffi("tvm_ffi.function")
    name, program, record, _ = recorder_of("tvm_ffi.function", fun, args, {}, name)
    if program is not None:
        return _made(tvm_ffi, _exchange.export_program_to_tvm, name, program)
    return _made(tvm_ffi, _exchange.export_recorded_to_tvm, name, num_results, record)


def function_of_target(target_name: str, num_results: int = 1, **attributes: Any) -> Any:
    """Makes a ``tvm_ffi.Function`` that calls a foreign target.

    Args:
      target_name: the name given to register_ffi_target.
      num_results: the number of results among the tensors of a call.
      attributes: the attributes of the call.

    Raises:
      ImportError: if apache-tvm-ffi is not installed.
    """
    tvm_ffi = _tvm_ffi("tvm_ffi.function_of_target")

    def record(operands: list[Any], results: list[Any], _: dict[str, Any]) -> Any:
        call = ffi_call(target_name, results)
        return _core.transforms.trace_closure(
            lambda *arrays: call(*arrays, **attributes), target_name, target_name, tuple(operands)
        )[0]

    return _made(tvm_ffi, _exchange.export_recorded_to_tvm, target_name, num_results, record)


def _made(tvm_ffi: Any, export: Callable[..., None], *what: Any) -> Any:
    # The package accepts C functions only through its global table.
    global_name = f"farcall.function.{next(_numbers)}"
    export(global_name, *what)
    made = tvm_ffi.get_global_func(global_name)
    tvm_ffi.remove_global_func(global_name)
    return made


show_names_of(__name__)
