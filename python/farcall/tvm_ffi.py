"""tvm-ffi, the package apache-tvm-ffi: its functions as targets, and farcall's as its functions.

Tensors pass by DLPack, in the memory where they are. A function gets its operands, then tensors for
its results, which it writes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core
from farcall._export_handler import recorder_of
from farcall._public import show_names_of
from farcall.ffi import ffi_call

__all__ = ["function", "function_of_target", "register"]

_exchange = _core.exchange
_numbers = itertools.count()


def _tvm_ffi(where: str) -> Any:
    """The module tvm_ffi, with its library known to farcall."""
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
    """Registers a function of tvm-ffi as a foreign target on the CPU.

    ``ffi_call`` of the name calls it with tensors in the memory of the operands and of the results,
    without the interpreter lock unless the function is Python's.

    Args:
      name: of the target.
      function: a ``tvm_ffi.Function``, or what ``tvm_ffi.convert`` makes one of. It writes its
        results into the tensors that it gets, and returns nothing. It may keep a tensor,
        whose values then stay as they are.
      arguments: what it is called with, in order: ``args`` and ``rets`` stand for all operands and
        all results, other names for attributes of the call: bools, numbers and strings.

    Raises:
      ImportError: apache-tvm-ffi is not installed.
      TypeError: ``function`` is no function.
      RuntimeError: the name is taken.
      FfiError: at a call, what the function raises: INVALID_ARGUMENT for ValueError and TypeError,
        OUT_OF_RANGE for IndexError, NOT_FOUND for KeyError, else INTERNAL.
    """
    tvm_ffi = _tvm_ffi("tvm_ffi.register")
    if not isinstance(function, tvm_ffi.Function) and callable(function):
        function = tvm_ffi.convert(function)
    if not isinstance(function, tvm_ffi.Function):
        raise TypeError(
            f'tvm_ffi.register("{name}"): expected a function, got {function!r} of type '
            f"{type(function).__name__}"
        )
    _exchange.register_tvm_function(name, function.__chandle__(), list(arguments))


def function(fun: Any, *args: Any, num_results: int = 1, name: str | None = None) -> Any:
    """A ``tvm_ffi.Function`` that runs ``fun``.

    It is called with tensors on the CPU, dense and row-major: the operands, then the results, which
    it writes in place. Any thread may call it. What it raises is a ValueError, MemoryError or
    RuntimeError.

    Args:
      fun: a function, what jit made of it, or a program, as ``ffi.export_handler`` takes it.
      args: for a function, arguments that tell the types of the operands; it then takes batches of
        them too. Without, it is recorded and compiled for the types of each call.
      num_results: of a function without ``args``.
      name: stands in the messages of errors; by default the function's own.

    Raises:
      ImportError: apache-tvm-ffi is not installed.
      TypeError: as ``export_handler``.
    """
    tvm_ffi = _tvm_ffi("tvm_ffi.function")
    name, program, record, _ = recorder_of("tvm_ffi.function", fun, args, {}, name)
    if program is not None:
        return _made(tvm_ffi, _exchange.export_program_to_tvm, name, program)
    return _made(tvm_ffi, _exchange.export_recorded_to_tvm, name, num_results, record)


def function_of_target(target_name: str, num_results: int = 1, **attributes: Any) -> Any:
    """A ``tvm_ffi.Function`` that calls a foreign target.

    Args:
      target_name: as given to register_ffi_target.
      num_results: how many of the tensors that it is called with are results.
      attributes: those of the call.

    Raises:
      ImportError: apache-tvm-ffi is not installed.
    """
    tvm_ffi = _tvm_ffi("tvm_ffi.function_of_target")

    def record(operands: list[Any], results: list[Any], _: dict[str, Any]) -> Any:
        call = ffi_call(target_name, results)
        return _core.transforms.trace_closure(
            lambda *arrays: call(*arrays, **attributes), target_name, target_name, tuple(operands)
        )[0]

    return _made(tvm_ffi, _exchange.export_recorded_to_tvm, target_name, num_results, record)


def _made(tvm_ffi: Any, export: Callable[..., None], *what: Any) -> Any:
    # The global table is the one way for C functions into the package.
    global_name = f"farcall.function.{next(_numbers)}"
    export(global_name, *what)
    made = tvm_ffi.get_global_func(global_name)
    tvm_ffi.remove_global_func(global_name)
    return made


show_names_of(__name__)
